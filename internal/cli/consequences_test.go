package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/test/faults"
)

// TestConsequences: whoever has packages run again is told before which nodes go down for that, and which pods leave.
func TestConsequences(t *testing.T) {
	for name, c := range map[string]struct {
		has  change
		want string
	}{
		"a reboot": {reboots(0, ""), ":\n  - 1 node drained: n00\n" +
			"  - 1 node rebooted: n00\n  - 1 pod evicted: web/app"},
		"nothing": {nil, "Consequences: no node is drained or interrupted."},
	} {
		t.Run(name, func(t *testing.T) {
			s := faults.NewScene(2, false, func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				if c.has != nil {
					c.has(p, spec)
				}
			})
			s.Pass(time.Hour)
			r := s.Show()
			v := &view{Snapshot: r.Snapshot, options: r.Settings}
			v.Pods = append(v.Pods, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "app", UID: "app", OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "app", UID: "set", Controller: new(true)},
				}},
				Spec: corev1.PodSpec{NodeName: "n00"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
			})
			nodes := []onNode{{node: *first(v.Nodes, func(n *corev1.Node) bool { return n.Name == "n00" }), skyhook: "gpu"}}
			reset := func(n *corev1.Node) (record.Patch, error) { return record.Reset("gpu", n.Annotations, n.Labels), nil }
			f, err := v.afterChange("gpu", nodes, reset, false, r.Now)
			if got := strings.Join(consequences(f, "gpu", nodes), "\n"); err != nil || !strings.HasPrefix(got, "Consequences") || !strings.HasSuffix(got, c.want) {
				t.Errorf("error %v, got\n%s", err, got)
			}
		})
	}
}
