package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// waitingText writes the reasons for which nodes wait, one a line.
func waitingText(status v1alpha1.SkyhookStatus) string {
	lines := make([]string, 0, len(status.Waiting))
	for _, w := range status.Waiting {
		lines = append(lines, fmt.Sprintf("%d %s: %s", w.Nodes, w.Reason, w.Message))
	}
	return strings.Join(lines, "\n")
}

func TestWaiting(t *testing.T) {
	byZone := policy(t, `
default: {budget: {count: 2}, strategy: {fixed: {initialBatch: 2, failureThreshold: 2}}}
compartments: [{name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {count: 1}}]`)
	byFours := policy(t, "default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 2}}}")
	two := []v1alpha1.Permit{permit("n1", 0), permit("n2", 1)}
	for _, c := range []struct {
		name     string
		permits  []v1alpha1.Permit
		departed map[string]rollout.Departed
		policy   *rollout.Policy
		state    string
		nodes    string
		hold     *situation.Hold
		want     string
	}{
		{name: "nobody", nodes: "n1 complete; n2"},
		{name: "for a permit", permits: two, nodes: "n1 in_progress; n2; n3; n4", want: "2 WaitingForPermit: the budget of 2 nodes is used by n1, n2"},
		{name: "for the permits of this pass", nodes: "n1; n2; n3", want: "1 WaitingForPermit: the budget of 2 nodes is used by n1, n2"},
		{
			name: "for nodes that are disturbed without a permit", nodes: "n1 cordoned held=NodeIgnored; n2 cordoned held=NodeIgnored; n3",
			want: "2 NodeIgnored: held: NodeIgnored; the node is uncordoned as soon as what runs there has ended\n1 WaitingForPermit: the budget of 2 nodes is used by n1, n2",
		},
		{
			name: "for a node that left", permits: []v1alpha1.Permit{permit("left", 0), permit("n1", 1)}, departed: map[string]rollout.Departed{"left": {}},
			nodes: "n1; n2", want: "1 WaitingForPermit: the budget of 2 nodes is used by left, n1",
		},
		{
			name: "for several reasons", permits: two, want: "1 NodeNotReady: the node is not Ready, so it gets no permit; bring it back, or delete it with `kubectl delete node c`\n" +
				"1 WaitingForPermit: the budget of 2 nodes is used by e, n1, n2\n2 WaitingForSkyhook: held: WaitingForSkyhook\n1 X: blocked: X",
			nodes: "n1; n2; n3; a held=WaitingForSkyhook; b held=WaitingForSkyhook; c not-ready; d blocked=X done=4/0; e erroring; f complete",
		},
		{name: "paused", permits: two, nodes: "n1; n2 erroring; n3 complete; n4 held=NodeIgnored", hold: holdPaused, want: "3 Paused: paused"},
		{name: "disabled", nodes: "n1; n2 erroring; n3 complete", hold: holdDisabled, want: "2 Disabled: disabled"},
		{name: "invalid", nodes: "n1; n2 held=NodeIgnored; n3 complete", hold: holdInvalid, want: "2 SpecInvalid: spec.serial: no"},
		{
			name: "for a batch", permits: two[:1], policy: policy(t, byTwos), state: "{currentBatch: 1, batchSize: 2, succeeded: 1}",
			nodes: "n1; n2 complete; n3; n4", want: "2 WaitingForPermit: the batch waits for node n1",
		},
		{
			name: "for a batch of permits that were given before there was a policy", permits: two, policy: byFours,
			nodes: "n1 in_progress; n2; n3; n4", want: "2 WaitingForPermit: the batch waits for nodes n1, n2",
		},
		{
			name: "in compartments", permits: two, policy: byZone, state: "{currentBatch: 1, batchSize: 2}",
			nodes: "n1 tier=gpu; n3 tier=gpu; n2; n4; n5 complete done=4/9", want: "2 WaitingForPermit: compartment gpu: the budget of 1 node is used by n1; " +
				"compartment __default__: the batch waits for node n2",
		},
		{
			name: "in a stopped compartment", policy: byZone, state: stoppedState,
			nodes: "n1; n2; n3 tier=gpu", want: "2 WaitingForPermit: compartment __default__: stopped by bad batches, see the condition RolloutStopped",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(2, c.permits...)
			if c.policy != nil {
				s = withState(t, s, c.state)
			}
			status := rollout.Plan(rollout.Input{Skyhook: s, Policy: c.policy, Departed: c.departed, Nodes: nodes(c.nodes), Hold: c.hold, Now: now})
			if got := waitingText(status); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestWaitingForMaxPermits: more never work, whatever the budget.
func TestWaitingForMaxPermits(t *testing.T) {
	s := skyhook(0)
	status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: fleet(3000), Now: now})
	if got := waitingText(status); !strings.HasPrefix(got, "2000 WaitingForPermit: the budget of 1000 nodes is used by node-") || !strings.HasSuffix(got, " and 995 more") {
		t.Errorf("got %s", got)
	}
	status = rollout.Plan(rollout.Input{Skyhook: s, Nodes: named(3000, 253), Now: now})
	if got := waitingText(status); !strings.Contains(got, " nodes have a permit, and the status has no room for more") {
		t.Errorf("got %s", got)
	}
}

// TestWaitingForAnObstacle: what has begun goes on and says so; the others get no permit, and are told why not.
func TestWaitingForAnObstacle(t *testing.T) {
	obstacle := &situation.Hold{Status: v1alpha1.StatusBlocked}
	obstacle.Reason, obstacle.Message = v1alpha1.ReasonConfigMapRefused, "refused"
	status := rollout.Plan(rollout.Input{
		Skyhook: skyhook(2, permit("n1", 0)), Nodes: nodes("n1 in_progress; n2; n3"), Hold: obstacle, Obstacle: true, Now: now,
	})
	if got := waitingText(status); got != "2 WaitingForPermit: refused" || status.Status != v1alpha1.StatusBlocked || len(status.Permits) != 1 {
		t.Errorf("%s: %s, permits %v", status.Status, got, status.Permits)
	}
	if status.NodeStatus["n1"] != v1alpha1.StatusInProgress || status.NodeStatus["n2"] != v1alpha1.StatusWaiting {
		t.Errorf("nodes are %v", status.NodeStatus)
	}
}

// TestWaitingForAHoldOfTheNode: also one that says paused is the node's own.
func TestWaitingForAHoldOfTheNode(t *testing.T) {
	all := nodes("n1 held=Window")
	all[0].Hold.Status = v1alpha1.StatusPaused
	if got := waitingText(rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: all, Now: now})); got != "1 Window: held: Window" {
		t.Errorf("got %s", got)
	}
}

// TestWaitingIsBounded: reasons come from records as well.
func TestWaitingIsBounded(t *testing.T) {
	var all []rollout.Node
	for i := range 60 {
		n := nodes(fmt.Sprintf("n%02d blocked=R%d done=4/0", i, i/2))[0]
		if i >= 50 { // three words that are the same one
			n.Wait.Reason = strings.Repeat(" ", i%3) + "often"
		}
		all = append(all, n)
	}
	status := rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: all, Now: now})
	if len(status.Waiting) != 12 || status.Waiting[11].Reason != "often" || status.Waiting[11].Nodes != 10 {
		t.Errorf("got\n%s", waitingText(status))
	}
}
