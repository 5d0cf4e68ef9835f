package cluster

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue is a work queue in virtual time: a set of ready keys in the order in which they came, and one timer per key.
// The driver takes any ready key, as several workers would.
type Queue struct {
	// Only, if it is set, is the name of the only key that is taken.
	Only string

	now     func() time.Time
	ready   []reconcile.Request
	timers  []timer
	working map[reconcile.Request]bool
	// again are keys that were added while they were worked on.
	again map[reconcile.Request]bool
	// failures in a row.
	failures map[reconcile.Request]int
}

type timer struct {
	request reconcile.Request
	at      time.Time
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = (*Queue)(nil)

// Delays after failures, as those of a controller.
const (
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = 1000 * time.Second
)

// NewQueue returns an empty queue.
func NewQueue(now func() time.Time) *Queue {
	return &Queue{
		now: now, working: map[reconcile.Request]bool{}, again: map[reconcile.Request]bool{},
		failures: map[reconcile.Request]int{},
	}
}

// Ready returns the keys that may be worked on now, those whose time has come included; the longest first. It must not
// be changed.
func (q *Queue) Ready() []reconcile.Request {
	now := q.now()
	due := 0
	for due < len(q.timers) && !q.timers[due].at.After(now) {
		due++
	}
	fired := q.timers[:due]
	q.timers = q.timers[due:]
	for _, t := range fired {
		q.Add(t.request)
	}
	return q.ready
}

// Take removes a ready key to be worked on; false when it is not ready. Done or Finish has to follow.
func (q *Queue) Take(r reconcile.Request) bool {
	i := slices.Index(q.ready, r)
	if i < 0 {
		return false
	}
	q.ready = slices.Delete(slices.Clone(q.ready), i, i+1)
	q.working[r] = true
	return true
}

// Finish does what a controller does with the outcome of a pass.
func (q *Queue) Finish(r reconcile.Request, result reconcile.Result, err error) {
	switch {
	case err != nil:
		q.AddRateLimited(r)
	case result.RequeueAfter > 0:
		q.Forget(r)
		q.AddAfter(r, result.RequeueAfter)
	default:
		q.Forget(r)
	}
	q.Done(r)
}

// Next is when the next timer fires; false when there is none.
func (q *Queue) Next() (time.Time, bool) {
	if len(q.timers) == 0 {
		return time.Time{}, false
	}
	return q.timers[0].at, true
}

// Add makes a key ready; one that is being worked on becomes so afterwards.
func (q *Queue) Add(r reconcile.Request) {
	switch {
	case q.Only != "" && r.Name != q.Only:
	case q.working[r]:
		q.again[r] = true
	case !slices.Contains(q.ready, r):
		q.ready = append(slices.Clip(q.ready), r)
	}
}

// AddAfter makes a key ready later. Of two times the earlier one counts.
func (q *Queue) AddAfter(r reconcile.Request, after time.Duration) {
	if after <= 0 {
		q.Add(r)
		return
	}
	at := q.now().Add(after)
	if i := slices.IndexFunc(q.timers, func(t timer) bool { return t.request == r }); i >= 0 {
		if !at.Before(q.timers[i].at) {
			return
		}
		q.timers = slices.Delete(q.timers, i, i+1)
	}
	// Behind those of the same time, so that the order is that of the calls.
	i, _ := slices.BinarySearchFunc(q.timers, at, func(t timer, at time.Time) int { return cmp.Or(t.at.Compare(at), -1) })
	q.timers = slices.Insert(q.timers, i, timer{r, at})
}

// AddRateLimited makes a key ready after a delay that doubles with every failure.
func (q *Queue) AddRateLimited(r reconcile.Request) {
	n := q.failures[r]
	q.failures[r]++
	delay := lastBackoff
	if n < 18 { // beyond, it is longer than the last
		delay = min(firstBackoff<<n, lastBackoff)
	}
	q.AddAfter(r, delay)
}

// Forget ends a row of failures.
func (q *Queue) Forget(r reconcile.Request) { delete(q.failures, r) }

// NumRequeues is the number of failures in a row.
func (q *Queue) NumRequeues(r reconcile.Request) int { return q.failures[r] }

// Len is the number of ready keys.
func (q *Queue) Len() int { return len(q.Ready()) }

// Get takes the key that has been ready longest. Without one it returns at once, as nobody else could add one.
func (q *Queue) Get() (r reconcile.Request, shutdown bool) {
	ready := q.Ready()
	if len(ready) == 0 {
		return r, true
	}
	r = ready[0]
	q.Take(r)
	return r, false
}

// Done ends the work on a key.
func (q *Queue) Done(r reconcile.Request) {
	delete(q.working, r)
	if q.again[r] {
		delete(q.again, r)
		q.Add(r)
	}
}

// ShutDown does nothing: a queue is dropped with its process.
func (q *Queue) ShutDown() {}

// ShutDownWithDrain does nothing.
func (q *Queue) ShutDownWithDrain() {}

// ShuttingDown is never true.
func (q *Queue) ShuttingDown() bool { return false }
