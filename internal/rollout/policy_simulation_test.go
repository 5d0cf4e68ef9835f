package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// inPass is one compartment in one pass, as the planner saw its nodes.
type inPass struct {
	granted, active int
	// reissued are permits of another content that hold for this one now, and adopted those of no batch before.
	reissued, adopted int
	// newcomers are the nodes that got a permit, and did not give one back in the middle of work.
	newcomers []string
}

// checkPass checks what one pass gives.
func (f *pacedFleet) checkPass(in rollout.Input, before, after v1alpha1.SkyhookStatus) {
	homes := map[string]string{}
	for _, n := range f.nodes {
		homes[n.name] = n.compartment()
	}
	selected := map[string]bool{}
	for _, n := range in.Nodes {
		selected[n.Name] = true
	}
	away, given := 0, map[string]int{}
	orders := map[int32]bool{}
	for _, p := range after.Permits {
		if orders[p.Order] {
			f.t.Fatalf("order %d is given twice: %s", p.Order, text(after.Permits))
		}
		orders[p.Order] = true
		given[homes[p.Node]]++
		if !selected[p.Node] {
			away++
			given[homes[p.Node]]--
		}
	}
	for name, c := range f.inPass(in, before, after) {
		was, is := stateOf(before, name), stateOf(after, name)
		ceiling := after.CompartmentStatuses[name].Ceiling
		switch {
		case c.granted == 0:
			continue
		case in.Hold != nil || in.PolicyMissing && !in.Deleting:
			f.t.Fatalf("%s: %d permits while all nodes are held", name, c.granted)
		case in.Policy == nil && len(after.Permits) > 1: // the plain limit of these tests
			f.t.Fatalf("%d permits with a budget of 1", len(after.Permits))
		case in.Policy == nil:
			continue
		case given[name]+away > ceiling:
			f.t.Fatalf("%s: %d permits and %d of nodes that left, with a ceiling of %d", name, given[name], away, ceiling)
		case in.Deleting:
			continue
		case is.ShouldStop:
			for _, node := range c.newcomers {
				if i := slices.IndexFunc(in.Nodes, func(n rollout.Node) bool { return n.Name == node }); !in.Nodes[i].Facts.Begun {
					f.t.Fatalf("%s: %s begins although it is stopped", name, node)
				}
			}
		case is.BatchSize != len(is.Members)+is.Succeeded+is.Failed+is.Left:
			f.t.Fatalf("%s: a batch of %d whose nodes are %+v", name, is.BatchSize, is)
		case c.active > 0 && was.Content == "" && is.BatchSize < c.active+c.granted+c.reissued: // permits of before there was a policy
			f.t.Fatalf("%s: a batch of %d with %d new nodes and %d that are at it", name, is.BatchSize, c.granted, c.active)
		case c.active > 0 && was.Content != "" && is.BatchSize != was.BatchSize+c.granted+c.reissued+c.adopted:
			f.t.Fatalf("%s: %+v in a batch that is not over: %+v, after it %+v; permits %s, after it %s", name, c, was, is, text(before.Permits), text(after.Permits))
		case c.active == 0 && is.BatchSize != c.granted+c.reissued:
			f.t.Fatalf("%s: a new batch of %d says that it has %d nodes", name, c.granted, is.BatchSize)
		case is.BatchSize > ceiling:
			f.t.Fatalf("%s: a batch of %d with a ceiling of %d", name, is.BatchSize, ceiling)
		}
	}
}

func stateOf(s v1alpha1.SkyhookStatus, name string) v1alpha1.BatchState {
	if b := s.CompartmentStatuses[name].BatchState; b != nil {
		return *b
	}
	return v1alpha1.BatchState{}
}

// batchOf is the compartment of whose running batch a permit is; empty for none.
func batchOf(s v1alpha1.SkyhookStatus, p *v1alpha1.Permit) string {
	for name := range s.CompartmentStatuses {
		if b := stateOf(s, name); p.Generation >= b.Generation && slices.Contains(b.Members, p.Order) {
			return name
		}
	}
	return ""
}

// pending reports whether a member's place in its batch has not ended.
func pending(in rollout.Input, p *v1alpha1.Permit) bool {
	for _, n := range in.Nodes {
		if n.Name == p.Node {
			failing := n.Facts.FailedRun && (n.Wait == nil || n.Hold != nil)
			return !n.Facts.Complete && n.Hold == nil && !failing && (!n.Facts.Unavailable || n.Facts.Disturbed)
		}
	}
	return in.Departed[p.Node].Verdict == situation.Pending
}

