package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
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
func (sum *summary) departedWait(name string) (lifecycle.Wait, bool) {
	d, left := sum.Departed[name], "the node is no longer selected; "
	w := d.Wait
	if _, dead := slices.BinarySearch(sum.dead, name); dead {
		w = &lifecycle.Wait{
			Reason: v1alpha1.ReasonDepartedNotReady, Frees: record.FreesAdministrator,
			Message: "it was in progress and is not Ready, so it counts against the budget; " + bringBack(name),
		}
	}
	if w == nil {
		return lifecycle.Wait{}, false
	}
	if d.Gone {
		left = "the node is gone; "
	}
	return lifecycle.Wait{Reason: w.Reason, Since: w.Since, Message: left + w.Message}, true
}

// bringBack is what helps against a node that is not Ready.
func bringBack(node string) string {
	return "bring it back, or delete it with kubectl delete node " + node
}

// attend makes an entry of the list. A wait without a time is since this pass, or since an earlier one told the same.
func (sum *summary) attend(node string, s v1alpha1.Status, w lifecycle.Wait) v1alpha1.NodeAttention {
	a := v1alpha1.NodeAttention{
		Node: node, Status: s, Reason: word(w.Reason), Message: text.Shorten(w.Message, maxDetail), Since: w.Since,
	}
	if a.Since.IsZero() {
		a.Since = sum.since(node, a.Reason)
	}
	return a
}

// heldStatuses are those of a node that its own hold decides.
var heldStatuses = []v1alpha1.Status{v1alpha1.StatusBlocked, v1alpha1.StatusUnknown, v1alpha1.StatusWaiting}

// wait is why a node does not progress; false when it does.
func (sum *summary) wait(i int) (lifecycle.Wait, bool) {
	n := &sum.Nodes[i]
	switch s := sum.statuses[i]; {
	case s == v1alpha1.StatusErroring && n.Failure != nil && n.spent() && n.Wait.Package == n.Failure.Package:
		w := *n.Wait // the same, and what helps
		w.Message = fmt.Sprintf("package %s: %s", w.Package, w.Message)
		return n.aside(w), true
	case s == v1alpha1.StatusErroring && n.Failure != nil:
		return n.aside(*n.Failure), true
	case n.Hold != nil && slices.Contains(heldStatuses, s):
		return n.heldBy(n.Hold), true
	case sum.Hold != nil && n.Failure != nil && s == sum.Hold.Status: // all the nodes, but not all of them failed
		return n.heldBy(sum.Hold), true
	case s == v1alpha1.StatusBlocked && n.needsUser() && n.Wait != nil:
		return *n.Wait, true
	case n.Wait != nil && (s == v1alpha1.StatusInProgress || s == v1alpha1.StatusErroring):
		return n.aside(*n.Wait), true
	case n.Wait != nil && s == v1alpha1.StatusWaiting && n.Wait.Frees == record.FreesNode: // it fails without a permit
		return *n.Wait, true
	case n.Wait != nil && n.Facts.Complete: // something is left there all the same
		return *n.Wait, true
	case !n.Facts.Unavailable:
	case sum.lost(i) && (s == v1alpha1.StatusInProgress || s == v1alpha1.StatusErroring):
		return n.notReady("the node is in progress and is not Ready, so it counts against the budget"), true
	case s == v1alpha1.StatusInProgress: // disturbed
		return awayMeanwhile, true
	case s == v1alpha1.StatusWaiting:
		return n.notReady(getsNoPermit), true
	}
	return lifecycle.Wait{}, false
}

// lost reports whether a node that is in progress is not Ready: it may never come back, and counts against the budget
// until somebody does something about it. One that we disturb may be rebooting for its interrupt.
func (sum *summary) lost(i int) bool {
	n := &sum.Nodes[i]
	if !n.Facts.Unavailable || n.Facts.Disturbed || n.Facts.Complete {
		return false
	}
	return n.Facts.InProgress || sum.holds[i] && n.Hold == nil
}

// aside adds to what a node tells that it is away as well.
func (n *Node) aside(w lifecycle.Wait) lifecycle.Wait {
	if n.Facts.Unavailable && !n.Facts.Disturbed {
		w.Message += "; the node is not Ready"
	}
	return w
}

// heldBy is what holds a node, and what failed there before: that is not retried meanwhile, so nothing else may tell.
func (n *Node) heldBy(h *lifecycle.Hold) lifecycle.Wait {
	w := h.Wait
	if n.Failure != nil {
		w.Message += "; before that: " + n.Failure.Message
	}
	return w
}

// notReady is the wait of a node that is not Ready, as message tells.
func (n *Node) notReady(message string) lifecycle.Wait {
	return lifecycle.Wait{
		Reason: v1alpha1.ReasonNodeNotReady, Frees: record.FreesAdministrator, Message: message + "; " + bringBack(n.Name),
	}
}

const getsNoPermit = "the node is not Ready, so it gets no permit"

// awayMeanwhile is the wait of a node that is not Ready while we cordon or interrupt it.
var awayMeanwhile = lifecycle.Wait{
	Reason: v1alpha1.ReasonNodeNotReady, Frees: record.FreesNode,
	Message: "the node is not Ready, as during a reboot; work continues when it is Ready",
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
