package rollout

import "github.com/skyhook-operator/skyhook/api/v1alpha1"

// Limit is the number of nodes that may hold a permit at the same time, out of matched nodes. A budget of zero still
// lets one node work, else nothing would ever happen; no budget means no limit but MaxPermits.
func Limit(b v1alpha1.InterruptionBudget, matched int) int {
	limit := matched
	switch {
	case b.Count != nil:
		limit = max(1, *b.Count)
	case b.Percent != nil:
		limit = max(1, matched**b.Percent/100)
	}
	return min(limit, MaxPermits)
}
