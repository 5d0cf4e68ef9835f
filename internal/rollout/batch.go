package rollout

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// compartment is one part of the fleet in one pass.
type compartment struct {
	*compartmentSpec
	ceiling int
	// nodes of the compartment, by index.
	nodes  []int32
	state  v1alpha1.BatchState
	counts nodeCounts
	// crowded says that the status has no room for the next permit.
	crowded bool
}

// nodeCounts is what the nodes of a compartment are at, before this pass gives permits.
type nodeCounts struct {
	holders, completed, failed int
	// before are those completed or failed whose last permit is of another content.
	before int
	// busy nodes without a permit count against the ceiling, see situation.Situation.Busy.
	busy int
}

// pace gives permits under a policy: batch by batch in each compartment, or as the ceilings allow while the Skyhook is
// deleted.
func (f *fleet) pace(policy *Policy) []compartment {
	f.paced = true
	compartments := policy.split(f.Nodes, f.Skyhook.Status.CompartmentStatuses)
	reset := f.reset(policy)
	for k := range compartments {
		f.resume(&compartments[k], reset)
	}
	listed := f.listed(compartments)
	for k := range compartments {
		f.look(&compartments[k], listed)
	}
	members := make([]membership, len(compartments))
	for k := range compartments { // all of them first: a node that gave its permit back may get one in another
		if c := &compartments[k]; !f.Deleting || f.Hold != nil {
			members[k] = f.tally(c, listed, reset.unstop)
		}
	}
	for k := range compartments {
		c := &compartments[k]
		switch {
		case f.Hold != nil:
		case f.Deleting:
			f.fill(c, c.ceiling, policyTurn)
		default:
			f.batch(c, members[k])
		}
		if reset.completed {
			c.state = v1alpha1.BatchState{CurrentBatch: 1, Content: c.state.Content, Generation: c.state.Generation}
		}
	}
	return compartments
}

// resume counts the nodes of a compartment, and finds the state that its batches continue with. Nodes that are complete or
// bad without a batch of this content do not count as its progress.
func (f *fleet) resume(c *compartment, reset reset) {
	was := f.Skyhook.Status.CompartmentStatuses[c.name].BatchState
	c.state = reset.apply(was)
	c.counts = f.count(c)
	c.state.Baseline = c.counts.before
	if reset.unstop && was != nil && was.ShouldStop {
		f.again(c, was)
	}
	if c.strategy.failureThreshold == 0 {
		c.state.ShouldStop = false // the policy was edited and never stops any more
	}
}

// look marks the permits of a compartment that have to be given back. listed are those of members of batches: one that
// is none any more, as its node was replaced before anything began there, stays asked back.
func (f *fleet) look(c *compartment, listed map[int32]bool) {
	stale := func(p *v1alpha1.Permit) bool { return p.Generation < c.state.Generation }
	stopped := c.state.ShouldStop
	switch {
	case f.Hold != nil: // whoever goes on after it must not go on with another content
		f.revokeIn(c, func(p *v1alpha1.Permit, _ *Node) bool { return p.Revoked || stale(p) })
	case f.Deleting:
		f.revokeIn(c, blocksOthers)
	default:
		f.revokeIn(c, func(p *v1alpha1.Permit, n *Node) bool {
			unused := stopped || replaced(c.state.Granted, n.Created) || p.Revoked && !listed[p.Order]
			return stale(p) || blocksOthers(p, n) || unused && !n.Facts.Begun && !n.Facts.Complete
		})
	}
}

// revokeIn marks those permits of a compartment that have to be given back, and no others: by what is now, so that a
// node that recovers before it gave the permit back continues with it.
func (f *fleet) revokeIn(c *compartment, back func(*v1alpha1.Permit, *Node) bool) {
	for _, i := range c.nodes {
		if k := f.permitOf(i); k >= 0 {
			f.permits[k].Revoked = back(&f.permits[k], &f.Nodes[i])
		}
	}
}

// blocksOthers reports whether a holder must give its permit back although it is not done, so that others can work: it
// failed for good, or its kubelet was away before anything began. One that is cordoned or interrupted, or whose drain
// takes too long, keeps it: nobody else would see it to its end.
func blocksOthers(_ *v1alpha1.Permit, n *Node) bool {
	f := n.Facts
	return !f.Complete && free(n) && (n.Failed() && !n.AwaitsTurn() || f.Unavailable && !f.Begun)
}

