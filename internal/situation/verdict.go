package situation

import (
	"time"
)

const (
	// awayAfter is how long a node may be not Ready before it is away: a kubelet is restarted in less.
	awayAfter = time.Minute
	// barredAfter is how long a taint may keep us off a node in the middle of work before that counts against it: what is
	// set at boot goes again.
	barredAfter = 5 * time.Minute
	// failedAfter is how long a node may be erroring for anything but an attempt that failed before that is a verdict:
	// attempts are counted, and may take their time.
	failedAfter = 5 * time.Minute
	// InterruptLimit is how long a node may be away for an interrupt, beside what the packages of a reboot ask for.
	InterruptLimit = 30 * time.Minute
)

// Verdict is what a node means for the batch that it is a member of.
type Verdict int

const (
	// Pending: it works, or waits for its turn.
	Pending Verdict = iota
	// Good: it is complete.
	Good
	// Bad: work began there and does not get to its end by itself.
	Bad
	// Left: a person took it out, or nothing began there and something keeps us off.
	Left
)

// Judge is the verdict on a node now, and in how long time alone may change it; 0 for never.
func (s *Situation) Judge(now time.Time) (Verdict, time.Duration) {
	switch {
	case s.Facts.Complete:
		return Good, 0
	case s.TakenOut():
		return Left, 0
	case s.Failed() && !s.AwaitsTurn():
		return Bad, 0
	case !s.Facts.Begun && (s.Hold != nil || s.Facts.Unavailable):
		return Left, 0
	case s.Facts.Begun && s.Facts.NeedsAuthor:
		return Bad, 0
	}
	return s.inTime(now)
}

// inTime is the verdict on a node that is neither done nor failed: it may be away, or kept from us, for too long.
func (s *Situation) inTime(now time.Time) (Verdict, time.Duration) {
	var limits []time.Time
	if s.Failing() && s.Hold == nil && !s.AwaitsTurn() && s.Failure != nil && !s.Facts.Attempted {
		limits = append(limits, s.Failure.Since.Add(failedAfter))
	}
	if s.Facts.Unavailable {
		limits = append(limits, s.lost())
	}
	if s.barred() {
		since := s.Wait.Since.Time
		if s.ReadySince.After(since) {
			since = s.ReadySince
		}
		limits = append(limits, since.Add(barredAfter))
	}
	var next time.Duration
	for _, limit := range limits {
		after := limit.Sub(now)
		switch {
		case after <= 0:
			return Bad, 0
		case next == 0 || after < next:
			next = after
		}
	}
	return Pending, next
}

// lost is when a node that is not Ready counts as away. The lifecycle ends the Skyhook's own reboot before that, unless it is
// not wanted any more by what the node was told to do since.
func (s *Situation) lost() time.Time {
	limit := s.NotReadySince.Add(awayAfter)
	if i := s.Interrupt; i != nil {
		if end := i.Since.Add(InterruptLimit + s.RebootLimit); end.After(limit) {
			return end
		}
	}
	return limit
}

// barred reports whether a taint keeps us off a node in the middle of work.
func (s *Situation) barred() bool {
	return s.Facts.Begun && s.Hold != nil && s.Hold.Barred && s.Wait != nil && s.Wait.Reason == s.Hold.Reason
}

// BadBecause says in two words what is wrong with a node on which the verdict is bad.
func (s *Situation) BadBecause() string {
	switch {
	case s.Failing() && s.Away():
		return "failing, and not Ready"
	case s.Failing():
		return "failing"
	case s.Facts.NeedsAuthor:
		return "needs another spec"
	case s.Facts.Unavailable:
		return "not Ready"
	default:
		return "tainted"
	}
}
