package workload

import (
	"cmp"
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
	p := outcome(pod, verdictContainer(id.Name, id.Stage))
	p.Namespace, p.Name, p.UID, p.Created = pod.Namespace, pod.Name, pod.UID, pod.CreationTimestamp.Time
	p.Package, p.Version, p.Stage = id.Name, id.Version, id.Stage
	p.Run, p.Hash = pod.Annotations[v1alpha1.AnnotationRun], pod.Annotations[v1alpha1.AnnotationHash]
	if p.Hash == "" {
		p.Generation = generation(pod)
	}
	p.Terminating, p.Ends = pod.DeletionTimestamp != nil, ends(pod)
	p.Shutdown = p.Outcome == lifecycle.Lost && byShutdown(pod)
	p.Begun = begun(pod, copyName(id.Name))
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		if p.Restarts += c.RestartCount; c.State.Running != nil && p.Container == "" {
			p.Container = c.Name
		}
	}
	if p.Outcome == lifecycle.Done && p.Restarts == 0 {
		p.Took = took(pod, verdictContainer(id.Name, id.Stage))
	}
	p.Image, p.Digest, p.ByDigest = id.Image, id.ContainerSHA, id.ContainerSHA != ""
	if !p.ByDigest {
		p.Digest = pulled(pod, id)
	}
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

// ToldItsEnd reports whether the status of a pod that is being deleted is the kubelet's last, which says of all containers
// whether they ran. Who deletes a pod by force, or fails it for a node that is lost, knows nothing of that.
func ToldItsEnd(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && Ended(pod) && condition(pod, corev1.DisruptionTarget) == nil
}

// ends is when the grace period of a pod is over that is being deleted: that is what its deletionTimestamp says.
func ends(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	return pod.DeletionTimestamp.Time
}

// outcome is the verdict on a pod's stage: of what is known of the pod, all that its containers tell.
func outcome(pod *corev1.Pod, verdict string) lifecycle.Pod {
	var current *corev1.ContainerStatus
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		exitedWell := c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
		if exitedWell && c.Name == verdict {
			return lifecycle.Pod{Outcome: lifecycle.Done}
		}
		if !exitedWell && current == nil {
			current = c
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		if refused(pod) {
			return lifecycle.Pod{Outcome: lifecycle.Lost, Reason: v1alpha1.ReasonPodRejected, Message: refusal(pod)}
		}
		return lifecycle.Pod{
			Outcome: lifecycle.Lost, Reason: cmp.Or(pod.Status.Reason, v1alpha1.ReasonPodLost),
			Message: cmp.Or(pod.Status.Message, "the pod failed, and the kubelet does not say why"),
		}
	}
	if !begun(pod, "") && (current == nil || current.State.Waiting == nil || starting(current.State.Waiting.Reason)) {
		reason, message := notBegun(pod, current)
		return lifecycle.Pod{Outcome: lifecycle.Running, Reason: reason, Message: message}
	}
	if current == nil {
		return lifecycle.Pod{Outcome: lifecycle.Running}
	}
	if t := failure(current); t != nil {
		return lifecycle.Pod{
			Outcome: lifecycle.Failing, Reason: failureReason(t), Message: describe(current.Name, t),
			ExitCode: t.ExitCode, Retrying: current.State.Running != nil,
		}
	}
	if w := current.State.Waiting; w != nil && !starting(w.Reason) {
		return stuck(current.Name, w)
	}
	return lifecycle.Pod{Outcome: lifecycle.Running}
}

// took is how long the pod took from when its kubelet accepted it, before images were pulled, until the container with
// the verdict had ended. Both times are of that kubelet's clock, in whole seconds.
func took(pod *corev1.Pod, verdict string) time.Duration {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		if t := c.State.Terminated; t != nil && c.Name == verdict && pod.Status.StartTime != nil &&
			!t.FinishedAt.Before(pod.Status.StartTime) {
			return max(time.Second, t.FinishedAt.Sub(pod.Status.StartTime.Time))
		}
	}
	return 0
}

// stuck tells of a container that cannot be started.
func stuck(container string, w *corev1.ContainerStateWaiting) lifecycle.Pod {
	r := lifecycle.Pod{Outcome: lifecycle.Stuck, Reason: w.Reason, Message: w.Message}
	if message, repeats, ok := pullFailure(w); ok {
		r.Reason, r.Message, r.Repeats, r.Missing = reasonPull, message, repeats, missing(message)
	}
	r.Message = cmp.Or(r.Message, "container "+container+" cannot be started, and the kubelet does not say why")
	return r
}

// failure returns the failed attempt that the container is in or that it is being retried after.
func failure(c *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	for _, t := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
		if t != nil && t.ExitCode != 0 {
			return t
		}
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
