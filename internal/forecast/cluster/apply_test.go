package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestApply does what the operator does with server-side apply, on both servers.
func TestApply(t *testing.T) {
	for name, c := range servers(t) {
		for i, test := range []struct {
			name string
			run  func(scene)
		}{
			{"node conditions", applyConditions},
			{"preconditions of node conditions", applyPreconditions},
			{"conditions of two managers", applyShared},
			{"ConfigMap", applyConfigMap},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) { test.run(scene{t, c, fmt.Sprintf("apply-%d", i)}) })
		}
	}
}

// apply sends conditions, each as type=reason, in the name of a manager.
func (s scene) apply(n *corev1.Node, manager string, uid types.UID, version string, conditions ...string) error {
	s.Helper()
	status := corev1ac.NodeStatus()
	for _, c := range conditions {
		kind, reason, _ := strings.Cut(c, "=")
		status.WithConditions(corev1ac.NodeCondition().WithType(corev1.NodeConditionType(kind)).WithStatus(corev1.ConditionTrue).
			WithReason(reason).WithLastHeartbeatTime(metav1.NewTime(start)).WithLastTransitionTime(metav1.NewTime(start)))
	}
	ac := corev1ac.Node(n.Name).WithStatus(status)
	if uid != "" {
		ac.WithUID(uid)
	}
	if version != "" {
		ac.WithResourceVersion(version)
	}
	body, err := json.Marshal(ac)
	s.must(err)
	return s.Status().Patch(s.Context(), n, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner(manager), client.ForceOwnership)
}

// conditions are what a node has, each as type=reason.
func (s scene) conditions(n *corev1.Node) string {
	s.Helper()
	s.now(n)
	var list []string
	for _, c := range n.Status.Conditions {
		list = append(list, fmt.Sprintf("%s=%s", c.Type, c.Reason))
	}
	return strings.Join(list, " ")
}

func applyConditions(s scene) {
	n := s.node()
	s.must(s.patchStatus(n, `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}}`))
	for _, step := range []struct {
		conditions []string
		want       string
		writes     bool
	}{
		{[]string{"a=1", "b=1"}, "Ready=KubeletReady a=1 b=1", true},
		{[]string{"a=1", "b=1"}, "Ready=KubeletReady a=1 b=1", false},
		{[]string{"b=2", "c=1"}, "Ready=KubeletReady b=2 c=1", true},
		{nil, "Ready=KubeletReady", true},
		{nil, "Ready=KubeletReady", false},
	} {
		writes := s.writes(n, func() error { return s.apply(n, "us", "", "", step.conditions...) })
		if got := s.conditions(n); got != step.want || writes != step.writes {
			s.Errorf("after %v: %q, wrote %t", step.conditions, got, writes)
		}
	}
}

func applyPreconditions(s scene) {
	n := s.node()
	old := n.ResourceVersion
	s.must(s.apply(n, "us", n.UID, old, "a=1"))
	if n.ResourceVersion == old {
		s.Error("the answer does not show the new version")
	}
	s.want(apierrors.IsConflict, s.apply(n, "us", n.UID, old, "a=2"))
	absent := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-absent"}}
	s.want(apierrors.IsNotFound, s.apply(absent, "us", "", "", "a=1"))
}

func applyShared(s scene) {
	n := s.node()
	s.must(s.apply(n, "us", "", "", "a=1", "b=1", "c=1"))
	s.must(s.apply(n, "them", "", "", "b=1", "c=2"))
	s.must(s.apply(n, "us", "", ""))
	if got := s.conditions(n); got != "b=1 c=2" {
		s.Errorf("what is shared or was taken over goes: %q", got)
	}
	s.must(s.apply(n, "us", "", "", "d=1", "e=1"))
	s.now(n)
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == "d" {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, "changed", "changed"
			c.LastHeartbeatTime.Time, c.LastTransitionTime.Time = start.Add(60e9), start.Add(60e9)
		}
	}
	s.must(s.Status().Update(s.Context(), n))
	if !s.writes(n, func() error { return s.apply(n, "us", "", "", "b=1") }) {
		s.Error("what becomes ours as well is no write")
	}
}

func applyConfigMap(s scene) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: namespace}}
	apply := func(data map[string]string, owner types.UID) error {
		ac := corev1ac.ConfigMap(s.name, namespace).WithLabels(map[string]string{"l": "1"}).WithAnnotations(map[string]string{"a": "1"}).WithData(data)
		ac.WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion("v1").WithKind("Thing").WithName("x").WithUID(owner).
			WithController(true).WithBlockOwnerDeletion(false))
		return s.Apply(s.Context(), ac, client.FieldOwner("us"), client.ForceOwnership)
	}
	s.must(apply(map[string]string{"x": "1", "y": "1"}, "one"))
	s.now(cm)
	if cm.Labels["l"] != "1" || cm.Annotations["a"] != "1" || len(cm.Data) != 2 || !metav1.IsControlledBy(cm, &metav1.ObjectMeta{UID: "one"}) {
		s.Errorf("created as %s", toJSON(s, cm))
	}
	if s.writes(cm, func() error { return apply(map[string]string{"x": "1", "y": "1"}, "one") }) {
		s.Error("the same again is a write")
	}
	s.must(s.patch(cm, `{"data":{"theirs":"1"},"metadata":{"labels":{"theirs":"1"}}}`))
	s.must(apply(map[string]string{"x": "2"}, "two"))
	s.now(cm)
	if got := toJSON(s, cm.Data) + toJSON(s, cm.Labels); got != `{"theirs":"1","x":"2"}{"l":"1","theirs":"1"}` {
		s.Errorf("merged to %s", got)
	}
	if len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].UID != "two" {
		s.Errorf("owned by %v", cm.OwnerReferences)
	}
}
