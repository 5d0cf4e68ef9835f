//go:build e2e && nightly

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// setOperator sets an environment variable of the operator to another value until the test ends. A rollout counts as
// done while replicas with the former value still end, and act by it; they are awaited.
func setOperator(t *testing.T, name, value, before string) {
	t.Helper()
	const operator = "deployment/skyhook-skyhook-operator-controller-manager"
	set := func(value string) {
		former := strings.Fields(mustKubectl(t, "", "get", "pods", "-n", "skyhook", "-l", operatorPods, "-o", "name"))
		mustKubectl(t, "", "set", "env", operator, "-n", "skyhook", name+"="+value)
		mustKubectl(t, "", "rollout", "status", operator, "-n", "skyhook", "--timeout=2m")
		mustKubectl(t, "", append([]string{"wait", "--for=delete", "-n", "skyhook", "--timeout=1m"}, former...)...)
	}
	t.Cleanup(func() { set(before) })
	set(value)
}

// TestRebootsAreNobodysReason: where packages are applied again after a reboot, the reboot that one Skyhook
// asked for is no reason for another one to start over, and so to reboot the node in its turn.
func TestRebootsAreNobodysReason(t *testing.T) {
	const file = "/skyhook-reboots"
	nodes, count := ownCluster(t)[:2], map[string]int{}
	setOperator(t, "REAPPLY_ON_REBOOT", "true", "false")
	for _, node := range nodes {
		count[node] = boots(t, node)
	}
	seen := watchNodes(t)
	script := func(what string) map[string]string { return map[string]string{"apply.sh": journal(file, what)} }
	skyhooks := []string{"reboots-1", "reboots-2"}
	undo(t, "reboots-2")
	applyTo(t, nodes, "reboots-1", with(skyhook("reboots-1", script("first")), "priority: 100", rebooting)+"---\n"+
		with(skyhook("reboots-2", script("second")), "priority: 200", rebooting), file)

	twice := func() (lacks []string) {
		for _, node := range nodes {
			// A node that is off cannot be asked.
			switch n := len(seen.bootIDs(node)) - 1; {
			case n > 2:
				t.Fatalf("node %s rebooted %d times, two Skyhooks asked for it", node, n)
			case n < 2:
				lacks = append(lacks, fmt.Sprintf("node %s rebooted %d times", node, n))
			}
		}
		for _, name := range skyhooks {
			lacks = append(lacks, incomplete(t, name)...)
		}
		return lacks
	}
	within(t, 3*time.Minute, "reboots-2", twice)

	// A third one has its turn on a node when both are complete there, and all is as it was when it is done.
	undo(t, "reboots-3")
	mustKubectl(t, with(skyhook("reboots-3", script("third")), "priority: 300", ""), "apply", "-f", "-")
	untilReady(t, "reboots-3")
	if lacks := twice(); len(lacks) > 0 {
		t.Errorf("it goes on: %v", lacks)
	}
	for _, node := range nodes {
		if n := boots(t, node) - count[node]; n != 2 {
			t.Errorf("node %s booted %d times, want twice", node, n)
		}
		marks(t, node, file, "first", "second", "third")
		if lacks := occupied(t, node); len(lacks) > 0 {
			t.Error(lacks)
		}
	}
}
