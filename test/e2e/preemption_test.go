//go:build e2e && nightly

package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// spare is what training leaves of a node's CPU, in thousandths; the package asks for more.
const spare = 700

// TestPackagePodsEndNoOtherPod: a package that does not fit beside training waits for it.
func TestPackagePodsEndNoOtherPod(t *testing.T) {
	const file = "/skyhook-no-room"
	node := ownNode(t)
	train(t, node)
	manifest := with(skyhook("no-room", steps(file)), "podNonInterruptLabels: {matchLabels: {skyhook-example: training}}",
		"resources: {cpuRequest: 1, cpuLimit: 1, memoryRequest: 64Mi, memoryLimit: 64Mi}")
	applyTo(t, []string{node}, "no-room", manifest, file)
	waitsForTraining(t, "no-room", node, file)
}

// TestPackagePodsOfALimitRangeEndNoOtherPod: so does one that asks for nothing, where a LimitRange asks for it.
func TestPackagePodsOfALimitRangeEndNoOtherPod(t *testing.T) {
	const file = "/skyhook-no-room-by-default"
	node := ownCluster(t)[0]
	t.Cleanup(func() { mustKubectl(t, "", "delete", "limitrange", "-n", "skyhook", "no-room", "--ignore-not-found") })
	mustKubectl(t, `{apiVersion: v1, kind: LimitRange, metadata: {name: no-room, namespace: skyhook}, spec: {limits: [
  {type: Container, default: {cpu: 1}, defaultRequest: {cpu: 1}}]}}`, "apply", "-f", "-")
	train(t, node)
	applyTo(t, []string{node}, "no-room-by-default", skyhook("no-room-by-default", steps(file)), file)
	waitsForTraining(t, "no-room-by-default", node, file)
}

// train runs a pod that asks for nearly all of a node.
func train(t *testing.T, node string) {
	t.Helper()
	cpu := getNode(t, node).Status.Allocatable[corev1.ResourceCPU]
	t.Cleanup(func() {
		mustKubectl(t, "", "delete", "pod", "training", "--ignore-not-found", "--grace-period=1")
	})
	spec := strings.Replace(podSpec(t, node), "containers: [{",
		fmt.Sprintf("containers: [{resources: {requests: {cpu: %dm}}, ", cpu.MilliValue()-spare), 1)
	mustKubectl(t, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: training, labels: {skyhook-example: training}}, spec: %s}",
		spec), "apply", "-f", "-")
	mustKubectl(t, "", "wait", "--for=condition=Ready", "pod/training", "--timeout=1m")
}

// waitsForTraining: the package is refused with what is missing, training lives, and the package runs when it has ended.
func waitsForTraining(t *testing.T, name, node, file string) {
	t.Helper()
	before := podUID(t, "skyhook-example=training")
	a := untilAttention(t, name, node, "PodRejected")
	if !strings.Contains(a.Message, "too little CPU free: the pod requests 1") {
		t.Errorf("it does not tell what is missing: %s", a.Message)
	}
	if n := entry(t, node, name, "scripts|1.1.0").Attempts; n != 0 {
		t.Errorf("%d attempts failed", n)
	}
	absent(t, node, file)
	if now := podUID(t, "skyhook-example=training"); now != before || now == "" {
		t.Errorf("training was pod %s and is %q", before, now)
	}
	if phase := mustKubectl(t, "", "get", "pod", "training", "-o", "jsonpath={.status.phase}"); phase != "Running" {
		t.Errorf("training is %s", phase)
	}
	mustKubectl(t, "", "delete", "pod", "training", "--grace-period=1")
	waitReady(t, name)
	marks(t, node, file, "apply", "config") // nothing interrupts, so nothing follows that
}
