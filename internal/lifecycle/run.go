package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/version"
)

const (
	// startGrace is how long a container may fail to start (image pull, missing Secret) before it is an error, and how
	// long none may have started before people are told.
	startGrace = time.Minute
	// startDelay is how long a container may fail to start before the record tells it: most of what is over by then needs
	// nobody, and costs no write.
	startDelay = 15 * time.Second
	// startLimit is how long no container may have started before that is a failed run: large images take their time.
	startLimit = 30 * time.Minute
	// A lost pod is replaced after backoffBase, doubled with each loss up to backoffMax.
	backoffBase = 10 * time.Second
	backoffMax  = 5 * time.Minute
)

// watch brings a stage that has begun up to date with its pod. True when the stage is complete.
func (p *pass) watch(u unit, e record.Entry) bool {
	if record.IsInterrupt(e.Stage) {
		p.remainsExhausted(e)
		return false // watchInterrupt has seen to one in flight
	}
	pod, ok := p.podOf(e)
	if !ok {
		p.noteGone(&e)
		p.resume(u, e)
		return false
	}
	p.claimed[pod.Name] = true
	e.Rejected, e.RejectedAt, e.Untouched = 0, metav1.Time{}, e.Untouched && !pod.Begun
	if p.pinned(u, e, pod) {
		return false
	}
	switch {
	case pod.Outcome == Done:
		p.complete(u, e, pod)
		return true
	case pod.Terminating:
		if !p.overTime(&e, u.pkg, pod) { // its node may be dead, so that it never ends
			p.waitForEnd(e, pod)
		}
	case !p.runsWhatIsWanted(u, pod):
		// What runs is not what the spec asks for any more. The replacement follows when this pod has ended.
		p.out.take(Step{Delete: &pod})
		if !e.Untouched { // else its end tells whether it remains so
			p.restart(&e, u.pkg)
		}
	case p.Hold != nil && (pod.idle() || p.Hold.Frees == record.FreesOther && p.unstarted(pod)): // which others wait for
		p.holdBack(e, pod)
	case !p.overTime(&e, u.pkg, pod):
		p.judge(&e, u.pkg, pod)
	}
	return false
}

// runsWhatIsWanted reports whether a pod is what the spec asks for now. One of another operator has no hash, but tells
// for which generation it was made: if that is this one, what it has done so far is not done again.
func (v view) runsWhatIsWanted(u unit, pod Pod) bool {
	if pod.Elsewhere {
		return false
	}
	if pod.Hash == "" && pod.Generation != 0 {
		return pod.Generation == v.Generation
	}
	return pod.Hash == u.pkg.Hash
}

// idle reports whether nothing of the pod runs now, but would again: the kubelet retries it for as long as it is there.
func (pod Pod) idle() bool {
	return pod.Outcome == Failing && !pod.Retrying || pod.Outcome == Stuck
}

// holdBack removes a pod that fails while something holds the node back: a stage that runs may end, but nothing is
// retried. The entry keeps its failure, and continues with it when the hold is over.
func (p *pass) holdBack(e record.Entry, pod Pod) {
	if pod.Outcome == Failing {
		p.failing(&e, p.DefinitionOf(e).Package, pod)
	}
	if !situation.Exhausted(e) { // else it is deleted already
		p.out.take(Step{Delete: &pod})
	}
	p.waitForEnd(e, pod)
}

// waitForEnd waits for a pod that is being deleted; overdueEnd tells of one that does not end.
func (p *pass) waitForEnd(e record.Entry, pod Pod) {
	p.wait(pod.holds(newWait(e.Name, v1alpha1.ReasonWaitingForPodToEnd, fmt.Sprintf(
		"pod %s is being deleted; it is replaced when it has ended", pod.Name))))
}

// podOf finds the pod of the entry's run.
func (v view) podOf(e record.Entry) (Pod, bool) {
	for _, pod := range v.Pods {
		if pod.Package == e.Name && pod.Stage == e.Stage && pod.Run == e.Run && version.Same(pod.Version, e.Version) {
			return pod, true
		}
	}
	return Pod{}, false
}

