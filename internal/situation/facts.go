package situation

import (
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Facts are what is true of one node for one Skyhook. Budgets, batches and order go by them, and by nothing that people
// are shown.
type Facts struct {
	// Complete: the node has what the Skyhook wants, and nothing is left to remove.
	Complete bool
	// FailedRun: a run that matters failed and was not retried with success, or something lasts longer than the spec
	// allows.
	FailedRun bool
	// Failed: the attempts that it has are used up, or something lasts longer than the spec allows. A run that failed and
	// is tried again is no such verdict.
	Failed bool
	// Attempted: what failed first, by name, is an attempt of a stage: its pod ran.
	Attempted bool
	// AwaitsTurn: what failed could be retried, but for a permit or for something outside of the node, or is retried as
	// the spec was edited since.
	AwaitsTurn bool
	// NeedsAuthor: nothing progresses, and only another spec helps.
	NeedsAuthor bool
	// InProgress: a stage runs, or is to run again.
	InProgress bool
	// Begun: work began since the node was last complete. It holds its place in the budget until it is complete.
	Begun bool
	// Disturbed: the Skyhook holds a cordon on the node, or its interrupt is in flight there.
	Disturbed bool
	// Interrupting: the Skyhook's interrupt is in flight there.
	Interrupting bool
	// Unavailable: the node is not Ready.
	Unavailable bool
}

// FactsOf reads them from the record of the Skyhook on the node, and from the interrupt in flight there.
func FactsOf(skyhook string, w Wanted, n record.Node, inFlight *record.Interrupt, ready bool) Facts {
	f := Facts{
		Complete:     Complete(w, n),
		Disturbed:    n.Cordoned || inFlight.OwnedBy(skyhook),
		Interrupting: inFlight.OwnedBy(skyhook),
		Unavailable:  !ready,
	}
	if f.Complete {
		return f
	}
	f.Begun = Begun(w, n) || inFlight.OwnedBy(skyhook)
	looked := w.looked(n.Wait)
	f.FailedRun = looked && n.Wait.Overdue
	f.Failed = f.FailedRun
	// A wait for somebody outside of the node is recorded only once nothing runs there: a stage that has begun has no pod.
	held := n.Wait != nil && slices.Contains(
		[]record.Frees{record.FreesOther, record.FreesAdministrator, record.FreesAuthor}, n.Wait.Frees)
	for _, e := range w.Relevant(n) {
		f.AwaitsTurn = f.AwaitsTurn || w.awaitsTurn(e, n.Wait)
		if e.State == v1alpha1.StateErroring && !f.FailedRun {
			f.FailedRun, f.Attempted = true, e.Attempted()
		}
		f.Failed = f.Failed || w.FailedForGood(e)
		f.InProgress = f.InProgress || e.State == v1alpha1.StateInProgress && !held
	}
	f.NeedsAuthor = !f.FailedRun && looked && n.Wait.Frees == record.FreesAuthor
	return f
}

// attempts is how often in a row a stage may fail before it counts as failed, unless its package has a limit: what
// succeeds when it is tried again has to stop nobody else.
const attempts = 3

// looked reports whether a wait was found with this spec, as far as that is known: an edit may have ended another one.
func (w Wanted) looked(wait *record.Wait) bool {
	return wait != nil && (wait.Generation == 0 || wait.Generation == w.Generation)
}

// Edited reports whether the spec was edited since the entry's run began. Any edit counts, as the limits of a stage are no
// part of a pod's hash.
func (w Wanted) Edited(e record.Entry) bool { return e.Generation != w.Generation }

// awaitsTurn reports whether an entry that failed could be retried, but for what the node waits for, or is to be.
func (w Wanted) awaitsTurn(e record.Entry, wait *record.Wait) bool {
	if e.State != v1alpha1.StateErroring {
		return false
	}
	its := wait != nil && (wait.Package == "" || wait.Package == e.Name) && !wait.Overdue
	return its && (wait.Frees == record.FreesOther || wait.Frees == record.FreesAdministrator) ||
		w.retries(e) && (wait == nil || wait.Reason == e.Reason || its && wait.Reason == v1alpha1.ReasonWaitingForPodToEnd)
}

// retries reports whether an edit makes the node try again what failed there, as soon as it sees it.
func (w Wanted) retries(e record.Entry) bool {
	if e.State != v1alpha1.StateErroring {
		return false
	}
	l := w.DefinitionOf(e)
	return Exhausted(e) && w.Edited(e) || l.FromSpec && e.Hash != "" && e.Hash != l.Package.Hash
}

// FailedForGood reports whether a stage has failed as far as others are concerned, whether or not it is tried again.
// Pods that were lost are no attempts.
func (w Wanted) FailedForGood(e record.Entry) bool {
	if e.State != v1alpha1.StateErroring {
		return false
	}
	return Exhausted(e) || e.Reason == v1alpha1.ReasonRebootTimeout ||
		e.Attempts >= attempts && w.DefinitionOf(e).Package.MaxRetries == nil
}

// Begun reports whether work on the node began since it was last complete. The record of an earlier version has no mark:
// there a cordon tells, or a stage that has begun and is not over.
func Begun(w Wanted, n record.Node) bool {
	return n.Begun || n.Cordoned || slices.ContainsFunc(w.Relevant(n), func(e record.Entry) bool {
		return e.State != v1alpha1.StateComplete
	})
}
