package state

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// turns is how many urgent keys are taken before one that is not, if such a key waits: urgent ones delay it, but never
// for good.
const turns = 16

// urgentFirst keeps the keys of a queue: those that are urgent when they are added, and the others. Of each, the first
// one added is the first one taken.
type urgentFirst struct {
	urgent        func(reconcile.Request) bool
	first, second workqueue.Queue[reconcile.Request]
	// taken counts urgent keys since the last other one.
	taken int
}

// Touch is told of keys that are added again while they wait; they keep their place.
func (*urgentFirst) Touch(reconcile.Request) {}

// Push adds a key.
func (q *urgentFirst) Push(key reconcile.Request) {
	if q.urgent(key) {
		q.first.Push(key)
	} else {
		q.second.Push(key)
	}
}

// Len is how many keys wait.
func (q *urgentFirst) Len() int { return q.first.Len() + q.second.Len() }

// Pop takes the next key; there has to be one.
func (q *urgentFirst) Pop() reconcile.Request {
	if q.second.Len() > 0 && (q.first.Len() == 0 || q.taken >= turns) {
		q.taken = 0
		return q.second.Pop()
	}
	q.taken++
	return q.first.Pop()
}

// newQueue returns what makes a controller's queue, from which urgent keys are taken first.
func newQueue(
	urgent func(reconcile.Request) bool,
) func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	type key = reconcile.Request
	return func(name string, limiter workqueue.TypedRateLimiter[key]) workqueue.TypedRateLimitingInterface[key] {
		keys := &urgentFirst{urgent: urgent, first: workqueue.DefaultQueue[key](), second: workqueue.DefaultQueue[key]()}
		queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[key]{Name: name, Queue: keys})
		delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[key]{Name: name, Queue: queue})
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[key]{
			Name: name, DelayingQueue: delaying,
		})
	}
}
