package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
)

// SetCapabilityUnknown sets or removes the condition UninstallCapabilityUnknown after what the Skyhook's annotation
// tells of its images. The reason is that of the first package by name.
func SetCapabilityUnknown(status *v1alpha1.SkyhookStatus, s *v1alpha1.Skyhook, now time.Time) {
	doubts := capability.Doubts(s)
	if len(doubts) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionUninstallCapabilityUnknown)
		return
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionUninstallCapabilityUnknown, Status: metav1.ConditionTrue,
		Reason: doubts[0].Reason, Message: capability.Summary(doubts),
		ObservedGeneration: s.Generation, LastTransitionTime: metav1.NewTime(now),
	})
}
