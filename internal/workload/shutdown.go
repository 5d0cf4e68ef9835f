package workload

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Reasons of pods that a kubelet ended. It has no constants of its own for them in its API.
const (
	// reasonNodeShutdown: it refused the pod, as the node goes down.
	reasonNodeShutdown = "NodeShutdown"
	// reasonShutdown: the same as reasonTerminated, until Kubernetes 1.21.
	reasonShutdown = "Shutdown"
	// reasonTerminated: "Pod was terminated in response to imminent node shutdown."
	reasonTerminated = "Terminated"
	// reasonEvicted: the node is low on a resource. reasonPreempting: a critical pod needs its room.
	reasonEvicted    = "Evicted"
	reasonPreempting = "Preempting"
)

// byShutdown reports whether a pod that Failed was ended by the graceful shutdown of its node. The condition
// DisruptionTarget has one reason for all that a kubelet ends; evictions and preemptions have one of their own in the
// pod's status.
func byShutdown(pod *corev1.Pod) bool {
	switch pod.Status.Reason {
	case reasonNodeShutdown, reasonShutdown:
		return true
	case reasonEvicted, reasonPreempting:
		return false
	case reasonTerminated:
		if strings.Contains(pod.Status.Message, "node shutdown") {
			return true
		}
	}
	c := condition(pod, corev1.DisruptionTarget)
	return c != nil && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonTerminationByKubelet
}
