package rollout

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// readyReasons maps the roll-up to the reason of Ready.
var readyReasons = map[v1alpha1.Status]string{
	v1alpha1.StatusComplete:   v1alpha1.ReasonNodesConverged,
	v1alpha1.StatusInProgress: v1alpha1.ReasonProgressing,
	v1alpha1.StatusBlocked:    v1alpha1.ReasonBlocked,
	v1alpha1.StatusErroring:   v1alpha1.ReasonErroring,
	v1alpha1.StatusPaused:     v1alpha1.ReasonPaused,
	v1alpha1.StatusWaiting:    v1alpha1.ReasonWaiting,
	v1alpha1.StatusDisabled:   v1alpha1.ReasonDisabled,
	v1alpha1.StatusUnknown:    v1alpha1.ReasonUnknown,
}

// conditions sets conditions that keep their transition time while the status is the same.
type conditions struct {
	status     *v1alpha1.SkyhookStatus
	now        metav1.Time
	generation int64
}

func setConditions(status *v1alpha1.SkyhookStatus, sum *summary) {
	c := conditions{status: status, now: metav1.NewTime(sum.Now), generation: sum.Skyhook.Generation}
	complete := AllComplete(sum.Nodes)           // also while paused, which is what the nodes' status shows then
	faulty := sum.faulty() && !sum.PolicyMissing // what is complete stays so while a policy is missing

	message := sum.readyMessage()
	switch {
	case faulty:
		message = sum.Hold.Message
	case sum.Hold != nil && !sum.PolicyMissing:
		message += ": " + sum.Hold.Message
	}
	c.set(v1alpha1.ConditionReady, complete && !faulty, readyReasons[status.Status], message)
	c.mirror(v1alpha1.ConditionReady, v1alpha1.ConditionReady)
	c.mirror(v1alpha1.ConditionReady, v1alpha1.ConditionTransition)
	c.progress(sum, message)
	c.nodes(v1alpha1.ConditionTaintNotTolerable, v1alpha1.ReasonTaintNotTolerable, sum.Nodes, "every taint is tolerated")
	c.nodes(v1alpha1.ConditionNodesIgnored, v1alpha1.ReasonNodeIgnored, sum.Nodes, "no node is ignored")

	c.while(sum.stopped != "", v1alpha1.ConditionRolloutStopped, v1alpha1.ReasonFailureThreshold, sum.stopped)
	c.while(sum.PolicyMissing, v1alpha1.ConditionDeploymentPolicyNotFound, v1alpha1.ReasonDeploymentPolicyNotFound, HoldPolicyMissing(sum.Skyhook).Message)
	c.mirror(v1alpha1.ConditionDeploymentPolicyNotFound, v1alpha1.ConditionDeploymentPolicyNotFound)
	c.while(len(sum.dead) > 0, v1alpha1.ConditionDepartedNotReady, v1alpha1.ReasonDepartedNotReady, fewNames(sum.dead)+
		" left the selection at work and cannot be reached, and count against the budget; bring the nodes back, or delete their Node objects")
	moved := movedImages(sum.Input)
	c.while(moved != "", v1alpha1.ConditionImageMoved, v1alpha1.ReasonImageMoved, moved)
	c.uninstall(sum)
	SetCapabilityUnknown(status, sum.Skyhook, sum.Now)
}

// progress sets Reconciling and Stalled, which are never both true.
func (c conditions) progress(sum *summary, message string) {
	stalled, why := sum.stalled()
	is, reason := sum.reconciling(stalled != ""), readyReasons[c.status.Status]
	if is && sum.Hold == nil && c.status.Status != v1alpha1.StatusWaiting {
		reason = v1alpha1.ReasonProgressing // whatever keeps single nodes
	}
	if sum.Deleting {
		c.set(v1alpha1.ConditionReconciling, is, v1alpha1.ReasonDeleting, fmt.Sprintf("%s being freed of this Skyhook: %s",
			nodesAre(len(sum.Freeing)), firstNames(sum.Freeing, maxNames)))
	} else {
		c.set(v1alpha1.ConditionReconciling, is, reason, message)
	}
	if stalled == "" {
		c.set(v1alpha1.ConditionStalled, false, v1alpha1.ReasonProgressing, message)
		return
	}
	c.set(v1alpha1.ConditionStalled, true, stalled, why)
}

func (c conditions) set(kind string, is bool, reason, message string) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&c.status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: word(reason), Message: shorten(message, maxMessage),
		ObservedGeneration: c.generation, LastTransitionTime: c.now,
	})
}

// while sets a condition that exists only while it is true.
func (c conditions) while(is bool, kind, reason, message string) {
	if is {
		c.set(kind, true, reason, message)
		return
	}
	meta.RemoveStatusCondition(&c.status.Conditions, kind)
}

// mirror repeats a condition under the group's prefix, or its absence.
func (c conditions) mirror(from, to string) {
	have := meta.FindStatusCondition(c.status.Conditions, from)
	if have == nil {
		meta.RemoveStatusCondition(&c.status.Conditions, v1alpha1.KeyPrefix+to)
		return
	}
	c.set(v1alpha1.KeyPrefix+to, have.Status == metav1.ConditionTrue, have.Reason, have.Message)
}

// nodes sets a condition that is true while nodes are held back for the given reason, and mirrors it.
func (c conditions) nodes(kind, reason string, nodes []Node, none string) {
	var held group
	for i := range nodes {
		if n := &nodes[i]; n.Hold != nil && n.Hold.Reason == reason {
			held.add(n.Name)
		}
	}
	slices.Sort(held.names)
	message := none
	if held.count > 0 {
		message = plural(held.count, "node") + held.list()
	}
	c.set(kind, held.count > 0, kind, message)
	c.mirror(kind, kind)
}

// readyMessage tells how many nodes are in which status, with their names while they are few.
func (sum *summary) readyMessage() string {
	var b strings.Builder
	complete := sum.groups[v1alpha1.StatusComplete]
	fmt.Fprintf(&b, "%d/%d nodes complete%s", sum.count(v1alpha1.StatusComplete), len(sum.Nodes), complete.list())
	for _, g := range []struct {
		status v1alpha1.Status
		label  string
	}{
		{v1alpha1.StatusInProgress, "in progress"},
		{v1alpha1.StatusBlocked, "blocked"},
		{v1alpha1.StatusErroring, "erroring"},
		{v1alpha1.StatusWaiting, "waiting"},
		{v1alpha1.StatusPaused, "paused"},
		{v1alpha1.StatusDisabled, "disabled"},
		{v1alpha1.StatusUnknown, "unknown"},
	} {
		if have := sum.groups[g.status]; have != nil {
			fmt.Fprintf(&b, ", %d %s%s", have.count, g.label, have.list())
		}
	}
	return cut(b.String(), maxDetail)
}

// list names the nodes of a group, which may be nil, while they are few.
func (g *group) list() string {
	switch {
	case g == nil || g.count == 0:
		return ""
	case g.count > maxNames:
		return " (names left out: more than 10)"
	}
	return " (" + strings.Join(g.names, ", ") + ")"
}
