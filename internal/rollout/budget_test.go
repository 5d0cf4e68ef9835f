package rollout_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// simulatedFleet is a Skyhook and its nodes. The status changes by compare-and-swap, as the API server does it. Whoever
// reads sees some earlier version of what the others wrote.
type simulatedFleet struct {
	t     *rapid.T
	limit int
	spec  v1alpha1.Skyhook
	// statuses are all versions of the status; the last is the present one.
	statuses []v1alpha1.SkyhookStatus
	nodes    []*simulatedNode
	// forward says that the planner never sees a version older than one that it saw before.
	forward bool
	orders  map[string]int32
}

type simulatedNode struct {
	name string
	// versions are all that the node object ever said; the last is the present one.
	versions []nodeVersion
	// planner and status are the versions that were seen last: of the node by the planner, of the status by the node.
	planner, status int
	// atWork says that a pod runs.
	atWork bool
}

type nodeVersion struct {
	exists, selected, aside bool
	// completed is the generation that the packages are complete for.
	completed int64
	done      string
}

func (n *simulatedNode) last() nodeVersion { return n.versions[len(n.versions)-1] }

func (n *simulatedNode) change(f func(*nodeVersion)) {
	next := n.last()
	f(&next)
	n.versions = append(n.versions, next)
}

func newFleet(t *rapid.T, forward bool) *simulatedFleet {
	f := &simulatedFleet{t: t, forward: forward, statuses: []v1alpha1.SkyhookStatus{{}}, orders: map[string]int32{}}
	f.spec.Generation = 1
	for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
		f.nodes = append(f.nodes, &simulatedNode{
			name: fmt.Sprintf("n%d", i), versions: []nodeVersion{{}, {exists: true, selected: true}},
		})
	}
	f.limit = rapid.IntRange(1, 3).Draw(t, "budget")
	f.spec.Spec.InterruptionBudget.Count = &f.limit
	return f
}

// plan is one pass of the planner. It writes upon the present status: with an older one, the API server refuses.
func (f *simulatedFleet) plan(view func(*simulatedNode) nodeVersion) {
	s := f.spec.DeepCopy()
	s.Status = f.statuses[len(f.statuses)-1]
	in := rollout.Input{Skyhook: s, Now: now, Departed: map[string]rollout.Departed{}}
	for _, n := range f.nodes {
		v := view(n)
		switch {
		case !v.exists:
		case !v.selected:
			in.Departed[n.name] = rollout.Departed{FinishedPermit: v.done}
		default:
			seen := rollout.Node{Name: n.name, Created: now, FinishedPermit: v.done, Situation: situation.Situation{Facts: situation.Facts{Complete: v.completed == s.Generation}}}
			if v.aside {
				seen.Hold = &situation.Hold{Status: v1alpha1.StatusBlocked, ReturnsPermit: true, Wait: record.Wait{Reason: v1alpha1.ReasonNodeIgnored}}
			}
			in.Nodes = append(in.Nodes, seen)
		}
	}
	status := rollout.Plan(in)
	f.checkPermits(s.Status.Permits, status.Permits)
	f.statuses = append(f.statuses, status)
}

func (f *simulatedFleet) checkPermits(before, after []v1alpha1.Permit) {
	held := map[string]v1alpha1.Permit{}
	for _, p := range before {
		held[p.Node] = p
	}
	orders := map[int32]bool{}
	for _, p := range after {
		if old, ok := held[p.Node]; ok && old.Order < p.Order && old.Generation > p.Generation {
			f.t.Fatalf("the permit of %s changed from %v to %v", p.Node, old, p)
		}
		if orders[p.Order] {
			f.t.Fatalf("order %d is given twice: %v", p.Order, after)
		}
		orders[p.Order] = true
	}
	if len(after) > f.limit {
		f.t.Fatalf("%d permits with a budget of %d: %v", len(after), f.limit, after)
	}
}

// act is one pass of a node: it works only with a permit that it sees, and gives it back when it does not need it.
func (f *simulatedFleet) act(n *simulatedNode, status int, finish bool) {
	n.status = status
	v := n.last()
	if !v.exists {
		return
	}
	permit := permitOf(f.statuses[status], n.name)
	if permit != nil && permit.Token() == v.done {
		permit = nil
	}
	complete := v.completed == f.spec.Generation
	switch {
	case n.atWork && finish:
		n.atWork = false
		n.change(func(v *nodeVersion) { v.completed = f.spec.Generation })
	case n.atWork || permit == nil:
	case complete || v.aside || !v.selected:
		n.change(func(v *nodeVersion) { v.done = permit.Token() })
	default:
		n.atWork = true
	}
}

func permitOf(s v1alpha1.SkyhookStatus, node string) *v1alpha1.Permit {
	for i := range s.Permits {
		if s.Permits[i].Node == node {
			return &s.Permits[i]
		}
	}
	return nil
}

func (f *simulatedFleet) check() {
	working := 0
	for _, n := range f.nodes {
		if n.atWork {
			working++
		}
	}
	if working > f.limit {
		f.t.Fatalf("%d nodes are in progress with a budget of %d; status %+v", working, f.limit, f.statuses[len(f.statuses)-1].Permits)
	}
}

