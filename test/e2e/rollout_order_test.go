//go:build e2e && nightly

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestOrderBetweenSkyhooks: by priority, node by node after sequencing "node", and all at once after "all".
func TestOrderBetweenSkyhooks(t *testing.T) {
	const file, drivers, settings, checks = "/skyhook-order", "order-drivers", "order-settings", "order-checks"
	ownNodes(t, nodeCount)
	seen, plans := watchNodes(t), watchPlans(t)
	undo(t, drivers)
	undo(t, settings)
	apply(t, checks, example(t, "order.yaml"), file)
	waitReady(t, checks)
	var drivenLast, setLast int64
	settingsFirst, checksFirst := int64(1<<62), int64(1<<62)
	for _, node := range here(t).Nodes() {
		marks(t, node, file, "drivers", "settings", "checks")
		driven, set := seen.completed(t, drivers, node), seen.completed(t, settings, node)
		begins := plans.granted(t, settings, node)
		if begins < driven {
			t.Errorf("node %s: %s had a permit at %d, %s was complete at %d", node, settings, begins, drivers, driven)
		}
		settingsFirst, checksFirst = min(settingsFirst, begins), min(checksFirst, plans.granted(t, checks, node))
		drivenLast, setLast = max(drivenLast, driven), max(setLast, set)
	}
	if settingsFirst > drivenLast {
		t.Errorf("%s began at %d, after %s was complete on all nodes at %d: it waits node by node", settings, settingsFirst, drivers, drivenLast)
	}
	if checksFirst < setLast {
		t.Errorf("%s began at %d, before %s was complete on all nodes at %d", checks, checksFirst, settings, setLast)
	}
	if most := plans.most(t, drivers); most != 2 {
		t.Errorf("%s had %d permits at a time, the budget is 2", drivers, most)
	}
}

// TestWaitingNodeHoldsNoPermit: a node that waits for an earlier Skyhook keeps no other node from its turn.
func TestWaitingNodeHoldsNoPermit(t *testing.T) {
	const file = "/skyhook-waiting"
	nodes := ownNodes(t, nodeCount)
	slow, free := nodes[0], nodes[1:]
	script := func(what string) map[string]string { return map[string]string{"apply.sh": journal(file, what)} }
	early := script("early")
	early["apply.sh"] = gated(file, "early")
	open(t, file, "early", free...)
	undo(t, "early")
	plans := watchPlans(t)
	apply(t, "late", with(skyhook("early", early), "", "")+"---\n"+
		with(skyhook("late", script("late")), "priority: 300\ninterruptionBudget: {count: 1}", ""), file, gate(file, "early"))
	awaitMark(t, slow, file, "early")
	s := until(t, "late", "complete on the free nodes", func(s *v1alpha1.Skyhook) bool {
		return s.Status.Nodes.Complete == len(free) && s.Status.Nodes.Waiting == 1 && len(s.Status.Permits) == 0
	})
	a := s.Status.Attention
	if len(a) != 1 || a[0].Node != slow || a[0].Reason != "WaitingForSkyhook" || !strings.Contains(a[0].Message, "Skyhook early") {
		t.Errorf("attention does not tell what node %s waits for: %+v", slow, a)
	}
	for _, node := range free {
		marks(t, node, file, "early", "late")
	}
	plans.each(func(s *v1alpha1.Skyhook) {
		if s.Name == "late" && slices.Contains(holders(s), slow) {
			t.Errorf("node %s had a permit while it waited", slow)
		}
	})
	open(t, file, "early", slow)
	waitReady(t, "late")
	marks(t, slow, file, "early", "late")
}

// TestNodeOrderIsOneNumber: SKYHOOK_NODE_ORDER is one number per node from the first stage to the last, however the
// nodes before it get on, and counts from 0 again in the next rollout.
func TestNodeOrderIsOneNumber(t *testing.T) {
	const file = "/skyhook-node-order"
	ownNodes(t, nodeCount)
	line := func(stage string) string { return "echo " + stage + "-$SKYHOOK_NODE_ORDER >> " + file }
	scripts := map[string]string{"apply.sh": line("apply"), "config.sh": line("config")}
	const budget = "interruptionBudget: {count: 2}"
	apply(t, "numbers", with(skyhook("numbers", scripts), budget, ""), file)
	waitReady(t, "numbers")
	orders(t, file, "apply", "config")

	scripts["config.sh"] = line("again")
	mustKubectl(t, with(skyhook("numbers", scripts), budget, ""), "apply", "-f", "-")
	untilReady(t, "numbers")
	orders(t, file, "again")
}

// orders checks that each node ran the stages once with one number, that the nodes' numbers count from 0, and forgets
// what ran.
func orders(t *testing.T, file string, stages ...string) {
	t.Helper()
	var all []string
	for _, node := range here(t).Nodes() {
		lines := strings.Fields(onHost(t, node, "cat", file))
		onHost(t, node, "rm", file)
		if len(lines) != len(stages) {
			t.Fatalf("node %s ran %v, want %v", node, lines, stages)
		}
		_, number, _ := strings.Cut(lines[0], "-")
		for i, stage := range stages {
			if lines[i] != stage+"-"+number {
				t.Errorf("node %s ran %v, want %v with one number", node, lines, stages)
			}
		}
		all = append(all, number)
	}
	slices.Sort(all)
	if strings.Join(all, " ") != "0 1 2" {
		t.Errorf("nodes had the numbers %v, want 0 1 2", all)
	}
}
