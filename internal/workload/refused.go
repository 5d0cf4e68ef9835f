package workload

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/skyhook-operator/skyhook/internal/text"
)

const (
	// refusalPrefix begins what kubelets say of a pod that they do not admit.
	refusalPrefix = "Pod was rejected"
	// outOf begins the reason of one whose requests the node cannot meet; the resource follows.
	outOf = "OutOf"
)

// refusals are the other reasons of pods that a kubelet does not admit. It has no constants for them in its API.
var refusals = []string{
	"UnexpectedAdmissionError", "NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "TopologyAffinityError",
	"SMTAlignmentError", "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch", "SysctlForbidden", "AppArmor",
	"PodFeatureUnsupported", "PodLevelResourcesNotAdmittedError", "InvalidNodeInfo", "UnknownReason",
}

// refused reports whether a pod that Failed was never admitted by its kubelet, so that nothing of it ran. A node that
// goes down is told apart: what helps there is to wait for it.
func refused(pod *corev1.Pod) bool {
	reason := pod.Status.Reason
	return !begun(pod, "") && !byShutdown(pod) && (strings.HasPrefix(pod.Status.Message, refusalPrefix) ||
		strings.HasPrefix(reason, outOf) || slices.Contains(refusals, reason))
}

// shortage is how kubelets tell which request a node cannot meet: CPU in thousandths, all else in units.
var shortage = regexp.MustCompile(
	`[Nn]ode didn't have enough resource: (\S+), requested: (\d+), used: (\d+), capacity: (\d+)`)

// refusal says in words why a node refuses a pod.
func refusal(pod *corev1.Pod) string {
	said := strings.TrimPrefix(strings.TrimPrefix(pod.Status.Message, refusalPrefix), ": ")
	if m := shortage.FindStringSubmatch(said); m != nil {
		if missing := missingOf(m[1], m[2:]); missing != "" {
			return missing
		}
	}
	switch {
	case said != "" && pod.Status.Reason != "":
		return fmt.Sprintf("the node refuses the pod: %s: %s", pod.Status.Reason, said)
	case said != "":
		return "the node refuses the pod: " + said
	}
	return fmt.Sprintf("the node refuses the pod: %s, and the kubelet does not say why", pod.Status.Reason)
}

// missingOf tells a shortage in words; empty when the figures are none.
func missingOf(name string, figures []string) string {
	var n [3]int64
	for i, f := range figures {
		var err error
		if n[i], err = strconv.ParseInt(f, 10, 64); err != nil {
			return ""
		}
	}
	requested, used, capacity := n[0], n[1], n[2]
	if name == string(corev1.ResourcePods) {
		return fmt.Sprintf("the node has room for %s, and all are there", text.Count(int(capacity), "pod"))
	}
	return fmt.Sprintf("the node has too little %s free: the pod requests %s, and of %s the node's pods request %s",
		label(name), quantity(name, requested), quantity(name, capacity), quantity(name, used))
}

func label(name string) string {
	if name == string(corev1.ResourceCPU) {
		return "CPU"
	}
	return name
}

func quantity(name string, n int64) string {
	switch name {
	case string(corev1.ResourceCPU):
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case string(corev1.ResourceMemory), string(corev1.ResourceEphemeralStorage):
		const mib = 1 << 20
		if n >= mib {
			n -= n % mib
		}
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return resource.NewQuantity(n, resource.DecimalSI).String()
}