// inPass counts, by compartment, the permits that a pass gave, and the members whose place in a batch had not ended.
func (f *pacedFleet) inPass(in rollout.Input, before, after v1alpha1.SkyhookStatus) map[string]inPass {
	all := map[string]inPass{}
	for _, n := range in.Nodes {
		name := n.Labels["tier"]
		if name == "" {
			name = rollout.DefaultCompartment
		}
		c := all[name]
		had, has := permitOf(before, n.Name), permitOf(after, n.Name)
		kept := had != nil && has != nil && had.Order == has.Order && had.Round == has.Round
		switch {
		case kept && had.Generation != has.Generation:
			c.reissued++
		case !kept && has != nil:
			c.granted++
			if had == nil || !n.Facts.Begun {
				c.newcomers = append(c.newcomers, n.Name)
			}
			if n.Facts.Complete || n.Hold != nil || n.Facts.Unavailable {
				f.t.Fatalf("%s got a permit; it is %+v", n.Name, n)
			}
		}
		all[name] = c
	}
	for k := range before.Permits {
		had := &before.Permits[k]
		has := permitOf(after, had.Node)
		if has == nil || *had != *has && (had.Generation != has.Generation || had.Round != has.Round) || !pending(in, had) {
			continue
		}
		name := batchOf(before, had)
		if name == "" || stateOf(before, name).Content != stateOf(after, name).Content { // it was given for another batch
			name = batchOf(after, had)
		}
		c := all[name]
		c.active++
		if batchOf(before, had) == "" {
			c.adopted++
		}
		all[name] = c
	}
	delete(all, "")
	return all
}

// checkPlaces checks that a place belongs to one node, and that a node has one place in a rollout, unless it forgot it
// because it left.
func (f *pacedFleet) checkPlaces(before, after v1alpha1.SkyhookStatus) {
	for _, p := range after.Permits {
		var n *pacedNode
		for _, candidate := range f.nodes {
			if candidate.name == p.Node {
				n = candidate
			}
		}
		if permitOf(before, p.Node) != nil && *permitOf(before, p.Node) == p {
			continue
		}
		if had, ok := f.places[n.name]; ok && had != p.Order && !n.left {
			f.t.Fatalf("%s had place %d in this rollout and gets %d", n.name, had, p.Order)
		}
		if owner, ok := f.owners[p.Order]; ok && owner != n.name {
			f.t.Fatalf("place %d was %s's in this rollout and is %s's now", p.Order, owner, n.name)
		}
		f.places[n.name], f.owners[p.Order] = p.Order, n.name
	}
	if after.NextOrder == 0 {
		clear(f.places)
		clear(f.owners)
	}
}

// check counts what really runs.
func (f *pacedFleet) check() {
	working := map[string]int{}
	for _, n := range f.nodes {
		if n.pod == running || n.last().cordoned {
			working[n.compartment()]++
		}
	}
	for name, ceiling := range f.ceiling {
		if !f.edited && working[name] > ceiling {
			f.t.Fatalf("%s: %d nodes in progress with a ceiling of %d", name, working[name], ceiling)
		}
	}
}

func (f *pacedFleet) any(t *rapid.T) *pacedNode { return rapid.SampledFrom(f.nodes).Draw(t, "node") }

// look draws the version of a node that the planner sees.
func (f *pacedFleet) look(t *rapid.T) func(*pacedNode) pacedVersion {
	return func(n *pacedNode) pacedVersion {
		oldest := 1
		if f.forward {
			oldest = n.planner
		}
		n.planner = rapid.IntRange(oldest, len(n.versions)-1).Draw(t, "view of "+n.name)
		return n.versions[n.planner]
	}
}

// ticks are some passes of the planner, and of most nodes after each.
func (f *pacedFleet) ticks(t *rapid.T) {
	for range rapid.IntRange(1, 6).Draw(t, "ticks") {
		f.tick(t)
	}
}

func (f *pacedFleet) tick(t *rapid.T) {
	f.plan(f.look(t), func(*rollout.Input) {})
	for _, n := range f.nodes {
		if rapid.IntRange(0, 3).Draw(t, "acts") > 0 {
			works := rapid.IntRange(0, 4).Draw(t, "works") >= f.failures
			f.act(n, rapid.IntRange(n.status, len(f.statuses)-1).Draw(t, "status"), works, rapid.IntRange(0, 5).Draw(t, "interrupts") == 0)
			f.check()
		}
	}
}