// resume creates the missing pod of a stage that has begun: it was never created, was deleted by somebody, or got lost.
func (p *pass) resume(u unit, e record.Entry) {
	startsOver := situation.Exhausted(e) || e.Run == "" || e.Hash != u.pkg.Hash && e.Hash != "" ||
		len(record.ChangedKeys(e.Config, u.pkg.Config)) > 0
	// An edit ends the pause after a failure. While something holds the node nothing is created again, whatever the pause.
	if p.remainsExhausted(e) || p.Hold == nil && !startsOver && !p.waited(e) || !p.openAgain(u) {
		return
	}
	if startsOver {
		p.restart(&e, u.pkg)
	}
	if e.Reason != v1alpha1.ReasonPodRejected { // that is over when there is a pod
		p.recovered(&e) // retried, and so in progress until it fails again
	}
	p.another(&e)
	if e.Definition != u.pkg.Definition {
		e.Definition = u.pkg.Definition
		p.out.take(Step{Write: &e})
	}
	p.start(e)
}

// another is the next pod of a run, whose restarts count from 0. That the one before it never began says nothing of it.
func (p *pass) another(e *record.Entry) {
	if e.AttemptsBefore != e.Attempts {
		e.AttemptsBefore = e.Attempts
		p.put(*e)
	}
	if e.Untouched && !e.RejectedAt.IsZero() {
		e.RejectedAt = metav1.Time{}
		next := *e
		p.out.take(Step{Write: &next})
	}
}

// restart begins the same stage again, with the spec as it is now. A changed configMap sends a package that was past
// its config stage back to it. To uninstall the package what ran last counts, so the definition stays until there is a
// pod.
func (p *pass) restart(e *record.Entry, pkg situation.Package) {
	if situation.ConfigChanged(pkg, *e) {
		keys := record.ChangedKeys(e.Config, pkg.Config)
		switch {
		case e.Stage == v1alpha1.StagePostInterrupt:
			e.Stage, e.Changed = v1alpha1.StageConfig, keys
		case e.Changed != nil:
			e.Changed = union(e.Changed, keys)
		}
	}
	e.Image, e.ContainerSHA, e.Hash, e.Generation = pkg.Image, pkg.Digest(), pkg.Hash, p.Generation
	e.State, e.Restarts, e.Reason, e.Message = v1alpha1.StateInProgress, 0, "", ""
	e.Attempts, e.AttemptsBefore, e.Rejected, e.RejectedAt = 0, 0, 0, metav1.Time{}
	e.Since, e.Run, e.Config = p.stamp(), p.nextRun(e.Run), pkg.Config
	p.put(*e)
}

// begin starts a stage of a unit whose gates are open, after one that ended.
func (v view) begin(u unit, last record.Entry, stage v1alpha1.Stage) record.Entry {
	return record.Entry{
		Name: u.name, Version: u.pkg.Version, Image: u.pkg.Image, ContainerSHA: u.pkg.Digest(),
		Stage: stage, State: v1alpha1.StateInProgress,
		Since: v.stamp(), Run: v.nextRun(last.Run), Config: u.pkg.Config,
		Hash: u.pkg.Hash, Definition: u.pkg.Definition, Generation: v.Generation,
	}
}

func (p *pass) start(e record.Entry) {
	s := Start{Package: e.Name, Version: e.Version, Stage: e.Stage, Run: e.Run, Generation: e.Generation}
	if record.IsInterrupt(e.Stage) {
		s.Interrupt, s.BootID = e.Interrupt, e.BootID
		if s.InterruptRun = e.Run; p.out.InFlight != nil && p.out.InFlight.Run != "" {
			s.InterruptRun = p.out.InFlight.Run
		}
	}
	l := p.DefinitionOf(e)
	if !l.FromSpec {
		s.Retained = l.Package.Definition
	}
	if pin, ok := p.Pins.of(l.Package, e.Name, p.Node); ok {
		s.Digest = pin.Digest
	}
	p.out.take(Step{Start: &s})
}