// free reports whether a node that does not work can give its permit back: nothing of ours disturbs it.
func free(n *Node) bool { return !n.Facts.Disturbed && (n.Wait == nil || !n.Wait.Overdue) }

func (f *fleet) count(c *compartment) nodeCounts {
	var t nodeCounts
	for _, i := range c.nodes {
		n := &f.Nodes[i]
		v, _ := n.Judge(f.Now)
		switch v {
		case situation.Good:
			t.completed++
		case situation.Bad:
			t.failed++
		default:
		}
		if (v == situation.Good || v == situation.Bad) && f.lastPermit(i) < c.state.Generation {
			t.before++
		}
		switch {
		case f.holds[i]:
			t.holders++
		case n.Busy(f.paced):
			t.busy++
		}
	}
	return t
}

// lastPermit is the generation of the last permit that a node got; 0 for none.
func (f *fleet) lastPermit(node int32) int64 {
	if k := f.permitOf(node); k >= 0 {
		return f.permits[k].Generation
	}
	last, _ := v1alpha1.ParsePermitToken(f.Nodes[node].FinishedPermit)
	return last.Generation
}

// tally counts the members of the compartment's batches, also while nothing starts: a permit that comes back is seen in
// one pass only. listed are the permits of all members of batches, and repaired says that a person continued what may be
// stopped.
func (f *fleet) tally(c *compartment, listed map[int32]bool, repaired bool) membership {
	b := &c.state
	f.revisit(c)
	m := f.members(b)
	f.adopt(c, listed, &m)
	if repaired { // what failed before does not count against what is repaired
		b.Left, b.Failed = b.Left+b.Failed+len(m.bad), 0
		b.Members = slices.DeleteFunc(b.Members, func(order int32) bool { return slices.Contains(m.bad, order) })
		m.bad = nil
	}
	b.BatchSize = len(b.Members) + b.Succeeded + b.Failed + b.Left
	b.CompletedNodes, b.FailedNodes = c.counts.completed, c.counts.failed
	return m
}

// listed are the permits of members of any batch, running or over, by their orders.
func (f *fleet) listed(compartments []compartment) map[int32]bool {
	all := map[int32]bool{}
	for k := range compartments {
		b := &compartments[k].state
		for _, order := range b.Members {
			all[order] = true
		}
		for _, o := range b.Closed {
			for _, order := range o.Holding {
				all[order] = true
			}
		}
	}
	return all
}

// batch ends the compartment's batch when no member of it is pending, and starts the next one.
func (f *fleet) batch(c *compartment, m membership) {
	b := &c.state
	if b.BatchSize > 0 && m.pending == 0 {
		c.strategy.closeBatch(b, m, len(c.nodes))
	}
	if b.ShouldStop {
		f.retry(c)
		return
	}
	for _, take := range []func(*compartment, int) []int32{f.reissue, f.fillByPolicy} {
		// A batch may be short of nodes at first: those before it have yet to give their permits back.
		orders := take(c, c.strategy.nextSize(*b, len(c.nodes), c.ceiling)-b.BatchSize)
		f.granted(b, orders)
		b.Members = append(b.Members, orders...)
		b.BatchSize += len(orders)
	}
	slices.Sort(b.Members)
}

// granted notes when the last permits of a batch were given, and that their nodes are lost no more.
func (f *fleet) granted(b *v1alpha1.BatchState, orders []int32) {
	if len(orders) == 0 {
		return
	}
	got := func(name string) bool {
		return slices.ContainsFunc(f.permits, func(p v1alpha1.Permit) bool {
			return p.Node == name && slices.Contains(orders, p.Order)
		})
	}
	b.Lost, b.Again = slices.DeleteFunc(b.Lost, got), slices.DeleteFunc(b.Again, got)
	f.stamp(b)
}

