package rollout

import (
	"cmp"
	"fmt"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// kind of a strategy, the more careful the lower.
type kind int

const (
	fixed kind = iota
	linear
	exponential
	// none has batches as large as the ceiling and never stops.
	none
)

func (k kind) String() string {
	return [...]string{"fixed", "linear", "exponential", "none"}[k]
}

// strategy sizes the batches of one compartment. All numbers are filled in.
type strategy struct {
	kind kind
	// initial is the size of the first batch, in nodes.
	initial int
	// step is what linear adds, or the factor of exponential.
	step int
	// batchThreshold and safetyLimit are percentages.
	batchThreshold, safetyLimit int
	// failureThreshold is the number of bad batches in a row that stops the compartment; 0 for never.
	failureThreshold int
}

// prepareStrategy fills in the defaults: the CRD does so as well, but only for fields of objects that are present.
// The error says that not exactly one kind is set.
func prepareStrategy(field string, s v1alpha1.Strategy) (strategy, error) {
	set := 0
	var out strategy
	if s.Fixed != nil {
		set++
		out = rules(fixed, s.Fixed.BatchRules)
	}
	if s.Linear != nil {
		set++
		out = rules(linear, s.Linear.BatchRules)
		out.step = or(s.Linear.Delta, 1, 1)
	}
	if s.Exponential != nil {
		set++
		out = rules(exponential, s.Exponential.BatchRules)
		out.step = or(s.Exponential.GrowthFactor, 2, 2)
	}
	if set != 1 {
		return strategy{}, fmt.Errorf("%s has %d of fixed, linear and exponential; set exactly one", field, set)
	}
	return out, nil
}

func rules(k kind, r v1alpha1.BatchRules) strategy {
	s := strategy{
		kind: k, initial: or(r.InitialBatch, 1, 1),
		batchThreshold: or(r.BatchThreshold, 100, 1), safetyLimit: or(r.SafetyLimit, 50, 1),
	}
	if r.FailureThreshold != nil {
		s.failureThreshold = max(1, *r.FailureThreshold)
	}
	return s
}

// or returns the value, at least least, or the default where there is none.
func or(value *int, standard, least int) int {
	if value == nil {
		return standard
	}
	return max(least, *value)
}

// nextSize is the size of the next batch, before what is in use of the ceiling is taken off. total is the number of
// nodes in the compartment.
func (s strategy) nextSize(b v1alpha1.BatchState, total, ceiling int) int {
	if total == 0 {
		return 0
	}
	last, slow := b.LastBatchSize, b.LastBatchFailed && progress(b, total) < s.safetyLimit
	size := s.initial
	switch {
	case s.kind == none:
		return ceiling
	case s.kind == fixed || last == 0:
	case s.kind == linear && slow:
		size = last - s.step
	case s.kind == linear:
		size = last + min(s.step, total)
	case slow:
		size = last / s.step
	case last > total/s.step: // more than total, and may be more than an int holds
		size = total
	default:
		size = last * s.step
	}
	remaining := total - b.CompletedNodes - b.FailedNodes
	return min(max(1, min(size, remaining)), ceiling)
}

// full reports whether the running batch has all its nodes, whatever the ceiling.
func (s strategy) full(b v1alpha1.BatchState, total int) bool {
	return b.BatchSize > 0 && s.kind != none && s.nextSize(b, total, total) <= b.BatchSize
}

// progress is how many percent of the nodes have been through a batch of this content, rounded down.
func progress(b v1alpha1.BatchState, total int) int {
	return percentage(max(0, b.CompletedNodes+b.FailedNodes-b.Baseline), total)
}

// closeBatch ends the running batch: bad members that still hold a permit are judged again in each pass.
func (s strategy) closeBatch(b *v1alpha1.BatchState, m membership, total int) {
	o := v1alpha1.ClosedBatch{Size: b.Succeeded + b.Failed + m.good + len(m.bad), Bad: b.Failed, Holding: m.bad}
	b.BatchSize, b.Members, b.Succeeded, b.Failed, b.Left = 0, nil, 0, 0, 0
	if o.Size == 0 { // nothing came of the batch
		return
	}
	if b.ShouldStop && !s.failed(&o) { // of those that went on before it stopped, which end no stop
		return
	}
	b.CurrentBatch++
	b.LastBatchSize = o.Size
	b.Closed = append(b.Closed, o)
	s.recount(b)
	b.ShouldStop = b.ShouldStop || s.stops(b) && s.enforced(*b, total)
}

// revisited is how many of the bad batches in a row, the last ones, are judged again when their nodes heal.
const revisited = 3

// recount counts the bad batches in a row, and forgets batches that do not matter any more.
func (s strategy) recount(b *v1alpha1.BatchState) {
	if len(b.Closed) == 0 {
		return
	}
	first := len(b.Closed)
	for first > 0 && s.failed(&b.Closed[first-1]) {
		first--
	}
	if first > 0 {
		b.Before = 0 // a good one
	}
	b.Closed = b.Closed[first:]
	b.LastBatchFailed = b.Before+len(b.Closed) > 0
	if more := len(b.Closed) - revisited; more > 0 {
		b.Before += more
		b.Closed = b.Closed[more:]
	}
	b.ConsecutiveFailures = b.Before + len(b.Closed)
	if b.ConsecutiveFailures == 0 && b.Failed == 0 {
		b.Lost, b.Again = nil, nil
	}
	b.ShouldStop = b.ShouldStop && s.stops(b)
}

// stops reports whether the bad batches in a row are enough to stop the compartment.
func (s strategy) stops(b *v1alpha1.BatchState) bool {
	return s.failureThreshold > 0 && b.ConsecutiveFailures >= s.failureThreshold
}

// failed reports whether a batch that is over is bad.
func (s strategy) failed(o *v1alpha1.ClosedBatch) bool {
	return s.kind != none && percentage(o.Size-o.Bad-len(o.Holding), o.Size) < s.batchThreshold
}

// enforced reports whether bad batches can stop the compartment now.
func (s strategy) enforced(b v1alpha1.BatchState, total int) bool {
	return s.failureThreshold > 0 && progress(b, total) < s.safetyLimit
}

// notEnforced says why bad batches cannot stop the compartment; empty when they can.
func (s strategy) notEnforced(b v1alpha1.BatchState, total int) string {
	switch {
	case s.failureThreshold == 0:
		return "no failureThreshold is set"
	case !s.enforced(b, total):
		return fmt.Sprintf("progress %d %% reached the safetyLimit %d %%", progress(b, total), s.safetyLimit)
	}
	return ""
}

// compareCare orders two compartments that select the same node: the more careful one first.
func compareCare(a, b *compartmentSpec, matchedA, matchedB int) int {
	return cmp.Or(
		cmp.Compare(a.strategy.kind, b.strategy.kind),
		cmp.Compare(Ceiling(a.budget, matchedA), Ceiling(b.budget, matchedB)),
		cmp.Compare(a.name, b.name),
	)
}
