package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// FailedWait is what a record says while the passes over its node fail, for the reason given: else nobody would hear of
// it, as what they were to do is not done. before is what the record says so far, nil for nothing.
func FailedWait(before *record.Wait, message string, now time.Time) *record.Wait {
	w := waitSince(*newWait("", v1alpha1.ReasonPassFailed, message), before, now)
	w.Frees = record.FreesNode // decisions depend on it: the node counts as in progress, as it does without a wait
	if since := DrainStarted(record.Node{Wait: before}); since != nil {
		w.DrainSince = *since
	}
	return w
}

// Stay decides for a node of which something cannot be found out again and again: all stays as it is, and the record
// says why.
func Stay(o Observation) Decision {
	p := newPass(o)
	if p.out.Record.Status == "" {
		p.out.Record.Status = p.status()
	}
	p.out.Record.Wait = FailedWait(p.Record.Wait, o.Failed, p.now)
	p.out.Erroring = p.any(v1alpha1.StateErroring) || p.any(v1alpha1.StateUnknown)
	return p.out
}

// failed is the wait that the record shows instead of w, which may be nil, while passes fail. Who frees what it stands
// for stays the same, as others go by it; and only another spec helps whoever waits for one.
func (v view) failed(w *record.Wait) *record.Wait {
	if v.Failed == "" || w != nil && w.Frees == record.FreesAuthor {
		return w
	}
	f := FailedWait(v.Record.Wait, v.Failed, v.now)
	if !v.out.LookDrain && !v.out.Evict {
		f.DrainSince = metav1.Time{}
	}
	switch {
	case w != nil:
		f.Package, f.Frees, f.Overdue = w.Package, w.Frees, w.Overdue
	case !f.DrainSince.IsZero(): // how far the drain has come nobody could see
		f.Frees, f.Overdue, f.Generation = v.Record.Wait.Frees, v.Record.Wait.Overdue, v.Record.Wait.Generation
	}
	return f
}
