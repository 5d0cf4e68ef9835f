package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
)

// TestAction: a recorder needs one, and must not take the stages of two packages for the same.
func TestAction(t *testing.T) {
	for want, got := range map[string]string{
		"apply/a": state.Action(v1alpha1.StageApply, "a"),
		"config":  state.Action(v1alpha1.StageConfig, ""),
		"Pass":    state.Action("", ""),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTransitions(t *testing.T) {
	apply := state.Transition{Reason: "Apply", Stage: v1alpha1.StageApply, Package: "a", Version: "1.0.0"}
	config := state.Transition{Reason: "Apply", Stage: v1alpha1.StageConfig, Package: "a", Version: "1.0.0"}
	all := &state.Transitions{}
	all.Add("demo", "n2", "second", config)
	all.Add("demo", "n2", "of the second node", apply)
	all.Add("demo", "n1", "of the first node", apply)
	all.Add("demo", "n1", "again", apply)
	all.Add("demo", "n3", "of the third node", apply)
	all.Add("other", "n1", "not yours", apply)
	want := []state.Told{
		{Transition: apply, Nodes: []string{"n1", "n2", "n3"}, Message: "of the first node"},
		{Transition: config, Nodes: []string{"n2"}, Message: "second"},
	}
	if d := cmp.Diff(want, all.Take("demo")); d != "" {
		t.Errorf("taken (-want +got):\n%s", d)
	}
	if again := all.Take("demo"); again != nil {
		t.Errorf("taken again: %+v", again)
	}
	var none *state.Transitions
	none.Add("demo", "n1", "", apply)
	if got := none.Take("demo"); got != nil {
		t.Errorf("of none: %+v", got)
	}
}
