package skyhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// failures counts the passes in a row that ended with an error. When they last that counts as an obstacle.
type failures struct {
	state.Failures
	conflicts state.Conflicts
	// behind says that conflicts last.
	behind bool
}

// note counts how a pass ended, and reports whether its error has just become one that lasts.
func (f *failures) note(err error, now time.Time) bool {
	switch o := obstacleOf(err); {
	case err == nil, o != nil && !o.lasting:
		*f = failures{}
		return false
	case f.passes(err):
		if f.behind = apierrors.IsConflict(err) && f.conflicts.Last(now); !f.behind {
			return false
		}
	}
	return f.Add(now)
}

// passes reports whether an error only says that somebody was faster, or that the operator ends.
func (f *failures) passes(err error) bool {
	return apierrors.IsConflict(err) && !f.behind || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled)
}

// lasting makes an obstacle of an error that is none, if passes fail again and again.
func (f *failures) lasting(err error, reason string) error {
	if err == nil || obstacleOf(err) != nil || f.passes(err) || !f.Last {
		return err
	}
	message := fmt.Sprintf("%v; the operator retries", err)
	return &obstacleError{reason: reason, frees: record.FreesAdministrator, message: message, err: err, lasting: true}
}

// reportFailing tells of an error that lasts where the status may not: it may be what cannot be written.
func (r *Reconciler) reportFailing(s *v1alpha1.Skyhook, err error) {
	r.Events.Eventf(s, nil, corev1.EventTypeWarning, v1alpha1.ReasonPassFailed, "Plan", "%v; the operator retries", err)
}
