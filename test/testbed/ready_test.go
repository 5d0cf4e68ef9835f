//go:build linux

package testbed

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func testNode(name, bootID string, ready corev1.ConditionStatus, taints ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.NodeInfo.BootID = bootID
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: ready, Message: "the reason"},
	}
	for _, key := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key})
	}
	return n
}

func TestUsable(t *testing.T) {
	for name, tt := range map[string]struct {
		node *corev1.Node
		want bool
	}{
		"ready":                     {testNode("n", "", corev1.ConditionTrue), true},
		"not ready":                 {testNode("n", "", corev1.ConditionFalse), false},
		"silent":                    {testNode("n", "", corev1.ConditionUnknown), false},
		"ready, not yet seen so":    {testNode("n", "", corev1.ConditionTrue, "node.kubernetes.io/not-ready"), false},
		"ready, taken for lost":     {testNode("n", "", corev1.ConditionTrue, "node.kubernetes.io/unreachable"), false},
		"ready and someone's taint": {testNode("n", "", corev1.ConditionTrue, "example.com/gpu"), true},
		"never reported":            {&corev1.Node{}, false},
	} {
		if got := usable(tt.node); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWaitNodes(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}}
	ready := func(name string) *corev1.Node { return testNode(name, "", corev1.ConditionTrue) }
	if err := waitNodes(t.Context(), fake.NewClientset(account, ready("node1"), ready("node2")), []int{1, 2}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for name, tt := range map[string]struct {
		c    *fake.Clientset
		want string
	}{
		"no service account":  {fake.NewClientset(ready("node1")), "default service account"},
		"a node is missing":   {fake.NewClientset(account, ready("node1")), "2 ready nodes"},
		"one is not ready":    {fake.NewClientset(account, ready("node1"), testNode("node2", "", corev1.ConditionFalse)), "node2: the reason"},
		"an old one is there": {fake.NewClientset(account, ready("node1"), ready("node2"), ready("node3")), "2 ready nodes"},
	} {
		if err := waitNodes(ctx, tt.c, []int{1, 2}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: want %q in the error, got %v", name, tt.want, err)
		}
	}
}

func TestWaitNode(t *testing.T) {
	off := testNode("node2", "", corev1.ConditionFalse)
	c := fake.NewClientset(testNode("node1", "", corev1.ConditionTrue), off)
	if err := waitNode(t.Context(), c, "node1"); err != nil {
		t.Errorf("it waits for another node: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := waitNode(ctx, c, "node2"); err == nil || !strings.Contains(err.Error(), "node2 to be ready") {
		t.Errorf("node2 is taken for ready: %v", err)
	}
}

func TestWaitRebooted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := waitRebooted(t.Context(), fake.NewClientset(testNode("node1", "new", corev1.ConditionTrue)), "node1", "new"); err != nil {
		t.Error(err)
	}
	for name, n := range map[string]*corev1.Node{
		"still its old life": testNode("node1", "old", corev1.ConditionTrue),
		"not ready yet":      testNode("node1", "new", corev1.ConditionFalse),
	} {
		if err := waitRebooted(ctx, fake.NewClientset(n), "node1", "new"); err == nil {
			t.Errorf("%s: taken for rebooted", name)
		}
	}
}

func TestDeleteNode(t *testing.T) {
	c := fake.NewClientset(testNode("node1", "", corev1.ConditionTrue))
	for range 2 { // one that never registered is fine
		if err := deleteNode(t.Context(), c, "node1"); err != nil {
			t.Error(err)
		}
	}
	list, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("left %v, %v", list, err)
	}
}
