//go:build e2e && nightly

package e2e

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestEarlierInterruptWaitsForNoFailingPod: the interrupt of a Skyhook waits for no pod of a later one that fails, since that one
// waits for it.
func TestEarlierInterruptWaitsForNoFailingPod(t *testing.T) {
	const file = "/skyhook-earlier"
	node := ownNode(t)
	plain := func(what string) v1alpha1.Package {
		p := scripted(map[string]string{"apply.sh": journal(file, what)})
		p.Uninstall = nil
		return p
	}
	earlier := &wish{name: "earlier", nodes: []string{node}, priority: 100, packages: map[string]v1alpha1.Package{"base": plain("base")}}
	earlier.install(t, file)
	broken := plain("broken")
	broken.ConfigMap["apply.sh"] = "exit 1"
	later := &wish{name: "later", nodes: []string{node}, priority: 300, packages: map[string]v1alpha1.Package{"broken": broken}}
	ready(t, later.name, later.nodes, nil)
	later.apply(t)
	untilAttention(t, later.name, node, "StepFailed")

	before := cronStart(t, node)
	restarter := plain("restarter")
	restarter.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"cron"}}
	restarter.ConfigMap["post_interrupt.sh"] = journal(file, "post")
	earlier.packages["restarter"] = restarter
	earlier.apply(t)
	within(t, patience, earlier.name, func() []string { return incomplete(t, earlier.name) })
	marks(t, node, file, "base", "restarter", "post")
	if cronStart(t, node) == before {
		t.Error("cron was not restarted")
	}

	later.change(t, "broken", func(p *v1alpha1.Package) { p.ConfigMap["apply.sh"] = journal(file, "corrected") })
	untilFree(t, later.name, node)
	marks(t, node, file, "base", "restarter", "post", "corrected")
}