func (p *pass) complete(u unit, e record.Entry, pod Pod) {
	e.State, e.Reason, e.Message, e.Attempts, e.AttemptsBefore = v1alpha1.StateComplete, "", "", 0, 0
	e.Untouched = false
	e.Restarts, e.Since = max(e.Restarts, pod.Restarts), p.stamp()
	switch e.Stage {
	case v1alpha1.StageConfig:
		e.Owes = new(len(situation.InterruptsFor(u.pkg, e)) > 0)
	case v1alpha1.StagePostInterrupt:
		e.Interrupt, e.BootID = nil, ""
	default:
	}
	p.put(e)
	if e.Stage == v1alpha1.StageUpgrade || e.Stage == v1alpha1.StageApply {
		p.replaced(e)
	}
	// Every container that mattered has ended, so the pod can be removed at once, before its successor is created.
	p.out.take(Step{Delete: &pod})
	p.Pods = without(p.Pods, pod.Name)
}

// judge maps what the pod shows to the entry's state. Only a difference is recorded.
func (p *pass) judge(e *record.Entry, pkg situation.Package, pod Pod) {
	switch pod.Outcome {
	case Failing:
		p.failing(e, pkg, pod)
	case Lost:
		p.lost(e, pod)
	case Stuck:
		pod.Message = p.explainPull(*e, pkg, pod)
		p.stuck(e, pod)
	default:
		p.recovered(e)
		p.starting(e, pod)
		p.runsLong(*e, pkg, pod)
	}
}

// recovered ends an error that the pod got over.
func (p *pass) recovered(e *record.Entry) {
	if e.State != v1alpha1.StateInProgress {
		e.State, e.Reason, e.Message, e.Since = v1alpha1.StateInProgress, "", "", p.stamp()
		p.put(*e)
	}
}

// failing counts the attempts that failed in a pod, and ends the stage if these were all that it has.
func (p *pass) failing(e *record.Entry, pkg situation.Package, pod Pod) {
	if attempts := e.AttemptsBefore + pod.failures(); attempts > e.Attempts {
		e.Attempts, e.Reason = attempts, "" // so that it is recorded, whatever else is as before
	}
	if !p.overRetries(e, pkg, pod) {
		p.failWith(e, pod.Reason, pod.Message, max(e.Restarts, pod.Restarts))
	}
}

// failures is how many attempts of the stage failed in a pod that fails.
func (pod Pod) failures() int32 {
	if pod.Retrying {
		return pod.Restarts
	}
	return pod.Restarts + 1
}

// lost ends the run of a pod that ended without a result, so that the loss counts once; resume makes another after a
// pause. It is no attempt of the stage: the package did not fail.
func (p *pass) lost(e *record.Entry, pod Pod) {
	e.State, e.Run = v1alpha1.StateInProgress, p.nextRun(e.Run) // so that the pause counts from this loss
	e.Attempts = max(e.Attempts, e.AttemptsBefore+pod.Restarts) // those that nobody saw before
	e.AttemptsBefore = e.Attempts
	if e.Untouched { // what ended for good begins no more
		e.RejectedAt = p.stamp()
	}
	p.failWith(e, pod.Reason, pod.Message, e.Restarts+1)
	if !pod.Terminating {
		p.out.take(Step{Delete: &pod})
	}
}

// starting tells people of a pod that nothing refuses and that does not start either.
func (p *pass) starting(e *record.Entry, pod Pod) {
	if pod.Reason == "" || pod.Outcome != Running {
		return
	}
	since := p.began(*e, pod)
	if left := since.Add(startGrace).Sub(p.Now); left > 0 {
		p.out.lookAgain(left)
		return
	}
	w := pod.holds(newWait(e.Name, v1alpha1.ReasonPodCannotStart, fmt.Sprintf(
		"pod %s has not started: %s: %s; `kubectl describe pod -n %s %s`", pod.Name, pod.Reason, pod.Message, pod.Namespace,
		pod.Name)))
	left := since.Add(startLimit).Sub(p.Now)
	if w.Overdue = left <= 0; !w.Overdue {
		p.out.lookAgain(left)
	}
	p.waitNode(w)
}

