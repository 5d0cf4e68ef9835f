package rollout

import (
	"cmp"
	"slices"

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
	// busy nodes without a permit count against the ceiling, see situation.Situation.Busy.
	busy int
}

// pace gives permits under a policy: batch by batch in each compartment, or as the ceilings allow while the Skyhook is
// deleted.
func (f *fleet) pace(policy *Policy) []compartment {
	f.paced = true
	compartments := policy.split(f.Nodes)
	reset := resetOf(f.Input, policy)
	for k := range compartments {
		c := &compartments[k]
		c.state = reset.apply(f.Skyhook.Status.CompartmentStatuses[c.name].BatchState)
		if c.strategy.failureThreshold == 0 {
			c.state.ShouldStop = false // the policy was edited and never stops any more
		}
		c.counts = f.count(c)
		stale := func(p *v1alpha1.Permit) bool { return p.Generation < c.state.Generation }
		switch {
		case f.Hold != nil: // whoever goes on after it must not go on with another content
			f.revokeIn(c, func(p *v1alpha1.Permit, _ *Node) bool { return p.Revoked || stale(p) })
			f.tally(c, reset)
		case f.Deleting:
			f.revokeIn(c, blocksOthers)
			f.fill(c, c.ceiling, policyTurn)
		default:
			stopped := c.state.ShouldStop
			f.revokeIn(c, func(p *v1alpha1.Permit, n *Node) bool {
				return stale(p) || blocksOthers(p, n) || stopped && !n.Facts.Begun && !n.Facts.Complete
			})
			f.batch(c, f.tally(c, reset))
		}
		if reset.completed {
			c.state = v1alpha1.BatchState{CurrentBatch: 1, Content: c.state.Content, Generation: c.state.Generation}
		}
	}
	return compartments
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
	overdue := n.Wait != nil && n.Wait.Overdue
	return !f.Complete && !f.Disturbed && !overdue && (n.Failed() && !n.AwaitsTurn() || f.Unavailable && !f.Begun)
}

func (f *fleet) count(c *compartment) nodeCounts {
	var t nodeCounts
	for _, i := range c.nodes {
		n := &f.Nodes[i]
		switch v, _ := n.Judge(f.Now); v {
		case situation.Good:
			t.completed++
		case situation.Bad:
			t.failed++
		default:
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

// tally counts the members of the compartment's batches, also while nothing starts: a permit that comes back is seen in
// one pass only.
func (f *fleet) tally(c *compartment, r reset) membership {
	b := &c.state
	was := f.Skyhook.Status.CompartmentStatuses[c.name].BatchState
	if was == nil || was.Content == "" {
		f.adopt(c, was)
	}
	f.revisit(c)
	m := f.members(b)
	if r.unstop { // what failed before does not count against what is repaired
		b.Left, b.Failed = b.Left+b.Failed+len(m.bad), 0
		b.Members = slices.DeleteFunc(b.Members, func(order int32) bool { return slices.Contains(m.bad, order) })
		m.bad = nil
	}
	b.CompletedNodes, b.FailedNodes = c.counts.completed, c.counts.failed
	return m
}

// batch ends the compartment's batch when no member of it is pending, and starts the next one.
func (f *fleet) batch(c *compartment, m membership) {
	b := &c.state
	if b.BatchSize > 0 && m.pending == 0 {
		c.strategy.closeBatch(b, m, len(c.nodes))
	}
	if b.ShouldStop {
		return
	}
	for _, take := range []func(*compartment, int) []int32{f.reissue, f.fillByPolicy} {
		// A batch may be short of nodes at first: those before it have yet to give their permits back.
		orders := take(c, c.strategy.nextSize(*b, len(c.nodes), c.ceiling)-b.BatchSize)
		b.Members = append(b.Members, orders...)
		b.BatchSize += len(orders)
	}
	slices.Sort(b.Members)
}

// reissue renews up to size permits of another content for the running batch, those first that were given first, and
// returns their orders. Their nodes hold their place in the budget meanwhile, and start nothing.
func (f *fleet) reissue(c *compartment, size int) []int32 {
	var stale []*v1alpha1.Permit
	for _, i := range c.nodes {
		n, k := &f.Nodes[i], f.permitOf(i)
		if k < 0 || f.permits[k].Generation >= c.state.Generation || n.Facts.Complete || n.Hold != nil || n.Facts.Unavailable {
			continue
		}
		stale = append(stale, &f.permits[k])
	}
	slices.SortFunc(stale, func(a, b *v1alpha1.Permit) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Node, b.Node))
	})
	var orders []int32
	for _, p := range stale[:min(len(stale), max(0, size))] {
		p.Generation, p.Revoked = f.Skyhook.Generation, false
		orders = append(orders, p.Order)
	}
	return orders
}

