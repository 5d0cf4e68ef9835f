package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestBudgetIsNotRaisedBesideTrouble: no command lets another node in where something is wrong with one that works.
func TestBudgetIsNotRaisedBesideTrouble(t *testing.T) {
	sk := &v1alpha1.Skyhook{}
	sk.Name = "gpu"
	sk.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{"__default__": {Ceiling: 1, InProgress: 1}}
	const want = `kubectl patch skyhook gpu --type=merge -p '{"spec":{"interruptionBudget":{"count":2,"percent":null}}}'`
	c, v := &cause{Nodes: []string{"n1"}}, &view{}
	v.Nodes = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}}
	if got := (explainer{}).forPermit(v, sk, c); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	sk.Status.Permits = []v1alpha1.Permit{{Node: "n0"}}
	sk.Status.Attention = []v1alpha1.NodeAttention{{Node: "n0", Status: v1alpha1.StatusBlocked, Reason: v1alpha1.ReasonNodeNotReady}}
	if got := (explainer{}).forPermit(v, sk, c); got != "" || !strings.Contains(c.Do, "`kubectl skyhook why node n0 ") {
		t.Errorf("a node is away, and another one shall work: %s; what helps: %s", got, c.Do)
	}
}