// unstarted reports whether no container of a pod has started although it had the time for that.
func (v view) unstarted(pod Pod) bool {
	return pod.Outcome == Running && pod.Reason != "" && v.Now.Sub(pod.Created) >= startGrace
}

func (p *pass) stuck(e *record.Entry, pod Pod) {
	if left := pod.Created.Add(startGrace).Sub(p.Now); left > 0 {
		w := pod.holds(newWait(e.Name, v1alpha1.ReasonPodCannotStart, fmt.Sprintf(
			"pod %s has not started: %s: %s", pod.Name, pod.Reason, pod.Message)))
		if soon := left - startGrace + startDelay; soon > 0 {
			p.wait(w)
			p.out.lookAgain(soon)
			return
		}
		p.waitNode(w)
		p.out.lookAgain(left)
		return
	}
	message := pod.Message
	if pod.Repeats && e.State == v1alpha1.StateErroring && e.Reason == pod.Reason {
		message = e.Message
	}
	p.failWith(e, pod.Reason, message, e.Restarts)
}

// failWith makes the entry erroring; a failure that is recorded already changes nothing.
func (p *pass) failWith(e *record.Entry, reason, message string, restarts int32) {
	message = record.TrimMessage(message)
	if e.State == v1alpha1.StateErroring && e.Restarts == restarts && e.Reason == reason && e.Message == message {
		return
	}
	if e.State != v1alpha1.StateErroring {
		e.Since = p.stamp()
	}
	e.State, e.Restarts, e.Reason, e.Message = v1alpha1.StateErroring, restarts, reason, message
	p.put(*e)
}

// waited reports whether the pause after a lost or refused pod is over.
func (p *pass) waited(e record.Entry) bool {
	failures := max(e.Restarts, e.Rejected)
	if e.State != v1alpha1.StateErroring || failures == 0 {
		return true
	}
	pause := backoff(failures)
	last := e.Since
	if last.Before(&e.RejectedAt) {
		last = e.RejectedAt
	}
	left := last.Add(pause).Sub(p.Now)
	if left <= 0 {
		return true
	}
	p.wait(newWait(e.Name, v1alpha1.ReasonBackingOff, fmt.Sprintf(
		"the pod of stage %s is created again after a pause of %s: %s", e.Stage, pause, e.Message)))
	p.out.lookAgain(left)
	return false
}

func backoff(restarts int32) time.Duration {
	d := backoffBase
	for i := int32(1); i < restarts && d < backoffMax; i++ {
		d *= 2
	}
	return min(d, backoffMax)
}

// put stores an entry and reports the transition.
func (p *pass) put(e record.Entry) { p.out.take(Step{Announce: &e}) }

// hasPod reports whether a pod of the package is on the node or starts now.
func (v view) hasPod(name string) bool {
	return slices.ContainsFunc(v.Pods, func(pod Pod) bool { return pod.Package == name }) ||
		slices.ContainsFunc(v.out.Start, func(s Start) bool { return s.Package == name })
}

// nextRun names a run by its start, in seconds, and differs from the run before even within the same second.
func (v view) nextRun(last string) string {
	run := strconv.FormatInt(v.now.Unix(), 36)
	if strings.TrimRight(last, runSuffix) == run {
		return last + runSuffix
	}
	return run
}

// runSuffix tells apart two runs that began within the same second.
const runSuffix = "!"

func (v view) stamp() metav1.Time { return metav1.NewTime(v.now) }

func without(pods []Pod, name string) []Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod Pod) bool { return pod.Name == name })
}
