//go:build e2e && nightly

package e2e

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestUninstallGuardsAndCancel asks the webhooks for everything that they refuse or warn of while a package is
// installed and while its uninstall runs; then that is cancelled.
func TestUninstallGuardsAndCancel(t *testing.T) {
	const file = "/skyhook-cancel"
	node := ownNode(t)
	slow := scripted(undoable(file))
	slow.ConfigMap["uninstall.sh"] = gated(file, "begin") + "\n" + journal(file, "end")
	never := scripted(undoable(file + "-never"))
	uninstallNow(&never)
	w := &wish{name: "cancel", nodes: []string{node}, packages: map[string]v1alpha1.Package{"slow": slow, "never": never}}

	out := w.install(t, file, file+"-never", gate(file, "begin"))
	t.Cleanup(func() { openGate(t, node, file, "begin") })
	t.Run("apply on what was never installed is told, and can be taken back", func(t *testing.T) {
		contains(t, "kubectl apply", out, "Warning: spec.packages.never.uninstall.apply: the package was never installed on any node")
		absent(t, node, file+"-never")
		untilRemembered(t, node, "cancel", "slow|1.1.0")
		w.change(t, "never", keep)
		untilRemembered(t, node, "cancel", "never|1.1.0", "slow|1.1.0")
		untilReady(t, "cancel")
		marks(t, node, file+"-never", "apply")
	})
	refuse := func(t *testing.T, edit func(*v1alpha1.Package), parts ...string) {
		t.Helper()
		out, err := w.try(t, "slow", edit)
		if err == nil {
			t.Errorf("accepted: %s", out)
		}
		contains(t, "the error", out, append(parts, `admission webhook "validate-skyhook.nvidia.com" denied the request`, "node "+node)...)
	}
	version := func(v string) func(*v1alpha1.Package) { return func(p *v1alpha1.Package) { p.Version = v } }
	t.Run("guard: removal", func(t *testing.T) {
		refuse(t, nil, "spec.packages.slow: is removed from the spec, but version 1.1.0 can be uninstalled (uninstall.enabled=true) and is still on", "set uninstall.apply=true")
	})
	t.Run("guard: lower version", func(t *testing.T) {
		refuse(t, version("1.0.0"), "spec.packages.slow.version: is lowered to 1.0.0, but 1.1.0 can be uninstalled and is on")
	})

	w.change(t, "slow", uninstallNow)
	awaitMark(t, node, file, "begin")
	t.Run("guard: removal while it is uninstalled", func(t *testing.T) {
		refuse(t, nil, "its uninstall is not finished")
	})
	t.Run("guard: another version while it is uninstalled", func(t *testing.T) {
		refuse(t, version("1.2.0"), "spec.packages.slow.version: is changed to 1.2.0 while 1.1.0 is being uninstalled", "uninstall.apply=false")
	})
	t.Run("cancel while the uninstall runs", func(t *testing.T) {
		pod := uninstallPod(t, "cancel")
		out := w.change(t, "slow", keep)
		contains(t, "kubectl apply", out, "Warning: spec.packages.slow.uninstall.apply: the uninstall is cancelled", "will be re-installed")
		untilReady(t, "cancel")
		marks(t, node, file, "apply", "begin", "apply")
		if out, err := kubectl(t, "", "get", "-n", "skyhook", pod); err == nil {
			t.Errorf("the uninstall pod is still there: %s", out)
		}
		if running, err := here(t).Exec(t.Context(), node, "pgrep", "-f", gate(file, "begin")); err == nil {
			t.Errorf("uninstall.sh still runs on node %s: %s", node, running)
		}
	})
}

// TestInterruptRemovedAfterAnUninstall: the interrupt after an uninstall cannot succeed; without it in the spec the
// uninstall ends.
func TestInterruptRemovedAfterAnUninstall(t *testing.T) {
	const file = "/skyhook-nounit"
	node := ownNode(t)
	w := &wish{name: "nounit", nodes: []string{node}, packages: map[string]v1alpha1.Package{"nounit": scripted(undoable(file))}}
	w.install(t, file)
	w.change(t, "nounit", func(p *v1alpha1.Package) {
		uninstallNow(p)
		p.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"no-such-unit"}}
	})
	until(t, "nounit", "UninstallFailed", func(s *v1alpha1.Skyhook) bool {
		c := meta.FindStatusCondition(s.Status.Conditions, "UninstallFailed")
		return c != nil && strings.Contains(c.Message, "no-such-unit")
	})
	w.change(t, "nounit", func(p *v1alpha1.Package) { p.Interrupt = nil })
	noTraces(t, untilUninstalled(t, "nounit", node), "nounit")
	marks(t, node, file, "apply", "uninstall")
}

// uninstallPod is the name of the only pod of a Skyhook, which is in its uninstall stage.
func uninstallPod(t *testing.T, skyhook string) string {
	t.Helper()
	pods := mustKubectl(t, "", "get", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name="+skyhook, "-o", "name")
	if len(strings.Fields(pods)) != 1 || !strings.Contains(pods, "uninstall") {
		t.Fatalf("want one uninstall pod, got %q", pods)
	}
	return pods
}
