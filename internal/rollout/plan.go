package rollout

import (
	"cmp"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Grant returns the permits after this pass, sorted by order, and the next order number.
//
// A permit is taken back only when the node acknowledged it in its record, or is gone. New ones go to nodes that need
// work and may do it, oldest node first, as far as the budget reaches.
func Grant(in Input) ([]v1alpha1.Permit, int32) {
	kept := keep(in)
	next := in.Skyhook.Status.NextOrder
	if len(kept) == 0 && AllComplete(in.Nodes) {
		return kept, 0 // the rollout is over; the next one counts from 0 again
	}
	if in.Hold != nil {
		return kept, next
	}
	holders := holderSet(kept)
	free := Limit(in.Skyhook.Spec.InterruptionBudget, len(in.Nodes)) - len(kept)
	for _, n := range candidates(in.Nodes, holders) {
		if free <= 0 {
			break
		}
		kept = append(kept, v1alpha1.Permit{Node: n.Name, Order: next, Generation: in.Skyhook.Generation})
		next++
		free--
	}
	return kept, next
}

// keep returns the permits that are still out.
func keep(in Input) []v1alpha1.Permit {
	if len(in.Skyhook.Status.Permits) == 0 {
		return nil
	}
	deleting := in.Skyhook.DeletionTimestamp != nil
	done := make(map[string]string, len(in.Nodes)+len(in.Departed))
	for _, n := range in.Nodes {
		if deleting && n.Complete {
			continue // nothing of it is left on the node, and nothing can come any more
		}
		done[n.Name] = n.Done
	}
	for name, token := range in.Departed {
		done[name] = token
	}
	var kept []v1alpha1.Permit
	for _, p := range in.Skyhook.Status.Permits {
		if token, exists := done[p.Node]; exists && token != record.PermitToken(p) {
			kept = append(kept, p)
		}
	}
	slices.SortFunc(kept, func(a, b v1alpha1.Permit) int { return cmp.Compare(a.Order, b.Order) })
	return kept
}

func candidates(nodes []Node, holders map[string]bool) []Node {
	var c []Node
	for _, n := range nodes {
		if !n.Complete && n.Hold == nil && n.Ready && !holders[n.Name] {
			c = append(c, n)
		}
	}
	slices.SortFunc(c, func(a, b Node) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return c
}

func holderSet(permits []v1alpha1.Permit) map[string]bool {
	set := make(map[string]bool, len(permits))
	for _, p := range permits {
		set[p.Node] = true
	}
	return set
}

// AllComplete reports whether nothing is left to do on any node.
func AllComplete(nodes []Node) bool {
	for _, n := range nodes {
		if !n.Complete {
			return false
		}
	}
	return true
}
