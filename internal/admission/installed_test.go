package admission_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func remembers(keys ...[2]string) record.Node {
	n := record.Node{Packages: map[string]record.Entry{}}
	for _, key := range keys {
		e := record.Entry{Name: key[0], Version: key[1]}
		n.Packages[e.Key()] = e
	}
	return n
}

func TestFind(t *testing.T) {
	s := skyhook(t, `
packages:
  a: {version: 1.1.0, image: x, uninstall: {enabled: true, apply: true}}
  b: {version: 1.0.0, image: x, uninstall: {enabled: true, apply: false, whenRemoved: Uninstall}}
  c: {version: 1.0.0, image: x}
`)
	never := record.Entry{Name: "a", Version: "9.0.0", State: v1alpha1.StateErroring, Untouched: true}
	starts := record.Entry{Name: "a", Version: "1.0.0", State: v1alpha1.StateInProgress, Untouched: true}
	nodes := maps.All(map[string]record.Node{
		"n3": remembers([2]string{"a", "1.1.0"}, [2]string{"b", "1.0.0"}),
		"n1": remembers([2]string{"a", "1.1.0"}, [2]string{"c", "1.0.0"}, [2]string{"gone", "1.0.0"}),
		"n2": remembers([2]string{"a", "1.0.0"}),
		"n4": remembers(),
		"n5": {Packages: map[string]record.Entry{never.Key(): never, starts.Key(): starts}},
	})
	want := []admission.Installed{
		{Package: "a", Version: "1.0.0", Enabled: true, Uninstalling: true, Nodes: []string{"n2", "n5"}},
		{Package: "a", Version: "1.1.0", Enabled: true, Uninstalling: true, Nodes: []string{"n1", "n3"}},
		{Package: "b", Version: "1.0.0", Enabled: true, WhenRemoved: v1alpha1.WhenRemovedUninstall, Nodes: []string{"n3"}},
		{Package: "c", Version: "1.0.0", Nodes: []string{"n1"}},
		{Package: "gone", Version: "1.0.0", Nodes: []string{"n1"}},
	}
	if diff := cmp.Diff(want, admission.Find(s, []string{"a", "b", "c", "gone"}, nodes)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(want[2:3], admission.Find(s, []string{"b"}, nodes)); diff != "" {
		t.Errorf("of one package: -want +got\n%s", diff)
	}
}
