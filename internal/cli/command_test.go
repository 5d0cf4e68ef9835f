package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestPermitNamesTrouble: who waits for a place is told of what does not give it back, and of no larger budget.
func TestPermitNamesTrouble(t *testing.T) {
	sk := &v1alpha1.Skyhook{}
	sk.Name = "gpu"
	sk.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{"__default__": {Ceiling: 1, InProgress: 1}}
	c, v := &cause{Nodes: []string{"n1"}}, &view{}
	v.Nodes = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}}
	explainer{}.adviseOnPermit(v, sk, c)
	if c.Do != "" {
		t.Errorf("nothing is wrong: %s", c.Do)
	}
	sk.Status.Permits = []v1alpha1.Permit{{Node: "n0"}}
	sk.Status.Attention = []v1alpha1.NodeAttention{{Node: "n0", Status: v1alpha1.StatusBlocked, Reason: v1alpha1.ReasonNodeNotReady}}
	explainer{}.adviseOnPermit(v, sk, c)
	if !strings.Contains(c.Do, "`kubectl skyhook why node n0 ") {
		t.Errorf("what helps: %s", c.Do)
	}
}
