package state

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// Shown is what is with the node for a Skyhook that selects it, with the permit that the Skyhook's status has: what
// people are shown, wherever that is. all is what HoldAll says of the Skyhook.
func (at *At) Shown(s *v1alpha1.Skyhook, pace Pace, all *situation.Hold) situation.Situation {
	out, _ := at.Situation(s, pace)
	out.All = all
	for i := range s.Status.Permits {
		p := &s.Status.Permits[i]
		out.Permit = out.Permit || p.Node == at.node.Name && !p.Revoked
	}
	return out
}

// Situation is what is with the node for a Skyhook that selects it, but for what is not the node's: permits, and what
// holds every node. The view of its record is nil if nobody can go by that.
func (at *At) Situation(s *v1alpha1.Skyhook, pace Pace) (situation.Situation, *rollout.View) {
	v, unusable := at.View(s)
	inFlight := at.Written()
	own := inFlight.OwnedBy(s.Name)
	if unusable != nil {
		return at.unreadable(s, unusable, own), nil
	}
	out := situation.Situation{Facts: v.Facts, Wait: v.Wait, Failure: v.Failure}
	if own {
		out.Facts.Interrupting, out.Facts.Disturbed, out.Facts.Begun = true, true, !out.Facts.Complete
	}
	if own && inFlight.Type == v1alpha1.InterruptReboot {
		out.RebootLimit = at.index.longest(s, inFlight.Names())
	}
	out.Interrupt = inFlight // of whichever Skyhook: the node may be away for it
	at.readiness(&out)
	if out.Facts.Complete && s.DeletionTimestamp != nil {
		out.Wait = lifecycle.RemovalWait(v.Wait)
	}
	around := Surroundings{Pace: pace}
	if around.Complete = out.Facts.Complete; !around.Complete {
		if i := at.InFlight(); i != nil {
			around.Interrupting = i.Skyhook
		}
	}
	out.Hold = at.HoldHere(s, around)
	if out.Hold == nil && !around.Complete && s.DeletionTimestamp == nil {
		out.Hold = pace.Hold // as the node itself is held, be the policy missing or wrong
	}
	return out, v
}

// longest is the largest stageTimeout of packages.
func (i *Index) longest(s *v1alpha1.Skyhook, packages []string) (limit time.Duration) {
	for _, name := range packages {
		if t := i.Limits.Of(s.Spec.Packages[name]).StageTimeout; t != nil {
			limit = max(limit, t.Duration)
		}
	}
	return limit
}

// unreadable is the situation where nobody can go by the record: a cordon is an annotation of its own.
func (at *At) unreadable(s *v1alpha1.Skyhook, unusable *situation.Hold, interrupts bool) situation.Situation {
	n, _ := at.Record(s, at.node, at.records)
	out := situation.Situation{Hold: unusable}
	out.Facts.Disturbed = n.Cordoned || interrupts
	out.Facts.Begun = n.Begun || out.Facts.Disturbed
	at.readiness(&out)
	if wanted := at.Wanted(s, at.node.Name); wanted.Abandoned {
		out.Facts.Complete, out.Wait = wanted.Deleting, lifecycle.RemovalWait(n.Wait)
	}
	return out
}

// readiness notes whether the node is Ready, and since when.
func (at *At) readiness(out *situation.Situation) {
	out.Facts.Unavailable = !at.Ready()
	for i := range at.node.Status.Conditions {
		c := &at.node.Status.Conditions[i]
		switch {
		case c.Type != corev1.NodeReady:
		case out.Facts.Unavailable:
			out.NotReadySince = c.LastTransitionTime.Time
		default:
			out.ReadySince = c.LastTransitionTime.Time
		}
	}
}
