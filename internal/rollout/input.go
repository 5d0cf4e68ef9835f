package rollout

import (
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
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
	Hold *situation.Hold
	// Obstacle says that Hold is what keeps the Skyhook from being prepared: no node gets a permit, but those that have one
	// go on, and none of them is told.
	Obstacle bool
	// Unretained says that definitions of the spec could not be kept. No node may start anything with it then, so the
	// status does not take its generation for observed.
	Unretained bool
	// Pins are the images that its packages are pinned to; nil when images are not pinned.
	Pins lifecycle.Pins
	// Policy that the Skyhook names; nil paces by its interruptionBudget alone.
	Policy *Policy
	// PolicyMissing says that the policy that the Skyhook names does not exist, PolicyInvalid that Hold tells what is wrong
	// with it. Until there is one to go by, nobody counts, and what is known of batches and permits stays.
	PolicyMissing, PolicyInvalid bool
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
	// Verdict is what the node means for its batch while it holds its permit: pending while nobody knows what became of it.
	Verdict situation.Verdict
	// FinishedPermit is the token of the permit that the node finished with last.
	FinishedPermit string
	// Unavailable says that the node is not Ready, so that nothing on it may ever end.
	Unavailable bool
	// Wait is what the node gets rid of the Skyhook after, such as a pod that does not end; nil when nothing holds it up.
	Wait *record.Wait
}

// Node is what the plan needs to know of one selected node.
type Node struct {
	Name string
	// Created orders the nodes: older first, then by name.
	Created time.Time
	// Labels of the node; they decide its compartment.
	Labels map[string]string
	// Situation is what is with the node.
	situation.Situation
	// FinishedPermit is the token of the permit that the node finished with last.
	FinishedPermit string
	// Uninstalling says that a package is being uninstalled there; UninstallFailure is why that fails, nil when it does
	// not.
	Uninstalling     bool
	UninstallFailure *record.Wait
	// Abandoned says that nothing is uninstalled there any more; Recorded then names the packages that stay.
	Abandoned bool
	Recorded  string
	// States mirrors the package states, for small fleets.
	States map[string]v1alpha1.PackageStatus
	BootID string
}

// node is the selected one of a name; nil for none.
func (in *Input) node(name string) *Node {
	for i := range in.Nodes {
		if n := &in.Nodes[i]; n.Name == name {
			return n
		}
	}
	return nil
}

// LookAgain is in how long time alone changes what a plan of the input says; 0 for never.
func LookAgain(in Input) time.Duration {
	var next time.Duration
	if in.Policy == nil {
		return 0
	}
	for i := range in.Nodes {
		if _, after := in.Nodes[i].Judge(in.Now); after > 0 && (next == 0 || after < next) {
			next = after
		}
	}
	return next
}

// paceless reports whether the Skyhook names a policy, and nobody knows what it says.
func (in *Input) paceless() bool { return in.PolicyMissing || in.PolicyInvalid }
