package workload_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// TestObserveRefusedPods: a pod that its node never admitted says what is missing there, in words.
func TestObserveRefusedPods(t *testing.T) {
	const short = "Pod was rejected: Node didn't have enough resource: "
	for _, c := range []struct{ name, reason, message, want string }{
		{
			"CPU", "OutOfcpu", short + "cpu, requested: 2000, used: 191500, capacity: 192000",
			"the node has too little CPU free: the pod requests 2, and of 192 the node's pods request 191500m",
		},
		{
			"memory", "OutOfmemory", short + "memory, requested: 4294967296, used: 67108864000, capacity: 67645734912",
			"the node has too little memory free: the pod requests 4Gi, and of 63Gi the node's pods request 64000Mi",
		},
		{
			"pods", "OutOfpods", short + "pods, requested: 1, used: 110, capacity: 110",
			"the node has room for 110 pods, and all are there",
		},
		{
			"GPUs", "OutOfnvidia.com/gpu", short + "nvidia.com/gpu, requested: 1, used: 8, capacity: 8",
			"the node has too little nvidia.com/gpu free: the pod requests 1, and of 8 the node's pods request 8",
		},
		{
			"CPU, as kubelets before 1.24 say", "OutOfcpu", "Pod Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000",
			"the node has too little CPU free: the pod requests 2, and of 4 the node's pods request 3",
		},
		{
			"figures beyond all bounds", "OutOfcpu", short + "cpu, requested: 99999999999999999999, used: 1, capacity: 1",
			"the node refuses the pod: OutOfcpu: Node didn't have enough resource: cpu, requested: 99999999999999999999, used: 1, capacity: 1",
		},
		{
			"devices", "UnexpectedAdmissionError", "Pod was rejected: Allocate failed due to no healthy devices, which is unexpected",
			"the node refuses the pod: UnexpectedAdmissionError: Allocate failed due to no healthy devices, which is unexpected",
		},
		{
			"under pressure", "Evicted", "Pod was rejected: The node had condition: [DiskPressure]. ",
			"the node refuses the pod: Evicted: The node had condition: [DiskPressure]. ",
		},
		{"without a word", "NodeAffinity", "", "the node refuses the pod: NodeAffinity, and the kubelet does not say why"},
		{"without a reason", "", "Pod was rejected: no", "the node refuses the pod: no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := build(t, options, task(t, "tuning"))
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: c.reason, Message: c.message}
			got, err := workload.Observe(pod)
			if err != nil || got.Outcome != lifecycle.Lost || got.Reason != "PodRejected" || got.Message != c.want {
				t.Errorf("outcome %d, reason %s, error %v, message\n%s, want\n%s", got.Outcome, got.Reason, err, got.Message, c.want)
			}
		})
	}
}

// TestObserveOtherLostPods: what ran, and what a node that goes down ends, is no refusal.
func TestObserveOtherLostPods(t *testing.T) {
	for name, text := range map[string]string{
		"it ran":      status("phase: Failed\nreason: UnexpectedAdmissionError", `{name: tuning-init, state: {terminated: {exitCode: 137}}}`),
		"it shuts":    "phase: Failed\nreason: NodeShutdown\nmessage: 'Pod was rejected as the node is shutting down.'",
		"it is full":  "phase: Failed\nreason: Evicted\nmessage: 'The node was low on resource: memory.'",
		"nobody says": "phase: Failed",
	} {
		pod := build(t, options, task(t, "tuning"))
		pod.Status = *read[corev1.PodStatus](t, text)
		if got, err := workload.Observe(pod); err != nil || got.Outcome != lifecycle.Lost || got.Reason == "PodRejected" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
