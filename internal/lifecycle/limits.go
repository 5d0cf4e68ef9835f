package lifecycle

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// runStart is when the entry's run began.
func runStart(e record.Entry) time.Time {
	seconds, err := strconv.ParseInt(strings.TrimRight(e.Run, runSuffix), 36, 64)
	if err != nil {
		return e.Since.Time // a run named by somebody else
	}
	return time.Unix(seconds, 0)
}

// began is when the pod began to count against a limit. While none could be created, for a quota, a pause or a permit,
// nothing ran; and the API server's clock, which the pod has its time from, may be behind ours. A run of a time to come
// was begun by a clock that was ahead, and tells nothing.
func (v view) began(e record.Entry, pod Pod) time.Time {
	if start := runStart(e); start.After(pod.Created) && !v.ahead(start) {
		return start
	}
	return pod.Created
}

// overTime ends a stage that runs for longer than stageTimeout. It stays erroring until the spec or the record changes.
func (p *pass) overTime(e *record.Entry, pkg situation.Package, pod Pod) bool {
	if pkg.StageTimeout == nil {
		return false
	}
	limit := pkg.StageTimeout.Duration
	if left := p.began(*e, pod).Add(limit).Sub(p.Now); left > 0 {
		p.out.lookAgain(left)
		return false
	}
	message := fmt.Sprintf("stage %s did not end within its stageTimeout of %s", e.Stage, limit)
	if pod.Message != "" {
		message += ": " + pod.Message
	}
	p.exhaust(e, pod, v1alpha1.ReasonStageTimeout, message)
	return true
}

// longAfter is how long a stage without stageTimeout may run before people are told: its script may hang.
const longAfter = 30 * time.Minute

// runsLong tells people of a stage that has no limit and does not end. That is no failure: some install for hours.
func (p *pass) runsLong(e record.Entry, pkg situation.Package, pod Pod) {
	if pkg.StageTimeout != nil || pod.Outcome != Running || pod.Reason != "" {
		return
	}
	start := p.began(e, pod)
	if left := start.Add(longAfter).Sub(p.Now); left > 0 {
		p.out.lookAgain(left)
		return
	}
	logs := fmt.Sprintf("kubectl logs -n %s %s", pod.Namespace, pod.Name)
	if pod.Container != "" {
		logs += " -c " + pod.Container
	}
	message := fmt.Sprintf("stage %s of package %s has been running since %s without a time limit; %#q", e.Stage, e.Name,
		start.UTC().Format(time.RFC3339), logs)
	if p.DefinitionOf(e).FromSpec {
		message += fmt.Sprintf("; set spec.packages.%s.stageTimeout to limit it", e.Name)
	}
	w := pod.holds(newWait(e.Name, v1alpha1.ReasonStageRunsLong, message))
	p.wait(w)
	if p.longRun == nil {
		p.longRun = w
	}
}

// overRetries ends a stage that failed as often as maxRetries allows.
func (p *pass) overRetries(e *record.Entry, pkg situation.Package, pod Pod) bool {
	if pkg.MaxRetries == nil || pod.Retrying || e.Attempts <= *pkg.MaxRetries {
		return false
	}
	p.exhaust(e, pod, v1alpha1.ReasonRetriesExhausted, fmt.Sprintf(
		"%s; its retries are exhausted (maxRetries: %d)", pod.Message, *pkg.MaxRetries))
	return true
}

func (p *pass) exhaust(e *record.Entry, pod Pod, reason, message string) {
	p.failWith(e, reason, message, max(e.Restarts, pod.Restarts))
	if !pod.Terminating {
		p.out.take(Step{Delete: &pod})
	}
}

// remainsExhausted reports whether an exhausted stage is not retried: the spec is still the one it failed with.
func (p *pass) remainsExhausted(e record.Entry) bool {
	if !situation.Exhausted(e) || p.Edited(e) {
		return false
	}
	p.wait(newWait(e.Name, e.Reason, e.Message+"; any edit of the spec retries it"))
	return true
}
