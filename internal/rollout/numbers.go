package rollout

import (
	"math"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// numbers gives out the places in a rollout. A node that needs a permit again within the rollout gets its place again;
// the round then tells the new permit from the one that the node is done with.
type numbers struct {
	next                  int32
	firstRound, nextRound int32
	// used are the orders of the permits that are out: whatever a record says, no two nodes have one place.
	used map[int32]bool
}

func newNumbers(s *v1alpha1.Skyhook) numbers {
	return numbers{
		next: s.Status.NextOrder, firstRound: s.Status.FirstRound, nextRound: s.Status.NextRound,
		used: make(map[int32]bool, len(s.Status.Permits)),
	}
}

func (n *numbers) use(p v1alpha1.Permit) { n.used[p.Order] = true }

// peek returns order and round of a permit for a node that finished with the given one last.
func (n *numbers) peek(done string, generation int64) (order, round int32) {
	last, ok := v1alpha1.ParsePermitToken(done)
	if !ok || last.Round < n.firstRound || last.Round == math.MaxInt32 || last.Order >= n.next || n.used[last.Order] {
		return n.next, n.firstRound
	}
	if last.Generation == generation {
		return last.Order, last.Round + 1
	}
	return last.Order, last.Round
}

func (n *numbers) take(p v1alpha1.Permit) {
	n.next = max(n.next, p.Order+1)
	if p.Round > n.firstRound {
		n.nextRound = max(n.nextRound, p.Round+1)
	}
}

// end ends the rollout: the next counts from 0 again, in rounds that no permit had.
func (n *numbers) end() {
	if n.next > 0 {
		n.firstRound = max(n.nextRound, n.firstRound+1)
	}
	n.next = 0
}
