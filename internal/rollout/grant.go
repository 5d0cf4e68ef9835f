package rollout

import (
	"cmp"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// fleet is what one pass works on: the nodes and the permits that are out or given. It names nodes by their index.
type fleet struct {
	Input
	// content is what rolls out, see contentOf.
	content string
	// permits of selected nodes come with the index of the node in holders; those of others follow with -1.
	permits []v1alpha1.Permit
	holders []int32
	// holds says of each node whether it holds a permit, and held where that is in permits.
	holds []bool
	held  map[int32]int
	// paced says that batches give the permits.
	paced bool
	// returned are the permits that nodes are done with in this pass, by the index of the node.
	returned map[int32]*v1alpha1.Permit
	// orders tells whose permit one is, by its order: also of those that end in this pass.
	orders map[int32]place
	// lost are the nodes of permits that end in this pass because the node is gone, or left the selection, by the order.
	lost map[int32]string
	// away counts the permits of nodes that the Skyhook no longer selects but that still may work, and dead are those of
	// them that are not Ready, sorted.
	away    int
	dead    []string
	numbers numbers
	// room is how many bytes the permits may still take in the status.
	room int
}

// place is a permit that is out, or that its node is done with in this pass; the node is -1 if it is not selected.
type place struct {
	node   int32
	permit v1alpha1.Permit
}

// newFleet finds the permits that are still out: one is taken back only when its node acknowledged it in the record, or
// is gone.
func newFleet(in Input) *fleet {
	f := &fleet{Input: in, holds: make([]bool, len(in.Nodes)), room: permitRoom(&in), numbers: newNumbers(in.Skyhook)}
	f.content = contentOf(in.Skyhook)
	f.held, f.returned, f.orders = map[int32]int{}, map[int32]*v1alpha1.Permit{}, map[int32]place{}
	f.lost = map[int32]string{}
	out := make(map[string]*v1alpha1.Permit, len(in.Skyhook.Status.Permits))
	for i := range in.Skyhook.Status.Permits {
		p := &in.Skyhook.Status.Permits[i]
		out[p.Node] = p
	}
	for i := range in.Nodes {
		if len(out) == 0 {
			break
		}
		n := &in.Nodes[i]
		if p, ok := out[n.Name]; ok {
			delete(out, n.Name)
			f.orders[p.Order] = place{int32(i), *p}
			if n.FinishedPermit != p.Token() || in.paceless() && !in.Deleting { // nobody counts it meanwhile
				f.add(*p, int32(i))
			} else {
				f.returned[int32(i)] = p
			}
		}
	}
	f.departed(out)
	return f
}

// departed finds the permits that are still out of nodes that the Skyhook does not select.
func (f *fleet) departed(out map[string]*v1alpha1.Permit) {
	for i := range f.Skyhook.Status.Permits {
		p := &f.Skyhook.Status.Permits[i]
		if out[p.Node] != p {
			continue
		}
		node, exists := f.Departed[p.Node]
		if !exists || node.FinishedPermit == p.Token() && (!f.paceless() || f.Deleting) {
			f.lost[p.Order] = p.Node
			continue
		}
		f.add(*p, -1)
		f.orders[p.Order] = place{-1, *p}
		f.away++
		if node.Unavailable {
			f.dead = append(f.dead, p.Node)
		}
	}
	slices.Sort(f.dead)
}

func (f *fleet) add(p v1alpha1.Permit, node int32) {
	f.permits = append(f.permits, p)
	f.holders = append(f.holders, node)
	f.numbers.use(p)
	f.room -= permitSize(&p, f.Policy != nil)
	if node >= 0 {
		f.holds[node], f.held[node] = true, len(f.permits)-1
	}
}

// permitOf is where the permit of a node is in permits; -1 for none.
func (f *fleet) permitOf(node int32) int {
	if !f.holds[node] {
		return -1
	}
	return f.held[node]
}

// grant gives a node its permit. False when there is no room for more.
func (f *fleet) grant(node int32) bool {
	n := &f.Nodes[node]
	p := v1alpha1.Permit{Node: n.Name, Generation: f.Skyhook.Generation}
	p.Order, p.Round = f.numbers.peek(n.FinishedPermit, p.Generation)
	if len(f.permits) >= MaxPermits || permitSize(&p, f.Policy != nil) > f.room {
		return false
	}
	f.numbers.take(p)
	f.add(p, node)
	f.orders[p.Order] = place{node, p}
	return true
}

// assign gives permits as far as budgets and batches allow, and returns the compartments as they stand then.
func (f *fleet) assign() []compartment {
	policy := f.Policy
	if f.paceless() {
		policy = nil
		if f.Deleting {
			policy = oneAtATime // so that a deletion never waits for a policy
		}
	}
	switch {
	case policy != nil:
		return f.pace(policy)
	case f.paceless(): // nothing starts, and permits for earlier content stay revoked once there is a policy again
		began := f.reset(nil).generation
		for k := range f.permits {
			f.permits[k].Revoked = f.permits[k].Revoked || f.permits[k].Generation < began
		}
		return nil
	}
	c := f.everyNode()
	f.revokeIn(&c, func(*v1alpha1.Permit, *Node) bool { return false })
	c.counts = f.count(&c)
	if f.Hold == nil {
		f.fill(&c, c.ceiling, plainTurn)
	}
	return []compartment{c}
}

// everyNode is the one compartment of a Skyhook without policy. It has no batches.
func (f *fleet) everyNode() compartment {
	c := compartment{
		compartmentSpec: &compartmentSpec{name: DefaultCompartment},
		ceiling:         Limit(f.Skyhook.Spec.InterruptionBudget, len(f.Nodes)),
		nodes:           make([]int32, len(f.Nodes)),
	}
	for i := range c.nodes {
		c.nodes[i] = int32(i)
	}
	return c
}

// candidates are the nodes of a compartment that may get a permit, in the order in which they get it; none when there
// is no place for any. turn gives the rank of a node, the lower the earlier, and -1 to those that must not get one.
func (f *fleet) candidates(c *compartment, places int, turn func(*fleet, *Node) int8) []int32 {
	if places <= 0 {
		return nil
	}
	type candidate struct {
		node int32
		turn int8
	}
	ranked := make([]candidate, 0, len(c.nodes))
	for _, i := range c.nodes {
		n := &f.Nodes[i]
		if n.Facts.Complete || n.Hold != nil || n.Facts.Unavailable || f.holds[i] || n.NeedsAuthor() && !f.newerThanDone(n) {
			continue
		}
		if t := turn(f, n); t >= 0 {
			ranked = append(ranked, candidate{i, t})
		}
	}
	slices.SortFunc(ranked, func(a, b candidate) int {
		x, y := &f.Nodes[a.node], &f.Nodes[b.node]
		return cmp.Or(cmp.Compare(a.turn, b.turn), x.Created.Compare(y.Created), cmp.Compare(x.Name, y.Name))
	})
	list := make([]int32, len(ranked))
	for k, r := range ranked {
		list[k] = r.node
	}
	return list
}

// plainTurn lets nodes go first that have begun.
func plainTurn(_ *fleet, n *Node) int8 {
	if n.Facts.Begun {
		return 0
	}
	return 1
}

// sorted returns the permits by their order.
func (f *fleet) sorted() []v1alpha1.Permit {
	list := slices.Clone(f.permits) // holders go by the places in permits
	slices.SortStableFunc(list, func(a, b v1alpha1.Permit) int { return cmp.Compare(a.Order, b.Order) })
	return list
}

// AllComplete reports whether nothing is left to do on any node.
func AllComplete(nodes []Node) bool {
	for i := range nodes {
		if !nodes[i].Facts.Complete {
			return false
		}
	}
	return true
}
