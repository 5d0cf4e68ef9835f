package lifecycle

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Reject records that the API server refused to create a pod that was asked for, such as for a quota or a policy. It is
// retried after a pause that grows with each refusal and counts from the record, so that nothing else that wakes the
// node shortens it. The package counts as erroring until there is a pod, since the first refusal. A refusal at the
// longest pause that says what the one before said is no news: change is nil then.
func Reject(n record.Node, s Start, message string, now time.Time) (next record.Node, change *Change) {
	_, now = presentTimes(n, now)
	e := n.Packages[record.Key(s.Package, s.Version)]
	message = record.TrimMessage(message)
	known := e.State == v1alpha1.StateErroring && e.Reason == v1alpha1.ReasonPodRejected && e.Message == message &&
		backoff(e.Rejected) == backoffMax
	if e.State != v1alpha1.StateErroring || e.Reason != v1alpha1.ReasonPodRejected {
		e.Since = metav1.NewTime(now)
	}
	e.State, e.Reason, e.Message = v1alpha1.StateErroring, v1alpha1.ReasonPodRejected, message
	e.Rejected, e.RejectedAt = e.Rejected+1, metav1.NewTime(now)
	e.Untouched = e.Untouched && !s.Exists
	n.Packages = maps.Clone(n.Packages)
	n.Packages[e.Key()] = e
	n.Status = v1alpha1.StatusErroring
	if !known {
		change = &Change{Package: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Message: e.Message}
	}
	return n, change
}
