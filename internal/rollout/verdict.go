package rollout

import (
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	// awayAfter is how long a node may be not Ready before it is away: a kubelet is restarted in less.
	awayAfter = time.Minute
	// barredAfter is how long a taint may keep us off a node in the middle of work before that counts against it: what is
	// set at boot goes again.
	barredAfter = 5 * time.Minute
	// failedAfter is how long a node may be erroring before that is a verdict, whatever it is that fails.
	failedAfter = 5 * time.Minute
	// interruptLimit is how long a node may be away for an interrupt that is no reboot, whose own limit is the lifecycle's.
	interruptLimit = 30 * time.Minute
)

// verdict is what a node means for the batch that it is a member of.
type verdict int

const (
	// pending: it works, or waits for its turn.
	pending verdict = iota
	good
	// bad: work began there and does not get to its end by itself.
	bad
	// left: a person took it out, or nothing began there and something keeps us off.
	left
)

// judge is the verdict on a node now, and in how long time alone may change it; 0 for never.
func (n *Node) judge(now time.Time) (verdict, time.Duration) {
	switch {
	case n.Facts.Complete:
		return good, 0
	case n.takenOut():
		return left, 0
	case n.failed() && !n.awaitsTurn():
		return bad, 0
	case !n.Facts.Begun && (n.Hold != nil || n.Facts.Unavailable):
		return left, 0
	case n.Facts.Begun && n.Facts.NeedsAuthor:
		return bad, 0
	}
	return n.inTime(now)
}

// inTime is the verdict on a node that is neither done nor failed: it may be away, or kept from us, for too long.
func (n *Node) inTime(now time.Time) (verdict, time.Duration) {
	var limits []time.Time
	if n.failing() && !n.awaitsTurn() && n.Failure != nil {
		limits = append(limits, n.Failure.Since.Add(failedAfter))
	}
	if n.Facts.Unavailable {
		limits = append(limits, n.lost())
	}
	if n.barred() {
		since := n.Wait.Since.Time
		if n.ReadySince.After(since) {
			since = n.ReadySince
		}
		limits = append(limits, since.Add(barredAfter))
	}
	var next time.Duration
	for _, limit := range limits {
		after := limit.Sub(now)
		switch {
		case limit.IsZero():
		case after <= 0:
			return bad, 0
		case next == 0 || after < next:
			next = after
		}
	}
	return pending, next
}

// lost is when a node that is not Ready counts as away; zero while the lifecycle's own limit of a reboot decides that.
func (n *Node) lost() time.Time {
	limit := n.NotReadySince.Add(awayAfter)
	if i := n.Interrupt; i != nil {
		if i.Type == v1alpha1.InterruptReboot {
			return time.Time{}
		}
		if end := i.Since.Add(interruptLimit); end.After(limit) {
			return end
		}
	}
	return limit
}

// barred reports whether a taint keeps us off a node in the middle of work.
func (n *Node) barred() bool {
	return n.Facts.Begun && n.Hold != nil && n.Hold.Barred && n.Wait != nil && n.Wait.Reason == n.Hold.Reason
}

// badBecause says in two words what is wrong with a node on which the verdict is bad.
func (n *Node) badBecause() string {
	switch {
	case n.failing():
		return "failing"
	case n.Facts.NeedsAuthor:
		return "needs another spec"
	case n.Facts.Unavailable:
		return "not Ready"
	default:
		return "tainted"
	}
}

// LookAgain is in how long time alone changes what a plan of the input says; 0 for never.
func LookAgain(in Input) time.Duration {
	var next time.Duration
	if in.Policy == nil {
		return 0
	}
	for i := range in.Nodes {
		if _, after := in.Nodes[i].judge(in.Now); after > 0 && (next == 0 || after < next) {
			next = after
		}
	}
	return next
}
