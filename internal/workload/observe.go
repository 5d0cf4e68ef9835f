package workload

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// Observe reads what one of our pods tells about its stage. It fails for a pod whose annotations are not ours to read;
// such a pod proves nothing, whatever its labels say.
func Observe(pod *corev1.Pod) (lifecycle.Pod, error) {
	var id identity
	if err := json.Unmarshal([]byte(pod.Annotations[v1alpha1.AnnotationPackage]), &id); err != nil {
		return lifecycle.Pod{}, fmt.Errorf("annotation %s of pod %s does not name a package: %w; delete the pod",
			v1alpha1.AnnotationPackage, pod.Name, err)
	}
	p := lifecycle.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		Package: id.Name, Version: id.Version, Stage: id.Stage,
		Run: pod.Annotations[v1alpha1.AnnotationRun], Hash: pod.Annotations[v1alpha1.AnnotationHash],
		Created:     pod.CreationTimestamp.Time,
		Terminating: pod.DeletionTimestamp != nil, Ends: ends(pod),
	}
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		if p.Restarts += c.RestartCount; c.State.Running != nil && p.Container == "" {
			p.Container = c.Name
		}
	}
	p.Image, p.Digest, p.ByDigest = id.Image, id.ContainerSHA, id.ContainerSHA != ""
	if !p.ByDigest {
		p.Digest = pulled(pod, id)
	}
	r := outcome(pod, verdictContainer(id.Name, id.Stage))
	p.Shutdown = r.outcome == lifecycle.Lost && byShutdown(pod)
	p.Outcome, p.Reason, p.Message, p.ExitCode, p.Retrying, p.Repeats = r.outcome, r.reason, r.message, r.exitCode,
		r.retrying, r.repeats
	p.Missing = r.missing
	return p, nil
}

// Unreadable is a pod of ours of which nobody can tell what it is for.
func Unreadable(pod *corev1.Pod) lifecycle.Pod {
	return lifecycle.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Terminating: pod.DeletionTimestamp != nil, Ends: ends(pod),
	}
}

// Ended reports whether nothing of the pod runs any more.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// ends is when the grace period of a pod is over that is being deleted: that is what its deletionTimestamp says.
func ends(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	return pod.DeletionTimestamp.Time
}

// result is the verdict on a pod's stage.
type result struct {
	outcome         lifecycle.Outcome
	reason, message string
	exitCode        int32
	retrying        bool
	repeats         bool
	missing         bool
}

func outcome(pod *corev1.Pod, verdict string) result {
	var current *corev1.ContainerStatus
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		exitedWell := c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
		if exitedWell && c.Name == verdict {
			return result{outcome: lifecycle.Done}
		}
		if !exitedWell && current == nil {
			current = c
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return result{
			outcome: lifecycle.Lost, reason: orElse(pod.Status.Reason, v1alpha1.ReasonPodLost),
			message: orElse(pod.Status.Message, "the pod failed, and the kubelet does not say why"),
		}
	}
	if !begun(pod) && (current == nil || current.State.Waiting == nil || starting(current.State.Waiting.Reason)) {
		reason, message := notBegun(pod, current)
		return result{outcome: lifecycle.Running, reason: reason, message: message}
	}
	if current == nil {
		return result{outcome: lifecycle.Running}
	}
	if t := failure(current); t != nil {
		return result{
			outcome: lifecycle.Failing, reason: failureReason(t), message: describe(current.Name, t),
			exitCode: t.ExitCode, retrying: current.State.Running != nil,
		}
	}
	if w := current.State.Waiting; w != nil && !starting(w.Reason) {
		return stuck(current.Name, w)
	}
	return result{outcome: lifecycle.Running}
}

// stuck tells of a container that cannot be started.
func stuck(container string, w *corev1.ContainerStateWaiting) result {
	r := result{outcome: lifecycle.Stuck, reason: w.Reason, message: w.Message}
	if message, repeats, ok := pullFailure(w); ok {
		r.reason, r.message, r.repeats, r.missing = reasonPull, message, repeats, missing(message)
	}
	r.message = orElse(r.message, "container "+container+" cannot be started, and the kubelet does not say why")
	return r
}

// failure returns the failed attempt that the container is in or that it is being retried after.
func failure(c *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		return t
	}
	if t := c.LastTerminationState.Terminated; t != nil && t.ExitCode != 0 {
		return t
	}
	return nil
}

func failureReason(t *corev1.ContainerStateTerminated) string {
	if t.Reason == "" || t.Reason == "Error" {
		return v1alpha1.ReasonStepFailed
	}
	return t.Reason // such as OOMKilled
}

func describe(container string, t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("container %s exited %d", container, t.ExitCode)
	if message := strings.TrimSpace(t.Message); message != "" {
		text += ": " + message
	}
	return text
}

// starting reports whether a waiting container is on its ordinary way to run.
func starting(reason string) bool {
	return reason == "" || reason == "PodInitializing" || reason == "ContainerCreating"
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
