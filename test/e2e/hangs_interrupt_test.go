//go:build e2e && nightly

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestFailingInterruptCanBeEnded: whatever a user does to end an interrupt that keeps failing frees the node.
func TestFailingInterruptCanBeEnded(t *testing.T) {
	t.Parallel()
	t.Run("its configMap is fixed", func(t *testing.T) {
		s := newStuck(t, "fixed", nil)
		s.change(t, breaker, func(p *v1alpha1.Package) { p.ConfigMap["config.sh"] = s.repaired() })
		untilFree(t, s.name, s.node)
		marks(t, s.node, s.file, "apply", "config", "repaired", "post")
	})
	t.Run("the next version needs no interrupt", func(t *testing.T) {
		s := newStuck(t, "bumped", lowered(t))
		s.change(t, breaker, func(p *v1alpha1.Package) {
			p.Version, p.Interrupt, p.ConfigMap["upgrade.sh"] = "1.1.0", nil, journal(s.file, "upgrade")
		})
		untilFree(t, s.name, s.node)
		marks(t, s.node, s.file, "apply", "config", "upgrade", "config")
	})
	t.Run("the next version has an interrupt that succeeds", func(t *testing.T) {
		s := newStuck(t, "replaced", lowered(t))
		before := cronStart(t, s.node)
		s.change(t, breaker, func(p *v1alpha1.Package) {
			p.Version, p.Interrupt.Services, p.ConfigMap["upgrade.sh"] = "1.1.0", []string{"cron"}, journal(s.file, "upgrade")
		})
		untilFree(t, s.name, s.node)
		marks(t, s.node, s.file, "apply", "config", "upgrade", "config", "post")
		if cronStart(t, s.node) == before {
			t.Error("cron was not restarted")
		}
	})
	t.Run("its package is removed", testOwnerRemoved)
	t.Run("its Skyhook is deleted", func(t *testing.T) {
		s := newStuck(t, "dropped", (*stuck).undoneBeside)
		mustKubectl(t, "", "delete", "skyhook", s.name, "--wait=false")
		untilGone(t, s.name, s.node)
		marks(t, s.node, s.file, "apply", "config")
		marks(t, s.node, s.file+"-beside", "apply", "uninstall")
	})
}

// testOwnerRemoved removes the package that runs an interrupt for another one, too, which still needs its own part of
// it.
func testOwnerRemoved(t *testing.T) {
	s := newStuck(t, "removed", func(s *stuck) {
		s.beside(v1alpha1.Package{
			Version: "1.1.0", Image: "ghcr.io/nvidia/skyhook-packages/shellscript", ConfigMap: map[string]string{},
			Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"cron"}},
		})
	})
	before := cronStart(t, s.node)
	if e := entry(t, s.node, s.name, "neighbour|1.1.0"); e.Stage != v1alpha1.StageInterrupt || e.State != v1alpha1.StateSkipped {
		t.Errorf("the other package is not part of the interrupt: %s %s", e.Stage, e.State)
	}
	delete(s.packages, breaker)
	s.apply(t)
	untilFree(t, s.name, s.node)
	marks(t, s.node, s.file, "apply", "config")
	marks(t, s.node, s.file+"-beside", "apply", "post")
	if cronStart(t, s.node) == before {
		t.Error("cron was not restarted for the package that stays")
	}
}

// lowered starts with an older version of the package that fails.
func lowered(t *testing.T) func(*stuck) {
	return func(s *stuck) {
		pushLower(t)
		s.edit(breaker, func(p *v1alpha1.Package) { p.Version = "1.0.0" })
	}
}

// follower applies a harmless Skyhook that has to wait for another one on its node.
func follower(t *testing.T, s *stuck) *wish {
	t.Helper()
	w := &wish{name: s.name + "-next", nodes: s.nodes, priority: 300, packages: map[string]v1alpha1.Package{
		"scripts": {
			Version: "1.1.0", Image: "ghcr.io/nvidia/skyhook-packages/shellscript",
			ConfigMap: map[string]string{"apply.sh": journal(s.file+"-next", "apply")},
		},
	}}
	ready(t, w.name, w.nodes, []string{s.file + "-next"})
	w.apply(t)
	if a := untilAnyAttention(t, w.name, s.node); a.Status != v1alpha1.StatusWaiting {
		t.Errorf("Skyhook %s does not wait: %+v", w.name, a)
	}
	return w
}

// TestSpentInterruptKeepsNobodyOff: an interrupt whose retries are exhausted keeps others off the node no longer than its
// Skyhook is wanted there.
func TestSpentInterruptKeepsNobodyOff(t *testing.T) {
	t.Parallel()
	t.Run("disabled", func(t *testing.T) {
		s := newStuck(t, "spent", (*stuck).spent)
		untilSpent(t, s)
		next := follower(t, s)
		annotate(t, s.name, "disable", "true")
		untilFree(t, next.name, s.node)
		marks(t, s.node, s.file+"-next", "apply")

		// What was left undone is done once the Skyhook is enabled, with what was wrong corrected.
		s.change(t, breaker, func(p *v1alpha1.Package) {
			p.MaxRetries, p.ConfigMap["config.sh"] = ptr.To[int32](1), s.repaired()
		})
		annotate(t, s.name, "disable", "")
		untilFree(t, s.name, s.node)
		marks(t, s.node, s.file, "apply", "config", "repaired", "post")
	})
	t.Run("deleted", func(t *testing.T) {
		s := newStuck(t, "spent-gone", func(s *stuck) { s.spent(); s.undoneBeside() })
		untilSpent(t, s)
		next := follower(t, s)
		mustKubectl(t, "", "delete", "skyhook", s.name, "--wait=false")
		untilGone(t, s.name, s.node)
		untilFree(t, next.name, s.node)
		marks(t, s.node, s.file+"-next", "apply")
	})
}

// untilSpent waits until the interrupt is not tried again.
func untilSpent(t *testing.T, s *stuck) {
	t.Helper()
	untilNode(t, s.node, "the interrupt is spent", func(n *corev1.Node) bool {
		return entryOf(n, s.name, breaker+"|1.1.0").Reason == "RetriesExhausted"
	})
	untilPodsEnd(t, s.name)
}
