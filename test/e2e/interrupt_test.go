//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

func TestServiceInterrupt(t *testing.T) {
	before := map[string]string{}
	for _, node := range ownNodes(t, nodeCount) {
		before[node] = cronStart(t, node)
	}
	seen := watchNodes(t)
	label(t, here(t).Nodes())
	plan := rehearse(t, "service-restart", example(t, "service-restart.yaml"))
	apply(t, "service-restart", example(t, "service-restart.yaml"), "/skyhook-cron-restarted", "/etc/systemd/system/cron.service.d")
	waitReady(t, "service-restart")
	plan.came(t, "apply config interrupt:service post-interrupt")
	times, most := seen.cordons()
	if most != 1 {
		t.Errorf("%d nodes were cordoned at a time, the budget is 1", most)
	}
	for _, node := range here(t).Nodes() {
		now := cronStart(t, node)
		if now == before[node] {
			t.Errorf("node %s: cron was not restarted", node)
		}
		if got := strings.TrimSpace(onHost(t, node, "cat", "/skyhook-cron-restarted")); got != now {
			t.Errorf("node %s: post-interrupt saw cron started at %s, last start is %s", node, got, now)
		}
		if times[node] != 1 || getNode(t, node).Spec.Unschedulable {
			t.Errorf("node %s was cordoned %d times, want once; cordoned now: %v", node, times[node], getNode(t, node).Spec.Unschedulable)
		}
		checkEntry(t, node, "service-restart", "cron|1.1.0")
	}
}

func TestReboot(t *testing.T) {
	before, count := map[string]string{}, map[string]int{}
	for _, node := range ownNodes(t, nodeCount) {
		before[node], count[node] = bootID(t, node), boots(t, node)
	}
	seen := watchNodes(t)
	label(t, here(t).Nodes())
	plan := rehearse(t, "reboot", example(t, "reboot.yaml"))
	apply(t, "reboot", example(t, "reboot.yaml"), "/skyhook-boot-before", "/skyhook-boot-after")
	waitReady(t, "reboot")
	plan.came(t, "apply config interrupt:reboot post-interrupt")
	times, most := seen.cordons()
	if most != 1 {
		t.Errorf("%d nodes were cordoned at a time, the budget is 1", most)
	}
	for _, node := range here(t).Nodes() {
		now := bootID(t, node)
		if ids := seen.bootIDs(node); len(ids) != 2 || ids[0] != before[node] || ids[1] != now || now == before[node] {
			t.Errorf("node %s: boot ids %v, from %s to %s", node, ids, before[node], now)
		}
		if n := boots(t, node) - count[node]; n != 1 {
			t.Errorf("node %s booted %d times, want once", node, n)
		}
		if got := strings.TrimSpace(onHost(t, node, "cat", "/skyhook-boot-after")); got != now {
			t.Errorf("node %s: post-interrupt ran in boot %s, now it is %s", node, got, now)
		}
		if got := strings.TrimSpace(onHost(t, node, "cat", "/skyhook-boot-before")); got != before[node] {
			t.Errorf("node %s: apply ran in boot %s, want %s", node, got, before[node])
		}
		if times[node] != 1 || getNode(t, node).Spec.Unschedulable {
			t.Errorf("node %s was cordoned %d times, want once; cordoned now: %v", node, times[node], getNode(t, node).Spec.Unschedulable)
		}
		checkEntry(t, node, "reboot", "boot|1.1.0")
	}
}

// checkEntry checks that a package is past its post-interrupt stage on a node.
func checkEntry(t *testing.T, node, skyhook, key string) {
	t.Helper()
	e := entry(t, node, skyhook, key)
	if e.Stage != "post-interrupt" || e.State != "complete" {
		t.Errorf("node %s: %s is %s %s, want post-interrupt complete", node, key, e.Stage, e.State)
	}
}
