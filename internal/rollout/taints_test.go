package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

func TestUntolerated(t *testing.T) {
	runtime := corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}
	taints := func(name string, keys ...string) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, k := range keys {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: k, Effect: corev1.TaintEffectNoSchedule})
		}
		return n
	}
	runs, ignored, cordoned := taints("n"), taints("n", "a"), taints("n", corev1.TaintNodeUnschedulable)
	runs.Spec.Taints = []corev1.Taint{runtime}
	ignored.Labels = map[string]string{v1alpha1.LabelIgnore: "true"}
	for _, c := range []struct {
		name      string
		tolerates []string
		defaults  []corev1.Toleration
		nodes     []corev1.Node
		// want are words of each sentence, in order.
		want []string
	}{
		{"no taints", nil, nil, []corev1.Node{taints("n")}, nil},
		{"the runtime taint goes by itself", nil, nil, []corev1.Node{runs}, nil},
		{"an ignored node is left out in any case", nil, nil, []corev1.Node{ignored}, nil},
		{"a cordon keeps no package out", nil, nil, []corev1.Node{cordoned}, nil},
		{"tolerated", []string{"a"}, nil, []corev1.Node{taints("n", "a")}, nil},
		{"tolerated by all Skyhooks", nil, []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}, []corev1.Node{taints("n", "a")}, nil},
		{"one of two is tolerated", []string{"a"}, nil, []corev1.Node{taints("n", "a", "b")}, []string{"the taint b:NoSchedule of 1 of the 1 selected nodes (n)"}},
		{
			"the one of the most nodes first", nil, nil,
			[]corev1.Node{taints("n1", "a"), taints("n2", "b"), taints("n3", "b"), taints("n4")},
			[]string{"b:NoSchedule of 2 of the 4 selected nodes (n2, n3)", "a:NoSchedule of 1 of the 4 selected nodes (n1)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(0)
			for _, k := range c.tolerates {
				s.Spec.AdditionalTolerations = append(s.Spec.AdditionalTolerations, corev1.Toleration{Key: k, Operator: corev1.TolerationOpExists})
			}
			got := rollout.Untolerated(s, c.nodes, rollout.Taints{Runtime: runtime, Tolerated: c.defaults})
			if len(got) != len(c.want) {
				t.Fatalf("got %q", got)
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("%q does not say %q", got[i], c.want[i])
				}
			}
		})
	}
	var many []corev1.Node
	for i := range 300 {
		many = append(many, taints(fmt.Sprint("n", i), fmt.Sprintf("k%03d", i)))
	}
	if got := rollout.Untolerated(skyhook(0), many, rollout.Taints{Runtime: runtime}); len(got) != 10 || !strings.Contains(got[0], "k000") {
		t.Errorf("%d sentences, the first is %s", len(got), got[0])
	}
}
