package rollout

import (
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// maxLost is how many bad nodes a state names that hold no permit any more, the last ones.
const maxLost = 5

// lose remembers who had a permit of this order and was bad: nothing else names it later.
func (f *fleet) lose(b *v1alpha1.BatchState, order int32) {
	name := f.lost[order]
	if at, ok := f.orders[order]; ok {
		name = at.permit.Node
	}
	if name != "" && !slices.Contains(b.Lost, name) {
		b.Lost = append(b.Lost, name)
		b.Lost = b.Lost[max(0, len(b.Lost)-maxLost):]
	}
}

// again names those nodes that stopped a compartment, once it continues: they are first.
func (f *fleet) again(c *compartment, was *v1alpha1.BatchState) {
	bad := v1alpha1.BatchState{Lost: slices.Clone(was.Lost)}
	for _, o := range was.Closed {
		for _, order := range o.Holding {
			f.lose(&bad, order)
		}
	}
	c.state.Again = slices.DeleteFunc(bad.Lost, func(name string) bool {
		return !slices.ContainsFunc(c.nodes, func(i int32) bool { return f.Nodes[i].Name == name && f.Nodes[i].Facts.Begun })
	})
}

// first reports whether a node is one of those that stopped the compartment.
func (c *compartment) first(n *Node) bool {
	return slices.Contains(c.state.Lost, n.Name) || slices.Contains(c.state.Again, n.Name)
}

// bad counts the bad nodes of batches that are over which hold no permit any more; lost names the last of them.
func (c *compartment) bad() (bad int) {
	for _, o := range c.state.Closed {
		bad += o.Bad
	}
	return bad
}

// retry gives permits to nodes that stopped the compartment and can be tried again: they are disturbed already, and end
// the stop once they are complete. Which batch one was bad in is not known any more; that is taken for the first.
func (f *fleet) retry(c *compartment) {
	b := &c.state
	if firstBad(b) == nil { // not while one of the running batch may be meant
		return
	}
	orders := f.fillByPolicy(c, c.bad())
	f.granted(b, orders)
	for _, order := range orders {
		o := firstBad(b)
		o.Bad--
		o.Holding = append(o.Holding, order)
	}
}

// firstBad is the first batch that is over and has bad nodes without a permit; nil for none, and while one of the running
// batch may be meant.
func firstBad(b *v1alpha1.BatchState) *v1alpha1.ClosedBatch {
	k := slices.IndexFunc(b.Closed, func(o v1alpha1.ClosedBatch) bool { return o.Bad > 0 })
	if k < 0 || b.Failed > 0 {
		return nil
	}
	return &b.Closed[k]
}
