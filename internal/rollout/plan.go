package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// Plan returns the Skyhook's status after this pass. It leaves the input alone.
//
// A permit is taken back only when the node acknowledged it in its record, or is gone. New ones go to nodes that need
// work and may do it, as far as budgets and batches reach.
func Plan(in Input) v1alpha1.SkyhookStatus {
	in.holdAll()
	status := *in.Skyhook.Status.DeepCopy()
	f := newFleet(in)
	compartments := f.assign()
	if len(f.permits) == 0 && AllComplete(f.Nodes) {
		f.numbers.end()
	}
	if !in.Unretained {
		status.ObservedGeneration = in.Skyhook.Generation
	}
	status.SealedSince = sealedSince(in)
	status.Resumed = resumed(in.Skyhook)
	status.NextOrder, status.NodeOrderOffset = f.numbers.next, int(f.numbers.next)
	status.FirstRound, status.NextRound = f.numbers.firstRound, f.numbers.nextRound

	sum := newSummary(f, compartments)
	status.Waiting = sum.waiting()
	status.Permits = f.sorted()
	status.Nodes = sum.counts()
	status.Status = sum.rollUp()
	status.NodesInProgress = status.Nodes.InProgress + status.Nodes.Erroring
	status.CompleteNodes = fmt.Sprintf("%d/%d", status.Nodes.Complete, status.Nodes.Total)
	if status.PackageList = packageList(in.Skyhook); in.Hold == nil { // else nobody begins it yet
		status.Content = f.content
	}
	status.CompartmentStatuses = sum.compartmentStatuses(status.CompartmentStatuses)
	status.Attention = sum.attention()
	sum.detail(&status)
	setConditions(&status, sum)
	return status
}

// holdAll tells each node what holds all of them, and blocks every node while the policy is missing. It leaves the
// caller's nodes alone.
func (in *Input) holdAll() {
	var missing *situation.Hold
	if in.PolicyMissing && !in.Deleting {
		missing = HoldPolicyMissing(in.Skyhook)
		disabled := in.Hold != nil && in.Hold.Status == v1alpha1.StatusDisabled
		if in.Hold == nil || disabled && AllComplete(in.Nodes) { // nothing is left to disable
			in.Hold = missing
		}
	}
	if in.Hold == nil || in.Obstacle {
		return
	}
	in.Nodes = slices.Clone(in.Nodes)
	for i := range in.Nodes {
		n := &in.Nodes[i]
		n.All = in.Hold
		if missing != nil && n.Hold == nil && !n.Facts.Complete {
			n.Hold = missing
		}
	}
}

func packageList(s *v1alpha1.Skyhook) string {
	list := make([]string, 0, len(s.Spec.Packages))
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		list = append(list, name+":"+s.Spec.Packages[name].Version)
	}
	return strings.Join(list, ",")
}
