package rollout

import (
	"fmt"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// stalled says why nothing progresses any more unless a person helps; no reason while something does, and while a
// person stopped it on purpose. A Skyhook is never stalled and reconciling at a time: kstatus takes the one for a
// failure, the other for work.
func (sum *summary) stalled() (reason, message string) {
	switch {
	case sum.faulty() && sum.Hold.Frees != record.FreesTime:
		return sum.Hold.Reason, sum.Hold.Message
	case sum.Hold != nil:
		return "", ""
	case sum.stopped != "" && !sum.working():
		return v1alpha1.ReasonRolloutStopped, sum.stopped
	}
	first := -1
	for i := range sum.Nodes {
		switch sum.motionOf(i) {
		case moves:
			return "", ""
		case stuck:
			if first < 0 || sum.compareUrgency(i, first) < 0 {
				first = i
			}
		default: // it waits for those
		}
	}
	switch {
	case sum.departing():
		return "", ""
	case first < 0 && sum.Deleting && AllComplete(sum.Nodes):
		return sum.blocked, sum.blockedWhy
	case first < 0:
		return sum.heldByDeparted()
	}
	w, told := sum.wait(first)
	if !told {
		w = record.Wait{Reason: v1alpha1.ReasonErroring, Message: "the node is erroring"}
	}
	reason, message = w.Reason, fmt.Sprintf("node %s: %s", sum.Nodes[first].Name, w.Message)
	if sum.statuses[first] == v1alpha1.StatusErroring {
		reason = v1alpha1.ReasonNodesErroring
		message = fmt.Sprintf("node %s: %s: %s", sum.Nodes[first].Name, word(w.Reason), w.Message)
	}
	return reason, message
}

// working reports whether a node works on which the verdict is not bad.
func (sum *summary) working() bool {
	for i, s := range sum.statuses {
		if v, _ := sum.Nodes[i].Judge(sum.Now); s == v1alpha1.StatusInProgress && v != situation.Bad {
			return true
		}
	}
	return false
}

// reconciling reports whether something is left to do that progresses by itself.
func (sum *summary) reconciling(stalled bool) bool {
	stopped := sum.Hold != nil && !sum.faulty() // paused or disabled
	return !stalled && sum.blocked == "" && (sum.Deleting || !stopped && (sum.faulty() || !AllComplete(sum.Nodes)))
}

// motion is whether a node progresses.
type motion int

const (
	// still: it is complete, is not Ready and without a permit, or waits for a permit, which others have to give back.
	still motion = iota
	// moves: it works, or whoever it waits for does.
	moves
	// stuck: only a person helps.
	stuck
)

func (sum *summary) motionOf(i int) motion {
	n := sum.situation(i)
	switch {
	case n.Facts.Complete:
		return still
	case n.Facts.Interrupting && n.Failed(): // a reboot that does not happen, whoever waits for it
		return stuck
	case n.Hold != nil && !n.Hold.Frees.ByPerson(), n.Facts.Begun && n.Hold != nil && n.Hold.Barred && sum.inTime(i):
		return moves
	case n.Lost():
		return stuck
	case n.Facts.InProgress, n.Hold != nil && n.Permit && (n.TakenOut() || !n.Facts.Begun): // which comes to its end, and the permit back
		return moves
	case n.Hold != nil, n.Failing(), n.NeedsAuthor():
		return stuck
	case n.Permit:
		return moves
	}
	return still
}

// inTime reports whether what keeps us off a node may go again by itself.
func (sum *summary) inTime(i int) bool {
	v, after := sum.Nodes[i].Judge(sum.Now)
	return v == situation.Pending && after > 0
}

// departing reports whether a node that is no longer selected will give its permit back.
func (sum *summary) departing() bool {
	for k, node := range sum.holders {
		if d := sum.Departed[sum.permits[k].Node]; node < 0 && !d.Unavailable && endsByItself(d.Wait) {
			return true
		}
	}
	return false
}

// heldByDeparted says which node that is no longer selected keeps its permit while others wait for one, if none of
// those works; no reason when none does.
func (sum *summary) heldByDeparted() (reason, message string) {
	waits := false
	for i := range sum.Nodes {
		w, idle := sum.idle(i)
		waits = waits || idle && w.Reason == v1alpha1.ReasonWaitingForPermit
	}
	first := ""
	for k, node := range sum.holders {
		if name := sum.permits[k].Node; node < 0 && (first == "" || name < first) {
			first = name
		}
	}
	w, told := sum.departedWait(first)
	if !waits || !told {
		return "", ""
	}
	return w.Reason, fmt.Sprintf("node %s: %s", first, w.Message)
}
