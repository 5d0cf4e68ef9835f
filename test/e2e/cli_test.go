//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestStopEndsWhatRuns: a person stops everything while scripts run on all nodes, looks around, and continues.
func TestStopEndsWhatRuns(t *testing.T) {
	const file = "/skyhook-stopped"
	apply(t, "stopped", skyhook("stopped", map[string]string{"apply.sh": gated(file, "apply")}), file, gate(file, "apply"))
	for _, node := range bed.Nodes() {
		awaitMark(t, node, file, "apply")
	}
	if out, err := plugin(t, "", "node", "safe", bed.Nodes()[0]); err == nil || !strings.Contains(out, "apply of scripts 1.1.0") {
		t.Errorf("node safe: %v\n%s", err, out)
	}
	if out := mustPlugin(t, "logs", "stopped", "--stage", "apply"); !strings.Contains(out, "scripts-apply") {
		t.Errorf("logs has no container of the stage:\n%s", out)
	}
	mustPlugin(t, "stop", "--all", "--yes")
	mustKubectl(t, "", "wait", "--for=delete", "pod", "-n", "skyhook", "-l", "skyhook.nvidia.com/name=stopped", "--timeout=30s")
	for _, node := range bed.Nodes() {
		if running := onHost(t, node, "sh", "-c", "pgrep -af [a]pply.sh || true"); running != "" {
			t.Errorf("node %s still runs %s", node, running)
		}
		why(t, node, "Paused", "skyhook.nvidia.com/pause")
		onHost(t, node, "touch", gate(file, "apply"))
	}
	mustPlugin(t, "resume", "stopped", "--yes")
	waitReady(t, "stopped")
	for _, node := range bed.Nodes() {
		marks(t, node, file, "apply", "apply")
	}
	if out := mustPlugin(t, "status", "stopped"); !strings.Contains(out, "complete") {
		t.Errorf("status does not say complete:\n%s", out)
	}
	if out := mustPlugin(t, "inventory", "-o", "csv"); strings.Count(out, "stopped,scripts,1.1.0,config,complete") != len(bed.Nodes()) {
		t.Errorf("inventory does not have the package on each node:\n%s", out)
	}
}
