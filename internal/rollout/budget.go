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
		limit = atLeastOne(*b.Percent, matched)
	}
	return min(limit, MaxPermits)
}

// Ceiling is the most nodes of a compartment that may be in progress at the same time, out of matched nodes.
func Ceiling(b v1alpha1.Budget, matched int) int {
	switch {
	case b.Count != nil:
		return max(1, *b.Count)
	case matched == 0:
		return 0
	case b.Percent != nil:
		return atLeastOne(*b.Percent, matched)
	}
	return 1
}

// atLeastOne is so many percent of some nodes, rounded down, but at least one.
func atLeastOne(percent, of int) int { return max(1, of*percent/100) }

// percentage is how many percent a part is of the whole, rounded down; 0 of nothing.
func percentage(part, whole int) int { return part * 100 / max(1, whole) }
