package rollout

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// maxAttention bounds the list of nodes that need attention.
const maxAttention = 10

// attention lists the first nodes that do not progress, also such as are no longer selected: erroring ones first, then
// by name.
func (sum *summary) attention() []v1alpha1.NodeAttention {
	var first []int // indexes of nodes, best first, never more than maxAttention
	for i := range sum.Nodes {
		if _, ok := sum.wait(i); !ok {
			continue
		}
		at, _ := slices.BinarySearchFunc(first, i, sum.compareUrgency)
		if at == maxAttention {
			continue
		}
		first = slices.Insert(first, at, i)
		first = first[:min(len(first), maxAttention)]
	}
	list := make([]v1alpha1.NodeAttention, 0, len(first))
	for _, i := range first {
		t, _ := sum.wait(i)
		list = append(list, sum.attend(sum.Nodes[i].Name, sum.statuses[i], t))
	}
	list = append(list, sum.departedAttention()...)
	slices.SortFunc(list, func(a, b v1alpha1.NodeAttention) int {
		return cmp.Or(cmp.Compare(urgency(a.Status), urgency(b.Status)), cmp.Compare(a.Node, b.Node))
	})
	list = list[:min(len(list), maxAttention)]
	return list[:len(list):len(list)]
}

// departedAttention lists the first nodes that the Skyhook does not select any more and whose removal does not
// progress.
func (sum *summary) departedAttention() []v1alpha1.NodeAttention {
	var list []v1alpha1.NodeAttention
	for _, name := range slices.Sorted(maps.Keys(sum.Departed)) {
		if w, ok := sum.departedWait(name); ok && len(list) < maxAttention {
			list = append(list, sum.attend(name, v1alpha1.StatusBlocked, w))
		}
	}
	return list
}

// departedWait is why the removal from a node that is no longer selected does not progress; false when it does.
func (sum *summary) departedWait(name string) (record.Wait, bool) {
	d, left := sum.Departed[name], "the node is no longer selected; "
	w := d.Wait
	if _, dead := slices.BinarySearch(sum.dead, name); dead {
		w = &record.Wait{
			Reason: v1alpha1.ReasonDepartedNotReady, Frees: record.FreesAdministrator,
			Message: "it was in progress and is not Ready, so it counts against the budget; " + situation.BringBack(name),
		}
	}
	if w == nil {
		return record.Wait{}, false
	}
	if d.Gone {
		left = "the node is gone; "
	}
	return record.Wait{Reason: w.Reason, Since: w.Since, Message: left + w.Message}, true
}

// attend makes an entry of the list. A wait without a time is since this pass, or since an earlier one told the same.
func (sum *summary) attend(node string, s v1alpha1.Status, w record.Wait) v1alpha1.NodeAttention {
	a := v1alpha1.NodeAttention{
		Node: node, Status: s, Reason: word(w.Reason), Message: text.Shorten(w.Message, maxDetail), Since: w.Since,
	}
	if a.Since.IsZero() {
		a.Since = sum.since(node, a.Reason)
	}
	return a
}

// wait is why a node does not progress; false when it does, or waits for its turn, or for what holds all nodes and for
// nothing else.
func (sum *summary) wait(i int) (record.Wait, bool) {
	s, failure := sum.situation(i), sum.Nodes[i].Failure
	w, told := s.Reason(sum.Nodes[i].Name)
	held, everywhere := s.Held()
	switch {
	case !told, everywhere && failure == nil && !s.Lost():
		return record.Wait{}, false
	case sum.statuses[i] == v1alpha1.StatusWaiting && w.Reason == v1alpha1.ReasonWaitingForPermit:
		return record.Wait{}, false
	case failure != nil && (held || w.Reason == v1alpha1.ReasonNodeNotReady): // nothing else may tell, as it is not tried again
		w.Message += "; before that: " + failure.Message
	}
	return w, true
}

func (sum *summary) compareUrgency(a, b int) int {
	return cmp.Or(
		cmp.Compare(urgency(sum.statuses[a]), urgency(sum.statuses[b])), cmp.Compare(sum.Nodes[a].Name, sum.Nodes[b].Name),
	)
}

func urgency(s v1alpha1.Status) int {
	return slices.Index(v1alpha1.Statuses(), s)
}

// since keeps the time of the same reason from the status before.
func (sum *summary) since(node, reason string) metav1.Time {
	for _, a := range sum.Skyhook.Status.Attention {
		if a.Node == node && a.Reason == reason {
			return a.Since
		}
	}
	return sum.second()
}

// second is now as a status keeps it.
func (sum *summary) second() metav1.Time { return metav1.NewTime(sum.Now.Truncate(time.Second)) }
