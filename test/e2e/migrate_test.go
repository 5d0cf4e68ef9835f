//go:build e2e && nightly

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestMigrate replaces the existing operator of this API in the middle of a rollout, as docs/migrate.md says: one node is
// complete, one has been through apply, and on one apply runs. No step runs twice, nothing is lost, and when somebody
// goes back and comes again, the records are those that both operators read.
func TestMigrate(t *testing.T) {
	const name, file = "migrated", "/skyhook-migrated"
	nodes := ownCluster(t)
	complete, begun, running := nodes[0], nodes[1], nodes[2]
	agent := mustKubectl(t, "", "get", "deployment", "-n", "skyhook", "-l", "control-plane=controller-manager", "-o",
		`jsonpath={.items[0].spec.template.spec.containers[0].env[?(@.name=="AGENT_IMAGE")].value}`)
	t.Cleanup(func() { cleanUp(t, name, []string{file, gate(file, "apply")}) })
	t.Cleanup(func() {
		if t.Failed() { // perhaps without an operator, which all other tests need
			takeOwnership(t)
		}
	})
	stopOperator(t)

	scripts := steps(file)
	scripts["apply.sh"] = gated(file, "apply")
	label(t, here(t).Nodes())
	mustKubectl(t, with(skyhook(name, scripts), "", "interrupt: {type: noop}"), "apply", "-f", "-")
	mustKubectl(t, "", "patch", "skyhook", name, "--type=merge", "--patch",
		`{"metadata":{"finalizers":["skyhook.nvidia.com/skyhook"],"annotations":{"skyhook.nvidia.com/version":"`+existingVersion+`"}}}`)
	uid := mustKubectl(t, "", "get", "skyhook", name, "-o", "jsonpath={.metadata.uid}")
	generation := mustKubectl(t, "", "get", "skyhook", name, "-o", "jsonpath={.metadata.generation}")
	leaveConfigMap(t, name, uid, scripts)
	leaveRecord(t, complete, name, "complete", "post-interrupt", "complete")
	leaveRecord(t, begun, name, "in_progress", "apply", "complete")
	leaveRecord(t, running, name, "in_progress", "apply", "in_progress")
	leavePod(t, running, name, uid, generation, agent)
	awaitMark(t, running, file, "apply")
	leaveExisting(t)

	takeOwnership(t)
	come := func(node string) {
		t.Helper()
		untilNode(t, node, "our operator has come to the node", func(n *corev1.Node) bool {
			return n.Annotations["skyhook.nvidia.com/version_"+name] != existingVersion
		})
	}
	come(running)
	onHost(t, running, "touch", gate(file, "apply"))
	waitReady(t, name)
	checkMigrated := func(when string) {
		t.Helper()
		t.Log(when)
		absent(t, complete, file)
		marks(t, begun, file, "config", "post")
		marks(t, running, file, "apply", "config", "post")
		for _, node := range here(t).Nodes() {
			checkEntry(t, node, name, "scripts|1.1.0")
			n := getNode(t, node)
			if status := n.Labels["skyhook.nvidia.com/status_"+name]; status != "complete" || n.Spec.Unschedulable {
				t.Errorf("node %s: status %q, cordoned %t", node, status, n.Spec.Unschedulable)
			}
		}
		if now := mustKubectl(t, "", "get", "skyhook", name, "-o", "jsonpath={.metadata.generation}"); now != generation {
			t.Errorf("generation is %s, was %s: the spec was edited", now, generation)
		}
		mustKubectl(t, "", "wait", "--for=delete", "pod", "-n", "skyhook", "-l", "skyhook.nvidia.com/name="+name, "--timeout=1m")
	}
	checkMigrated("after the migration")

	stopOperator(t) // the way back
	leaveExisting(t)
	checkMigrated("without our operator")
	for _, node := range here(t).Nodes() { // what the existing operator does not know is lost
		leaveRecord(t, node, name, "complete", "post-interrupt", "complete")
	}
	takeOwnership(t)
	for _, node := range here(t).Nodes() {
		come(node)
	}
	waitReady(t, name)
	checkMigrated("after we came again")
}