func (f *simulatedFleet) any(t *rapid.T) *simulatedNode {
	return rapid.SampledFrom(f.nodes).Draw(t, "node")
}

// look draws the version of a node that the planner sees: any that ever was, or any since the last it saw.
func (f *simulatedFleet) look(t *rapid.T) func(*simulatedNode) nodeVersion {
	return func(n *simulatedNode) nodeVersion {
		oldest := 1
		if f.forward {
			oldest = n.planner
		}
		n.planner = rapid.IntRange(oldest, len(n.versions)-1).Draw(t, "view of "+n.name)
		return n.versions[n.planner]
	}
}

func (f *simulatedFleet) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"plan": func(t *rapid.T) { f.plan(f.look(t)) },
		"node acts": func(t *rapid.T) {
			n := f.any(t)
			f.act(n, rapid.IntRange(n.status, len(f.statuses)-1).Draw(t, "status"), rapid.Bool().Draw(t, "finish"))
		},
		"spec":  func(*rapid.T) { f.spec.Generation++ },
		"aside": func(t *rapid.T) { f.any(t).change(func(v *nodeVersion) { v.aside = !v.aside }) },
		"label": func(t *rapid.T) { f.any(t).change(func(v *nodeVersion) { v.selected = !v.selected }) },
		"":      func(*rapid.T) { f.check() },
	}
	if f.forward {
		actions["reset"] = func(t *rapid.T) { f.any(t).change(func(v *nodeVersion) { v.completed = 0 }) }
		actions["gone"] = func(t *rapid.T) {
			n := f.any(t)
			n.atWork = false
			n.change(func(v *nodeVersion) { *v = nodeVersion{} })
		}
		actions["new"] = func(t *rapid.T) {
			n := f.any(t)
			if last := len(f.statuses) - 1; !n.last().exists && permitOf(f.statuses[last], n.name) == nil {
				n.change(func(v *nodeVersion) { *v = nodeVersion{exists: true, selected: true} })
				n.status = last // a machine takes longer to come back than a planner and a cache to catch up
			}
		}
	}
	return actions
}

// settle lets everybody see the present from now on: all nodes become complete and all permits come back.
func (f *simulatedFleet) settle() {
	for _, n := range f.nodes {
		n.change(func(v *nodeVersion) { v.aside = false })
	}
	for range 4*len(f.nodes) + 4 {
		f.plan((*simulatedNode).last)
		for _, n := range f.nodes {
			for range 3 { // starts, ends, gives back
				f.act(n, len(f.statuses)-1, true)
				f.check()
			}
		}
	}
	last := f.statuses[len(f.statuses)-1]
	if last.Status != v1alpha1.StatusComplete || len(last.Permits) > 0 || last.NextOrder != 0 {
		f.t.Fatalf("not complete in the end: %s, permits %v, next order %d", last.Status, last.Permits, last.NextOrder)
	}
}

// TestBudgetHolds: nodes in progress never exceed the budget, however old what the planner and the nodes see is.
func TestBudgetHolds(t *testing.T) {
	for _, c := range []struct {
		name    string
		forward bool
	}{
		{"the planner sees any earlier version of a node", false},
		{"the planner's view only goes forward; records are reset, nodes come and go", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := newFleet(t, c.forward)
				t.Repeat(f.actions())
				f.settle()
			})
		})
	}
}

// TestOrderWithinARollout: a node keeps its number, numbers rise in the order in which nodes are picked, and the next
// rollout begins at 0.
func TestOrderWithinARollout(t *testing.T) {
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	s.Spec.InterruptionBudget.Count = new(2)
	all := nodes("a; b; c; d; e")
	for rollouts := range 2 {
		got := map[string]int32{}
		for range 20 {
			s.Status = rollout.Plan(rollout.Input{Skyhook: s, Nodes: all, Now: now.Add(time.Second)})
			for _, p := range s.Status.Permits {
				if had, ok := got[p.Node]; ok && had != p.Order {
					t.Fatalf("rollout %d: order of %s changed from %d to %d", rollouts, p.Node, had, p.Order)
				}
				got[p.Node] = p.Order
			}
			if len(s.Status.Permits) > 0 { // the one picked last finishes first
				last := s.Status.Permits[len(s.Status.Permits)-1]
				n := &all[last.Node[0]-'a']
				n.Facts.Complete, n.FinishedPermit = true, last.Token()
			}
		}
		for i, n := range all {
			if order, ok := got[n.Name]; !ok || order != int32(i) {
				t.Errorf("rollout %d: order of %s is %d, want %d", rollouts, n.Name, order, i)
			}
		}
		if len(s.Status.Permits) > 0 || s.Status.NextOrder != 0 {
			t.Errorf("rollout %d ended with permits %q, next order %d", rollouts, text(s.Status.Permits), s.Status.NextOrder)
		}
		s.Generation++
		for i := range all {
			all[i].Facts.Complete = false
		}
	}
}
