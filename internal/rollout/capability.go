package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
)

// ConditionCapabilityUnknown exists, and is true, while the operator cannot tell of a package whether it can be
// uninstalled: its spec leaves uninstall.enabled unset, and its image does not say or could not be looked at.
const ConditionCapabilityUnknown = "UninstallCapabilityUnknown"

// SetCapabilityUnknown sets or removes that condition after what the Skyhook's annotation tells of its images. The
// reason is that of the first package by name.
func SetCapabilityUnknown(status *v1alpha1.SkyhookStatus, s *v1alpha1.Skyhook, now time.Time) {
	doubts := capability.Doubts(s)
	if len(doubts) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, ConditionCapabilityUnknown)
		return
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: ConditionCapabilityUnknown, Status: metav1.ConditionTrue,
		Reason: string(doubts[0].Reason), Message: capability.Summary(doubts),
		ObservedGeneration: s.Generation, LastTransitionTime: metav1.NewTime(now),
	})
}
