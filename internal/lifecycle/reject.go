package lifecycle

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Reject records that the API server refused to create a pod that was asked for, such as for a quota or a policy. It is
// tried again after a pause that grows with each refusal. The package counts as erroring until a pod runs.
func Reject(n record.Node, s Start, message string, now time.Time) (record.Node, Change) {
	e := n.Packages[record.Key(s.Package, s.Version)]
	e.State, e.Reason, e.Message = v1alpha1.StateErroring, ReasonPodRejected, record.TrimMessage(message)
	e.Since, e.Restarts = metav1.NewTime(now), e.Restarts+1
	n.Packages = maps.Clone(n.Packages)
	n.Packages[e.Key()] = e
	n.Status = v1alpha1.StatusErroring
	return n, Change{Package: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Message: e.Message}
}
