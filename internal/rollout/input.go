package rollout

import (
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// MaxPermits bounds the permits of one Skyhook, whatever its budget, and so the size of its status.
const MaxPermits = 1000

// Input is what a plan depends on.
type Input struct {
	Skyhook *v1alpha1.Skyhook
	// Nodes that the Skyhook selects, in any order.
	Nodes []Node
	// Departed are the nodes that still exist, but that the Skyhook no longer selects, by their names: those that hold a
	// permit, and those that tell what keeps them from getting rid of it.
	Departed map[string]Departed
	// Installed packages, and those that are complete on every node; only known while an uninstall is asked for.
	Installed, CompleteEverywhere map[string]bool
	// Removal tells which packages left the spec, or had their version lowered, although they must be uninstalled first;
	// empty when none.
	Removal string
	// Hold keeps every node from new work; nil when nothing does.
	Hold *lifecycle.Hold
	// Unretained says that definitions of the spec could not be kept. No node may start anything with it then, so the
	// status does not take its generation for observed.
	Unretained bool
	// Pins are the images that its packages are pinned to; nil when images are not pinned.
	Pins lifecycle.Pins
	// Policy that the Skyhook names; nil paces by its interruptionBudget alone.
	Policy *Policy
	// PolicyMissing says that the policy that the Skyhook names does not exist.
	PolicyMissing bool
	// Deleting says that the Skyhook is being deleted: budgets still hold, but there are no batches and no stop.
	Deleting bool
	// Freeing are the nodes that still have something of a Skyhook that is being deleted, sorted.
	Freeing []string
	Now     time.Time
}

// Departed is a node that the Skyhook no longer selects.
type Departed struct {
	// Gone says that there is no such node any more, but a pod on it that has not ended.
	Gone bool
	// FinishedPermit is the token of the permit that the node finished with last.
	FinishedPermit string
	// Unavailable says that the node is not Ready, so that nothing on it may ever end.
	Unavailable bool
	// Wait is what the node gets rid of the Skyhook after, such as a pod that does not end; nil when nothing holds it up.
	Wait *lifecycle.Wait
}

// Node is what the plan needs to know of one selected node.
type Node struct {
	Name string
	// Created orders the nodes: older first, then by name.
	Created time.Time
	// Labels of the node; they decide its compartment.
	Labels map[string]string
	// Facts are what is true of the node for the Skyhook.
	Facts lifecycle.Facts
	// NotReadySince is since when the node is not Ready, and ReadySince since when it is; zero for the other.
	NotReadySince, ReadySince time.Time
	// Interrupt is the Skyhook's interrupt in flight on the node; nil for none.
	Interrupt *record.Interrupt
	// FinishedPermit is the token of the permit that the node finished with last.
	FinishedPermit string
	// Hold keeps this node from new work; nil when nothing does.
	Hold *lifecycle.Hold
	// Failure is the first failed run on the node, for people, also of an interrupt that was suspended since; nil when
	// none.
	Failure *lifecycle.Wait
	// Wait is what the whole node waits for as its record tells, such as a permit or a pod that holds its drain; nil when
	// it does not.
	Wait *lifecycle.Wait
	// Uninstalling says that a package is being uninstalled there; UninstallFailure is why that fails, nil when it does
	// not.
	Uninstalling     bool
	UninstallFailure *lifecycle.Wait
	// Abandoned says that nothing is uninstalled there any more; Recorded then names the packages that stay.
	Abandoned bool
	Recorded  string
	// States mirrors the package states, for small fleets.
	States map[string]v1alpha1.PackageStatus
	BootID string
}

// failing reports whether a run that matters failed.
func (n *Node) failing() bool { return n.Facts.FailedRun && !n.Facts.Complete }

// failed reports whether it failed for good: all its attempts did, or it took too long.
func (n *Node) failed() bool { return n.Facts.Failed && !n.Facts.Complete }

// takenOut reports whether a person took the node out.
func (n *Node) takenOut() bool { return n.Hold != nil && n.Hold.TakesOut }

// busy reports whether the node holds a place in the budget also without a permit: we disturb it, or work has begun
// there and is not finished, whoever keeps us off. One that a person took out gives its place back once nothing of ours
// runs there, and one that failed gives it to others where batches judge it.
func (f *fleet) busy(n *Node) bool {
	switch {
	case n.Facts.Disturbed:
		return true
	case n.Facts.Complete:
		return false
	}
	return n.Facts.InProgress || n.Facts.Begun && !n.takenOut() && !(f.paced && n.failed())
}

// needsUser reports whether the node waits for what only another spec changes.
func (n *Node) needsUser() bool { return n.Facts.NeedsAuthor && !n.Facts.Complete }

// spent reports whether what failed is not tried again with this spec.
func (n *Node) spent() bool {
	return n.failing() && !n.Facts.InProgress && n.Wait != nil && n.Wait.Frees == record.FreesAuthor
}

// awaitsTurn reports whether a failing node could continue but for a permit, or but for a hold that is over: then it
// has not looked yet at what it is allowed by now.
func (n *Node) awaitsTurn() bool {
	return n.failing() && n.Hold == nil && n.Facts.AwaitsTurn
}

// status is what people are shown of the node; nothing goes by it. all is the hold of the whole Skyhook, nil for none.
func (n *Node) status(all *lifecycle.Hold, holdsPermit bool) v1alpha1.Status {
	hold := n.Hold
	if hold == nil {
		hold = all
	}
	switch {
	case all != nil && all.Status == v1alpha1.StatusPaused:
		return v1alpha1.StatusPaused
	case n.Facts.Complete:
		return v1alpha1.StatusComplete
	case all != nil && all.Status == v1alpha1.StatusDisabled:
		return v1alpha1.StatusDisabled
	case n.Hold != nil && n.Hold.Frees == record.FreesAdministrator: // nothing is tried again until somebody changes that
		return n.Hold.Status
	case n.Facts.FailedRun:
		return v1alpha1.StatusErroring
	case hold != nil:
		return hold.Status
	case n.Facts.NeedsAuthor:
		return v1alpha1.StatusBlocked
	case holdsPermit || n.Facts.InProgress:
		return v1alpha1.StatusInProgress
	default:
		return v1alpha1.StatusWaiting
	}
}
