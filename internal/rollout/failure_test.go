package rollout_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// TestAttentionOfAHeldFailure: what holds a node must not hide what failed there before, as nothing is tried again
// meanwhile.
func TestAttentionOfAHeldFailure(t *testing.T) {
	const failed = "; before that: trouble: StepFailed"
	for _, c := range []struct {
		name, node string
		hold       *situation.Hold
		want       string
	}{
		{"ignored", "n1 erroring trouble=StepFailed held=NodeIgnored", nil, "blocked NodeIgnored: held: NodeIgnored" + failed},
		{"ignored, and its interrupt was suspended", "n1 trouble=StepFailed held=NodeIgnored", nil, "blocked NodeIgnored: held: NodeIgnored" + failed},
		{"ignored, and nothing failed", "n1 held=NodeIgnored", nil, "blocked NodeIgnored: held: NodeIgnored"},
		{"waits for an earlier Skyhook, and its interrupt was suspended", "n1 trouble=StepFailed held=WaitingForSkyhook", nil, "waiting WaitingForSkyhook: held: WaitingForSkyhook" + failed},
		{"paused", "n1 erroring trouble=StepFailed", holdPaused, "paused Paused: paused" + failed},
		{"paused, and its interrupt was suspended", "n1 trouble=StepFailed", holdPaused, "paused Paused: paused" + failed},
		{"paused, and nothing failed", "n1", holdPaused, ""},
		{"paused and ignored", "n1 trouble=StepFailed held=NodeIgnored", holdPaused, "paused Paused: paused" + failed},
		{"disabled", "n1 erroring trouble=StepFailed", holdDisabled, "disabled Disabled: disabled" + failed},
		{"an invalid spec, and its interrupt was suspended", "n1 trouble=StepFailed", holdInvalid, "blocked SpecInvalid: spec.serial: no" + failed},
		{"an invalid spec: nothing is tried again before", "n1 erroring trouble=StepFailed", holdInvalid, "blocked SpecInvalid: spec.serial: no" + failed},
		{"its turn is to come, and the interrupt with it", "n1 trouble=StepFailed", nil, ""},
		{"paused when complete", "n1 complete", holdPaused, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: nodes(c.node), Hold: c.hold, Now: now})
			var got []string
			for _, a := range status.Attention {
				got = append(got, string(a.Status)+" "+a.Reason+": "+a.Message)
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("\ngot  %s\nwant %s", text, c.want)
			}
		})
	}
}
