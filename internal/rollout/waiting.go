package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// maxWaiting bounds the list of reasons for which nodes wait, maxFull what the one for a permit names.
const (
	maxWaiting = 12
	maxFull    = 3
)

// idle is why a node waits that neither works nor fails; false for any other, and for one that is complete.
func (sum *summary) idle(i int) (record.Wait, bool) {
	s := sum.statuses[i]
	if s == v1alpha1.StatusInProgress || s == v1alpha1.StatusErroring || sum.Nodes[i].Facts.Complete {
		return record.Wait{}, false
	}
	n := sum.situation(i)
	return n.Reason(sum.Nodes[i].Name)
}

// WaitsInProgress are what nodes in progress wait for, as their records tell, and failing ones that wait for too long.
// They are none of those that wait: whoever waits for a pod to leave holds a permit. permits are those that a plan of the
// input left.
func WaitsInProgress(in Input, permits []v1alpha1.Permit) []record.Wait {
	in.holdAll()
	holds := make(map[string]bool, len(permits))
	for i := range permits {
		holds[permits[i].Node] = true
	}
	var waits []record.Wait
	for i := range in.Nodes {
		n := in.Nodes[i].Situation
		if n.Wait == nil {
			continue
		}
		n.Permit = holds[in.Nodes[i].Name]
		if s := n.Status(); s == v1alpha1.StatusInProgress || s == v1alpha1.StatusErroring && n.Wait.Overdue {
			waits = append(waits, *n.Wait)
		}
	}
	return waits
}

// waiting counts the nodes that wait, by reason. Each has the message of its first node by name, and that node's name
// where others tell another one; but a permit is the matter of all nodes.
func (sum *summary) waiting() []v1alpha1.WaitingNodes {
	type waiters struct {
		nodes   int
		first   string
		message string
		differ  bool
	}
	sums := map[string]*waiters{}
	for i := range sum.Nodes {
		w, ok := sum.idle(i)
		if !ok {
			continue
		}
		s := sums[w.Reason]
		if s == nil {
			s = &waiters{first: sum.Nodes[i].Name, message: w.Message}
			sums[w.Reason] = s
		}
		s.nodes++
		s.differ = s.differ || w.Message != s.message
		if sum.Nodes[i].Name < s.first {
			s.first, s.message = sum.Nodes[i].Name, w.Message
		}
	}
	list := make([]v1alpha1.WaitingNodes, 0, len(sums))
	for reason, s := range sums {
		switch {
		case reason == v1alpha1.ReasonWaitingForPermit:
			s.message = sum.full()
		case s.differ:
			s.message = "node " + s.first + ": " + s.message
		}
		list = append(list,
			v1alpha1.WaitingNodes{Reason: reason, Nodes: s.nodes, Message: text.Shorten(s.message, maxDetail)})
	}
	slices.SortFunc(list, func(a, b v1alpha1.WaitingNodes) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Reason, b.Reason))
	})
	return distinct(list)
}

// distinct makes words of the reasons, of which no two are the same, and keeps the first of them, sorted.
func distinct(list []v1alpha1.WaitingNodes) []v1alpha1.WaitingNodes {
	at := map[string]int{}
	var out []v1alpha1.WaitingNodes
	for _, w := range list {
		w.Reason = word(w.Reason)
		k, twice := at[w.Reason]
		switch {
		case twice:
			out[k].Nodes += w.Nodes
		case len(out) < maxWaiting:
			at[w.Reason] = len(out)
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.WaitingNodes) int { return cmp.Compare(a.Reason, b.Reason) })
	return out
}

// full says what keeps nodes from getting a permit that nothing else holds back, compartment by compartment.
func (sum *summary) full() string {
	if sum.Obstacle {
		return sum.Hold.Message
	}
	var list []string
	for k := range sum.compartments {
		c := &sum.compartments[k]
		waits := slices.ContainsFunc(c.nodes, func(i int32) bool {
			w, ok := sum.idle(int(i))
			return ok && w.Reason == v1alpha1.ReasonWaitingForPermit
		})
		if !waits {
			continue
		}
		why := sum.fullIn(c)
		if len(sum.compartments) > 1 {
			why = "compartment " + text.Cut(c.name, maxNameBytes) + ": " + why
		}
		list = append(list, why)
	}
	if more := len(list) - maxFull; more > 0 {
		list = append(list[:maxFull], text.Count(more, "more compartment"))
	}
	return strings.Join(list, "; ")
}

func (sum *summary) fullIn(c *compartment) string {
	names := sum.occupying(c)
	switch {
	case c.state.ShouldStop && !sum.Deleting:
		return "stopped by bad batches, see the condition " + v1alpha1.ConditionRolloutStopped
	case len(names) >= c.ceiling && !c.strategy.full(c.state, len(c.nodes)):
		return fmt.Sprintf("the budget of %s is used by %s", text.Count(c.ceiling, "node"), text.Names(names))
	case len(sum.permits) >= MaxPermits:
		return fmt.Sprintf("%d nodes have a permit, which is the maximum for one Skyhook", MaxPermits)
	case c.crowded:
		return fmt.Sprintf("%d nodes have a permit, and the status has no room for more", len(sum.permits))
	case c.state.BatchSize > 0:
		return "the batch waits for " + text.Nodes(names)
	}
	batch := "first"
	if c.state.CurrentBatch > 1 {
		batch = "next"
	}
	return fmt.Sprintf("the %s batch waits for %s", batch, text.Nodes(names))
}

// occupying names the nodes that count against the ceiling of a compartment.
func (sum *summary) occupying(c *compartment) []string {
	var names []string
	for _, i := range c.nodes {
		if sum.holds[i] || sum.Nodes[i].Busy(sum.paced) {
			names = append(names, sum.Nodes[i].Name)
		}
	}
	for k, node := range sum.holders {
		if node < 0 { // nobody knows the compartment of a node that left
			names = append(names, sum.permits[k].Node)
		}
	}
	return names
}
