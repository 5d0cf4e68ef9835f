//go:build integration

package operator_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestBlockedDeletion: what keeps a deletion from uninstalling is said in a condition and an event, and it continues when
// the user abandons the uninstall on the node. Each Skyhook has two nodes, of which the second is abandoned; it alone
// remembers.
func TestBlockedDeletion(t *testing.T) {
	annotate := func(key string) func(*scene, *v1alpha1.Skyhook) {
		return func(s *scene, x *v1alpha1.Skyhook) {
			s.edit(x, func(x *v1alpha1.Skyhook) {
				metav1.SetMetaDataAnnotation(&x.ObjectMeta, "skyhook.nvidia.com/"+key, "true")
			})
		}
	}
	var plays []play
	for _, c := range []struct {
		name  string
		block func(*scene, *v1alpha1.Skyhook)
		// reason of the condition, and a part of its message.
		reason, message string
		// both nodes have to be abandoned.
		both bool
		// remembers is what stays recorded on an abandoned node.
		remembers string
	}{
		{"paused", annotate("pause"), "PausedWithPendingUninstall", "skyhook.nvidia.com/pause-", true, "fw|1.0.0"},
		{"disabled", annotate("disable"), "DisabledWithPendingUninstall", "skyhook.nvidia.com/disable-", true, "fw|1.0.0"},
		{"ignored", func(s *scene, _ *v1alpha1.Skyhook) {
			s.changeNode(s.nodes[1], func(n *corev1.Node) { n.Labels["skyhook.nvidia.com/ignore"] = "true" })
		}, "NodeIgnored", "abandon-uninstall=", false, "fw|1.0.0"},
		{"repelled", func(s *scene, _ *v1alpha1.Skyhook) {
			s.changeNode(s.nodes[1], func(n *corev1.Node) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoExecute})
			})
		}, "TaintNotTolerable", "abandon-uninstall=", false, "fw|1.0.0"},
		{"not Ready", func(s *scene, _ *v1alpha1.Skyhook) { s.notReady(1) }, "NodeNotReady", "abandon-uninstall=", false, "fw|1.0.0"},
		{"unreadable", func(s *scene, _ *v1alpha1.Skyhook) {
			s.annotate(s.nodes[1], "skyhook.nvidia.com/nodeState_"+s.name, "{broken")
		}, "MalformedNodeState", "nodeState_", false, "{broken"},
	} {
		plays = append(plays, play{name: c.name, nodes: 2, act: func(s *scene) {
			x := s.install(uninstallable("1.0.0", nil, nil))
			c.block(s, x)
			s.must(s.client.Delete(s.t.Context(), x))
			if got := s.condition(x, "DeletionBlocked", c.reason); !strings.Contains(got, c.message) || !strings.Contains(got, s.nodes[1]) {
				s.t.Errorf("DeletionBlocked says %q", got)
			}
			if got := s.event("DeletionBlocked"); !strings.Contains(got, s.nodes[1]) {
				s.t.Errorf("the event says %q", got)
			}
			abandoned := s.nodes[1]
			if c.both {
				abandoned = strings.Join(s.nodes, ", ")
			}
			s.edit(x, func(x *v1alpha1.Skyhook) {
				metav1.SetMetaDataAnnotation(&x.ObjectMeta, "skyhook.nvidia.com/abandon-uninstall", abandoned)
			})
			s.gone(x)
			if got := s.event("UninstallAbandoned"); !strings.Contains(got, "node "+s.name) {
				s.t.Errorf("the event says %q", got)
			}
			for i, isAbandoned := range []bool{c.both, true} {
				s.checkCleanNode(s.nodes[i], s.name)
				if got := s.remembers(s.nodes[i]); strings.Contains(got, c.remembers) != isAbandoned || !isAbandoned && got != "" {
					s.t.Errorf("node %d remembers %q", i, got)
				}
			}
			if got := s.count("fw uninstall"); (got == 0) != c.both {
				s.t.Errorf("ran %s", s.story())
			}
		}})
	}
	perform(t, plays...)
}

