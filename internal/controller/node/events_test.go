package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// TestReport: the stages of a pass make one event of the node, a failure has its own, and the Skyhook gets what begins
// and what fails.
func TestReport(t *testing.T) {
	w := newWorld(t)
	change := func(pkg string, stage v1alpha1.Stage, st v1alpha1.State, message string) lifecycle.Change {
		return lifecycle.Change{Package: pkg, Version: "1.0.0", Stage: stage, State: st, Message: message}
	}
	w.report(t.Context(), newNode(), &item{skyhook: newSkyhook("demo"), decision: lifecycle.Decision{Changes: []lifecycle.Change{
		change("a", v1alpha1.StageApply, v1alpha1.StateComplete, ""),
		change("a", v1alpha1.StageConfig, v1alpha1.StateInProgress, ""),
		change("b", v1alpha1.StageApply, v1alpha1.StateErroring, "exited 3"),
		change("c", v1alpha1.StageApply, v1alpha1.StateInProgress, ""),
	}}})
	want := []string{
		"Warning Error Skyhook demo: stage apply of package [b:1.0.0] fails: exited 3",
		"Normal Apply Skyhook demo: stage apply of package [a:1.0.0] is complete; stage config of package [a:1.0.0] begins; " +
			"stage apply of package [c:1.0.0] begins",
	}
	if d := cmp.Diff(want, w.told("")); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	begins := func(pkg string, stage v1alpha1.Stage) state.Told {
		return state.Told{Nodes: []string{nodeName}, Transition: state.Transition{
			Type: "Normal", Reason: v1alpha1.EventApply, Stage: stage, State: v1alpha1.StateInProgress, Package: pkg, Version: "1.0.0",
		}}
	}
	failed := state.Told{
		Nodes: []string{nodeName}, Message: "stage apply of package [b:1.0.0] fails: exited 3", Transition: state.Transition{
			Type: "Warning", Reason: v1alpha1.EventError, Stage: v1alpha1.StageApply, State: v1alpha1.StateErroring, Package: "b", Version: "1.0.0",
		},
	}
	noted := []state.Told{begins("a", v1alpha1.StageConfig), failed, begins("c", v1alpha1.StageApply)}
	if d := cmp.Diff(noted, w.Transitions.Take("demo")); d != "" {
		t.Errorf("for the Skyhook (-want +got):\n%s", d)
	}
}
