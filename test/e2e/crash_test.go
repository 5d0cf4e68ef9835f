//go:build e2e && nightly

package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestOperatorKilled ends the operator with SIGKILL in the midst of each part of a package's life. Whatever it did not
// get to write or to see, the next part comes, and the run ends complete with every step and the reboot done exactly
// once.
func TestOperatorKilled(t *testing.T) {
	const name, file = "killed", "/skyhook-killed"
	node := ownCluster(t)[0]
	runDeployment(t, "guarded", node)
	relax := guard(t, "guarded")
	scripts := steps(file)
	scripts["apply.sh"], scripts["post_interrupt.sh"] = gated(file, "apply"), gated(file, "post")
	inProgress := func(stage v1alpha1.Stage) {
		t.Helper()
		untilNode(t, node, string(stage)+" in progress", func(n *corev1.Node) bool { return inStage(n, name, stage) })
	}
	parts := []struct {
		during  string
		reached func()
		// release lets happen what was waited for, while nobody watches.
		release func()
	}{
		{"drain", func() { untilAttention(t, name, node, v1alpha1.ReasonEvictionRefused) }, relax},
		{"apply", func() { awaitMark(t, node, file, "apply") }, func() { open(t, file, "apply", node) }},
		{"interrupt", func() { inProgress(v1alpha1.StageInterrupt) }, func() {}},
		{
			"post-interrupt",
			func() {
				inProgress(v1alpha1.StagePostInterrupt)
				awaitMark(t, node, file, "post")
			},
			func() { open(t, file, "post", node) },
		},
	}
	boot, count := bootID(t, node), boots(t, node)
	applyTo(t, []string{node}, name, with(skyhook(name, scripts), "", rebooting), file, gate(file, "apply"), gate(file, "post"))
	for _, p := range parts {
		p.reached()
		t.Log("the operator is killed during " + p.during)
		killOperator(t)
		p.release()
	}
	waitReady(t, name)
	marks(t, node, file, "apply", "config", "post")
	if n := boots(t, node) - count; n != 1 {
		t.Errorf("the node booted %d times, want once", n)
	}
	if bootID(t, node) == boot {
		t.Error("the node has its old boot id")
	}
	if getNode(t, node).Spec.Unschedulable {
		t.Error("the node is still cordoned")
	}
	checkEntry(t, node, name, "scripts|1.1.0")
}

// TestInterruptOfAllNodesAtOnce: the only operator is on one of the nodes, all of them are cordoned, and it still
// finishes.
func TestInterruptOfAllNodesAtOnce(t *testing.T) {
	const (
		file     = "/skyhook-at-once"
		operator = "skyhook-skyhook-operator-controller-manager"
	)
	ownCluster(t)
	scale := func(replicas, least int) {
		mustKubectl(t, "", "patch", "pdb", operator+"-pdb", "-n", "skyhook", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"minAvailable":%d}}`, least))
		mustKubectl(t, "", "scale", "deployment/"+operator, "-n", "skyhook", fmt.Sprintf("--replicas=%d", replicas))
		mustKubectl(t, "", "rollout", "status", "deployment/"+operator, "-n", "skyhook", "--timeout=2m")
	}
	t.Cleanup(func() { scale(2, 1) })
	scale(1, 0)
	seen := watchNodes(t)
	apply(t, "at-once", with(skyhook("at-once", steps(file)), "", cronRestart), file)
	waitReady(t, "at-once")
	if _, most := seen.cordons(); most != nodeCount {
		t.Errorf("%d nodes were cordoned at a time, want all %d", most, nodeCount)
	}
	for _, node := range here(t).Nodes() {
		marks(t, node, file, "apply", "config", "post")
	}
}
