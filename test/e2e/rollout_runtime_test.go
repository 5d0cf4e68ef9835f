//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/taint"
	"github.com/skyhook-operator/skyhook/test/testbed"
)

var runtimeTaint = corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}

// networkTaint is what network plugins have nodes register with. Without it, a node of this cluster is Ready within half a
// second, which may be before the operator has tainted it.
var networkTaint = corev1.Taint{Key: "network.example.com/agent-not-ready", Effect: corev1.TaintEffectNoSchedule}

// TestRuntimeRequired: a workload that waits for a node starts there only when the Skyhook that it requires is
// complete, whoever taints the node first: the kubelet when it registers, or the operator.
func TestRuntimeRequired(t *testing.T) {
	const name, file, general = "runtime-required", "/skyhook-runtime", "general"
	ownNodes(t, 0)
	// One that comes earlier and does not tolerate the taint waits for it to go, and keeps nobody waiting.
	undo(t, general)
	applyTo(t, nil, name, held(example(t, "runtime-required.yaml"), file, "drivers")+"---\n"+
		with(skyhook(general, map[string]string{"apply.sh": journal(file, general)}), "priority: 100", ""), file)
	untilReady(t, name) // it has no nodes yet
	for by, taints := range map[string][]string{"operator": {networkTaint.ToString()}, "kubelet": {runtimeTaint.ToString()}} {
		t.Run("tainted by the "+by, func(t *testing.T) {
			runWorkload(t, "workload", file)
			seen := watchNodes(t)
			node := join(t, testbed.Join{Labels: []string{testLabel + "=" + here(t).value, "pool=new"}, Taints: taints})
			if by == "operator" {
				untilNode(t, node, "tainted", func(n *corev1.Node) bool { return taint.Has(n, runtimeTaint) })
				mustKubectl(t, "", "taint", "node", node, networkTaint.ToString()+"-")
			}
			n := untilNode(t, node, "at work", func(n *corev1.Node) bool { return inStage(n, name, v1alpha1.StageApply) })
			if mark := n.Annotations[taint.Annotation(runtimeTaint)] == "true"; mark != (by == "operator") || !taint.Has(n, runtimeTaint) {
				t.Errorf("node %s has taints %v, the operator's mark: %v", node, n.Spec.Taints, mark)
			}
			untilAttention(t, general, node, "TaintNotTolerable")
			untilPod(t, "workload", "pending", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodPending && p.Spec.NodeName == "" })
			absent(t, node, file)

			open(t, file, "drivers", node)
			untilNode(t, node, "complete and free", func(n *corev1.Node) bool { return completeOn(n, name) && !taint.Has(n, runtimeTaint) })
			untilPod(t, "workload", "running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && p.Spec.NodeName == node })
			until(t, general, "complete", func(s *v1alpha1.Skyhook) bool { return s.Status.CompleteNodes == "1/1" })
			seen.catchUp(t, getNode(t, node))
			neverOpenBefore(t, seen, name, node)
			after := onHost(t, node, "sh", "-c", "tail -n +3 "+file+" | sort | tr '\\n' ' '")
			if got := onHost(t, node, "head", "-n", "2", file); got != "drivers\nsettings\n" || after != "general workload " {
				t.Errorf("node %s: %s begins with %q and ends with %q", node, file, got, after)
			}
		})
	}
}

// neverOpenBefore checks that no version of a node let workloads in before the Skyhook was complete there.
func neverOpenBefore(t *testing.T, seen *history, skyhook, node string) {
	t.Helper()
	seen.each(func(n *corev1.Node) {
		if n.Name != node || completeOn(n, skyhook) || taint.Has(n, runtimeTaint) {
			return
		}
		if !taint.Has(n, networkTaint) {
			t.Errorf("node %s was open at revision %s, with taints %v", node, n.ResourceVersion, n.Spec.Taints)
		}
	})
}

// join adds a node to the cluster until the test ends.
func join(t *testing.T, with testbed.Join) string {
	t.Helper()
	node, err := here(t).JoinNode(t.Context(), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := here(t).RemoveNode(context.WithoutCancel(t.Context()), node); err != nil {
			t.Error(err)
		}
	})
	return node
}

// runWorkload creates a pod for nodes of the pool "new" that leaves a mark on its host.
func runWorkload(t *testing.T, name, file string) {
	t.Helper()
	if err := here(t).busybox(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustKubectl(t, "", "delete", "pod", name, "--ignore-not-found", "--grace-period=0", "--force") })
	mustKubectl(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {nodeSelector: {pool: new},
  terminationGracePeriodSeconds: 0, volumes: [{name: host, hostPath: {path: /}}], containers: [{name: main, image: %q,
    command: [/bin/busybox, sh, -c, "echo workload >> /host%s; exec /bin/busybox sleep 3600"],
    volumeMounts: [{name: host, mountPath: /host}]}]}}`, name, busybox, file), "apply", "-f", "-")
}
