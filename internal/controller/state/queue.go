package state

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// turns is how many urgent keys are taken before one that is not, if such a key waits: urgent ones delay it, but never
// for good.
const turns = 8

// urgentFirst keeps the keys of a queue: those that are urgent, and the others. Of each, the first one is taken first.
type urgentFirst struct {
	urgent func(reconcile.Request) bool
	first  workqueue.Queue[reconcile.Request]
	// second has others as well that have become urgent since, and wait in first; rest are those that have not.
	second workqueue.Queue[reconcile.Request]
	rest   sets.Set[reconcile.Request]
	// taken counts urgent keys since the last other one.
	taken int
}

func newUrgentFirst(urgent func(reconcile.Request) bool) *urgentFirst {
	type key = reconcile.Request
	return &urgentFirst{
		urgent: urgent, first: workqueue.DefaultQueue[key](), second: workqueue.DefaultQueue[key](), rest: sets.New[key](),
	}
}

// Touch is told of keys that are added again while they wait: one that has become urgent goes to the others.
func (q *urgentFirst) Touch(key reconcile.Request) {
	if !q.rest.Has(key) || !q.urgent(key) {
		return
	}
	q.first.Push(key)
	q.rest.Delete(key)
	if len(q.rest) == 0 {
		q.second = workqueue.DefaultQueue[reconcile.Request]() // nothing in it waits any more
	}
}

// Push adds a key.
func (q *urgentFirst) Push(key reconcile.Request) {
	if q.urgent(key) {
		q.first.Push(key)
		return
	}
	q.second.Push(key)
	q.rest.Insert(key)
}

// Len is how many keys wait.
func (q *urgentFirst) Len() int { return q.first.Len() + len(q.rest) }

// Pop takes the next key; there has to be one.
func (q *urgentFirst) Pop() reconcile.Request {
	if len(q.rest) == 0 || q.first.Len() > 0 && q.taken < turns {
		q.taken++
		return q.first.Pop()
	}
	q.taken = 0
	key := q.second.Pop()
	for !q.rest.Has(key) {
		key = q.second.Pop()
	}
	q.rest.Delete(key)
	return key
}

// newQueue returns what makes a controller's queue, from which urgent keys are taken first.
func newQueue(
	urgent func(reconcile.Request) bool,
) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	type key = reconcile.Request
	return func(name string, limiter workqueue.TypedRateLimiter[key]) workqueue.TypedRateLimitingInterface[key] {
		queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[key]{Name: name, Queue: newUrgentFirst(urgent)})
		delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[key]{Name: name, Queue: queue})
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[key]{
			Name: name, DelayingQueue: delaying,
		})
	}
}
