//go:build e2e && nightly

package e2e

import (
	"strings"
	"testing"
)

// TestStopEndsWhatRuns: a person stops everything while scripts run on all nodes, looks around, and continues.
func TestStopEndsWhatRuns(t *testing.T) {
	const file = "/skyhook-stopped"
	ownCluster(t)
	apply(t, "stopped", skyhook("stopped", map[string]string{"apply.sh": gated(file, "apply")}), file, gate(file, "apply"))
	for _, node := range here(t).Nodes() {
		awaitMark(t, node, file, "apply")
	}
	if out, err := plugin(t, "", "node", "safe", here(t).Nodes()[0]); err == nil || !strings.Contains(out, "apply of scripts 1.1.0") {
		t.Errorf("node safe: %v\n%s", err, out)
	}
	if out := mustPlugin(t, "logs", "stopped", "--stage", "apply"); !strings.Contains(out, "scripts-apply") {
		t.Errorf("logs has no container of the stage:\n%s", out)
	}
	t.Cleanup(func() {
		mustKubectl(t, "", "delete", "configmap", "-n", "skyhook", "skyhook-stop", "--ignore-not-found")
	})
	mustPlugin(t, "stop", "--all", "--yes", "--reason", "INC-7")
	mustKubectl(t, "", "wait", "--for=delete", "pod", "-n", "skyhook", "-l", "skyhook.nvidia.com/name=stopped", "--timeout=30s")
	for _, node := range here(t).Nodes() {
		if running := onHost(t, node, "sh", "-c", "pgrep -af [a]pply.sh || true"); running != "" {
			t.Errorf("node %s still runs %s", node, running)
		}
		why(t, "stopped", node, "AllStopped", "kubectl skyhook resume --all")
		onHost(t, node, "touch", gate(file, "apply"))
	}
	apply(t, "meanwhile", skyhook("meanwhile", map[string]string{"apply.sh": "true"}))
	mustKubectl(t, "", "wait", "--for=jsonpath={.status.status}=paused", "skyhook/meanwhile", "--timeout=30s")
	if out := mustPlugin(t, "resume", "stopped", "--yes"); !strings.Contains(out, "kubectl skyhook resume --all") {
		t.Errorf("resume does not say that everything is stopped:\n%s", out)
	}
	if pods := mustKubectl(t, "", "get", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name in (stopped, meanwhile)", "-o", "name"); pods != "" {
		t.Errorf("while everything is stopped there is %s", pods)
	}
	mustPlugin(t, "resume", "--all", "--yes")
	waitReady(t, "stopped")
	waitReady(t, "meanwhile")
	for _, node := range here(t).Nodes() {
		marks(t, node, file, "apply", "apply")
	}
	if out := mustPlugin(t, "status", "stopped"); !strings.Contains(out, "complete") {
		t.Errorf("status does not say complete:\n%s", out)
	}
	if out := mustPlugin(t, "inventory", "-o", "csv"); strings.Count(out, "stopped,scripts,1.1.0,config,complete") != len(here(t).Nodes()) {
		t.Errorf("inventory does not have the package on each node:\n%s", out)
	}
}

// TestRollback: what a change of a package did is undone on every node, from what the operator retained.
func TestRollback(t *testing.T) {
	const file = "/skyhook-undone"
	ownNode(t)
	manifest := func(what string) string {
		return skyhook("undone", map[string]string{"apply.sh": "true", "config.sh": journal(file, what)})
	}
	apply(t, "undone", manifest("one"), file)
	waitReady(t, "undone")
	mustKubectl(t, manifest("two"), "apply", "-f", "-")
	waitReady(t, "undone")
	if out := mustPlugin(t, "history", "undone"); !strings.Contains(out, "configMap changes: config.sh") {
		t.Errorf("history does not say what changed:\n%s", out)
	}
	if out := mustPlugin(t, "rollback", "undone", "--yes"); !strings.Contains(out, "configMap changes: config.sh") {
		t.Errorf("rollback does not say what follows:\n%s", out)
	}
	waitReady(t, "undone")
	for _, node := range here(t).Nodes() {
		marks(t, node, file, "one", "two", "one")
	}
	// What a rollback brought back is what the next one goes back to, not what the spec had in between.
	newer := func(what string) {
		mustKubectl(t, strings.Replace(manifest(what), "1.1.0", "1.2.0", 1), "apply", "-f", "-")
	}
	newer("three")
	waitReady(t, "undone")
	mustPlugin(t, "rollback", "undone", "--yes")
	waitReady(t, "undone")
	newer("four")
	waitReady(t, "undone")
	if out := mustPlugin(t, "rollback", "undone", "--dry-run"); !strings.Contains(out, "goes from 1.2.0 to 1.1.0") {
		t.Errorf("rollback goes elsewhere than to what was there before:\n%s\n%s", out, mustPlugin(t, "history", "undone"))
	}
}

// TestLogsOfAnEndedStage: its pod is gone, and what its script printed is read from the node, by a pod that goes as well.
func TestLogsOfAnEndedStage(t *testing.T) {
	ownNodes(t, 2)
	apply(t, "spoken", skyhook("spoken", map[string]string{"apply.sh": "echo hello log; echo oh log >&2"}))
	waitReady(t, "spoken")
	mustKubectl(t, "", "delete", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name=spoken", "--ignore-not-found")
	node := here(t).Nodes()[0]
	out := mustPlugin(t, "logs", "spoken", "--node", node)
	for _, want := range []string{
		"The pod of this stage is gone", "Reading /var/log/skyhook/spoken on node " + node + " with a short-lived pod",
		"hello log\n", "oh log\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("does not say %q:\n%s", want, out)
		}
	}
	out = mustPlugin(t, "logs", "spoken", "--from-node", "--tail", "1")
	if strings.Count(out, "log\n") > len(here(t).Nodes()) {
		t.Errorf("more than the last line of each node:\n%s", out)
	}
	for _, node := range here(t).Nodes() {
		if !strings.Contains(out, "=== Node: "+node+" ===\n") {
			t.Errorf("does not say what is of %s:\n%s", node, out)
		}
	}
	mustKubectl(t, "", "wait", "--for=delete", "pod", "-n", "skyhook", "-l", "app.kubernetes.io/name=skyhook-logs", "--timeout=30s")
}
