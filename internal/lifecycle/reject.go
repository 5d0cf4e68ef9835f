package lifecycle

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Reject records that the API server refused to create a pod that was asked for, such as for a quota or a policy. It is
// tried again after a pause that grows with each refusal. The package counts as erroring until there is a pod. At the
// longest pause the same refusal is nothing new: then nothing is to be written, and after is when to try again.
func Reject(n record.Node, s Start, message string, now time.Time) (next record.Node, change *Change, after time.Duration) {
	_, now = presentTimes(n, now)
	e := n.Packages[record.Key(s.Package, s.Version)]
	message = record.TrimMessage(message)
	if e.State == v1alpha1.StateErroring && e.Reason == v1alpha1.ReasonPodRejected && e.Message == message && backoff(e.Rejected) == backoffMax {
		return n, nil, backoffMax
	}
	e.State, e.Reason, e.Message = v1alpha1.StateErroring, v1alpha1.ReasonPodRejected, message
	e.Since, e.Rejected = metav1.NewTime(now), e.Rejected+1
	n.Packages = maps.Clone(n.Packages)
	n.Packages[e.Key()] = e
	n.Status = v1alpha1.StatusErroring
	return n, &Change{Package: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Message: e.Message}, 0
}
