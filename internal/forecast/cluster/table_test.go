package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPodsOfNodes lists the pods of a node, through all changes, as if it looked at all pods.
func TestPodsOfNodes(t *testing.T) {
	c := newCluster(t)
	direct, random := c.Client(), rand.New(rand.NewPCG(1, 2))
	pod := func() *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("ns-", random.IntN(2)), Name: fmt.Sprint("pod-", random.IntN(20))}}
		p.Spec.NodeName = fmt.Sprint("node-", random.IntN(3))
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example/main:1"}}
		return p
	}
	loaded := pod()
	loaded.Name = "loaded"
	for i := range 300 {
		p := pod()
		switch random.IntN(4) {
		case 0, 1:
			_ = direct.Create(t.Context(), p) // it may be there
		case 2:
			_ = direct.Delete(t.Context(), p, client.GracePeriodSeconds(0)) // it may not be there
		case 3:
			labels := fmt.Appendf(nil, `{"metadata":{"labels":{"i":"%d"}}}`, i)
			_ = direct.Patch(t.Context(), p, client.RawPatch("application/merge-patch+json", labels))
		}
		if i == 150 {
			if err := c.Load(loaded); err != nil {
				t.Fatal(err)
			}
		}
		for node := range 3 {
			name := fmt.Sprint("node-", node)
			var got corev1.PodList
			if err := direct.List(t.Context(), &got, client.MatchingFields{"spec.nodeName": name}); err != nil {
				t.Fatal(err)
			}
			want := []corev1.Pod{}
			for _, p := range c.Pods() {
				if p.Spec.NodeName == name {
					want = append(want, *p)
				}
			}
			if d := cmp.Diff(want, got.Items); d != "" {
				t.Fatalf("after %d changes, %s (-want +got):\n%s", i+1, name, d)
			}
		}
	}
	if len(c.Pods()) < 5 {
		t.Errorf("only %d pods are there: the test shows little", len(c.Pods()))
	}
}
