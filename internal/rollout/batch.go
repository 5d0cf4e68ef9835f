package rollout

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
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

// counts is what the nodes of a compartment are at, before this pass gives permits.
type nodeCounts struct {
	holders, completed, failed int
	// busy nodes without a permit count against the ceiling, see Node.busy.
	busy int
	// active are holders whose place in the batch has not ended.
	active int
}

// pace gives permits under a policy: batch by batch in each compartment, or as the ceilings allow while the Skyhook is
// deleted.
func (f *fleet) pace(policy *Policy) []compartment {
	compartments := policy.split(f.Nodes)
	if f.Hold == nil {
		f.revoke(blocksOthers)
	}
	reset := resetOf(f.Input, policy)
	for k := range compartments {
		c := &compartments[k]
		c.state = reset.apply(f.Skyhook.Status.CompartmentStatuses[c.name].BatchState)
		if c.strategy.failureThreshold == 0 {
			c.state.ShouldStop = false // the policy was edited and never stops any more
		}
		c.counts = f.count(c)
		switch {
		case f.Hold != nil:
		case f.Deleting:
			f.fill(c, c.ceiling, policyTurn)
		default:
			if reset.unstop {
				c.state.FailedNodes = c.counts.failed // what failed before does not count against what is repaired
			}
			f.batch(c)
		}
		if reset.completed {
			c.state = v1alpha1.BatchState{CurrentBatch: 1}
		}
	}
	return compartments
}

// blocksOthers reports whether a holder must give its permit back although it is not done, so that others can work: it
// fails, or its kubelet is away. A node that we disturb keeps it, as it counts against the ceiling anyway.
func blocksOthers(n *Node) bool {
	f := n.Facts
	return !f.Complete && !f.Disturbed && (n.failing() && !n.awaitsTurn() || f.Unavailable)
}

// ended reports whether a holder's place in its batch has ended: it is complete, excluded, away or failing. One that is
// away while we disturb it is rebooting for its interrupt.
func ended(n *Node) bool {
	f := n.Facts
	return f.Complete || n.Hold != nil || f.Unavailable && !f.Disturbed || n.failing() && !n.awaitsTurn()
}

func (f *fleet) count(c *compartment) nodeCounts {
	var t nodeCounts
	for _, i := range c.nodes {
		n := &f.Nodes[i]
		holds := f.holds[i]
		switch {
		case n.Facts.Complete:
			t.completed++
		case n.failing() && (!holds || !n.awaitsTurn()):
			t.failed++
		}
		switch {
		case !holds && n.busy():
			t.busy++
		case holds:
			t.holders++
			if !ended(n) {
				t.active++
			}
		}
	}
	return t
}

// batch ends the compartment's batch when all places in it have ended, and starts the next one.
func (f *fleet) batch(c *compartment) {
	b, t := &c.state, c.counts
	switch {
	case t.active == 0 && b.BatchSize > 0:
		*b = c.strategy.evaluate(*b, t.completed, t.failed, len(c.nodes))
		b.BatchSize = 0
	case t.active == 0:
		b.CompletedNodes, b.FailedNodes = t.completed, t.failed // nothing of that was a batch's doing
	default:
		// What is tried again, or has to be done again, counts anew when it is through.
		b.CompletedNodes, b.FailedNodes = min(b.CompletedNodes, t.completed), min(b.FailedNodes, t.failed)
	}
	if b.ShouldStop || t.active > 0 && b.BatchSize == 0 {
		return
	}
	// A batch may be short of nodes at first: those before it have yet to give their permits back.
	b.BatchSize += f.fill(c, c.strategy.nextSize(*b, len(c.nodes), c.ceiling)-b.BatchSize, policyTurn)
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
		busy := f.Nodes[i].busy() // it counts already
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

// policyTurn lets nodes go first that have begun, and lets those that fail go last. A node that fails gets a permit
// only if it has something to start with it, else it would be taken back and given again, over and over.
func policyTurn(f *fleet, n *Node) int8 {
	switch {
	case n.failing() && (n.awaitsTurn() || f.newerThanDone(n)):
		return 2
	case n.failing():
		return -1
	case n.Begun || n.Facts.Disturbed:
		return 0
	default:
		return 1
	}
}
