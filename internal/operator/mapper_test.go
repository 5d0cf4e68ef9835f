package operator

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// asked counts what a RESTMapper is asked.
type asked struct {
	meta.RESTMapper
	times int
	err   error
}

func (a *asked) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	a.times++
	return &meta.RESTMapping{GroupVersionKind: kind.WithVersion(versions[0])}, a.err
}

// TestKindsAreLookedUpOnce: but not while they are unknown, as a definition may be about to come.
func TestKindsAreLookedUpOnce(t *testing.T) {
	a := &asked{err: errors.New("no match")}
	m := &mapper{RESTMapper: a}
	pod, node := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Kind: "Node"}
	for _, c := range []struct {
		kind    schema.GroupKind
		version string
		known   bool
		asked   int
	}{
		{pod, "v1", false, 1},
		{pod, "v1", false, 2},
		{pod, "v1", true, 3},
		{pod, "v1", true, 3},
		{node, "v1", true, 4},
		{pod, "v2", true, 5},
		{pod, "v1", true, 5},
	} {
		if c.known {
			a.err = nil
		}
		got, err := m.RESTMapping(c.kind, c.version)
		if (err == nil) != c.known || a.times != c.asked {
			t.Fatalf("%+v: asked %d times, %v", c, a.times, err)
		}
		if c.known && got.GroupVersionKind != c.kind.WithVersion(c.version) {
			t.Errorf("%+v: got %s", c, got.GroupVersionKind)
		}
	}
}
