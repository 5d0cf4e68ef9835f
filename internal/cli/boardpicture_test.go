package cli

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestPictureReason: a square has the reason that why gives, or none where only why knows.
func TestPictureReason(t *testing.T) {
	permit := v1alpha1.WaitingNodes{Reason: v1alpha1.ReasonWaitingForPermit, Nodes: 3}
	missing := v1alpha1.WaitingNodes{Reason: v1alpha1.ReasonDeploymentPolicyNotFound, Nodes: 3}
	told := v1alpha1.NodeAttention{Node: "node", Reason: v1alpha1.ReasonTaintNotTolerable}
	for _, c := range []struct {
		name   string
		status v1alpha1.SkyhookStatus
		node   v1alpha1.Status
		want   string
	}{
		{"nothing is told yet", v1alpha1.SkyhookStatus{}, v1alpha1.StatusWaiting, v1alpha1.ReasonWaitingForPermit},
		{"all wait for a permit", v1alpha1.SkyhookStatus{Waiting: []v1alpha1.WaitingNodes{permit}}, v1alpha1.StatusWaiting, v1alpha1.ReasonWaitingForPermit},
		{"all wait for a policy", v1alpha1.SkyhookStatus{Waiting: []v1alpha1.WaitingNodes{missing}}, v1alpha1.StatusBlocked, v1alpha1.ReasonDeploymentPolicyNotFound},
		{"nobody says what blocks it", v1alpha1.SkyhookStatus{}, v1alpha1.StatusBlocked, ""},
		{"some wait for a policy", v1alpha1.SkyhookStatus{Waiting: []v1alpha1.WaitingNodes{missing, permit}}, v1alpha1.StatusWaiting, ""},
		{
			"it is named",
			v1alpha1.SkyhookStatus{Waiting: []v1alpha1.WaitingNodes{missing, permit}, Attention: []v1alpha1.NodeAttention{told}},
			v1alpha1.StatusBlocked, v1alpha1.ReasonTaintNotTolerable,
		},
	} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Annotations: map[string]string{
			v1alpha1.AnnotationStatusPrefix + "gpu": string(c.node),
		}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		sk := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Status: c.status}
		if got := newPicture(sk).node(n); got.Reason != c.want || got.Status != c.node {
			t.Errorf("%s: %s %q, want %q", c.name, got.Status, got.Reason, c.want)
		}
	}
}
