package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

const (
	// A node whose pass failed in part is looked at again after retryBase, doubled with each failure in a row up to
	// retryMax.
	retryBase = time.Second
	retryMax  = 2 * time.Minute
	// conflictRetry is when to look again after a write that the API server refused because the cache was behind; doubled
	// with each one in a row up to freshRetryMost, as a watch may stall.
	conflictRetry = 50 * time.Millisecond
)

// failures counts the failures in a row of a node, and of each Skyhook on it. No decision depends on it but for what
// people are told.
type failures struct {
	passes, conflicts int
	skyhooks          map[string]*failure
}

// failure is what has gone wrong for one Skyhook on one node since the last pass that went well.
type failure struct {
	state.Failures
	conflicts state.Conflicts
	// message is kept for a while: one that differs in each pass must not change the node's record each time.
	message string
	at      time.Time
}

// result turns what went wrong in a pass into the next look. An error of one Skyhook must not drop the timers of the
// others, as an error returned to the queue would.
func (p *pass) result(ctx context.Context) ctrl.Result {
	if ctx.Err() != nil {
		return ctrl.Result{} // the operator stops, and what fails now fails because of that
	}
	failures := &p.known.failures
	begun, over := failures.note(p)
	for name, message := range begun {
		p.reportFailure(name, message)
	}
	err := errors.Join(p.errs...)
	if err != nil && !conflictsOnly(p.errs) {
		ctrl.LoggerFrom(ctx).Error(err, "a pass over a node failed in part")
	}
	pause := failures.pause(p.after(), p.errs)
	if len(begun) > 0 || over { // the record is to tell so
		pause = conflictRetry
	}
	return ctrl.Result{RequeueAfter: pause}
}

// reportFailure sends the events about a failure that lasts: the record may be what cannot be written.
func (p *pass) reportFailure(skyhook, message string) {
	for _, s := range p.skyhooks {
		if s.Name == skyhook {
			p.Events.Eventf(p.node, s, corev1.EventTypeWarning, v1alpha1.ReasonPassFailed, "Pass",
				"Skyhook %s: %s", skyhook, message)
			p.Events.Eventf(s, p.node, corev1.EventTypeWarning, v1alpha1.ReasonPassFailed, "Pass",
				"node %s: %s", p.node.Name, message)
		}
	}
}

// tellUnwritten lets the records tell that the passes fail when that is because they cannot be written: the little that
// says so may be.
func (p *pass) tellUnwritten(ctx context.Context) {
	failures := &p.known.failures
	var all record.Patch
	for _, i := range p.items {
		name := i.skyhook.Name
		message := failures.told(name)
		if message == "" || conflictsOnly(p.errs) {
			continue
		}
		n, _ := p.Records.Read(name, p.node) // the wait can be read in any case
		change, err := record.WriteWait(name, lifecycle.FailedWait(n.Wait, message, p.now), p.node.Annotations)
		if err != nil {
			p.errs = append(p.errs, err)
			continue
		}
		all.Merge(change)
	}
	if all.Empty() {
		return
	}
	metadata := map[string]any{"resourceVersion": p.wrote.resourceVersion, "annotations": all.Annotations}
	if err := p.sendPatch(ctx, map[string]any{"metadata": metadata}); err != nil {
		p.errs = append(p.errs, err)
	}
}

// told returns what people are told of the failures of a Skyhook; empty when there are none, or not for long.
func (f *failures) told(skyhook string) string {
	if one := f.skyhooks[skyhook]; one != nil && one.Last {
		return one.message
	}
	return ""
}

// note counts the failures of a pass. It returns those that people have to be told from now on, by Skyhook, and whether
// one is over that they were told.
func (f *failures) note(p *pass) (begun map[string]string, over bool) {
	before := f.skyhooks
	if len(before) == 0 && len(p.failed) == 0 {
		return nil, false // as in nearly all passes, and on nearly all nodes, which then need no maps
	}
	begun, f.skyhooks = map[string]string{}, map[string]*failure{}
	for name, err := range p.failed {
		one := before[name]
		if one == nil {
			one = &failure{}
		}
		f.skyhooks[name] = one
		switch {
		case errors.Is(err, context.Canceled), apierrors.IsConflict(err) && !one.conflicts.Last(p.now): // that says nothing
		case one.add(err, p.now):
			begun[name] = one.message
		}
	}
	for name, one := range before {
		over = over || one.Last && f.skyhooks[name] == nil
	}
	return begun, over
}

// add counts one more, and reports whether people have to be told from now on.
func (f *failure) add(err error, now time.Time) bool {
	begins := f.Add(now)
	if begins || f.message == "" || now.Sub(f.at) >= retryMax {
		f.message, f.at = failureMessage(err), now
	}
	return begins
}

func failureMessage(err error) string {
	switch {
	case apierrors.IsInvalid(err) && strings.Contains(err.Error(), "annotations: Too long"):
		return fmt.Sprintf("%v; remove annotations of the node that nothing needs, or use fewer keys in configMap", err)
	case apierrors.IsConflict(err):
		return fmt.Sprintf("%v; what the operator watches lags behind the API server; if that lasts, restart the operator", err)
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("%v; change the policy, quota or role that refuses it", err)
	default:
		return fmt.Sprintf("%v; the operator retries", err)
	}
}

// pause is how long to wait until the next look.
func (f *failures) pause(after time.Duration, errs []error) time.Duration {
	switch {
	case len(errs) == 0:
		f.passes, f.conflicts = 0, 0
		return after
	case conflictsOnly(errs):
		f.conflicts++
		return min(conflictRetry<<min(f.conflicts-1, 5), freshRetryMost)
	}
	pause := retryBase
	for i := 0; i < f.passes && pause < retryMax; i++ {
		pause *= 2
	}
	f.passes++
	pause = min(pause, retryMax)
	if after > 0 {
		pause = min(pause, after)
	}
	return pause
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