// stamp notes that permits of a batch were given until now.
func (f *fleet) stamp(b *v1alpha1.BatchState) {
	last := f.Now
	if b.Granted != nil && b.Granted.After(last) {
		last = b.Granted.Time
	}
	for _, i := range f.holders {
		if i >= 0 && f.Nodes[i].Created.After(last) { // by a clock that is ahead of ours
			last = f.Nodes[i].Created
		}
	}
	b.Granted = &metav1.Time{Time: last.Truncate(time.Second)}
}

// replaced reports whether a node took the place of one under its name that got a permit, the last of which were given
// at a time: it was created since. Its creation is told in whole seconds, too.
func replaced(granted *metav1.Time, created time.Time) bool {
	return granted != nil && created.After(granted.Time)
}

// Replaced reports whether a node that was created at a time took the place of one under its name which got the permit
// that the status names: the last permits were given before that. Nobody knows it without batches.
func Replaced(s *v1alpha1.Skyhook, created time.Time) bool {
	var last *metav1.Time
	for name := range s.Status.CompartmentStatuses {
		if b := s.Status.CompartmentStatuses[name].BatchState; b != nil && b.Granted != nil && (last == nil || last.Before(b.Granted)) {
			last = b.Granted
		}
	}
	return s.DeletionTimestamp == nil && replaced(last, created)
}

// reissue renews up to size permits of another content for the running batch, those first whose nodes have begun, then
// those that were given first, and returns their orders. Their nodes hold their place in the budget meanwhile, and start
// nothing. Who failed gives its permit back, as others go first, but for what stopped the compartment and is tried again.
func (f *fleet) reissue(c *compartment, size int) []int32 {
	var stale []*v1alpha1.Permit
	for _, i := range c.nodes {
		n, k := &f.Nodes[i], f.permitOf(i)
		if k < 0 || f.permits[k].Generation >= c.state.Generation || n.Facts.Complete || n.Hold != nil || n.Facts.Unavailable {
			continue
		}
		again := n.AwaitsTurn() && c.first(n)
		if n.Failed() && free(n) && !again {
			continue
		}
		stale = append(stale, &f.permits[k])
	}
	begun := func(p *v1alpha1.Permit) int { // first
		if at := f.orders[p.Order]; at.node >= 0 && f.Nodes[at.node].Facts.Begun {
			return 0
		}
		return 1
	}
	slices.SortFunc(stale, func(a, b *v1alpha1.Permit) int {
		return cmp.Or(cmp.Compare(begun(a), begun(b)), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Node, b.Node))
	})
	var orders []int32
	for _, p := range stale[:min(len(stale), max(0, size))] {
		p.Generation, p.Revoked = f.Skyhook.Generation, false
		orders = append(orders, p.Order)
	}
	return orders
}

// membership is what the members of the running batch are at that hold a permit.
type membership struct {
	pending, good int
	// bad are the orders of the permits of those that are bad.
	bad []int32
}

// members counts those of the running batch. One that gave its permit back, or that is gone, is counted in its state, as
// it is now: a permit goes in the same write.
func (f *fleet) members(b *v1alpha1.BatchState) membership {
	var m membership
	b.Members = slices.DeleteFunc(b.Members, func(order int32) bool {
		switch v, holds := f.verdict(b, order); {
		case holds && v == situation.Good:
			m.good++
		case holds && v == situation.Bad:
			m.bad = append(m.bad, order)
		case holds:
			if v == situation.Pending {
				m.pending++
			}
		case v == situation.Good:
			b.Succeeded++
			return true
		case v == situation.Bad:
			b.Failed++
			f.lose(b, order)
			return true
		default:
			b.Left++
			return true
		}
		return false
	})
	return m
}

// verdict is that on the member with a permit of this order, and whether it still holds it. One whose node is gone was in
// the middle of work, also if another has its name now.
func (f *fleet) verdict(b *v1alpha1.BatchState, order int32) (v situation.Verdict, holds bool) {
	at, ok := f.orders[order]
	if !ok {
		if node, exists := f.Departed[f.lost[order]]; exists {
			return node.Verdict, false
		}
		return situation.Bad, false
	}
	if at.node < 0 {
		return f.Departed[at.permit.Node].Verdict, true
	}
	n := &f.Nodes[at.node]
	if replaced(b.Granted, n.Created) {
		return situation.Bad, false
	}
	v, _ = n.Judge(f.Now)
	if f.holds[at.node] {
		return v, true
	}
	switch {
	case v != situation.Pending:
		return v, false
	case at.permit.Revoked && n.Facts.Begun:
		return situation.Bad, false // it was asked back for that, and what is tried again since has no permit
	case n.Hold != nil && n.Hold.Unusable && n.Facts.Begun:
		return situation.Bad, false // nobody knows what became of the work
	}
	return situation.Left, false // nobody gives back what is not asked back in the middle of work, unless taken out
}

