package situation

import (
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Situation is what is with one node for one Skyhook. Decisions go by what is true of it; its Status and its Reason are
// what people are shown of it, wherever that is.
type Situation struct {
	// Facts are what is true of the node for the Skyhook.
	Facts Facts
	// Hold keeps this node from new work, and All every node of the Skyhook; nil when nothing does.
	Hold, All *Hold
	// Permit says that the node holds one.
	Permit bool
	// Wait is what the whole node waits for as its record tells, such as a permit or a pod that holds its drain; nil when
	// it does not.
	Wait *record.Wait
	// Failure is the first failed run on the node, for people, also of an interrupt that was suspended since; nil when
	// none.
	Failure *record.Wait
	// Interrupt is the interrupt in flight on the node, whichever Skyhook's; nil for none.
	Interrupt *record.Interrupt
	// RebootLimit is how long the reboot of the Skyhook that is in flight may take, as its packages say; 0 if they do not.
	RebootLimit time.Duration
	// NotReadySince is since when the node is not Ready, and ReadySince since when it is; zero for the other.
	NotReadySince, ReadySince time.Time
}

// Failing reports whether a run that matters failed.
func (s *Situation) Failing() bool { return s.Facts.FailedRun && !s.Facts.Complete }

// Failed reports whether it failed for good: all its attempts did, or it took too long.
func (s *Situation) Failed() bool { return s.Facts.Failed && !s.Facts.Complete }

// TakenOut reports whether a person took the node out, alone or with all others.
func (s *Situation) TakenOut() bool {
	return s.Hold != nil && s.Hold.TakesOut || s.All != nil && s.All.TakesOut
}

// NeedsAuthor reports whether the node waits for what only another spec changes.
func (s *Situation) NeedsAuthor() bool { return s.Facts.NeedsAuthor && !s.Facts.Complete }

// GaveUp reports whether what failed is not tried again with this spec.
func (s *Situation) GaveUp() bool {
	return s.Failing() && !s.Facts.InProgress && s.Wait != nil && s.Wait.Frees == record.FreesAuthor
}

// AwaitsTurn reports whether a failing node could continue but for a permit, or but for a hold that is over: then it
// has not looked yet at what it is allowed by now.
func (s *Situation) AwaitsTurn() bool { return s.Failing() && s.Hold == nil && s.Facts.AwaitsTurn }

// Busy reports whether the node holds a place in the budget also without a permit: we disturb it, or work has begun
// there and is not finished, whoever keeps us off. One that a person took out gives its place back once nothing of ours
// runs there, and one that failed gives it to others where batches judge it.
func (s *Situation) Busy(judged bool) bool {
	switch {
	case s.Facts.Disturbed:
		return true
	case s.Facts.Complete:
		return false
	}
	return s.Facts.InProgress || s.Facts.Begun && !s.TakenOut() && (!judged || !s.Failed())
}

// Lost reports whether a node that holds a place is not Ready: it may never come back, and counts against the budget
// until somebody does something about it. One whose interrupt is in flight may be rebooting for it.
func (s *Situation) Lost() bool {
	if !s.Facts.Unavailable || s.Interrupt != nil || s.Facts.Complete {
		return false
	}
	return s.Facts.InProgress || s.Facts.Begun && !s.TakenOut() || s.Permit && s.Hold == nil
}

// held is the hold that counts: nobody can go by a record that is not usable, and what holds every node comes before
// what holds this one.
func (s *Situation) held() *Hold {
	if s.All == nil || s.Hold != nil && s.Hold.Unusable {
		return s.Hold
	}
	return s.All
}

// Status is what people are shown of the node; nothing goes by it.
func (s *Situation) Status() v1alpha1.Status {
	hold := s.held()
	is := func(status v1alpha1.Status) bool { return hold != nil && hold.Status == status }
	switch {
	case is(v1alpha1.StatusPaused):
		return v1alpha1.StatusPaused
	case s.Facts.Complete:
		return v1alpha1.StatusComplete
	case hold != nil && hold.Frees.ByPerson(): // nothing is tried again until somebody changes that
		return hold.Status
	case s.Facts.FailedRun:
		return v1alpha1.StatusErroring
	case hold != nil:
		return hold.Status
	case s.Facts.NeedsAuthor:
		return v1alpha1.StatusBlocked
	case s.Permit || s.Facts.InProgress:
		return v1alpha1.StatusInProgress
	default:
		return v1alpha1.StatusWaiting
	}
}
