package node

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// A node whose pass failed in part is looked at again after retryBase, doubled with each failure in a row up to
	// retryMax.
	retryBase = time.Second
	retryMax  = 2 * time.Minute
	// conflictRetry is when to look again after a write that the API server refused because the cache was behind.
	conflictRetry = 50 * time.Millisecond
)

// retries counts the failures in a row of each node. It is no state that a decision depends on.
type retries struct {
	mu     sync.Mutex
	failed map[string]int
}

// result turns what went wrong in a pass into the next look. An error of one Skyhook must not drop the timers of the others,
// as an error returned to the queue would.
func (r *retries) result(ctx context.Context, node string, after time.Duration, errs []error) ctrl.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := errors.Join(errs...)
	switch {
	case err == nil:
		delete(r.failed, node)
		return ctrl.Result{RequeueAfter: after}
	case conflictsOnly(errs):
		return ctrl.Result{RequeueAfter: conflictRetry}
	}
	ctrl.LoggerFrom(ctx).Error(err, "a pass over a node failed in part")
	if r.failed == nil {
		r.failed = map[string]int{}
	}
	pause := retryBase
	for i := 0; i < r.failed[node] && pause < retryMax; i++ {
		pause *= 2
	}
	r.failed[node]++
	pause = min(pause, retryMax)
	if after > 0 {
		pause = min(pause, after)
	}
	return ctrl.Result{RequeueAfter: pause}
}

// conflictsOnly reports whether the errors only say that the cache was behind.
func conflictsOnly(errs []error) bool {
	for _, err := range errs {
		if !apierrors.IsConflict(err) {
			return false
		}
	}
	return true
}

func (r *retries) forget(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, node)
}
