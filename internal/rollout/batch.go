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
			f.tally(c, reset.unstop)
		case f.Deleting:
			f.revokeIn(c, blocksOthers)
			f.fill(c, c.ceiling, policyTurn)
		default:
			f.revokeIn(c, func(p *v1alpha1.Permit, n *Node) bool { return stale(p) || blocksOthers(p, n) })
			f.batch(c, f.tally(c, reset.unstop))
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
// one pass only. repaired says that a person continued what may be stopped.
func (f *fleet) tally(c *compartment, repaired bool) *membership {
	b, m := &c.state, &membership{ill: map[int32]bool{}, earlier: map[int32]bool{}}
	f.revisit(c, m)
	f.members(c, m)
	if repaired { // what failed before does not count against what is repaired
		b.Left, b.Failed = b.Left+b.Failed, 0
	}
	b.CompletedNodes, b.FailedNodes = c.counts.completed, c.counts.failed
	return m
}

// batch ends the compartment's batch when no member of it is pending, and starts the next one.
func (f *fleet) batch(c *compartment, m *membership) {
	b := &c.state
	if b.BatchSize > 0 && m.pending == 0 {
		c.strategy.closeBatch(b, m, len(c.nodes))
	}
	if b.ShouldStop {
		return
	}
	f.reissue(c, c.strategy.nextSize(*b, len(c.nodes), c.ceiling)-b.BatchSize)
	// A batch may be short of nodes at first: those before it have yet to give their permits back.
	b.BatchSize += f.fill(c, c.strategy.nextSize(*b, len(c.nodes), c.ceiling)-b.BatchSize, policyTurn)
}

// reissue makes up to size nodes members of the running batch that hold a permit of another content, the first that got
// theirs first. They hold their place in the budget meanwhile, and start nothing.
func (f *fleet) reissue(c *compartment, size int) {
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
	for _, p := range stale[:min(len(stale), max(0, size))] {
		p.Generation, p.Revoked = f.Skyhook.Generation, false
		c.state.BatchSize++
	}
}

// membership is what the members of the running batch are at that hold a permit.
type membership struct {
	pending, good, bad int
	// done are the orders of the permits of those that are not pending. ill says which are bad, also of batches before.
	done []int32
	ill  map[int32]bool
	// earlier are the permits of members of batches that are over.
	earlier map[int32]bool
}

func (m *membership) isBad(order int32) bool { return m.ill[order] }

// members counts those of the running batch. Members that gave their permit back are counted in its state, as they are
// now: a permit goes in the same write. Whoever is missing has left the cluster or the compartment in the middle of work.
func (f *fleet) members(c *compartment, m *membership) {
	b, holders := &c.state, 0
	for _, i := range c.nodes {
		p := f.permitSeen(i)
		if p == nil || p.Generation < b.Generation || m.earlier[p.Order] {
			continue
		}
		v, _ := f.Nodes[i].Judge(f.Now)
		switch {
		case f.holds[i]:
			holders++
			m.add(v, p.Order)
		case v == situation.Good:
			b.Succeeded++
		case v == situation.Bad:
			b.Failed++
		default:
			b.Left++
		}
	}
	known := holders + b.Succeeded + b.Failed + b.Left
	switch missing := b.BatchSize - known; {
	case b.BatchSize == 0: // whoever holds a permit got it of an earlier version, or before there was a policy
		b.BatchSize = known
	case missing <= 0:
	case b.Counted:
		b.Failed += missing
	default:
		b.Succeeded += missing // an earlier version did not count them
	}
	b.Counted = true
}

// permitSeen is the permit that a node holds, or is done with in this pass; nil for none.
func (f *fleet) permitSeen(node int32) *v1alpha1.Permit {
	if k := f.permitOf(node); k >= 0 {
		return &f.permits[k]
	}
	return f.returned[node]
}

func (m *membership) add(v situation.Verdict, order int32) {
	switch v {
	case situation.Pending:
		m.pending++
		return
	case situation.Good:
		m.good++
	case situation.Bad:
		m.bad++
		m.ill[order] = true
	case situation.Left:
	}
	m.done = append(m.done, order)
}

// revisit judges the members again of batches that are over: what heals stops nothing for good. The verdict on one that
// gave its permit back, or is gone, stands.
func (f *fleet) revisit(c *compartment, m *membership) {
	b := &c.state
	if len(b.Closed) == 0 && b.Before == 0 {
		return
	}
	at := map[int32]int32{} // nodes by the order of the permit
	for _, i := range c.nodes {
		if p := f.permitSeen(i); p != nil {
			at[p.Order] = i
		}
	}
	for k := range b.Closed {
		o := &b.Closed[k]
		o.Holding = slices.DeleteFunc(o.Holding, func(order int32) bool {
			m.earlier[order] = true
			v := situation.Bad
			i, here := at[order]
			if here {
				v, _ = f.Nodes[i].Judge(f.Now)
			}
			holds := here && f.holds[i]
			m.ill[order] = holds && v == situation.Bad
			if !holds && v == situation.Bad && o.Size > 0 {
				o.Bad++
			}
			return !holds
		})
	}
	c.strategy.recount(b, m.isBad)
}

// fill gives up to size permits in a compartment, as far as its ceiling lets, and returns how many. A node that is busy
// without a permit counts against the ceiling, and takes no other place when it gets one.
func (f *fleet) fill(c *compartment, size int, turn func(*fleet, *Node) int8) int {
	holders := c.counts.holders + f.away // nobody knows the compartment of a node that left
	free := c.ceiling - holders - c.counts.busy
	granted := 0
	for _, i := range f.candidates(c, min(size, c.ceiling-holders), turn) {
		if granted >= size || holders+granted >= c.ceiling {
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
		granted++
		if !busy {
			free--
		}
	}
	return granted
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
