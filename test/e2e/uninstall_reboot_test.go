//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestUninstallReboots: an uninstall with a reboot. The package gets its interrupt together with the order to go, so
// that its install needs no reboot.
func TestUninstallReboots(t *testing.T) {
	const file = "/skyhook-unboot"
	node := ownNode(t)
	w := &wish{name: "unboot", nodes: []string{node}, packages: map[string]v1alpha1.Package{"unboot": scripted(undoable(file))}}
	w.install(t, file)
	boot, count := bootID(t, node), boots(t, node)
	seen := watchNodes(t)
	w.edit("unboot", func(p *v1alpha1.Package) {
		uninstallNow(p)
		p.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
	})
	plan := rehearse(t, w.name, w.manifest(t))
	w.apply(t)
	noTraces(t, untilUninstalled(t, "unboot", node), "unboot")
	marks(t, node, file, "apply", "uninstall")
	if now := bootID(t, node); now == boot || boots(t, node)-count != 1 {
		t.Errorf("the node booted %d times, from %s to %s", boots(t, node)-count, boot, now)
	}
	plan.came(t, "uninstall uninstall-interrupt:reboot")
	// The pod that asked for the reboot takes a moment to end.
	untilNode(t, node, "uncordoned", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	if times, _ := seen.cordons(); times[node] != 1 {
		t.Errorf("the node was cordoned %d times, want once", times[node])
	}
}
