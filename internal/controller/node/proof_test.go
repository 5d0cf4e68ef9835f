package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestNodeIsIdleOnlyIfTheAPIServerSaysSo: what the cache lacks keeps the interrupt in flight and the cordon.
func TestNodeIsIdleOnlyIfTheAPIServerSaysSo(t *testing.T) {
	packagePod := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "live", UID: "live", Labels: map[string]string{v1alpha1.LabelName: "demo"}},
			Spec:       corev1.PodSpec{NodeName: nodeName},
		}
		if change != nil {
			change(pod)
		}
		return pod
	}
	released := pass{flying: &record.Interrupt{Skyhook: "demo", Run: "r1"}}
	uncordoned := pass{node: &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}}
	for _, c := range []struct {
		name    string
		pass    pass
		pod     *corev1.Pod
		refused bool
	}{
		{"given up, but a pod is there", released, packagePod(nil), true},
		{"uncordoned, but a pod is there", uncordoned, packagePod(nil), true},
		{"another interrupt takes its place", pass{flying: released.flying, inFlight: &record.Interrupt{Skyhook: "demo", Run: "r2"}}, packagePod(nil), true},
		{"it goes on", pass{flying: released.flying, inFlight: released.flying}, packagePod(nil), false},
		{"the cache has the pod", pass{flying: released.flying, pods: []corev1.Pod{*packagePod(nil)}}, packagePod(nil), false},
		{"the pod has ended", released, packagePod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), false},
		{"it is on another node", released, packagePod(func(p *corev1.Pod) { p.Spec.NodeName = "other" }), false},
		{"it is the operator's own", released, packagePod(func(p *corev1.Pod) { p.Labels = nil }), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := newWorld(t), c.pass
			w.must(w.Client.Create(t.Context(), c.pod))
			for i := range p.pods {
				p.pods[i].UID = c.pod.UID
			}
			if p.node == nil {
				p.node = &corev1.Node{}
			}
			p.node = p.node.DeepCopy()
			p.node.Name = nodeName
			if err := w.proveIdle(t.Context(), &p); (err != nil) != c.refused {
				t.Error(err)
			}
		})
	}
}
