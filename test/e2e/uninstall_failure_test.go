//go:build e2e && nightly

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// failsOn is an uninstall.sh that fails where a file is.
func failsOn(broken, file string) string {
	return "test ! -e " + broken + " || { echo 'the rule is in use by eth7' >&2; exit 4; }\n" + journal(file, "uninstall")
}

// untilUninstallFails waits for the condition and checks that it tells node and cause.
func untilUninstallFails(t *testing.T, skyhook, node string) {
	t.Helper()
	s := until(t, skyhook, "UninstallFailed", func(s *v1alpha1.Skyhook) bool {
		return meta.IsStatusConditionTrue(s.Status.Conditions, "UninstallFailed")
	})
	c := meta.FindStatusCondition(s.Status.Conditions, "UninstallFailed")
	contains(t, "condition UninstallFailed", c.Message, "uninstall fails on node "+node+" ", "the rule is in use by eth7", "exited 4")
}

// TestFailingUninstall: one of two nodes fails. The other one is done; an edit of the script repairs the first. Then
// the same while the Skyhook is deleted, where the node is given up.
func TestFailingUninstall(t *testing.T) {
	const file, broken = "/skyhook-undo", "/skyhook-undo-broken"
	nodes := ownNodes(t, 2)
	node, other := nodes[0], nodes[1]
	mended, left := scripted(undoable(file)), scripted(undoable(file+"-left"))
	mended.ConfigMap["uninstall.sh"], left.ConfigMap["uninstall.sh"] = failsOn(broken, file), failsOn(broken, file+"-left")
	w := &wish{name: "undo", nodes: nodes, packages: map[string]v1alpha1.Package{"mended": mended, "left": left}}
	before := portrait(t, other)
	onHost(t, node, "touch", broken)
	w.install(t, file, file+"-left", broken)

	w.change(t, "mended", uninstallNow)
	untilUninstallFails(t, "undo", node)
	untilRemembered(t, other, "undo", "left|1.1.0")
	marks(t, other, file, "apply", "uninstall")
	w.change(t, "mended", func(p *v1alpha1.Package) { p.ConfigMap["uninstall.sh"] = journal(file, "forced") })
	untilReady(t, "undo")
	untilRemembered(t, node, "undo", "left|1.1.0")
	marks(t, node, file, "apply", "forced")
	if s := mustKubectl(t, "", "get", "skyhook", "undo", "-o", "yaml"); strings.Contains(s, "UninstallFailed") {
		t.Errorf("UninstallFailed stays:\n%s", s)
	}

	mustKubectl(t, "", "delete", "skyhook", "undo", "--wait=false")
	untilUninstallFails(t, "undo", node)
	untilNode(t, other, "as it was", func(n *corev1.Node) bool { return portraitOf(t, n) == before })
	mustKubectl(t, "", "annotate", "skyhook", "undo", "skyhook.nvidia.com/abandon-uninstall="+node)
	mustKubectl(t, "", "wait", "--for=delete", "skyhook/undo", "--timeout="+patience.String())
	nothingLeft(t, "undo")
	untilRemembered(t, node, "undo", "left|1.1.0")
	marks(t, node, file+"-left", "apply")
	events := mustKubectl(t, "", "get", "events", "-A", "--field-selector", "reason=UninstallAbandoned", "-o", "jsonpath={.items[*].message}")
	contains(t, "the event", events, "packages stay on node "+node+", because the annotation skyhook.nvidia.com/abandon-uninstall names it: left 1.1.0;")
}
