package rollout_test

import (
	"fmt"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

func TestLimit(t *testing.T) {
	count := func(n int) v1alpha1.InterruptionBudget { return v1alpha1.InterruptionBudget{Count: &n} }
	percent := func(n int) v1alpha1.InterruptionBudget { return v1alpha1.InterruptionBudget{Percent: &n} }
	for _, c := range []struct {
		name    string
		budget  v1alpha1.InterruptionBudget
		matched int
		want    int
	}{
		{"no budget", v1alpha1.InterruptionBudget{}, 7, 7},
		{"no budget, no nodes", v1alpha1.InterruptionBudget{}, 0, 0},
		{"no budget, large fleet", v1alpha1.InterruptionBudget{}, 10_000, 1000},
		{"count", count(3), 10, 3},
		{"count 0 still lets one work", count(0), 10, 1},
		{"count above the fleet", count(20), 10, 20},
		{"count above the most permits", count(5000), 10_000, 1000},
		{"20 % of 2", percent(20), 2, 1},
		{"20 % of 6", percent(20), 6, 1},
		{"20 % of 10", percent(20), 10, 2},
		{"20 % of 15", percent(20), 15, 3},
		{"29 % of 100 is 29, not the 28 of floating point", percent(29), 100, 29},
		{"58 % of 100", percent(58), 100, 58},
		{"33 % of 10 is rounded down", percent(33), 10, 3},
		{"99 % of 100", percent(99), 100, 99},
		{"100 %", percent(100), 17, 17},
		{"0 % still lets one work", percent(0), 15, 1},
		{"percent of nothing", percent(50), 0, 1},
		{"100 % of a large fleet", percent(100), 10_000, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rollout.Limit(c.budget, c.matched); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestGrant(t *testing.T) {
	paused := &situation.Hold{Status: v1alpha1.StatusPaused, Wait: record.Wait{Reason: v1alpha1.ReasonPaused}}
	for _, c := range []struct {
		name     string
		skyhook  *v1alpha1.Skyhook
		nodes    string
		departed map[string]rollout.Departed
		hold     *situation.Hold
		want     string
		next     int32
	}{
		{name: "no nodes", skyhook: skyhook(1)},
		{name: "no more than the budget", skyhook: skyhook(2), nodes: "n1; n2; n3", want: "n1:0 n2:1", next: 2},
		{name: "without a budget all", skyhook: skyhook(0), nodes: "n1; n2; n3", want: "n1:0 n2:1 n3:2", next: 3},
		{
			name: "oldest first, then by name", skyhook: skyhook(3),
			nodes: "n4; n3 age=9; n2; n1 age=5", want: "n3:0 n1:1 n2:2", next: 3,
		},
		{name: "complete nodes need none", skyhook: skyhook(2), nodes: "n1 complete; n2; n3", want: "n2:0 n3:1", next: 2},
		{name: "nodes that are held get none", skyhook: skyhook(2), nodes: "n1 held=TaintNotTolerable; n2; n3", want: "n2:0 n3:1", next: 2},
		{name: "nodes that wait for an earlier Skyhook get none", skyhook: skyhook(1), nodes: "n1 held=WaitingForSkyhook; n2", want: "n2:0", next: 1},
		{name: "nodes that are not Ready get none", skyhook: skyhook(1), nodes: "n1 not-ready; n2", want: "n2:0", next: 1},
		{name: "nodes that fail keep theirs", skyhook: skyhook(1, permit("n1", 0)), nodes: "n1 erroring; n2", want: "n1:0", next: 1},
		{name: "a permit stays while the node works", skyhook: skyhook(1, permit("n1", 0)), nodes: "n1 in_progress; n2", want: "n1:0", next: 1},
		{
			name: "a permit stays although the node is complete, until it says so", skyhook: skyhook(1, permit("n1", 0)),
			nodes: "n1 complete; n2", want: "n1:0", next: 1,
		},
		{
			name: "a permit that is given back goes to the next", skyhook: skyhook(1, permit("n1", 0)),
			nodes: "n1 complete done=4/0; n2", want: "n2:1", next: 2,
		},
		{
			name: "what was given back of an earlier generation is not this permit", skyhook: skyhook(1, permit("n1", 0)),
			nodes: "n1 done=3/0; n2", want: "n1:0", next: 1,
		},
		{
			name: "what was given back of an earlier order is not this permit", skyhook: skyhook(1, permit("n1", 2)),
			nodes: "n1 done=4/0; n2", want: "n1:2", next: 3,
		},
		{
			name: "a permit of an earlier generation stays, and counts", skyhook: skyhook(1, v1alpha1.Permit{Node: "n2", Order: 5, Generation: 3}),
			nodes: "n1; n2", want: "n2:5@3", next: 6,
		},
		{
			name:    "a permit of an earlier generation is given back as such, and the node keeps its place",
			skyhook: skyhook(1, v1alpha1.Permit{Node: "n1", Order: 5, Generation: 3}),
			nodes:   "n1 done=3/5; n2 complete", want: "n1:5", next: 6,
		},
		{
			name: "a node that was excluded gets its place again, in another round", skyhook: skyhook(2, permit("n1", 0), permit("n2", 1)),
			nodes: "n1 done=4/0; n2", want: "n1:0#1 n2:1", next: 2,
		},
		{
			name: "and again", skyhook: skyhook(2, permit("n2", 1)),
			nodes: "n1 done=4/0/1; n2", want: "n1:0#2 n2:1", next: 2,
		},
		{
			name: "a place of an earlier rollout does not count", skyhook: inRound(3, skyhook(2, permit("n2", 1))),
			nodes: "n1 done=4/0/2; n2", want: "n2:1 n1:2#3", next: 3,
		},
		{
			name: "two records of one place: it is given once", skyhook: skyhook(3, permit("n3", 2)),
			nodes: "n1 done=3/0; n2 done=3/0; n3", want: "n1:0 n3:2 n2:3", next: 4,
		},
		{
			name: "a record of a place that is taken", skyhook: skyhook(3, permit("n2", 0)),
			nodes: "n1 done=3/0; n2", want: "n2:0 n1:1", next: 2,
		},
		{
			name: "a record that nobody can read", skyhook: skyhook(1, permit("n2", 0)),
			nodes: "n1 done=x/0; n2 complete done=4/0", want: "n1:1", next: 2,
		},
		{
			name: "a permit stays on a node that is held, until it says so", skyhook: skyhook(1, permit("n1", 0)),
			nodes: "n1 held=NodeIgnored; n2", want: "n1:0", next: 1,
		},
		{
			name: "a permit stays on a node whose kubelet is away", skyhook: skyhook(1, permit("n1", 0)),
			nodes: "n1 not-ready; n2", want: "n1:0", next: 1,
		},
		{name: "a node that is gone needs no permit", skyhook: skyhook(1, permit("gone", 0)), nodes: "n1; n2", want: "n1:1", next: 2},
		{
			name: "a node that left the selection keeps its permit while it works", skyhook: skyhook(1, permit("left", 0)),
			nodes: "n1; n2", departed: map[string]rollout.Departed{"left": {}}, want: "left:0", next: 1,
		},
		{
			name: "a node that left the selection gives it back", skyhook: skyhook(1, permit("left", 0)),
			nodes: "n1; n2", departed: map[string]rollout.Departed{"left": {FinishedPermit: "4/0"}}, want: "n1:1", next: 2,
		},
		{
			name: "a smaller budget takes nothing back, and gives nothing", skyhook: skyhook(1, permit("n1", 0), permit("n2", 1), permit("n3", 2)),
			nodes: "n1 complete done=4/0; n2; n3; n4", want: "n2:1 n3:2", next: 3,
		},
		{
			name: "orders are not used again within a rollout", skyhook: skyhook(2, permit("n1", 0), permit("n2", 1)),
			nodes: "n1 complete done=4/0; n2; n3; n4", want: "n2:1 n3:2", next: 3,
		},
		{
			name: "permits stay sorted by order", skyhook: skyhook(3, permit("n3", 2), permit("n1", 0)),
			nodes: "n1; n2; n3", want: "n1:0 n3:2 n2:3", next: 4,
		},
		{
			name: "the rollout is over: the next counts from 0", skyhook: skyhook(1, permit("n2", 7)),
			nodes: "n1 complete; n2 complete done=4/7", next: 0,
		},
		{
			name: "the rollout is not over while a permit is out", skyhook: skyhook(1, permit("n2", 7)),
			nodes: "n1 complete; n2 complete", want: "n2:7", next: 8,
		},
		{
			name: "the rollout is not over while a held node has work", skyhook: skyhook(1, permit("n2", 7)),
			nodes: "n1 held=NodeIgnored; n2 complete done=4/7", next: 8,
		},
		{name: "held: nothing is given", skyhook: skyhook(2), nodes: "n1; n2", hold: paused},
		{
			name: "held: what is out stays, what is given back is taken", skyhook: skyhook(2, permit("n1", 0), permit("n2", 1)),
			nodes: "n1; n2 done=4/1; n3", hold: paused, want: "n1:0", next: 2,
		},
		{
			name: "held and complete: the rollout is over", skyhook: skyhook(2, permit("n1", 3)),
			nodes: "n1 complete done=4/3", hold: paused, next: 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.skyhook.DeepCopy()
			got := rollout.Plan(rollout.Input{
				Skyhook: c.skyhook, Nodes: nodes(c.nodes), Departed: c.departed, Hold: c.hold, Now: now,
			})
			if text(got.Permits) != c.want || got.NextOrder != c.next {
				t.Errorf("got %q, next %d; want %q, next %d", text(got.Permits), got.NextOrder, c.want, c.next)
			}
			if text(before.Status.Permits) != text(c.skyhook.Status.Permits) {
				t.Errorf("Plan changed its input to %s", text(c.skyhook.Status.Permits))
			}
		})
	}
}

func TestGrantPercent(t *testing.T) {
	s := skyhook(0)
	s.Spec.InterruptionBudget.Percent = new(29)
	got := rollout.Plan(rollout.Input{Skyhook: s, Nodes: fleet(100), Now: now})
	if len(got.Permits) != 29 || got.NextOrder != 29 {
		t.Errorf("got %d permits, next %d; want 29 of 100 nodes", len(got.Permits), got.NextOrder)
	}
}

func TestGrantNeverMoreThanMaxPermits(t *testing.T) {
	got := rollout.Plan(rollout.Input{Skyhook: skyhook(0), Nodes: fleet(3000), Now: now})
	if len(got.Permits) != rollout.MaxPermits || got.NextOrder != rollout.MaxPermits {
		t.Errorf("got %d permits, next %d; want %d", len(got.Permits), got.NextOrder, rollout.MaxPermits)
	}
}

// TestRounds: the rounds of a rollout are above those of all rollouts before it.
func TestRounds(t *testing.T) {
	type rounds struct{ next, first, nextRound int32 }
	for _, c := range []struct {
		name   string
		before rounds
		nodes  string
		want   rounds
	}{
		{"nothing happens", rounds{}, "n1 complete", rounds{}},
		{"a rollout begins", rounds{}, "n1; n2 complete", rounds{1, 0, 0}},
		{"it ends", rounds{1, 0, 0}, "n1 complete; n2 complete", rounds{0, 1, 0}},
		{"it has ended", rounds{0, 1, 0}, "n1 complete; n2 complete", rounds{0, 1, 0}},
		{"a node gets its place again", rounds{1, 0, 0}, "n1 done=4/0; n2 complete", rounds{1, 0, 2}},
		{"a second time", rounds{1, 0, 2}, "n1 done=4/0/1; n2 complete", rounds{1, 0, 3}},
		{"its rollout ends", rounds{1, 0, 3}, "n1 complete done=4/0/2; n2 complete", rounds{0, 3, 3}},
		{"in a later rollout", rounds{2, 3, 3}, "n1 done=4/1/3; n2 complete", rounds{2, 3, 5}},
		{"a permit of a round before", rounds{2, 3, 3}, "n1 done=4/1/2; n2 complete", rounds{3, 3, 3}},
		{"with a new spec the place is enough", rounds{2, 3, 3}, "n1 done=3/1/3; n2 complete", rounds{2, 3, 3}},
		{"a round that cannot be counted on", rounds{2, 0, 0}, "n1 done=4/1/2147483647; n2 complete", rounds{3, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(1)
			s.Status.NextOrder, s.Status.FirstRound, s.Status.NextRound = c.before.next, c.before.first, c.before.nextRound
			status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: nodes(c.nodes), Now: now})
			if got := (rounds{status.NextOrder, status.FirstRound, status.NextRound}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func inRound(round int32, s *v1alpha1.Skyhook) *v1alpha1.Skyhook {
	s.Status.FirstRound = round
	return s
}

// fleet has n nodes with names of 60 characters.
func fleet(n int) []rollout.Node {
	all := make([]rollout.Node, 0, n)
	for i := range n {
		all = append(all, rollout.Node{Name: fmt.Sprintf("node-%055d", i), Created: now, BootID: "b"})
	}
	return all
}

// TestDeletionWaitsForAcknowledgement: a node where nothing is left to uninstall may still be in progress.
func TestDeletionWaitsForAcknowledgement(t *testing.T) {
	s := skyhook(0)
	s.Generation, s.Spec.InterruptionBudget.Count = 2, new(1)
	held := v1alpha1.Permit{Node: "a", Generation: 1}
	s.Status.Permits, s.Status.NextOrder = []v1alpha1.Permit{held}, 1
	nodes := []rollout.Node{
		{Name: "a", Created: now, Situation: situation.Situation{Facts: situation.Facts{Complete: true}}}, {Name: "b", Created: now},
	}
	plan := func() string {
		return fmt.Sprint(rollout.Plan(rollout.Input{Skyhook: s, Nodes: nodes, Deleting: true, Now: now}).Permits)
	}
	if got := plan(); got != "[a=1/0]" {
		t.Errorf("before it is acknowledged: %s", got)
	}
	nodes[0].FinishedPermit = held.Token()
	if got := plan(); got != "[b=2/1]" {
		t.Errorf("after it: %s", got)
	}
}
