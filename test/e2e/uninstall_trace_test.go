//go:build e2e && nightly

package e2e

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestDeletionLeavesNoTrace: two packages, both undone, one with an interrupt, on three nodes.
func TestDeletionLeavesNoTrace(t *testing.T) {
	const file = "/skyhook-trace"
	nodes := ownNodes(t, 3)
	before, crons := map[string]string{}, map[string]string{}
	for _, node := range nodes {
		before[node] = portrait(t, node)
	}
	plain, cron := scripted(undoable(file)), scripted(undoable(file+"-cron"))
	cron.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"cron"}}
	w := &wish{name: "trace", nodes: nodes, packages: map[string]v1alpha1.Package{"plain": plain, "cron": cron}}
	w.install(t, file, file+"-cron")
	for _, node := range nodes {
		crons[node] = cronStart(t, node)
		if portrait(t, node) == before[node] {
			t.Errorf("node %s looks as if nothing was installed", node)
		}
	}
	w.delete(t)
	nothingLeft(t, "trace")
	for _, node := range nodes {
		samePortrait(t, node, before[node])
		marks(t, node, file, "apply", "uninstall")
		marks(t, node, file+"-cron", "apply", "uninstall")
		if cronStart(t, node) == crons[node] {
			t.Errorf("node %s: cron was not restarted after the uninstall", node)
		}
	}
}
