package rollout_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

const byTier = `
default: {budget: {count: 2}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1}}}
compartments: [{name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {count: 2}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1}}}]`

// TestMembersThatLeave: what becomes of a batch of one, n1, that is not seen in its compartment any more.
func TestMembersThatLeave(t *testing.T) {
	const running = "{currentBatch: 1, batchSize: 1}"
	bad := rollout.Departed{Verdict: situation.Bad}
	for _, c := range []struct {
		name     string
		nodes    string
		departed *rollout.Departed
		want     string
		after    string
	}{
		{"it moves to another compartment: it stays a member of this one", "n1 in_progress tier=gpu; n2; n3", nil, "n1:0", "{currentBatch: 1, batchSize: 1, members: 0}"},
		{
			"and fails there", "n1 erroring cordoned tier=gpu; n2; n3", nil, "n1:0",
			"{currentBatch: 2, consecutiveFailures: 1, shouldStop: true, lastBatchSize: 1, lastBatchFailed: true, closed: [1/0: 0]}",
		},
		{"and is complete there", "n1 complete done=4/0 tier=gpu; n2; n3", nil, "n2:1", "{currentBatch: 2, lastBatchSize: 1, batchSize: 1, members: 1}"},
		{"a new leader does not see it yet", "n2; n3", &rollout.Departed{}, "n1:0", "{currentBatch: 1, batchSize: 1, members: 0}"},
		{
			"it leaves the selection in the middle of work", "n2; n3", &bad, "n1:0",
			"{currentBatch: 2, consecutiveFailures: 1, shouldStop: true, lastBatchSize: 1, lastBatchFailed: true, closed: [1/0: 0]}",
		},
		{"it leaves the selection before anything began", "n2; n3", &rollout.Departed{Verdict: situation.Left}, "n1:0 n2:1", "{currentBatch: 1, batchSize: 1, members: 1}"},
		{
			"it is deleted", "n2; n3", nil, "",
			"{currentBatch: 2, consecutiveFailures: 1, shouldStop: true, lastBatchSize: 1, lastBatchFailed: true, closed: [1/1], lost: [n1]}",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := rollout.Input{
				Skyhook: withState(t, skyhook(0, permit("n1", 0)), running), Policy: policy(t, byTier), Now: now,
				Nodes: nodes(c.nodes), Departed: map[string]rollout.Departed{},
			}
			in.Skyhook.Status.NextOrder = 1
			if c.departed != nil {
				in.Departed["n1"] = *c.departed
			}
			status := rollout.Plan(in)
			if got := text(status.Permits); got != c.want {
				t.Errorf("permits %q, want %q", got, c.want)
			}
			if got := stateText(t, status); got != c.after {
				t.Errorf("state\n     %s\nwant %s", got, c.after)
			}
			if b := status.CompartmentStatuses["gpu"].BatchState; b != nil && (b.ShouldStop || b.BatchSize > 0) {
				t.Errorf("the other compartment: %+v", b)
			}
		})
	}
}

// TestStopNamesWhoIsGone: also when the node is there no more, until somebody continues.
func TestStopNamesWhoIsGone(t *testing.T) {
	in := rollout.Input{Skyhook: withState(t, skyhook(0, permit("n1", 0)), "{currentBatch: 1, batchSize: 1}"), Policy: policy(t, byTier), Now: now}
	in.Nodes = nodes("n2; n3")
	for range 2 {
		in.Skyhook.Status = rollout.Plan(in)
		c := meta.FindStatusCondition(in.Skyhook.Status.Conditions, v1alpha1.ConditionRolloutStopped)
		if c == nil || !strings.Contains(c.Message, "(deleted, or out of the selection, in the middle of work: n1)") {
			t.Errorf("condition %+v", c)
		}
	}
	in.Skyhook.Annotations = map[string]string{v1alpha1.AnnotationResume: "1"}
	if got := stateText(t, rollout.Plan(in)); strings.Contains(got, "lost") {
		t.Errorf("state %s", got)
	}
}

// TestDisabledMembers: who disables a Skyhook takes its nodes out, and judges none of them.
func TestDisabledMembers(t *testing.T) {
	in := rollout.Input{Skyhook: withState(t, skyhook(0, permit("n1", 0)), "{currentBatch: 1, batchSize: 1}"), Policy: policy(t, byTier), Now: now}
	in.Hold, in.Nodes = holdDisabled, nodes("n1 erroring done=4/0; n2")
	if got := stateText(t, rollout.Plan(in)); got != "{currentBatch: 1, batchSize: 1, left: 1}" {
		t.Errorf("state %s", got)
	}
}

// TestEditAfterFailure: the packages are edited when the canary, n1, had failed for good. It is the first that gets the new
// ones, and no failure of before stops the new batches.
func TestEditAfterFailure(t *testing.T) {
	for _, c := range []struct{ name, before, seen, after, want string }{
		{"it has yet to look", "n1 spent=RetriesExhausted", "n1 spent=RetriesExhausted retried", "n1 spent=RetriesExhausted retried done=4/0", "n1:0@5"},
		{"it gave its permit back before", "n1 spent=RetriesExhausted done=4/0", "n1 spent=RetriesExhausted retried done=4/0", "n1 erroring done=4/0 wait=WaitingForPermit", "n1:0@5"},
		{"it is cordoned", "n1 spent=RetriesExhausted cordoned", "n1 spent=RetriesExhausted retried cordoned", "n1 in_progress cordoned", "n1:0@5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(0)
			s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "1"}}
			in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
			for k, n1 := range []string{"n1", c.before, c.seen, c.after} {
				if k == 2 {
					s.Generation++
					s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "2"}}
				}
				in.Nodes = nodes(n1 + "; n2; n3")
				s.Status = rollout.Plan(in)
				if stopped := stateOf(s.Status, rollout.DefaultCompartment).ShouldStop; stopped != (k == 1) {
					t.Errorf("after %q, stopped %t", n1, stopped)
				}
			}
			if got := text(s.Status.Permits); got != c.want {
				t.Errorf("permits %q, want %q", got, c.want)
			}
		})
	}
}
