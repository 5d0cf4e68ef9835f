//go:build integration

package operator_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

var (
	runtimeTaint = corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}
	otherTaint   = corev1.Taint{Key: "gpu", Value: "1", Effect: corev1.TaintEffectPreferNoSchedule}
)

const autoTaint = "skyhook.nvidia.com/autoTaint_skyhook.nvidia.com"

func TestRuntimeTaint(t *testing.T) {
	perform(t,
		play{name: "goes when all that require it are complete", nodes: 2, act: registeredTaint},
		play{name: "comes on new nodes, and goes without a trace", nodes: 1, act: newNodeTaint},
	)
}

func (s *scene) taints(i int) string {
	s.t.Helper()
	var keys []string
	for _, t := range s.get(s.nodes[i]).Spec.Taints {
		keys = append(keys, t.Key)
	}
	return strings.Join(keys, " ")
}

// registeredTaint: two Skyhooks require it, and a third, which comes first, is held by it without holding them.
func registeredTaint(s *scene) {
	s.changeNode(s.nodes[0], func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{runtimeTaint, otherTaint} })
	s.when("fw config", goesOn)
	before := s.skyhook("-early", map[string]v1alpha1.Package{"early": pkg("1.0.0", nil)})
	before.Spec.Priority = 1
	s.must(s.client.Create(s.t.Context(), before))
	s.becomes("the first is held by the taint", func() bool {
		var x v1alpha1.Skyhook
		s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(before), &x))
		return x.Status.Nodes.Blocked == 1 && x.Status.Nodes.Complete == 1
	})
	x := s.create(map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)}, func(x *v1alpha1.Skyhook) { x.Spec.RuntimeRequired = true })
	s.becomes("the config stage runs on both nodes", func() bool {
		running := slices.DeleteFunc(s.pods(), func(p corev1.Pod) bool {
			return p.Spec.InitContainers[1].Args[0] != "config" || len(p.Status.InitContainerStatuses) == 0
		})
		return len(running) == 2
	})
	if got := s.taints(0); got != "skyhook.nvidia.com gpu" {
		s.t.Errorf("the node has the taints %q before the package is complete", got)
	}
	s.release()
	s.untilStatus(x, v1alpha1.StatusComplete)
	if got := s.taints(0); got != "gpu" {
		s.t.Errorf("the node has the taints %q", got)
	}
	s.untilStatus(before, v1alpha1.StatusComplete)
}

func newNodeTaint(s *scene) {
	was := s.appearance(s.nodes[0])
	s.when("fw config", goesOn)
	x := s.create(map[string]v1alpha1.Package{"fw": uninstallable("1.0.0", nil, nil)}, func(x *v1alpha1.Skyhook) {
		x.Spec.RuntimeRequired, x.Spec.AutoTaintNewNodes = true, true
	})
	s.runs("config")
	now := s.appearance(s.nodes[0])
	if got := s.taints(0); got != "skyhook.nvidia.com" || now.Annotations[autoTaint] != "true" {
		s.t.Errorf("the new node has the taints %q and the mark %q", got, now.Annotations[autoTaint])
	}
	s.release()
	s.untilStatus(x, v1alpha1.StatusComplete)
	if got := s.taints(0); got != "" {
		s.t.Errorf("the node has the taints %q", got)
	}
	s.delete(x)
	now = s.appearance(s.nodes[0])
	if len(now.Annotations) != len(was.Annotations) || len(now.Taints) != 0 {
		s.t.Errorf("the node keeps %v %v", now.Annotations, now.Taints)
	}
}
