package skyhook

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
)

func TestTransitionText(t *testing.T) {
	begins := state.Transition{
		Type: "Normal", Reason: v1alpha1.EventApply, Stage: v1alpha1.StageApply, Package: "a", Version: "1.1.0",
	}
	fails := state.Transition{Type: "Warning", Reason: v1alpha1.EventError}
	for want, told := range map[string]state.Told{
		"stage apply of package [a:1.1.0] begins on node n1":            {Transition: begins, Nodes: []string{"n1"}},
		"stage apply of package [a:1.1.0] begins on 2 nodes (n1, n2)":   {Transition: begins, Nodes: []string{"n1", "n2"}},
		"node n1: stage apply of package [a:1.1.0] fails: exited 3":     {Transition: fails, Nodes: []string{"n1"}, Message: "stage apply of package [a:1.1.0] fails: exited 3"},
		"2 nodes (n1, n2); node n1: stage apply of package [a:1] fails": {Transition: fails, Nodes: []string{"n1", "n2"}, Message: "stage apply of package [a:1] fails"},
	} {
		if got := transitionText(&told); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
