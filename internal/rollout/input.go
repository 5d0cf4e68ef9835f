package rollout

import (
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// MaxPermits bounds the permits of one Skyhook, whatever its budget, and so the size of its status.
const MaxPermits = 1000

// Input is what a plan depends on.
type Input struct {
	Skyhook *v1alpha1.Skyhook
	// Nodes that the Skyhook selects, in any order.
	Nodes []Node
	// Departed are nodes that the Skyhook no longer selects but that still exist: name to the permit token that the
	// node finished with.
	Departed map[string]string
	// Installed packages, and those that are complete on every node; only known while an uninstall is asked for.
	Installed, CompleteEverywhere map[string]bool
	// Removal tells which packages left the spec, or had their version lowered, although they must be uninstalled first;
	// empty when none.
	Removal string
	// Hold keeps every node from new work; nil when nothing does.
	Hold *lifecycle.Hold
	// Policy that the Skyhook names; nil paces by its interruptionBudget alone.
	Policy *Policy
	// PolicyMissing says that the policy that the Skyhook names does not exist.
	PolicyMissing bool
	// Deleting says that the Skyhook is being deleted: budgets still hold, but there are no batches and no stop.
	Deleting bool
	Now      time.Time
}

// Node is what the plan needs to know of one selected node.
type Node struct {
	Name string
	// Created orders the nodes: older first, then by name.
	Created time.Time
	// Labels of the node; they decide its compartment.
	Labels map[string]string
	// Status as the node's record tells; empty when it has none.
	Status v1alpha1.Status
	// Complete says that the record fulfils the spec as it is now.
	Complete bool
	// Begun says that the record has packages and that none of them fails.
	Begun bool
	// Cordoned says that the Skyhook holds a cordon on the node.
	Cordoned bool
	// Done is the token of the permit that the node finished with last.
	Done string
	// Ready is the node's own Ready condition.
	Ready bool
	// Hold keeps this node from new work; nil when nothing does.
	Hold *lifecycle.Hold
	// Trouble is the first error on the node; nil when none.
	Trouble *Trouble
	// Wait is what the whole node waits for as its record tells, such as a permit or a pod that holds its drain; nil when
	// it does not. Its reason is lifecycle.ReasonNoPermit only if a permit is all that keeps a pod from being started.
	Wait *Trouble
	// Undoing says that a package is being uninstalled there; UndoFailed is why that fails, nil when it does not.
	Undoing    bool
	UndoFailed *Trouble
	// Abandoned says that nothing is undone there any more; Recorded then names the packages that stay.
	Abandoned bool
	Recorded  string
	// States mirrors the package states, for small fleets.
	States map[string]v1alpha1.PackageStatus
	BootID string
}

// Trouble is why a node does not get on.
type Trouble struct {
	Reason  string
	Message string
	Since   time.Time
}

// failing reports whether the record tells of an error.
func (n *Node) failing() bool {
	return !n.Complete && n.Status == v1alpha1.StatusErroring
}

// busy reports whether the node is disturbed also without a permit: we hold it cordoned, or what failed there is tried again
// and runs.
func (n *Node) busy() bool {
	return n.Cordoned || !n.Complete && n.Status == v1alpha1.StatusInProgress
}

// needsUser reports whether the node waits for what only the user can change.
func (n *Node) needsUser() bool {
	return !n.Complete && n.Status == v1alpha1.StatusBlocked && n.Wait != nil && lifecycle.NeedsUser(n.Wait.Reason)
}

// awaitsTurn reports whether the record tells that something could start but for a permit, or but for a hold that is over:
// then the node has not looked yet at what it is allowed by now.
func (n *Node) awaitsTurn() bool {
	if n.Wait == nil || n.Hold != nil {
		return false
	}
	switch n.Wait.Reason {
	case lifecycle.ReasonNoPermit, ReasonPredecessor, ReasonIgnored, ReasonTaint,
		ReasonPaused, ReasonDisabled, ReasonSpecInvalid, ReasonPolicyNotFound:
		return true
	}
	return false
}

// status is the node's status for the roll-up: its record lags behind the spec and behind the plan.
func (n *Node) status(holdsPermit bool) v1alpha1.Status {
	switch {
	case n.Complete && n.Status != v1alpha1.StatusPaused:
		return v1alpha1.StatusComplete
	case n.Status == v1alpha1.StatusErroring, n.Status == v1alpha1.StatusPaused, n.Status == v1alpha1.StatusDisabled:
		return n.Status
	case n.Hold != nil:
		return n.Hold.Status
	case n.needsUser():
		return v1alpha1.StatusBlocked
	case holdsPermit:
		return v1alpha1.StatusInProgress
	default:
		return v1alpha1.StatusWaiting
	}
}
