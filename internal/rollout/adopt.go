package rollout

import (
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// adopt makes members of the running batch of those that are at work with a permit of no batch: an earlier version gave
// it, or there was no policy, or the compartment had another name, or they had left their batch. The batch of an earlier
// version did not count the members that it was done with. Who was a member in a compartment which the policy no longer has
// is one here, and bad if it is. They are counted as well.
func (f *fleet) adopt(c *compartment, listed map[int32]bool, m *membership) {
	b, before := &c.state, len(c.state.Members)
	for _, i := range c.nodes {
		k := f.permitOf(i)
		if k < 0 || f.permits[k].Generation < b.Generation || listed[f.permits[k].Order] {
			continue
		}
		n, order := &f.Nodes[i], f.permits[k].Order
		was, granted := f.batchWith(order), b.Granted
		if was != nil {
			granted = was.Granted
		}
		if replaced(granted, n.Created) || f.permits[k].Revoked && !n.Facts.Begun {
			continue
		}
		switch v, _ := n.Judge(f.Now); {
		case v == situation.Pending:
			m.pending++
		case v == situation.Bad && was != nil:
			m.bad = append(m.bad, order)
		default:
			continue
		}
		b.Members = append(b.Members, order)
	}
	slices.Sort(b.Members)
	if was := f.Skyhook.Status.CompartmentStatuses[c.name].BatchState; was != nil && was.Content == "" {
		b.Succeeded += max(0, b.BatchSize-len(b.Members))
	}
	if len(b.Members) > before {
		f.stamp(b)
	}
}

// batchWith is the batch that had a permit of this order as a member, maybe in a compartment which the policy no longer has;
// nil for none.
func (f *fleet) batchWith(order int32) *v1alpha1.BatchState {
	for name := range f.Skyhook.Status.CompartmentStatuses {
		was := f.Skyhook.Status.CompartmentStatuses[name].BatchState
		if was != nil && slices.Contains(was.Members, order) {
			return was
		}
	}
	return nil
}
