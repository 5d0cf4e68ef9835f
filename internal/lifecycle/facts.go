package lifecycle

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
	// AwaitsTurn: what failed could be retried, but for a permit or for something outside of the node.
	AwaitsTurn bool
	// NeedsAuthor: nothing progresses, and only another spec helps.
	NeedsAuthor bool
	// InProgress: a stage runs, or is to run again.
	InProgress bool
	// Disturbed: the Skyhook holds a cordon on the node, or its interrupt is in flight there.
	Disturbed bool
	// Unavailable: the node is not Ready.
	Unavailable bool
}

// FactsOf reads them from the record of the Skyhook on the node, and from the interrupt in flight there.
func FactsOf(skyhook string, w Wanted, n record.Node, inFlight *record.Interrupt, ready bool) Facts {
	f := Facts{
		Complete:    Complete(w, n),
		Disturbed:   n.Cordoned || inFlight.OwnedBy(skyhook),
		Unavailable: !ready,
	}
	if f.Complete {
		return f
	}
	f.FailedRun = n.Wait != nil && n.Wait.Overdue
	// A wait for somebody outside of the node is recorded only once nothing runs there: a stage that has begun has no pod.
	held := n.Wait != nil && slices.Contains(
		[]record.Frees{record.FreesOther, record.FreesAdministrator, record.FreesAuthor}, n.Wait.Frees)
	for _, e := range w.relevant(n) {
		its := n.Wait != nil && (n.Wait.Package == "" || n.Wait.Package == e.Name)
		f.AwaitsTurn = f.AwaitsTurn || e.State == v1alpha1.StateErroring && its && !n.Wait.Overdue &&
			(n.Wait.Frees == record.FreesOther || n.Wait.Frees == record.FreesAdministrator)
		f.FailedRun = f.FailedRun || e.State == v1alpha1.StateErroring
		f.InProgress = f.InProgress || e.State == v1alpha1.StateInProgress && !held
	}
	f.NeedsAuthor = !f.FailedRun && n.Wait != nil && n.Wait.Frees == record.FreesAuthor
	return f
}
