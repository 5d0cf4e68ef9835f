package situation

import (
	"fmt"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Reason is why a node of that name is not complete and does not progress, or what is left there although it is
// complete; false when there is nothing to tell.
func (s *Situation) Reason(node string) (record.Wait, bool) {
	status := s.Status()
	held, _ := s.Held()
	moves := status == v1alpha1.StatusInProgress || status == v1alpha1.StatusErroring
	switch {
	case s.Facts.Complete && s.Wait == nil:
		return record.Wait{}, false
	case s.Facts.Complete: // something is left there all the same
		return *s.Wait, true
	case !held && s.Lost() && !s.neverCameBack(): // nobody can do anything about what else is wrong there
		return s.away(node, status)
	case status == v1alpha1.StatusErroring && s.Failure != nil:
		return s.aside(s.failure()), true
	case held:
		return s.keeps(node, s.held()), true
	case s.Wait != nil && moves:
		return s.aside(*s.Wait), true
	case s.Wait != nil && (s.Facts.NeedsAuthor || s.Wait.Frees == record.FreesNode): // it fails without a permit
		return *s.Wait, true
	}
	return s.away(node, status)
}

// neverCameBack reports whether the node failed because it is not Ready after its reboot: that says more.
func (s *Situation) neverCameBack() bool {
	return s.Failing() && s.Failure != nil && s.Failure.Reason == v1alpha1.ReasonRebootTimeout
}

// keeps is the wait of a hold, with what becomes of the node's cordon and of its place meanwhile.
func (s *Situation) keeps(node string, hold *Hold) record.Wait {
	w := hold.Wait
	switch place := s.Facts.Begun && hold.ReturnsPermit; {
	case hold.TakesOut && s.Away() && (s.Facts.Disturbed || s.Facts.InProgress):
		w.Message += "; the node is not Ready, so nobody knows whether what runs there has ended, and it keeps its place in " +
			"the budget until then; " + BringBack(node)
	case hold.TakesOut && s.Facts.InProgress && !s.Facts.Interrupting:
		w.Message += "; it keeps its place in the budget until what runs there has ended: end it with `kubectl skyhook node exclude " +
			node + "`"
	case hold.TakesOut && s.Facts.Disturbed:
		w.Message += "; the node is uncordoned as soon as what runs there has ended"
	case hold.TakesOut:
	case place && s.Facts.Disturbed:
		w.Message += "; work on the node has begun, so it stays cordoned and keeps its place in the budget meanwhile" + takeOut(node)
	case place:
		w.Message += "; work on the node has begun, so it keeps its place in the budget meanwhile" + takeOut(node)
	case s.Facts.Disturbed:
		w.Message += "; the node stays cordoned meanwhile: to uncordon it, set the annotation " + v1alpha1.AnnotationDisable +
			` to "true"`
	}
	if s.Lost() && !hold.TakesOut {
		w.Message += "; the node is not Ready; " + BringBack(node)
	}
	return w
}

func takeOut(node string) string {
	return ": to take it out, run `kubectl skyhook node ignore " + node + "`"
}

// away is the reason of a node that tells none itself: it is not Ready, or others have the permits.
func (s *Situation) away(node string, status v1alpha1.Status) (record.Wait, bool) {
	waits := status != v1alpha1.StatusInProgress && status != v1alpha1.StatusErroring
	switch {
	case !s.Facts.Unavailable && waits:
		return record.Wait{Reason: v1alpha1.ReasonWaitingForPermit, Frees: record.FreesOther}, true
	case !s.Facts.Unavailable:
		return record.Wait{}, false
	case s.Lost() && waits:
		return notReady(node, "the node is half done and is not Ready, so it counts against the budget"), true
	case s.Lost():
		return notReady(node, "the node is in progress and is not Ready, so it counts against the budget"), true
	case waits:
		return notReady(node, "the node is not Ready, so it gets no permit"), true
	case status == v1alpha1.StatusInProgress: // disturbed
		return record.Wait{
			Reason: v1alpha1.ReasonNodeNotReady, Frees: record.FreesNode,
			Message: "the node is not Ready, as during a reboot; work continues when it is Ready",
		}, true
	}
	return record.Wait{}, false
}

// failure tells of what failed, and what helps once it is not tried again.
func (s *Situation) failure() record.Wait {
	if !s.GaveUp() || s.Wait.Package != s.Failure.Package {
		return *s.Failure
	}
	w := *s.Wait
	w.Message = fmt.Sprintf("package %s: %s", w.Package, w.Message)
	return w
}

// Away reports whether the node is not Ready, other than for an interrupt of ours.
func (s *Situation) Away() bool { return s.Facts.Unavailable && !s.Facts.Interrupting }

// aside adds to what a node tells that it is away as well.
func (s *Situation) aside(w record.Wait) record.Wait {
	if s.Away() && !s.neverCameBack() {
		w.Message += "; the node is not Ready"
	}
	return w
}

func notReady(node, message string) record.Wait {
	return record.Wait{
		Reason: v1alpha1.ReasonNodeNotReady, Frees: record.FreesAdministrator, Message: message + "; " + BringBack(node),
	}
}

// BringBack is what helps against a node that is not Ready.
func BringBack(node string) string {
	return "bring it back, or delete it with `kubectl delete node " + node + "`"
}

// Held reports whether the reason that the situation tells is that of a hold, and whether that is on every node.
func (s *Situation) Held() (held, everywhere bool) {
	hold, status := s.held(), s.Status()
	held = hold != nil && !s.Facts.Complete && status == hold.Status && status != v1alpha1.StatusInProgress
	return held, held && hold == s.All
}
