package rollout

import "github.com/skyhook-operator/skyhook/api/v1alpha1"

// Restart returns the status of a Skyhook whose batches begin anew, which also continues a stopped rollout. Its places
// are counted from 0 again unless permits are out, whose places nobody else may get.
func Restart(before v1alpha1.SkyhookStatus) v1alpha1.SkyhookStatus {
	after := *before.DeepCopy()
	after.NodePriority = nil
	for name, c := range after.CompartmentStatuses {
		anew := &v1alpha1.BatchState{CurrentBatch: 1}
		if b := c.BatchState; b != nil { // permits of another content stay such
			anew.Content, anew.Generation = b.Content, b.Generation
		}
		c.BatchState = anew
		after.CompartmentStatuses[name] = c
	}
	if len(after.Permits) > 0 {
		return after
	}
	n := numbers{next: after.NextOrder, firstRound: after.FirstRound, nextRound: after.NextRound}
	n.end()
	after.NextOrder, after.NodeOrderOffset = n.next, int(n.next)
	after.FirstRound, after.NextRound = n.firstRound, n.nextRound
	return after
}
