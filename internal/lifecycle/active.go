package lifecycle

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

const (
	// startGrace is how long a container may fail to start (image pull, missing Secret) before it is an error.
	startGrace = time.Minute
	// A lost pod is replaced after backoffBase, doubled with each loss up to backoffMax.
	backoffBase = 10 * time.Second
	backoffMax  = 5 * time.Minute
)

// observe brings an active entry up to date with its pod. It returns true when the stage is complete.
func (m *machine) observe(e *record.Entry, pkg Package) bool {
	pod, ok := m.podOf(*e)
	if !ok {
		m.ensure(e, pkg)
		return false
	}
	m.claimed[pod.Name] = true
	if pod.Outcome == Done {
		m.complete(e, pod)
		return true
	}
	if pod.Terminating {
		m.wait(e.Name, ReasonPodTerminating, fmt.Sprintf("pod %s is being deleted; it is replaced when it has ended", pod.Name))
		return false
	}
	if pod.Hash != pkg.Hash {
		// What runs is not what the spec asks for any more. The replacement follows when this pod is gone.
		m.out.Delete = append(m.out.Delete, pod)
		m.restart(e, pkg)
		return false
	}
	m.judge(e, pod)
	return false
}

// podOf finds the pod of the entry's run.
func (m *machine) podOf(e record.Entry) (Pod, bool) {
	for _, p := range m.Pods {
		if p.Package == e.Name && p.Stage == e.Stage && p.Run == e.Run && sameVersion(p.Version, e.Version) {
			return p, true
		}
	}
	return Pod{}, false
}

// ensure creates the missing pod of an active entry: it was never created, was deleted by somebody, or got lost.
func (m *machine) ensure(e *record.Entry, pkg Package) {
	if e.State == v1alpha1.StateErroring && e.Restarts > 0 {
		if left := e.Since.Add(backoff(e.Restarts)).Sub(m.Now); left > 0 {
			m.wait(e.Name, ReasonBackoff, fmt.Sprintf("the pod of stage %s is created again after %s: %s", e.Stage, backoff(e.Restarts), e.Message))
			m.lookAgain(left)
			return
		}
	}
	if !m.mayStart(e.Name, pkg) {
		return
	}
	if e.Run == "" || len(record.ChangedKeys(e.Config, pkg.Config)) > 0 {
		m.restart(e, pkg)
	}
	m.out.Start = append(m.out.Start, Start{Package: e.Name, Stage: e.Stage, Run: e.Run})
}

// restart begins the same stage anew, with the spec as it is now.
func (m *machine) restart(e *record.Entry, pkg Package) {
	e.Image, e.ContainerSHA = pkg.Image, pkg.ContainerSHA
	e.State, e.Restarts, e.Reason, e.Message = v1alpha1.StateInProgress, 0, "", ""
	e.Since, e.Run, e.Config = metav1.NewTime(m.Now), m.nextRun(e.Run), pkg.Config
	m.put(*e)
}

// nextRun differs from the run before even when both begin within the same second.
func (m *machine) nextRun(last string) string {
	if run := m.newRun(); run != last {
		return run
	}
	return last + "x"
}

func (m *machine) complete(e *record.Entry, pod Pod) {
	e.State, e.Reason, e.Message = v1alpha1.StateComplete, "", ""
	e.Restarts, e.Since = max(e.Restarts, pod.Restarts), metav1.NewTime(m.Now)
	m.put(*e)
	if e.Stage == v1alpha1.StageUpgrade || e.Stage == v1alpha1.StageApply {
		m.forgetReplaced(*e)
	}
	// Every container that mattered has ended, so the pod can be removed at once, before its successor is created.
	m.out.Delete = append(m.out.Delete, pod)
	m.Pods = without(m.Pods, pod.Name)
}

// judge maps what the pod shows to the entry's state. Only a difference is recorded.
func (m *machine) judge(e *record.Entry, pod Pod) {
	switch pod.Outcome {
	case Failing:
		m.fail(e, pod, max(e.Restarts, pod.Restarts))
	case Lost:
		m.fail(e, pod, e.Restarts+1)
		if !pod.Terminating {
			m.out.Delete = append(m.out.Delete, pod)
		}
	case Stuck:
		m.stuck(e, pod)
	default:
		if e.State != v1alpha1.StateInProgress {
			e.State, e.Reason, e.Message, e.Since = v1alpha1.StateInProgress, "", "", metav1.NewTime(m.Now)
			m.put(*e)
		}
	}
}

func (m *machine) stuck(e *record.Entry, pod Pod) {
	if left := pod.Created.Add(startGrace).Sub(m.Now); left > 0 {
		m.wait(e.Name, ReasonPodStarting, fmt.Sprintf("%s: %s", pod.Reason, pod.Message))
		m.lookAgain(left)
		return
	}
	m.fail(e, pod, e.Restarts)
}

func (m *machine) fail(e *record.Entry, pod Pod, restarts int32) {
	message := record.TrimMessage(pod.Message)
	if e.State == v1alpha1.StateErroring && e.Restarts == restarts && e.Reason == pod.Reason && e.Message == message {
		return
	}
	if e.State != v1alpha1.StateErroring || pod.Outcome == Lost {
		e.Since = metav1.NewTime(m.Now)
	}
	e.State, e.Restarts, e.Reason, e.Message = v1alpha1.StateErroring, restarts, pod.Reason, message
	m.put(*e)
}

func backoff(restarts int32) time.Duration {
	d := backoffBase
	for i := int32(1); i < restarts && d < backoffMax; i++ {
		d *= 2
	}
	return min(d, backoffMax)
}

func without(pods []Pod, name string) []Pod {
	kept := make([]Pod, 0, len(pods))
	for _, p := range pods {
		if p.Name != name {
			kept = append(kept, p)
		}
	}
	return kept
}
