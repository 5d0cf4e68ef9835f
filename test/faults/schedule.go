package faults

import (
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
)

// choice is one thing that could be done next.
type choice struct {
	weight int
	do     func()
}

// play lets things happen until the Plan's steps are over.
func (w *World) play() {
	for w.step < w.plan.Steps && !w.over {
		w.step++
		w.happenDue()
		for _, s := range w.plan.Skyhooks {
			if s.At > 0 && s.At == w.step {
				w.trace.add(w, "user creates Skyhook %s", s.Name)
				w.createSkyhook(s)
			}
		}
		w.now = w.now.Add(time.Duration(1+w.rng.IntN(100)) * time.Millisecond)
		choices := w.due()
		if next, ok := w.next(); ok {
			// While somebody has something to do, time passes slowly.
			if soon := w.now.Add(w.seconds(0, 5)); len(choices) > 0 && next.After(soon) {
				next = soon
			}
			choices = append(choices, choice{1, func() { w.advance(next) }})
		}
		w.choose(choices)
	}
}

// choose does one of the choices; false when there is none.
func (w *World) choose(choices []choice) bool {
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	if sum == 0 {
		return false
	}
	at := w.rng.IntN(sum)
	for _, c := range choices {
		if at -= c.weight; at < 0 {
			c.do()
			return true
		}
	}
	return false
}

// due are the things that could be done now.
func (w *World) due() []choice {
	var all []choice
	for _, o := range w.operators {
		if o.dies > 0 && (w.step >= o.dies || w.resting) {
			all = append(all, choice{20, func() { w.kill(o, "ends") }})
		}
		all = o.due(all)
	}
	if len(w.operators) == 0 {
		all = append(all, choice{1, func() { w.startOperator(w.offset()) }})
	}
	for _, k := range w.kubelets {
		if k.up && !k.next().After(w.now) {
			all = append(all, choice{w.kubeletWeight(), func() { k.work() }})
		}
	}
	if i := w.dueTimer(); i >= 0 {
		all = append(all, choice{4, func() { w.fire(i) }})
	}
	if w.watch.garbage {
		all = append(all, choice{1, func() { w.watch.garbage = w.cluster.CollectGarbage() }})
	}
	if w.watch.foreign {
		all = append(all, choice{2, func() { w.watch.foreign = w.workloadsWork() }})
	}
	return all
}

// passWeight and kubeletWeight: in a world at rest one pass sees many changes, as passes cost most of a world's time.
func (w *World) passWeight(loop string) int {
	switch {
	case !w.resting:
		return 5
	case loop == "Skyhook":
		return 1
	default:
		return 3
	}
}

func (w *World) kubeletWeight() int {
	if w.resting {
		return 10
	}
	return 3
}

// offset is the clock of an operator that starts after a crash.
func (w *World) offset() time.Duration {
	if w.plan.Offset == 0 {
		return 0
	}
	return time.Duration(w.rng.IntN(7201)-3600) * time.Second
}

// due adds what one operator could do.
func (o *operator) due(all []choice) []choice {
	for _, k := range o.replica.Pending() {
		if k == o.late && o.w.step < o.from && !o.w.resting {
			continue
		}
		weight := 6
		if o.w.resting {
			weight = 40 // passes over old caches are done with
		}
		if lag := o.w.plan.Lag; lag > 0 && !o.w.resting {
			weight = max(1, 6-lag)
		}
		all = append(all, choice{weight, func() { o.catchUp(k) }})
	}
	for _, l := range o.Loops {
		if ready := l.Queue.Ready(); len(ready) > 0 {
			// Handlers add keys in the order of maps, which differs from run to run.
			slices.SortFunc(ready, func(a, b reconcile.Request) int { return strings.Compare(a.Name, b.Name) })
			all = append(all, choice{o.w.passWeight(l.Kind), func() { o.reconcile(l, pick[reconcile.Request](o.w.rng, ready...)) }})
		}
	}
	return all
}

// catchUp delivers some events of a kind to the caches.
func (o *operator) catchUp(k cluster.Kind) {
	n := o.replica.Lag(k)
	if n > 1 && !o.w.resting && o.w.chance(0.5) {
		n = 1 + o.w.rng.IntN(n)
	}
	o.w.trace.add(o.w, "%s sees %d changes of %ss", o.name, n, k)
	o.deliver(o.replica.Deliver(k, n))
}

// stale is how many changes of a kind the cache of the API server itself is behind, each kind for itself: an operator
// that takes over may know a node as it is, and not the pods there.
func (w *World) stale(k cluster.Kind) int {
	if w.old != nil {
		return w.old[k]
	}
	if w.plan.Lag == 0 || w.resting || w.chance(0.5) {
		return 0
	}
	return w.rng.IntN(2*w.plan.Lag + 1)
}

// dueTimer is the index of the earliest timer of the world that is due; -1 when none is.
func (w *World) dueTimer() int {
	best := -1
	for i := range w.timers {
		if !w.timers[i].at.After(w.now) && (best < 0 || w.timers[i].before(&w.timers[best])) {
			best = i
		}
	}
	return best
}

func (t *timer) before(other *timer) bool {
	return t.at.Before(other.at) || t.at.Equal(other.at) && t.seq < other.seq
}

func (w *World) fire(i int) {
	t := w.timers[i]
	w.timers = append(w.timers[:i:i], w.timers[i+1:]...)
	w.trace.add(w, "%s", t.what)
	t.do()
}

// next is when the next timer of anybody fires; last, the one after which none is left.
func (w *World) next() (time.Time, bool) {
	first := podlife.Never
	w.eachTimer(func(t time.Time) {
		if t.After(w.now) && t.Before(first) {
			first = t
		}
	})
	return first, first.Before(podlife.Never)
}

func (w *World) last() time.Time {
	last := w.now
	w.eachTimer(func(t time.Time) {
		if t.After(last) && t.Before(podlife.Never) {
			last = t
		}
	})
	return last
}

// eachTimer calls f with the times of all timers.
func (w *World) eachTimer(f func(time.Time)) {
	for _, t := range w.timers {
		f(t.at)
	}
	for _, o := range w.operators {
		for _, l := range o.Loops {
			if t, ok := l.Queue.Next(); ok {
				f(t)
			}
		}
	}
	for _, k := range w.kubelets {
		if !k.up {
			continue
		}
		for _, pod := range w.cluster.Pods() {
			if pod.Spec.NodeName == k.plan.Name {
				f(k.due(pod))
			}
		}
	}
}

func (w *World) advance(to time.Time) {
	if to.After(w.now) {
		w.now = to
		w.watch.checkLate(false)
	}
}
