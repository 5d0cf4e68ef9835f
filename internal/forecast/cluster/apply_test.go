package cluster_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
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
			{"ConfigMap", applyConfigMap},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) { test.run(scene{t, c, fmt.Sprintf("apply-%d", i)}) })
		}
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
