package workload

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// begun reports whether any container of a pod runs, or ever ran, other than the one of the given name.
func begun(pod *corev1.Pod, but string) bool {
	ran := func(c corev1.ContainerStatus) bool {
		return c.Name != but && (c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil ||
			c.RestartCount > 0)
	}
	return slices.ContainsFunc(pod.Status.InitContainerStatuses, ran) ||
		slices.ContainsFunc(pod.Status.ContainerStatuses, ran)
}

// notBegun tells why no container of a pod has run yet, as far as its status says. That is the ordinary course for some
// seconds, so it is no verdict; but a volume that cannot be mounted or a network that does not come says no more than
// this forever. Next is the container whose turn it is; nil when the kubelet has reported on none.
func notBegun(pod *corev1.Pod, next *corev1.ContainerStatus) (reason, message string) {
	if c := condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse && c.Reason != "" {
		return c.Reason, cmp.Or(c.Message, "the pod is not scheduled, and its status does not say why")
	}
	if next == nil {
		return cmp.Or(pod.Status.Reason, v1alpha1.ReasonPending),
			cmp.Or(pod.Status.Message, "the node's kubelet has not reported on the pod yet")
	}
	reason, message = v1alpha1.ReasonPending, "container "+next.Name+" has not started"
	if w := next.State.Waiting; w != nil {
		reason = cmp.Or(w.Reason, v1alpha1.ReasonPending)
		if w.Message != "" {
			return reason, message + ": " + w.Message
		}
	}
	if c := condition(pod, corev1.PodReadyToStartContainers); c != nil {
		switch c.Status {
		case corev1.ConditionFalse:
			message += ": the node has not set up the pod's volumes and network yet"
		case corev1.ConditionTrue:
			message += ": the node pulls its image or creates it"
		default: // not told
		}
	}
	return reason, message
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
