package rollout_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestConditionsOfOthers: a condition that only another operator sets would stay true for ever; those of controllers
// that have nothing to do with it stay.
func TestConditionsOfOthers(t *testing.T) {
	s := &v1alpha1.Skyhook{}
	for _, kind := range []string{"ApplyPackage", "skyhook.nvidia.com/ApplyPackage", "example.com/Seen"} {
		meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Set"})
	}
	left := rollout.Plan(rollout.Input{Skyhook: s}).Conditions
	for kind, stays := range map[string]bool{
		"ApplyPackage": false, "skyhook.nvidia.com/ApplyPackage": false, "example.com/Seen": true,
	} {
		if got := meta.FindStatusCondition(left, kind) != nil; got != stays {
			t.Errorf("condition %s is there: %t, want %t", kind, got, stays)
		}
	}
}
