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
	// drainInterval is how often a node that is being drained is looked at: nothing announces that a foreign pod left.
	drainInterval = 5 * time.Second
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
	if !m.overTime(e, pkg, pod) {
		m.judge(e, pkg, pod)
	}
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
	if m.remainsGivenUp(*e) || !m.waited(e) || !m.mayResume(*e, pkg) {
		return
	}
	if gaveUp(*e) || e.Run == "" || e.Hash != pkg.Hash && e.Hash != "" || len(record.ChangedKeys(e.Config, pkg.Config)) > 0 {
		m.restart(e, pkg)
	}
	m.recovered(e) // tried again, and so at work until it fails again
	if e.Definition != pkg.Definition {
		e.Definition = pkg.Definition
		m.out.Record.Packages[e.Key()] = *e
	}
	m.start(*e)
}

// mayResume is mayInstall or mayUninstall for a stage that has begun. The permit comes last: a node that fails and only
// lacks its turn tells so.
func (m *machine) mayResume(e record.Entry, pkg Package) bool {
	if e.Stage == v1alpha1.StageUninstall {
		return m.dependentsGone(e) && m.mayStart(e.Name, pkg) && m.mayWork(e.Name)
	}
	return m.dependenciesMet(e.Name, pkg) && m.mayStart(e.Name, pkg) && m.mayWork(e.Name)
}

// restart begins the same stage anew, with the spec as it is now. A changed configMap sends a package that was past its
// config stage back to it. To undo the package what ran last counts, so the definition stays until there is a pod.
func (m *machine) restart(e *record.Entry, pkg Package) {
	if configChanged(pkg, *e) {
		keys := record.ChangedKeys(e.Config, pkg.Config)
		switch {
		case e.Stage == v1alpha1.StagePostInterrupt:
			e.Stage, e.Changed = v1alpha1.StageConfig, keys
		case e.Changed != nil:
			e.Changed = union(e.Changed, keys)
		}
	}
	e.Image, e.ContainerSHA, e.Hash, e.Generation = pkg.Image, pkg.ContainerSHA, pkg.Hash, m.Generation
	e.State, e.Restarts, e.Reason, e.Message = v1alpha1.StateInProgress, 0, "", ""
	e.Since, e.Run, e.Config = metav1.NewTime(m.Now), m.nextRun(e.Run), pkg.Config
	m.put(*e)
}

func (m *machine) complete(e *record.Entry, pod Pod) {
	e.State, e.Reason, e.Message = v1alpha1.StateComplete, "", ""
	e.Restarts, e.Since = max(e.Restarts, pod.Restarts), metav1.NewTime(m.Now)
	if e.Stage == v1alpha1.StagePostInterrupt {
		e.Interrupt, e.BootID = nil, ""
	}
	m.put(*e)
	if e.Stage == v1alpha1.StageUpgrade || e.Stage == v1alpha1.StageApply {
		m.forgetReplaced(*e)
	}
	// Every container that mattered has ended, so the pod can be removed at once, before its successor is created.
	m.out.Delete = append(m.out.Delete, pod)
	m.Pods = without(m.Pods, pod.Name)
}

// judge maps what the pod shows to the entry's state. Only a difference is recorded.
func (m *machine) judge(e *record.Entry, pkg Package, pod Pod) {
	switch pod.Outcome {
	case Failing:
		if restarts := max(e.Restarts, pod.Restarts); !m.overRetries(e, pkg, pod, restarts) {
			m.failWith(e, pod.Reason, pod.Message, restarts)
		}
	case Lost:
		m.lost(e, pkg, pod)
	case Stuck:
		m.stuck(e, pod)
	default:
		m.recovered(e)
	}
}

// recovered ends an error that the pod got over.
func (m *machine) recovered(e *record.Entry) {
	if e.State != v1alpha1.StateInProgress {
		e.State, e.Reason, e.Message, e.Since = v1alpha1.StateInProgress, "", "", metav1.NewTime(m.Now)
		m.put(*e)
	}
}

// lost removes a pod that ended without a result; ensure replaces it after a pause.
func (m *machine) lost(e *record.Entry, pkg Package, pod Pod) {
	if m.overRetries(e, pkg, pod, e.Restarts) {
		return
	}
	e.State = v1alpha1.StateInProgress // so that the pause counts from this loss
	m.failWith(e, pod.Reason, pod.Message, e.Restarts+1)
	if !pod.Terminating {
		m.out.Delete = append(m.out.Delete, pod)
	}
}

func (m *machine) stuck(e *record.Entry, pod Pod) {
	if left := pod.Created.Add(startGrace).Sub(m.Now); left > 0 {
		m.wait(e.Name, ReasonPodStarting, fmt.Sprintf("%s: %s", pod.Reason, pod.Message))
		m.lookAgain(left)
		return
	}
	m.failWith(e, pod.Reason, pod.Message, e.Restarts)
}

// failWith makes the entry erroring; a failure that is recorded already changes nothing.
func (m *machine) failWith(e *record.Entry, reason, message string, restarts int32) {
	message = record.TrimMessage(message)
	if e.State == v1alpha1.StateErroring && e.Restarts == restarts && e.Reason == reason && e.Message == message {
		return
	}
	if e.State != v1alpha1.StateErroring {
		e.Since = metav1.NewTime(m.Now)
	}
	e.State, e.Restarts, e.Reason, e.Message = v1alpha1.StateErroring, restarts, reason, message
	m.put(*e)
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
