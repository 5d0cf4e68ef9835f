package rollout

import (
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// RoundsLeft is how many times the time that one node takes the rest of a rollout takes, if every batch is good and the
// nodes that fail now are left out. Those in progress are one round. 0 while nothing more happens by itself.
func RoundsLeft(p *Policy, s *v1alpha1.SkyhookStatus) int {
	if len(s.Permits) == 0 {
		return 0
	}
	rounds := 0 // compartments work side by side
	for name := range s.CompartmentStatuses {
		c := s.CompartmentStatuses[name]
		left := c.Matched - c.Completed - c.Erroring
		if strategy := p.strategyOf(name); strategy != nil && c.BatchState != nil {
			rounds = max(rounds, strategy.batches(&c, left))
		} else {
			rounds = max(rounds, (left+c.Ceiling-1)/max(1, c.Ceiling))
		}
	}
	return rounds
}

// strategyOf is the strategy of a compartment; nil without a policy, or if it has no such compartment.
func (p *Policy) strategyOf(compartment string) *strategy {
	if p == nil {
		return nil
	}
	at := slices.IndexFunc(p.compartments, func(c compartmentSpec) bool { return c.name == compartment })
	if at < 0 {
		return nil
	}
	return &p.compartments[at].strategy
}

// batches is how many it takes for the nodes of a compartment that are left.
func (s strategy) batches(c *v1alpha1.CompartmentStatus, left int) int {
	b, n := *c.BatchState, 0
	if c.InProgress > 0 {
		n, left, b.LastBatchSize = 1, left-c.InProgress, max(b.BatchSize, c.InProgress)
	}
	b.LastBatchFailed, b.FailedNodes = false, 0
	for left > 0 && !b.ShouldStop && c.Ceiling > 0 {
		b.CompletedNodes = c.Matched - left
		b.LastBatchSize = s.nextSize(b, c.Matched, c.Ceiling)
		left -= b.LastBatchSize
		n++
	}
	return n
}
