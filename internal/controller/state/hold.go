package state

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// Surroundings are what the holds of a Skyhook on a node depend on beside the two.
type Surroundings struct {
	// Pace is what Policies.Of said of the Skyhook.
	Pace Pace
	// Interrupting is the Skyhook whose interrupt is in flight on the node, empty for none: what At.InFlight says,
	// unless a pass changed it.
	Interrupting string
	// Undone are, by name, the Skyhooks that a pass found to have work left on the node, whatever its record still says.
	Undone map[string]bool
	// Complete says that the Skyhook is complete on the node, so that it waits for no other.
	Complete bool
}

// Hold returns the first reason, outside of the packages, for which a node must not start new work for a Skyhook; nil
// when there is none. Plan and node go by it. The order, which people rely on to fix one thing after the other:
//
//  1. the record cannot be read, or is not the operator's where workloads wait for it
//  2. the Skyhook is disabled, 3. paused, or stopped with all others, or 4. its spec is invalid or its policy missing
//     (HoldAll)
//  5. the node is excluded by its label, by a record of another operator, or 6. by a taint
//  7. an earlier Skyhook has to finish first; while an interrupt of this one is in flight, that one waits for it
//  8. another Skyhook's interrupt is in flight
//
// A Skyhook that is being deleted is held by none of 4 and 7: whatever is wrong with its spec or comes before it must
// not keep it from going.
func (at *At) Hold(s *v1alpha1.Skyhook, around Surroundings) *situation.Hold {
	if _, h := at.View(s); h != nil {
		return h
	}
	if h := at.HoldAll(s, around.Pace); h != nil {
		return h
	}
	return at.HoldHere(s, around)
}

// HoldAll is the part of Hold that is the same on every node.
func (sn Snapshot) HoldAll(s *v1alpha1.Skyhook, pace Pace) *situation.Hold {
	if h := rollout.HoldAll(s, sn.target(s).Invalid, sn.stop); h != nil || s.DeletionTimestamp != nil {
		return h
	}
	return pace.Hold
}

// HoldHere is the part of Hold that is about the one node, but for what its record is held for.
func (at *At) HoldHere(s *v1alpha1.Skyhook, around Surroundings) *situation.Hold {
	if !at.standing.free {
		var awaited *v1alpha1.Skyhook
		if taint.Has(at.node, at.taints.Runtime) {
			awaited = at.taintEnds(s, at.node)
		}
		if h := rollout.HoldNode(s, at.node, at.taints, awaited); h != nil {
			return h
		}
	}
	if around.Complete {
		return nil
	}
	if s.DeletionTimestamp == nil {
		if first := rollout.Unfinished(at.Earlier(s, around.Undone)); first != nil {
			h := at.after(first)
			if around.Interrupting == s.Name {
				return rollout.HoldAfterInterrupt(h)
			}
			return h
		}
	}
	return holdInterrupted(s, around.Interrupting)
}

// after is the hold of those that come after a Skyhook, made once for all nodes.
func (sn Snapshot) after(earlier *v1alpha1.Skyhook) *situation.Hold {
	if sn.holds[earlier] == nil {
		sn.holds[earlier] = rollout.HoldAfter(earlier)
	}
	return sn.holds[earlier]
}

// taintEnds is a Skyhook that has to be complete on the node before the operator takes its runtime taint off, one that a
// person stopped first; nil if the taint stays: none requires it there, or one that does waits for s.
func (sn Snapshot) taintEnds(s *v1alpha1.Skyhook, node *corev1.Node) *v1alpha1.Skyhook {
	var awaited *v1alpha1.Skyhook
	for _, other := range sn.skyhooks {
		switch {
		case !other.Spec.RuntimeRequired || other.DeletionTimestamp != nil || !sn.Selects(other, node):
		case s.Spec.Sequencing == v1alpha1.SequencingAll && rollout.Precedes(s, other):
			return nil
		case awaited == nil, rollout.Stopped(other) && !rollout.Stopped(awaited):
			awaited = other
		}
	}
	return awaited
}

func holdInterrupted(s *v1alpha1.Skyhook, by string) *situation.Hold {
	if by == "" || by == s.Name {
		return nil
	}
	return rollout.HoldInterrupted(by)
}