func (f *pacedFleet) actions() map[string]func(*rapid.T) {
	held := func(change func(*rollout.Input)) func(*rapid.T) {
		return func(t *rapid.T) { f.plan(f.look(t), change) }
	}
	actions := map[string]func(*rapid.T){
		"resume":      func(*rapid.T) { f.resume() },
		"aside":       func(t *rapid.T) { f.any(t).change(func(v *pacedVersion) { v.aside = !v.aside }) },
		"kubelet":     func(t *rapid.T) { f.any(t).change(func(v *pacedVersion) { v.away = !v.away }) },
		"label":       func(t *rapid.T) { f.any(t).change(func(v *pacedVersion) { v.selected = !v.selected }) },
		"paused":      held(func(in *rollout.Input) { in.Hold = &situation.Hold{Status: v1alpha1.StatusPaused} }),
		"missing":     held(func(in *rollout.Input) { in.Policy, in.PolicyMissing = nil, true }),
		"spec":        func(*rapid.T) { f.spec.Generation++ },
		"edit policy": f.editPolicy,
		"version": func(*rapid.T) {
			f.spec.Generation++
			f.spec.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: fmt.Sprint(f.spec.Generation)}}
		},
		"": func(*rapid.T) { f.check() },
	}
	for i := range 16 { // most of the time nobody interferes
		actions[fmt.Sprint("tick ", i)] = f.ticks
	}
	if f.forward {
		actions["gone"] = func(t *rapid.T) {
			n := f.any(t)
			n.pod, n.left = noPod, true
			n.change(func(v *pacedVersion) { *v = pacedVersion{} })
		}
		actions["new"] = func(t *rapid.T) {
			n := f.any(t)
			if last := len(f.statuses) - 1; !n.last().exists && permitOf(f.statuses[last], n.name) == nil {
				n.change(func(v *pacedVersion) { *v = pacedVersion{exists: true, selected: true} })
				n.status = last
			}
		}
	}
	return actions
}

func (f *pacedFleet) resume() {
	f.spec.Annotations = map[string]string{v1alpha1.AnnotationResume: fmt.Sprint(len(f.statuses))}
}

// ending is how a simulation ends.
type ending struct {
	name string
	// forward says that the planner never sees a version older than one that it saw before.
	forward bool
	// repaired gives it a new spec, broken a node that fails for ever.
	repaired, broken bool
	input            func(*rollout.Input)
}

// settle lets everybody see the present, and everything succeed, from now on: all nodes become complete and all permits
// come back. With a broken node, all others do.
func (f *pacedFleet) settle(e ending) {
	for _, n := range f.nodes {
		n.change(func(v *pacedVersion) { v.aside, v.away = false, false })
	}
	if e.repaired {
		f.spec.Generation++
	}
	var broken *pacedNode
	if n := f.nodes[0]; e.broken && !n.last().cordoned { // one that is cordoned keeps its place
		broken = n
	}
	for range 8*len(f.nodes) + 8 {
		if !e.repaired {
			f.resume()
		}
		f.plan((*pacedNode).last, e.input)
		for _, n := range f.nodes {
			for range stages + 2 {
				f.act(n, len(f.statuses)-1, n != broken, false)
				f.check()
			}
		}
	}
	last := f.statuses[len(f.statuses)-1]
	if broken != nil {
		for _, n := range f.nodes[1:] {
			if v := n.last(); v.exists && v.selected && !v.complete(f.spec.Generation) {
				f.t.Fatalf("%s holds %s back: %+v, permits %s, %+v", broken.name, n.name, v, text(last.Permits), last.CompartmentStatuses)
			}
		}
		return
	}
	if last.Status != v1alpha1.StatusComplete || len(last.Permits) > 0 || last.NextOrder != 0 {
		f.t.Fatalf("not complete in the end: %s, permits %s, next order %d, %+v", last.Status, text(last.Permits), last.NextOrder, last.CompartmentStatuses)
	}
}

// TestPolicyHolds simulates fleets under policies: ceilings, batches, places and stops hold however old what planner
// and nodes see is, and once nodes succeed everything completes.
func TestPolicyHolds(t *testing.T) {
	plain := func(*rollout.Input) {}
	for _, c := range []ending{
		{name: "the planner sees any earlier version of a node", input: plain},
		{name: "the planner's view only goes forward; nodes come and go", forward: true, input: plain},
		{name: "in the end the spec is repaired, and nobody resumes", forward: true, repaired: true, input: plain},
		{name: "in the end one node fails for ever", forward: true, broken: true, input: plain},
		{name: "in the end the Skyhook is deleted", forward: true, input: func(in *rollout.Input) { in.Deleting = true }},
		{name: "in the end it is deleted, and its policy is gone", forward: true, input: func(in *rollout.Input) {
			in.Deleting, in.Policy, in.PolicyMissing = true, nil, true
		}},
		{name: "in the end it is deleted without its policy, and one node fails for ever", forward: true, broken: true, input: func(in *rollout.Input) {
			in.Deleting, in.Policy, in.PolicyMissing = true, nil, true
		}},
		{name: "in the end it has a plain budget", forward: true, input: func(in *rollout.Input) {
			in.Policy, in.Skyhook.Spec.InterruptionBudget.Count = nil, new(1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := newPacedFleet(t, c.forward)
				t.Repeat(f.actions())
				f.settle(c)
			})
		})
	}
}
