//go:build e2e && nightly

package e2e

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// canary has one node try first, and stops when that one is bad.
func canary(t *testing.T, name string) string {
	t.Helper()
	t.Cleanup(func() { mustKubectl(t, "", "delete", "deploymentpolicy", name, "--ignore-not-found") })
	mustKubectl(t, `{apiVersion: skyhook.nvidia.com/v1alpha1, kind: DeploymentPolicy, metadata: {name: `+name+`}, spec: {default: {
  budget: {percent: 100}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1, safetyLimit: 100}}}}}`, "apply", "-f", "-")
	return "deploymentPolicy: " + name
}

// TestHostThatDiesStopsAtTheCanary: a package that stops the kubelet of its host gets no second host, until the first one
// is back and complete.
func TestHostThatDiesStopsAtTheCanary(t *testing.T) {
	const name, file, mended = "deadly", "/skyhook-deadly", "/skyhook-deadly-mended"
	ownNodes(t, nodeCount)
	script := journal(file, "apply") + "\n[ -e " + mended + " ] || systemctl stop kubelet"
	revive := func(node string) {
		if _, err := here(t).Exec(context.WithoutCancel(t.Context()), node, "systemctl", "start", "kubelet"); err != nil {
			t.Error(err)
		}
	}
	apply(t, name, with(skyhook(name, map[string]string{"apply.sh": script}), canary(t, name), ""), file, mended)
	first := untilHolders(t, name, 1)[0]
	t.Cleanup(func() { revive(first) })

	untilCondition(t, name, v1alpha1.ConditionRolloutStopped, "batch 1 was bad", "(not Ready: "+first+")")
	told(t, name, others(t, first)[0], v1alpha1.ReasonWaitingForPermit, "stopped by bad batches", "kubectl skyhook why "+name)
	if now := holders(getSkyhook(t, name)); len(now) != 1 || now[0] != first {
		t.Errorf("permits are those of %v, want the one of %s, whose place is not free", now, first)
	}
	for _, node := range others(t, first) {
		absent(t, node, file)
		onHost(t, node, "touch", mended)
	}

	revive(first)
	untilReady(t, name)
	for _, node := range here(t).Nodes() {
		marks(t, node, file, "apply")
	}
}

// TestTaintAfterABootKeepsTheCordon: whoever taints a node when it comes back, as network plugins do, the node stays
// cordoned and keeps its place until its post-interrupt stage is done.
func TestTaintAfterABootKeepsTheCordon(t *testing.T) {
	const name, file, taint = "boot-taint", "/skyhook-boot-taint", "example.com/network-down"
	node := ownNode(t)
	seen := watchNodes(t)
	apply(t, name, with(skyhook(name, map[string]string{
		"apply.sh": journal(file, "apply"), "post_interrupt.sh": journal(file, "post-interrupt"),
	}), "", rebooting), file)
	untilNode(t, node, "the interrupt", func(n *corev1.Node) bool { return inStage(n, name, v1alpha1.StageInterrupt) })
	t.Cleanup(func() { _, _ = kubectl(t, "", "taint", "node", node, taint+"-") })
	mustKubectl(t, "", "taint", "node", node, taint+"=:NoSchedule")

	untilAttention(t, name, node, v1alpha1.ReasonTaintNotTolerable)
	untilNode(t, node, "Ready in its next boot", func(n *corev1.Node) bool { return len(seen.bootIDs(node)) == 2 && isReady(n) })
	if n := getNode(t, node); !n.Spec.Unschedulable {
		t.Errorf("the node is uncordoned under the taint, before its post-interrupt stage")
	}
	marks(t, node, file, "apply")
	if now := holders(getSkyhook(t, name)); len(now) != 1 {
		t.Errorf("permits are those of %v", now)
	}

	mustKubectl(t, "", "taint", "node", node, taint+"-")
	untilReady(t, name)
	marks(t, node, file, "apply", "post-interrupt")
	if times, _ := seen.cordons(); times[node] != 1 {
		t.Errorf("the node was cordoned %d times, want once", times[node])
	}
}

func isReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// TestFlakyAttemptStopsNothing: what succeeds when it is tried again is no bad batch, on any node.
func TestFlakyAttemptStopsNothing(t *testing.T) {
	const name, file = "flaky", "/skyhook-flaky"
	ownNodes(t, nodeCount)
	var stopped []string
	skyhooks := watchAll[*v1alpha1.Skyhook](t, &v1alpha1.SkyhookList{})
	script := "[ -e " + file + "-tried ] || { touch " + file + "-tried; echo the mirror is busy >&2; exit 3; }\n" + journal(file, "apply")
	apply(t, name, with(skyhook(name, map[string]string{"apply.sh": script}), canary(t, name), ""), file, file+"-tried")
	untilReady(t, name)
	erroring := 0
	skyhooks.each(func(s *v1alpha1.Skyhook) {
		if c := condition(s, v1alpha1.ConditionRolloutStopped); s.Name == name && c.Message != "" {
			stopped = append(stopped, c.Message)
		}
		if s.Name == name && s.Status.Nodes.Erroring > 0 {
			erroring++
		}
	})
	if len(stopped) > 0 || erroring == 0 {
		t.Errorf("stopped: %s; %d statuses told of an erroring node", strings.Join(stopped, ", "), erroring)
	}
	for _, node := range here(t).Nodes() {
		marks(t, node, file, "apply")
	}
}
