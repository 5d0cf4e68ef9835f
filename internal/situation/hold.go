package situation

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Hold is a wait, outside of the packages, for which a node must not start new work.
type Hold struct {
	record.Wait
	// Status of the node while it lasts.
	Status v1alpha1.Status
	// ReturnsPermit says that the node gives its permit back once nothing runs if nothing has begun on it: what has begun
	// holds its place in the budget, whoever keeps us off.
	ReturnsPermit bool
	// TakesOut says that a person took the node out: it gives permit and cordon back once nothing runs, also in the middle
	// of work.
	TakesOut bool
	// Barred says that the cluster keeps us off by a taint, which counts against the node if it lasts.
	Barred bool
	// Unusable says that nobody can go by the record of the node.
	Unusable bool
}
