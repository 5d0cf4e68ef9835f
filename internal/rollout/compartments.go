package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/text"
)

const (
	// maxStopped is how many compartments the message about a stopped rollout names, maxNameBytes what the name of one
	// takes.
	maxStopped   = 3
	maxNameBytes = 64
)

// gone is what is with a node that stopped a compartment and is not there any more.
const gone = "deleted, or out of the selection, in the middle of work"

// compartmentStatuses shows each compartment with what is in force for it. While the policy is missing or invalid nobody
// knows the compartments, and the state of their batches is kept for when there is one again.
func (sum *summary) compartmentStatuses(
	before map[string]v1alpha1.CompartmentStatus,
) map[string]v1alpha1.CompartmentStatus {
	after := make(map[string]v1alpha1.CompartmentStatus, len(sum.compartments))
	if sum.compartments == nil {
		reset := sum.reset(nil)
		for name, c := range before {
			if c.BatchState != nil {
				c.BatchState = new(reset.keep(c.BatchState))
			}
			after[name] = c
		}
		return after
	}
	for k := range sum.compartments {
		c := &sum.compartments[k]
		after[c.name] = sum.compartmentStatus(c)
	}
	return after
}

func (sum *summary) compartmentStatus(c *compartment) v1alpha1.CompartmentStatus {
	s := v1alpha1.CompartmentStatus{Matched: len(c.nodes), Ceiling: c.ceiling}
	for _, i := range c.nodes {
		switch sum.statuses[i] {
		case v1alpha1.StatusInProgress:
			s.InProgress++
		case v1alpha1.StatusErroring:
			s.Erroring++
		default: // the total tells of the rest
		}
		if sum.Nodes[i].Facts.Complete {
			s.Completed++
		}
	}
	s.ProgressPercent = percentage(s.Completed, s.Matched)
	if sum.Policy == nil {
		return s
	}
	s.Strategy = c.strategy.kind.String()
	s.BatchState = new(c.state)
	if !c.state.ShouldStop {
		s.NextBatchSize = c.strategy.nextSize(c.state, s.Matched, c.ceiling)
	}
	s.FailureThresholdReason = c.strategy.notEnforced(c.state, s.Matched)
	s.FailureThresholdEnforced = s.FailureThresholdReason == ""
	return s
}

// stopMessage says which compartments are stopped, by which batch and nodes, and what to do; empty when none is.
func (sum *summary) stopMessage() string {
	var stopped []string
	repairable := false
	for k := range sum.compartments {
		c := &sum.compartments[k]
		if c.state.ShouldStop && c.counts.completed < len(c.nodes) && !sum.Deleting {
			stopped = append(stopped, sum.stoppedIn(c))
			repairable = repairable || sum.repairable(c)
		}
	}
	if len(stopped) == 0 {
		return ""
	}
	if more := len(stopped) - maxStopped; more > 0 {
		stopped = append(stopped[:maxStopped], text.Count(more, "more compartment"))
	}
	message := strings.Join(stopped, "; ")
	switch {
	case sum.Hold != nil:
		return message + "; nothing continues before " + word(sum.Hold.Reason) + " has ended"
	case repairable:
		return message + "; repair what is wrong there, or correct the spec: it continues by itself when these nodes are complete"
	}
	return fmt.Sprintf("%s; correct the spec, or continue with `kubectl annotate skyhook %s --overwrite %s=\"$(date +%%s)\"`",
		message, sum.Skyhook.Name, v1alpha1.AnnotationResume)
}

// repairable reports whether a node that stopped a compartment can end that by becoming complete.
func (sum *summary) repairable(c *compartment) bool {
	is := func(n *Node) bool { return n != nil && n.Facts.Begun && !n.Facts.Complete && !n.TakenOut() }
	holding := func(order int32) bool { at := sum.orders[order]; return at.node >= 0 && is(&sum.Nodes[at.node]) }
	return slices.ContainsFunc(c.state.Lost, func(name string) bool { return is(sum.node(name)) }) ||
		slices.ContainsFunc(c.state.Closed, func(o v1alpha1.ClosedBatch) bool { return slices.ContainsFunc(o.Holding, holding) })
}

// stoppedIn says why a compartment is stopped, with the nodes that are bad now, and what is wrong with them.
func (sum *summary) stoppedIn(c *compartment) string {
	message := fmt.Sprintf("compartment %s is stopped because batch %d was bad", text.Cut(c.name, maxNameBytes),
		c.state.CurrentBatch-1)
	if bad := c.state.ConsecutiveFailures; bad > 1 {
		message = fmt.Sprintf("%s, the last of %d bad batches in a row", message, bad)
	}
	causes := sum.causes(c)
	list := make([]string, 0, len(causes))
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		list = append(list, cause+": "+text.Names(causes[cause]))
	}
	if len(list) == 0 { // what was bad gave its permit back, or an earlier version counted it
		return message
	}
	return message + " (" + strings.Join(list, "; ") + ")"
}

// causes are the nodes that stopped a compartment, or are bad there now, by what is with them.
func (sum *summary) causes(c *compartment) map[string][]string {
	causes, told := map[string][]string{}, map[string]bool{}
	tell := func(name, cause string) {
		if !told[name] {
			told[name] = true
			causes[cause] = append(causes[cause], name)
		}
	}
	for _, i := range c.nodes {
		n := &sum.Nodes[i]
		if v, _ := n.Judge(sum.Now); v == situation.Bad {
			tell(n.Name, n.BadBecause())
		}
	}
	for _, o := range c.state.Closed {
		for _, order := range o.Holding {
			of, cause := sum.orders[order], gone
			if of.node >= 0 {
				cause = since(&sum.Nodes[of.node], sum.Hold != nil)
			}
			tell(of.permit.Node, cause)
		}
	}
	for _, name := range c.state.Lost { // also if they are in another compartment now
		switch n := sum.node(name); {
		case n == nil, !n.Facts.Begun && !n.Facts.Complete: // or another has its name now
			tell(name, gone)
		default:
			tell(name, since(n, sum.Hold != nil))
		}
	}
	return causes
}

// since is what became of a node that stopped a compartment; held says that nothing is tried again anywhere.
func since(n *Node, held bool) string {
	switch {
	case n.Facts.Complete:
		return "complete since"
	case n.TakenOut():
		return "taken out"
	case n.Hold != nil && n.Hold.Unusable:
		return "its record cannot be read"
	case n.Failing() && (held || !n.AwaitsTurn()), n.Facts.Unavailable:
		return n.BadBecause()
	case held:
		return "to be tried again"
	default:
		return "tried again"
	}
}