// adopt makes members of the running batch of those that hold a permit which names none: an earlier version gave it, or
// there was no policy. was is what that version left, which did not count the members that it was done with.
func (f *fleet) adopt(c *compartment, was *v1alpha1.BatchState) {
	b, elsewhere := &c.state, map[int32]bool{} // those that came from another compartment are members there
	for name := range f.Skyhook.Status.CompartmentStatuses {
		if other := f.Skyhook.Status.CompartmentStatuses[name].BatchState; other != nil {
			for _, order := range other.Members {
				elsewhere[order] = true
			}
		}
	}
	for _, i := range c.nodes {
		if p := f.permitSeen(i); p != nil && p.Generation >= b.Generation && !elsewhere[p.Order] {
			b.Members = append(b.Members, p.Order)
		}
	}
	slices.Sort(b.Members)
	if was != nil {
		b.Succeeded += max(0, b.BatchSize-len(b.Members))
	}
}

// permitSeen is the permit that a node holds, or is done with in this pass; nil for none.
func (f *fleet) permitSeen(node int32) *v1alpha1.Permit {
	if k := f.permitOf(node); k >= 0 {
		return &f.permits[k]
	}
	return f.returned[node]
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
		switch v, holds := f.verdict(order); {
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
	b.BatchSize = len(b.Members) + b.Succeeded + b.Failed + b.Left
	return m
}

// verdict is that on the member with a permit of this order, and whether it still holds it. One without a permit was
// deleted, or left the selection, in the middle of work.
func (f *fleet) verdict(order int32) (v situation.Verdict, holds bool) {
	at, ok := f.orders[order]
	if !ok {
		return situation.Bad, false
	}
	if at.node < 0 {
		return f.Departed[at.permit.Node].Verdict, true
	}
	n := &f.Nodes[at.node]
	v, _ = n.Judge(f.Now)
	if f.holds[at.node] {
		return v, true
	}
	if v == situation.Pending && at.permit.Revoked && n.Facts.Begun {
		return situation.Bad, false // it was asked back for that, and what is tried again since has no permit
	}
	return v, false
}

// revisit judges the bad members again of batches that are over: what heals stops nothing for good, and is healed when
// it is complete. The verdict on one that gave its permit back, is gone, or was replaced under its name, stands.
func (f *fleet) revisit(c *compartment) {
	b := &c.state
	if len(b.Closed) == 0 {
		return
	}
	for k := range b.Closed {
		o := &b.Closed[k]
		o.Holding = slices.DeleteFunc(o.Holding, func(order int32) bool {
			v, holds := f.verdict(order)
			switch {
			case v == situation.Good:
			case f.unbegun(order):
				o.Bad++
			case v == situation.Left:
				o.Size--
			case holds:
				return false
			default:
				o.Bad++
				f.lose(b, order)
			}
			return true
		})
	}
	c.strategy.recount(b)
}

// maxLost is how many nodes a state names that were lost in the middle of work, the last ones.
const maxLost = 5

// lose remembers the node of a permit of this order, if it is gone or left the selection: nothing else names it later.
func (f *fleet) lose(b *v1alpha1.BatchState, order int32) {
	if name := f.lost[order]; name != "" {
		b.Lost = append(b.Lost, name)
		b.Lost = b.Lost[max(0, len(b.Lost)-maxLost):]
	}
}

// unbegun reports whether nothing has begun on the node with a permit of this order.
func (f *fleet) unbegun(order int32) bool {
	at, ok := f.orders[order]
	return ok && at.node >= 0 && !f.Nodes[at.node].Facts.Begun
}

// fillByPolicy gives up to size permits to nodes in the order of a policy.
func (f *fleet) fillByPolicy(c *compartment, size int) []int32 { return f.fill(c, size, policyTurn) }

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
