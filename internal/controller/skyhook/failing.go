package skyhook

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

const (
	// An error counts as an obstacle when toldTimes passes in a row ended with one, over toldAfter at least: an API server
	// that is replaced by another is nothing that people have to hear of.
	toldTimes = 3
	toldAfter = 10 * time.Second
)

// failures counts the passes in a row that ended with an error, by the names of their Skyhooks. It is no state that a
// decision depends on: what fails on counts again after a restart.
type failures struct {
	mu      sync.Mutex
	skyhook map[string]failure
}

type failure struct {
	uid   types.UID
	times int
	since time.Time
	lasts bool
}

// note counts how a pass ended, and reports whether its error has just become one that lasts.
func (f *failures) note(s *v1alpha1.Skyhook, err error, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, o := f.skyhook[s.Name], obstacleOf(err)
	switch {
	case err == nil, o != nil && !o.lasting:
		delete(f.skyhook, s.Name)
		return false
	case passes(err):
		return false
	}
	if last.uid != s.UID {
		last = failure{uid: s.UID, since: now}
	}
	last.times++
	begins := !last.lasts && last.times >= toldTimes && now.Sub(last.since) >= toldAfter
	last.lasts = last.lasts || begins
	if f.skyhook == nil {
		f.skyhook = map[string]failure{}
	}
	f.skyhook[s.Name] = last
	return begins
}

// lasts reports whether an error of this pass is one of those that stay.
func (f *failures) lasts(s *v1alpha1.Skyhook, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.skyhook[s.Name]
	return err != nil && last.lasts && last.uid == s.UID && !passes(err)
}

func (f *failures) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.skyhook, name)
}

// passes reports whether an error only says that somebody was faster, or that the operator ends.
func passes(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled)
}

// lasting makes an obstacle of an error that is none, if passes fail again and again.
func (r *Reconciler) lasting(s *v1alpha1.Skyhook, err error, reason string) error {
	if obstacleOf(err) != nil || !r.failures.lasts(s, err) {
		return err
	}
	message := fmt.Sprintf("%v; the operator retries", err)
	return &obstacleError{reason: reason, frees: record.FreesAdministrator, message: message, err: err, lasting: true}
}

// reportFailing tells of an error that lasts where the status may not: it may be what cannot be written.
func (r *Reconciler) reportFailing(s *v1alpha1.Skyhook, err error) {
	r.Events.Eventf(s, nil, corev1.EventTypeWarning, v1alpha1.ReasonPassFailed, "Plan", "%v; the operator retries", err)
}
