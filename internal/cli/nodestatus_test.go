//go:build integration

package cli_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// cordoned is a node that was cordoned today.
func cordoned(name string, annotations map[string]string) *corev1.Node {
	n := newNode(name, annotations)
	n.Spec.Unschedulable = true
	n.Spec.Taints = []corev1.Taint{{
		Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: today},
	}}
	return n
}

// TestNodeDetails: who cordoned a node, since when and why; what is in flight, who may work there, what runs, what it
// waits for, and what helps. Programs are told all that people are.
func TestNodeDetails(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Status = v1alpha1.SkyhookStatus{CompleteNodes: "0/1", Permits: []v1alpha1.Permit{{Node: "worker-1", Generation: 1, Order: 3}}}
	c.put(s)
	other := gpu()
	other.Name = "zeta"
	other.Status = v1alpha1.SkyhookStatus{CompleteNodes: "0/1", Permits: []v1alpha1.Permit{{Node: "worker-1", Generation: 2, Revoked: true}}}
	c.put(other)
	annotations := states("{" + driverDone + "," + tuningBad + "}")
	annotations[v1alpha1.AnnotationCordonPrefix+"gpu"] = "true"
	annotations[v1alpha1.AnnotationWaitPrefix+"gpu"] = `{"reason":"ProtectedPod","message":"pod shop/train is protected","since":"2026-03-04T05:01:07Z"}`
	annotations[v1alpha1.AnnotationInterrupt] = `{"skyhook":"gpu","packages":["driver|1.0.0"],"type":"reboot","since":"2026-01-02T03:04:05Z"}`
	annotations[v1alpha1.AnnotationNodeStatePrefix+"net"] = "{" + driverDone + "}"
	annotations[v1alpha1.AnnotationCordonPrefix+"net"] = "true"
	annotations[v1alpha1.AnnotationWaitPrefix+"net"] = `{"reason":"WaitingForInterrupt","message":"the reboot of Skyhook gpu is in flight"}`
	c.put(cordoned("worker-1", annotations))
	c.put(cordoned("worker-2", states("{"+driverDone+"}")))
	c.put(cordoned("worker-3", nil))
	c.runStage(s, "worker-1")
	for _, node := range []string{"worker-1", "worker-2", "worker-3"} {
		for _, format := range []string{"table", "json", "yaml"} {
			out, _, err := c.run("", "node", "status", node, "--namespace", "default", "-o", format)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "node-details-"+node+"."+format, out)
		}
	}
}
