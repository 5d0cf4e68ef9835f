package lifecycle

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// follows are the waits of a package for another package of the same Skyhook: that one tells what it waits for itself.
var follows = []string{
	v1alpha1.ReasonWaitingForDependency, v1alpha1.ReasonWaitingForDependent,
	v1alpha1.ReasonWaitingForSerial, v1alpha1.ReasonWaitingForUninstall,
}

func newWait(pkg, reason, message string) *record.Wait {
	return &record.Wait{Package: pkg, Reason: reason, Message: message, Frees: record.FreesOf(reason)}
}

// holds says that a wait is for the pod.
func (pod Pod) holds(w *record.Wait) *record.Wait {
	w.By = pod.Namespace + "/" + pod.Name
	return w
}

// wait notes why a package, or with an empty name the node, does not progress.
func (p *pass) wait(w *record.Wait) {
	p.out.Waits = append(p.out.Waits, *w)
}

// waitNode notes a wait that the record shows although pods of the Skyhook may be on the node.
func (p *pass) waitNode(w *record.Wait) {
	p.wait(w)
	if p.nodeWait == nil {
		p.nodeWait = w
	}
}

// recordWait records what the node waits for, if it is in progress or only another spec helps. What merely waits for
// its turn is counted in the status of the Skyhook, and costs no write here. That passes fail is told in any case.
func (p *pass) recordWait(complete bool) {
	p.out.Record.Wait = nil
	w := p.chooseWait()
	if complete {
		w = p.endlessPod
	}
	if w != nil && (w.Frees == record.FreesAuthor || p.inProgress()) {
		p.out.Record.Wait = waitSince(*w, p.Record.Wait, p.now)
	}
	p.out.Record.Wait = p.failed(p.out.Record.Wait)
	if w := p.out.Record.Wait; w != nil && w.Generation == 0 && (w.Overdue || w.Frees == record.FreesAuthor) {
		w.Generation = p.Generation
	}
}

// waitSince is a wait as the record has it: since when it lasts follows from the one before, nil for none.
func waitSince(w record.Wait, before *record.Wait, now time.Time) *record.Wait {
	w.Message = record.TrimMessage(w.Message)
	w.Since, w.By = metav1.NewTime(now), ""
	switch {
	case before == nil:
	case sameWait(before.Reason, w.Reason):
		w.Since = before.Since
	case slices.Contains(draining, w.Reason) && !before.DrainSince.IsZero():
		w.Since = before.DrainSince
	}
	if w.Since.After(now) { // by a clock that was ahead: else the drain had no time limit until then
		w.Since = metav1.NewTime(now)
	}
	return &w
}

// chooseWait returns the wait that says most of the node; nil when something progresses, as it should. A failing
// package that could be retried says what it lacks: it gets its turn for that, and not for its failure.
func (p *pass) chooseWait() *record.Wait {
	if p.nodeWait != nil {
		return new(*p.nodeWait)
	}
	if len(p.Pods)+len(p.out.Start) > 0 {
		return p.longRun
	}
	failing := map[string]bool{}
	for _, e := range p.Relevant(p.out.Record) {
		if e.State == v1alpha1.StateErroring {
			failing[e.Name] = true
		}
	}
	waits := slices.Clone(p.out.Waits)
	slices.SortStableFunc(waits, func(a, b record.Wait) int { return weight(a, failing) - weight(b, failing) })
	if len(waits) == 0 || len(failing) > 0 && !failing[waits[0].Package] && waits[0].Package != "" {
		return nil
	}
	return &waits[0]
}

// weight orders waits by how much they say of the node: the lower the more.
func weight(w record.Wait, failing map[string]bool) int {
	switch {
	case failing[w.Package]:
		return 0
	case slices.Contains(follows, w.Reason):
		return 3
	case w.Frees == record.FreesAuthor:
		return 2
	default:
		return 1
	}
}

// inProgress reports whether the Skyhook does something on the node, or may.
func (v view) inProgress() bool {
	active := slices.ContainsFunc(v.Relevant(v.out.Record), record.Entry.Active)
	return active || v.Permit != nil || v.revoked != nil || len(v.Pods)+len(v.out.Start) > 0 || v.out.Record.Cordoned ||
		v.interrupting()
}

// needsAuthor reports whether nothing progresses because of what only another spec changes. The node then gives its
// permit back, and gets one again for another spec.
func (v view) needsAuthor() bool {
	if len(v.out.Waits) == 0 || v.out.LookDrain || v.out.After > 0 {
		return false
	}
	found := false
	for _, w := range v.out.Waits {
		switch {
		case w.Frees == record.FreesAuthor:
			found = true
		case !slices.Contains(follows, w.Reason):
			return false
		}
	}
	return found
}

// sameWait reports whether one wait continues although its reason changed: a drain does while its pods leave one after
// the other, so that its time limit counts from its start. The wait for protected pods has no limit and is one of its
// own.
func sameWait(before, now string) bool {
	return before == now || slices.Contains(draining, before) && slices.Contains(draining, now)
}

// DrainStarted returns since when the drain lasts that the record tells of; nil when it tells of none, or of the wait
// for protected pods, which has no limit.
func DrainStarted(n record.Node) *metav1.Time {
	switch {
	case n.Wait == nil:
		return nil
	case slices.Contains(draining, n.Wait.Reason):
		return &n.Wait.Since
	case !n.Wait.DrainSince.IsZero():
		return &n.Wait.DrainSince
	}
	return nil
}

// draining are the reasons of a drain that makes progress, or should.
var draining = []string{
	v1alpha1.ReasonEvictionRefused, v1alpha1.ReasonPodUnmanaged, v1alpha1.ReasonPodUsesEmptyDir,
	v1alpha1.ReasonPodTerminating,
	v1alpha1.ReasonEvicting, v1alpha1.ReasonPodReturns, v1alpha1.ReasonDrainTimeout,
}
