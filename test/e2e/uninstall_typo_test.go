//go:build e2e && nightly

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestMistypedVersionIsCorrected: a version whose image does not exist locks nothing, as nothing of it ran: it is
// corrected, and a second one goes with its Skyhook. Neither is uninstalled, nor left in the record.
func TestMistypedVersionIsCorrected(t *testing.T) {
	const file = "/skyhook-typo"
	nodes := ownNodes(t, 1)
	before := portrait(t, nodes[0])
	right := scripted(undoable(file))
	wrong := right
	wrong.Version = "9.9.9"
	w := &wish{name: "typo", nodes: nodes, packages: map[string]v1alpha1.Package{"tuning": wrong}}
	ready(t, w.name, nodes, []string{file})
	cannotStart := func(n *corev1.Node) bool {
		return strings.Contains(n.Annotations["skyhook.nvidia.com/nodeState_typo"], `"state":"erroring"`)
	}

	w.apply(t)
	untilNode(t, nodes[0], "erroring", cannotStart)
	w.change(t, "tuning", func(p *v1alpha1.Package) { p.Version = right.Version })
	untilReady(t, w.name)
	untilRemembered(t, nodes[0], w.name, "tuning|1.1.0")
	marks(t, nodes[0], file, "apply")

	w.change(t, "tuning", func(p *v1alpha1.Package) { p.Version = "9.9.9" })
	untilNode(t, nodes[0], "erroring", cannotStart)
	w.delete(t)
	untilNode(t, nodes[0], "as it was", func(n *corev1.Node) bool { return portraitOf(t, n) == before })
	marks(t, nodes[0], file, "apply", "uninstall")
	nothingLeft(t, w.name)
}
