//go:build e2e && nightly

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestPauseAndDisable steers a rollout from annotations, in the midst of stages. That nothing starts meanwhile is shown
// by a later Skyhook that gets through while the first one is disabled.
func TestPauseAndDisable(t *testing.T) {
	const file, other = "/skyhook-steered", "/skyhook-follower"
	ownNodes(t, nodeCount)
	scripts := map[string]string{"apply.sh": gated(file, "apply"), "config.sh": gated(file, "config")}
	undo(t, "follower")
	apply(t, "steered", with(skyhook("steered", scripts), "interruptionBudget: {count: 1}", "")+"---\n"+
		with(skyhook("follower", map[string]string{"apply.sh": journal(other, "follower")}), "priority: 300", ""),
		file, other, gate(file, "apply"), gate(file, "config"))
	first := untilHolders(t, "steered", 1)[0]
	awaitMark(t, first, file, "apply")

	annotate(t, "steered", "pause", "true")
	untilStatus(t, "steered", v1alpha1.StatusPaused, "Paused")
	open(t, file, "apply", here(t).Nodes()...)
	untilNode(t, first, "the running stage ends", func(n *corev1.Node) bool {
		e := entryOf(n, "steered", "scripts|1.1.0")
		return e.Stage == v1alpha1.StageApply && e.State == v1alpha1.StateComplete
	})
	untilPodsEnd(t, "steered")
	for _, node := range others(t, first) {
		absent(t, node, file)
		untilAttention(t, "follower", node, "WaitingForSkyhook") // for a paused one, too
	}

	annotate(t, "steered", "pause", "")
	awaitMark(t, first, file, "config")

	annotate(t, "steered", "disable", "true")
	open(t, file, "config", here(t).Nodes()...)
	waitReady(t, "follower")
	untilStatus(t, "steered", v1alpha1.StatusDisabled, "Disabled")
	untilPodsEnd(t, "steered")
	marks(t, first, file, "apply", "config")
	for _, node := range others(t, first) {
		absent(t, node, file)
	}
	for _, node := range here(t).Nodes() {
		marks(t, node, other, "follower")
	}

	annotate(t, "steered", "disable", "")
	untilReady(t, "steered")
	for _, node := range here(t).Nodes() {
		marks(t, node, file, "apply", "config")
	}
}

// untilStatus waits for a status of the Skyhook and checks that its Ready condition tells the reason and the nodes.
func untilStatus(t *testing.T, name string, want v1alpha1.Status, reason string) {
	t.Helper()
	s := until(t, name, string(want), func(s *v1alpha1.Skyhook) bool { return s.Status.Status == want })
	if c := condition(s, "Ready"); c.Status != "False" || c.Reason != reason || !strings.Contains(c.Message, " nodes complete") {
		t.Errorf("%s Skyhook %s has Ready %s, reason %s: %s", want, name, c.Status, c.Reason, c.Message)
	}
}

// TestIgnoredNodeGivesItsPermitAway: a node that is set aside while it works ends what runs, and then the next one has
// its turn.
func TestIgnoredNodeGivesItsPermitAway(t *testing.T) {
	const file, label = "/skyhook-aside", "skyhook.nvidia.com/ignore"
	ownNodes(t, nodeCount)
	scripts := map[string]string{"apply.sh": gated(file, "apply"), "config.sh": journal(file, "config")}
	plans := watchPlans(t)
	apply(t, "aside", with(skyhook("aside", scripts), "interruptionBudget: {count: 1}", ""), file, gate(file, "apply"))
	first := untilHolders(t, "aside", 1)[0]
	awaitMark(t, first, file, "apply")

	t.Cleanup(func() { mustKubectl(t, "", "label", "node", first, label+"-") })
	mustKubectl(t, "", "label", "node", first, label+"=true")
	s := untilCondition(t, "aside", "NodesIgnored", "1 node is excluded by the label "+label+"=true", first)
	if h := holders(s); len(h) != 1 || h[0] != first {
		t.Errorf("node %s still works, but the permits are those of %v", first, h)
	}
	open(t, file, "apply", here(t).Nodes()...)
	until(t, "aside", "the others complete", func(s *v1alpha1.Skyhook) bool {
		return s.Status.Nodes.Complete == nodeCount-1 && s.Status.Nodes.Blocked == 1 && len(s.Status.Permits) == 0
	})
	untilAttention(t, "aside", first, "NodeIgnored")
	marks(t, first, file, "apply")
	for _, node := range others(t, first) {
		marks(t, node, file, "apply", "config")
	}
	if most := plans.most(t, "aside"); most != 1 {
		t.Errorf("there were %d permits at a time, the budget is 1", most)
	}

	mustKubectl(t, "", "label", "node", first, label+"-")
	untilReady(t, "aside")
	marks(t, first, file, "apply", "config")
	if c := condition(getSkyhook(t, "aside"), "NodesIgnored"); c.Status != "False" {
		t.Errorf("NodesIgnored is %s: %s", c.Status, c.Message)
	}
}