func TestDeletionContinues(t *testing.T) {
	fw := uninstallable("1.0.0", map[string]string{"k": "1"}, nil)
	perform(t,
		play{name: "without a node that is gone", nodes: 2, act: func(s *scene) {
			x := s.install(fw)
			s.notReady(1)
			s.must(s.client.Delete(s.t.Context(), x))
			s.condition(x, "DeletionBlocked", "NodeNotReady")
			s.must(s.client.Delete(s.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.nodes[1]}}))
			s.gone(x)
		}},
		play{name: "after a pause", nodes: 1, act: func(s *scene) {
			x := s.install(fw, func(x *v1alpha1.Skyhook) { x.Spec.Priority = 7 })
			s.edit(x, func(x *v1alpha1.Skyhook) {
				metav1.SetMetaDataAnnotation(&x.ObjectMeta, "skyhook.nvidia.com/pause", "true")
			})
			s.must(s.client.Delete(s.t.Context(), x))
			s.condition(x, "DeletionBlocked", "PausedWithPendingUninstall")
			s.edit(x, func(x *v1alpha1.Skyhook) { delete(x.Annotations, "skyhook.nvidia.com/pause") })
			s.gone(x)
			if s.count("fw uninstall") != 1 {
				s.t.Errorf("ran %s", s.story())
			}
		}},
		play{name: "before an earlier Skyhook that is not complete", nodes: 1, act: func(s *scene) {
			x := s.install(fw)
			first := s.skyhook("-first", map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)})
			first.Spec.Priority = 1
			first.Annotations = map[string]string{"skyhook.nvidia.com/pause": "true"}
			s.must(s.client.Create(s.t.Context(), first))
			s.untilStatus(first, v1alpha1.StatusPaused)
			s.delete(x)
			if s.count("fw uninstall") != 1 {
				s.t.Errorf("ran %s", s.story())
			}
			s.delete(first)
		}},
		play{name: "within the budget", nodes: 3, act: func(s *scene) {
			stop := s.watchBudget(s.name, 1)
			x := s.create(map[string]v1alpha1.Package{"fw": fw, "other": fw}, func(x *v1alpha1.Skyhook) { x.Spec.InterruptionBudget.Count = new(1) })
			x = s.untilStatus(x, v1alpha1.StatusComplete)
			x = s.apply(x, true)
			x = s.installed(x, 1)
			s.delete(x)
			stop()
			if s.count("fw uninstall") != 3 || s.count("other uninstall") != 3 {
				s.t.Errorf("ran %s", s.story())
			}
		}},
	)
}

// TestOperatorMayDieWhileItUninstalls stops and starts the operator after each node that it frees, first of one
// package, then of the Skyhook.
func TestOperatorMayDieWhileItUninstalls(t *testing.T) {
	s := alone(t, 4)
	remain := s.remain()
	stop := s.watchBudget(s.name, 2)
	gone, stays := uninstallable("1.0.0", map[string]string{"k": "1"}, whenRemoved), serviceInterrupt(uninstallable("1.0.0", nil, nil))
	x := s.create(map[string]v1alpha1.Package{"gone": gone, "stays": stays}, func(x *v1alpha1.Skyhook) { x.Spec.InterruptionBudget.Count = new(2) })
	x = s.untilStatus(x, v1alpha1.StatusComplete)
	free := func(pkg string) int {
		return len(slices.DeleteFunc(slices.Clone(s.nodes), func(node string) bool { return strings.Contains(s.remembers(node), pkg+"|") }))
	}
	restart := func(pkg string) {
		for want := range s.nodes {
			s.becomes("another node freed of "+pkg, func() bool { return free(pkg) >= want })
			s.stop()
			s.startOperator()
		}
	}
	x = s.edit(x, func(x *v1alpha1.Skyhook) { delete(x.Spec.Packages, "gone") })
	restart("gone")
	s.untilStatus(x, v1alpha1.StatusComplete)
	s.must(s.client.Delete(t.Context(), x))
	restart("stays")
	s.gone(x)
	stop()
	remain()
	for _, what := range []string{"gone uninstall", "stays uninstall"} {
		if s.count(what) == 0 {
			t.Errorf("%s never ran: %s", what, s.story())
		}
	}
}
