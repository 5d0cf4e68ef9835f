// Package drain decides which pods have to leave a node before it is interrupted, and says why some are still there.
//
// Classify takes the pods of one node as values and returns what to evict now and what is waited for. It is
// level-triggered: every pass lists the pods anew, and the node is drained when no pod that matters is left in the
// list, not when evictions were accepted. The package knows no client, clock or logger, no cordon and no Skyhook; the
// requests are made by its subpackage evict.
package drain

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// rank orders reasons: what needs a person or may take long comes first.
var rank = map[string]int{
	v1alpha1.ReasonProtectedPod:    0,
	v1alpha1.ReasonEvictionRefused: 1,
	v1alpha1.ReasonPodReturns:      2,
	v1alpha1.ReasonPodUnmanaged:    3,
	v1alpha1.ReasonPodUsesEmptyDir: 4,
	v1alpha1.ReasonPodTerminating:  5,
	v1alpha1.ReasonEvicting:        6,
}

// Options say how a node is drained.
type Options struct {
	// NonInterrupt selects the protected pods, in any namespace. Nil or empty protects none.
	NonInterrupt labels.Selector
	// OperatorNamespace is where package pods live.
	OperatorNamespace string
	// Self is the name of the operator's own pod in that namespace; empty when it runs outside of the cluster.
	Self string
	// GracePeriodSeconds overrides the pods' own grace period; nil leaves it to each pod.
	GracePeriodSeconds *int64
	// Started is when the drain of this node began; no pod has been waited for longer than that. Zero if unknown.
	Started time.Time
	// Timeout counts from Started; 0 for none. See State.TimedOut.
	Timeout time.Duration
	// Memory of this drain's earlier passes; nil for none.
	Memory *Memory
	// DeleteEmptyDirData allows to evict pods with emptyDir volumes.
	DeleteEmptyDirData bool
	// Force allows to evict pods that no controller would create again.
	Force bool
}

// Pod identifies one pod. The UID tells it from a later pod of the same name, which must not be evicted in its place.
type Pod struct {
	Namespace string
	Name      string
	UID       types.UID
	// Controller is the UID of the owner that would create the pod again; empty for none.
	Controller types.UID
}

// String returns "namespace/name".
func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Blocker is a pod that keeps the node from being drained.
type Blocker struct {
	Pod
	Reason string
	// Message says more, without the pod's name. It does not change from pass to pass while nothing happens.
	Message string
	// Since is when the pod began to hold the drain: when its deletion was requested, else when the drain started or
	// the pod was created, whichever is later.
	Since time.Time
	// Stuck says that a pod that is being deleted should have ended by now.
	Stuck bool
}

// State is how far the drain of a node has come.
type State struct {
	// Evict are the pods to evict now, by namespace and name.
	Evict []Pod
	// Blockers are sorted by reason, as in Summary, stuck ones first, then by namespace and name.
	Blockers []Blocker
	// Clear says that no pod that is protected or has to leave is on the node.
	Clear bool
	// TimedOut says that the drain takes longer than Options.Timeout. Evictions continue nevertheless: it is for the
	// caller to report. The wait for protected pods has no limit and never times out.
	TimedOut bool
}
