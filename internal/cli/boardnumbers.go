package cli

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// overviews are all Skyhooks, by name.
func (f *fleet) overviews() ([]rolloutStatus, []board.Overview) {
	list, short := []rolloutStatus{}, []board.Overview{}
	for _, name := range f.names() {
		st := rolloutOf(f.skyhooks.objects[name])
		list = append(list, st)
		short = append(short, board.Overview{Name: st.Name, Status: st.Status, Far: st.far()})
	}
	return list, short
}

// shown is a Skyhook as status --watch draws it; nil if there is none.
func (f *fleet) shown(name string, now time.Time) *board.Skyhook {
	sk, there := f.skyhooks.objects[name]
	if !there {
		return nil
	}
	st := rolloutOf(sk)
	f.speeds.see(&st, now)
	f.remaining(&st, now)
	label, pace := st.pace()
	if pace == "" {
		label = ""
	}
	return &board.Skyhook{
		Rollout: f.explain.reworded(st.Rollout), Causes: f.explain.whole(sk), Far: st.far(), StatusWords: words(st.Status), Pace: pace, PaceLabel: label,
		Bars: barsOf(st.Compartments),
	}
}

// reworded is a rollout with the messages as status draws them.
func (e explainer) reworded(r board.Rollout) board.Rollout {
	waiting, attention := []v1alpha1.WaitingNodes{}, []v1alpha1.NodeAttention{}
	for _, w := range r.Waiting {
		w.Message = oneLine(e.forPeople(w.Message))
		waiting = append(waiting, w)
	}
	for _, a := range r.Attention {
		a.Message = oneLine(attentionFor(&a, e.forPeople))
		attention = append(attention, a)
	}
	r.Waiting, r.Attention = waiting, attention
	return r
}

// whole are the causes that hold up a Skyhook as a whole, as why tells them: those that no node tells.
func (e explainer) whole(sk *v1alpha1.Skyhook) []board.Cause {
	all := e.conditions(sk, sk)
	if sk.DeletionTimestamp != nil {
		w := record.Wait{Reason: v1alpha1.ReasonDeleting, Message: "the Skyhook is being deleted", Since: *sk.DeletionTimestamp}
		if c := meta.FindStatusCondition(sk.Status.Conditions, v1alpha1.ConditionReconciling); c != nil && c.Reason == w.Reason {
			w.Message = c.Message
		}
		all = append(all, e.cause(sk.Name, w, ""))
	}
	list := []board.Cause{}
	for _, c := range all {
		if slices.ContainsFunc(sk.Status.Attention, func(a v1alpha1.NodeAttention) bool { return a.Reason == c.Reason }) {
			continue
		}
		drawn := c.drawn()
		if slices.ContainsFunc(sk.Status.Waiting, func(w v1alpha1.WaitingNodes) bool { return w.Reason == c.Reason }) {
			drawn.Message = ""
		}
		list = append(list, drawn)
	}
	return list
}

func barsOf(all map[string]v1alpha1.CompartmentStatus) []board.Bar {
	bars := []board.Bar{}
	for _, name := range shownCompartments(all) {
		c := all[name]
		bars = append(bars, board.Bar{
			ID: name, Name: titled(name, c), Matched: c.Matched, Completed: c.Completed, InProgress: c.InProgress,
			Erroring: c.Erroring, Ceiling: c.Ceiling, Batch: batchOf(c),
		})
	}
	return bars
}

// remaining adds to a status how long the rest takes, and has that estimated when it is time.
func (f *fleet) remaining(st *rolloutStatus, now time.Time) {
	left := f.left[st.Name]
	if left == nil {
		left = &remainder{}
		f.left[st.Name] = left
	}
	left.tell(st, now)
	if st.TimeLeft != nil { // else each second would be another one
		st.TimeLeft = &metav1.Duration{Duration: st.TimeLeft.Round(10 * time.Second)}
	}
	if estimable(st) && left.due(now) {
		go f.estimate(*st, left)
	}
}

func (f *fleet) estimate(st rolloutStatus, left *remainder) {
	began := f.gauge.now()
	st.TimeLeft = nil
	f.gauge.estimate(f.ctx, &st)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.gauge.now()
	left.told(st.TimeLeft, now.Sub(began), now)
	f.wake()
}
