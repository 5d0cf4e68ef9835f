package rollout_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestAttentionOfNodesThatAreAway: one that has its turn holds its place, so people must know, and must not be told to
// wait for a turn.
func TestAttentionOfNodesThatAreAway(t *testing.T) {
	const (
		before = "NodeNotReady: the node is not Ready, so it gets no permit; bring it back, or delete it with `kubectl delete node n1`"
		lost   = "NodeNotReady: the node is in progress and is not Ready, so it counts against the budget; " +
			"bring it back, or delete it with `kubectl delete node n1`"
	)
	for _, c := range []struct {
		name   string
		permit bool
		node   string
		want   string
	}{
		{"before its turn", false, "not-ready", before},
		{"with its turn", true, "not-ready", lost},
		{"in progress", true, "in_progress begun not-ready", lost},
		{"in progress without a permit", false, "in_progress not-ready", lost},
		{"it gives its permit back", true, "not-ready held=NodeIgnored", "NodeIgnored: held: NodeIgnored"},
		{"failing", true, "erroring trouble=StepFailed not-ready", lost + "; before that: trouble: StepFailed"},
		{"failing without a word", true, "erroring not-ready", lost},
		{"waiting", true, "in_progress wait=WaitingForPodToEnd not-ready", lost},
		{"rebooting for us", true, "in_progress reboots not-ready", "NodeNotReady: the node is not Ready, as during a reboot; work continues when it is Ready"},
		{"waiting for its reboot", true, "in_progress reboots wait=WaitingForReboot not-ready", "WaitingForReboot: wait: WaitingForReboot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(1)
			if c.permit {
				s.Status.Permits = []v1alpha1.Permit{permit("n1", 0)}
			}
			status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: nodes("n1 " + c.node), Now: now})
			if len(status.Attention) != 1 || status.Attention[0].Reason+": "+status.Attention[0].Message != c.want {
				t.Errorf("got %+v, want %q", status.Attention, c.want)
			}
		})
	}
}

// TestAttentionOfWhatIsNotTriedAgain: it tells what helps.
func TestAttentionOfWhatIsNotTriedAgain(t *testing.T) {
	for _, reason := range []string{v1alpha1.ReasonStageTimeout, v1alpha1.ReasonRetriesExhausted} {
		all := nodes("n1 spent=" + reason)
		told := func() string {
			status := rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: all, Now: now})
			stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
			a := status.Attention[0]
			if text := a.Reason + ": " + a.Message; stalled.Message != "node n1: "+text {
				t.Errorf("attention says %q, Stalled %+v", text, stalled)
			}
			return a.Message
		}
		if got, want := told(), "package a: "+reason+"; edit the spec to retry"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		all[0].Failure.Package = "b" // another failed before it
		if got, want := told(), "package a stage uninstall: "+reason; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
