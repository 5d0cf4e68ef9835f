package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func TestOutline(t *testing.T) {
	a := Entry{Name: "a", Version: "1.0.0", Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete}
	b := Entry{Name: "b", Version: "2.0.0", Stage: v1alpha1.StageApply, State: v1alpha1.StateErroring, Restarts: 7}
	odd := Entry{Name: "c\x00", Version: "1.0.0", Stage: v1alpha1.StageApply, State: v1alpha1.StateComplete}
	bare := func(e Entry) v1alpha1.PackageStatus {
		return v1alpha1.PackageStatus{Name: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Restarts: e.Restarts}
	}
	of := func(entries ...Entry) Node {
		n := Node{Packages: map[string]Entry{}}
		for _, e := range entries {
			n.Packages[e.Key()] = e
		}
		return n
	}
	for _, c := range []struct {
		name string
		of   Node
		want []v1alpha1.PackageStatus
	}{
		{"nothing", of(), nil},
		{"one", of(a), []v1alpha1.PackageStatus{bare(a)}},
		{"two, by name", of(b, a), []v1alpha1.PackageStatus{bare(a), bare(b)}},
		{"a name that the API does not allow", of(odd, b), []v1alpha1.PackageStatus{bare(b)}},
	} {
		if diff := cmp.Diff(c.want, OutlineOf(c.of).Packages()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if got := (Outline{}).Packages(); got != nil {
		t.Errorf("the zero value has %+v", got)
	}
	again := a
	again.Image, again.Message, again.Run = "x/a", "other", "r2"
	if OutlineOf(of(a, b)) != OutlineOf(of(b, again)) {
		t.Error("what does not count makes two outlines differ")
	}
	again.Restarts++
	if OutlineOf(of(a)) == OutlineOf(of(again)) {
		t.Error("restarts do not count")
	}
}
