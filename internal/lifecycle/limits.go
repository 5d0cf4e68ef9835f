package lifecycle

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// runSuffix tells apart two runs that began within the same second.
const runSuffix = "!"

// runStart is when the entry's run began.
func runStart(e record.Entry) time.Time {
	seconds, err := strconv.ParseInt(strings.TrimRight(e.Run, runSuffix), 36, 64)
	if err != nil {
		return e.Since.Time // a run named by somebody else
	}
	return time.Unix(seconds, 0)
}

// overTime ends a stage that runs for longer than stageTimeout. It stays erroring until the spec or the record changes.
func (m *machine) overTime(e *record.Entry, pkg Package, pod Pod) bool {
	if pkg.StageTimeout == nil {
		return false
	}
	limit := pkg.StageTimeout.Duration
	if left := runStart(*e).Add(limit).Sub(m.Now); left > 0 {
		m.lookAgain(left)
		return false
	}
	message := fmt.Sprintf("stage %s did not end within its stageTimeout of %s", e.Stage, limit)
	if pod.Message != "" {
		message += ": " + pod.Message
	}
	m.giveUp(e, pod, ReasonStageTimeout, message)
	return true
}

// overRetries ends a stage that failed as often as maxRetries allows.
func (m *machine) overRetries(e *record.Entry, pkg Package, pod Pod, restarts int32) bool {
	if pkg.MaxRetries == nil || pod.Retrying || restarts < *pkg.MaxRetries {
		return false
	}
	m.giveUp(e, pod, ReasonRetries, fmt.Sprintf("%s; given up after %d retries (maxRetries)", pod.Message, restarts))
	return true
}

func (m *machine) giveUp(e *record.Entry, pod Pod, reason, message string) {
	m.failWith(e, reason, message, max(e.Restarts, pod.Restarts))
	if !pod.Terminating {
		m.out.Delete = append(m.out.Delete, pod)
	}
}

// gaveUp reports whether a limit ended the entry's stage.
func gaveUp(e record.Entry) bool {
	return e.State == v1alpha1.StateErroring && (e.Reason == ReasonStageTimeout || e.Reason == ReasonRetries)
}

// remainsGivenUp reports whether a stage that was given up is not tried again: the spec is still the one it failed with.
// Any edit counts, as the limits themselves are no part of a pod's hash.
func (m *machine) remainsGivenUp(e record.Entry) bool {
	if !gaveUp(e) || e.Generation != m.Generation {
		return false
	}
	m.wait(e.Name, e.Reason, e.Message+"; change the spec, or remove the node's record, to try again")
	return true
}

// waited reports whether the pause after a lost pod is over.
func (m *machine) waited(e *record.Entry) bool {
	if e.State != v1alpha1.StateErroring || e.Restarts == 0 {
		return true
	}
	pause := backoff(e.Restarts)
	left := e.Since.Add(pause).Sub(m.Now)
	if left <= 0 {
		return true
	}
	m.wait(e.Name, ReasonBackoff, fmt.Sprintf("the pod of stage %s is created again after %s: %s", e.Stage, pause, e.Message))
	m.lookAgain(left)
	return false
}

func backoff(restarts int32) time.Duration {
	d := backoffBase
	for i := int32(1); i < restarts && d < backoffMax; i++ {
		d *= 2
	}
	return min(d, backoffMax)
}