// revisit judges the bad members again of batches that are over: what heals stops nothing for good, and is healed when
// it is complete. The verdict on one that gave its permit back, is gone, was replaced under its name, or was taken out,
// stands: none of that tells that the next node would fare better. It is healed, too, if it becomes complete all the same.
func (f *fleet) revisit(c *compartment) {
	b := &c.state
	if len(b.Closed) == 0 {
		return
	}
	disabled := f.Hold != nil && f.Hold.TakesOut // that judges nobody, but who gives a permit back is seen now or never
	b.Lost = slices.DeleteFunc(b.Lost, func(name string) bool {
		o := firstBad(b)
		n := f.node(name) // in whichever compartment it is now
		healed := o != nil && n != nil && n.Facts.Complete
		if healed {
			o.Bad--
		}
		return healed
	})
	for k := range b.Closed {
		o := &b.Closed[k]
		o.Holding = slices.DeleteFunc(o.Holding, func(order int32) bool {
			v, holds := f.verdict(b, order)
			if holds && (disabled || v != situation.Good && v != situation.Left && !f.unbegun(order)) {
				return false
			}
			if v != situation.Good {
				o.Bad++
				f.lose(b, order)
			}
			return true
		})
	}
	c.strategy.recount(b)
}

// unbegun reports whether nothing has begun on the node with a permit of this order.
func (f *fleet) unbegun(order int32) bool {
	at, ok := f.orders[order]
	return ok && at.node >= 0 && !f.Nodes[at.node].Facts.Begun
}

// fillByPolicy gives up to size permits to nodes in the order of a policy. Half-done nodes that stopped the compartment
// are first, so that a correction that does not help costs no other node; while it is stopped, no other node gets one,
// unless more half-done ones have stopped it than are named.
func (f *fleet) fillByPolicy(c *compartment, size int) []int32 {
	named := c.bad() <= len(c.state.Lost)
	return f.fill(c, size, func(f *fleet, n *Node) int8 {
		turn := policyTurn(f, n)
		switch {
		case turn < 0:
		case c.state.ShouldStop && (!n.Facts.Begun || named && !slices.Contains(c.state.Lost, n.Name)):
			turn = -1
		case n.Facts.Begun && c.first(n):
			turn = 0
		default:
			turn++
		}
		return turn
	})
}

// fill gives up to size permits in a compartment, as far as its ceiling lets, and returns their orders. A node that is
// busy without a permit counts against the ceiling, and takes no other place when it gets one.
func (f *fleet) fill(c *compartment, size int, turn func(*fleet, *Node) int8) []int32 {
	holders := c.counts.holders + f.away // nobody knows the compartment of a node that left
	free := c.ceiling - holders - c.counts.busy
	var orders []int32
	for _, i := range f.candidates(c, min(size, c.ceiling-holders), turn) {
		if len(orders) >= size || holders+len(orders) >= c.ceiling {
			break
		}
		busy := f.Nodes[i].Busy(f.paced) // it counts already
		if !busy && free <= 0 {
			continue
		}
		if !f.grant(i) {
			c.crowded = true
			break
		}
		orders = append(orders, f.permits[f.held[i]].Order)
		if !busy {
			free--
		}
	}
	return orders
}

// policyTurn lets nodes go first that have begun, and lets those that failed go last. A node that failed gets a permit
// only if it has something to start with it, else it would be taken back and given again, over and over.
func policyTurn(f *fleet, n *Node) int8 {
	switch {
	case n.Failed() && (n.AwaitsTurn() || f.newerThanDone(n)):
		return 2
	case n.Failed():
		return -1
	default:
		return plainTurn(f, n)
	}
}
