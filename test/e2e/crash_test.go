//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestOperatorKilled ends the operator with SIGKILL in the midst of each part of a package's life. Whatever it did not
// get to write or to see, the run ends complete with every step and the reboot done exactly once.
func TestOperatorKilled(t *testing.T) {
	const file = "/skyhook-killed"
	node := bed.Nodes()[0]
	open := func(t *testing.T, what string) { onHost(t, node, "touch", gate(file, what)) }
	tests := []struct {
		during  string
		scripts map[string]string // beside those of steps
		prepare func(*testing.T) (release func())
		reached func(*testing.T)
		release func(*testing.T)
	}{
		{
			during:  "apply",
			scripts: map[string]string{"apply.sh": gated(file, "apply")},
			reached: func(t *testing.T) { awaitMark(t, node, file, "apply") },
			release: func(t *testing.T) { open(t, "apply") },
		},
		{
			during: "drain",
			prepare: func(t *testing.T) func() {
				runDeployment(t, "guarded", node)
				return guard(t, "guarded")
			},
			reached: func(t *testing.T) { untilAttention(t, "killed", node, "EvictionRefused") },
		},
		{
			during: "interrupt",
			reached: func(t *testing.T) {
				untilNode(t, node, "interrupt in progress", func(n *corev1.Node) bool { return inStage(n, "killed", v1alpha1.StageInterrupt) })
			},
		},
		{
			during:  "post-interrupt",
			scripts: map[string]string{"post_interrupt.sh": gated(file, "post")},
			reached: func(t *testing.T) {
				untilNode(t, node, "post-interrupt in progress", func(n *corev1.Node) bool { return inStage(n, "killed", v1alpha1.StagePostInterrupt) })
				awaitMark(t, node, file, "post")
			},
			release: func(t *testing.T) { open(t, "post") },
		},
	}
	for _, tt := range tests {
		t.Run(tt.during, func(t *testing.T) {
			scripts := steps(file)
			for key, script := range tt.scripts {
				scripts[key] = script
			}
			relax := func() {}
			if tt.prepare != nil {
				relax = tt.prepare(t)
			}
			boot, count := bootID(t, node), boots(t, node)
			applyTo(t, []string{node}, "killed", with(skyhook("killed", scripts), "", rebooting), file, gate(file, "apply"), gate(file, "post"))
			tt.reached(t)
			killOperator(t)
			// What was waited for happens while nobody watches.
			relax()
			if tt.release != nil {
				tt.release(t)
			}
			waitReady(t, "killed")
			marks(t, node, file, "apply", "config", "post")
			if n := boots(t, node) - count; n != 1 {
				t.Errorf("the node booted %d times, want once", n)
			}
			if bootID(t, node) == boot {
				t.Error("the node has its old boot id")
			}
			if getNode(t, node).Spec.Unschedulable {
				t.Error("the node is still cordoned")
			}
			checkEntry(t, node, "killed", "scripts|1.1.0")
		})
	}
}
