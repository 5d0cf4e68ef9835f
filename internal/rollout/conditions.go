package rollout

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Condition types of a Skyhook. Ready, Reconciling and Stalled follow the kstatus conventions.
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
	ConditionTaint       = "TaintNotTolerable"
	ConditionIgnored     = "NodesIgnored"
	// ConditionTransition exists only under the group's prefix, for readers of the existing API.
	ConditionTransition = "Transition"

	// ConditionPolicyNotFound exists, and is true, while the deployment policy does not exist.
	ConditionPolicyNotFound = ReasonPolicyNotFound
	// ConditionStopped exists, and is true, while bad batches keep new ones from being started.
	ConditionStopped       = "RolloutStopped"
	reasonFailureThreshold = "FailureThreshold"

	legacyPrefix = v1alpha1.GroupName + "/"
)

// readyReasons maps the roll-up to the reason of Ready.
var readyReasons = map[v1alpha1.Status]string{
	v1alpha1.StatusComplete:   "NodesConverged",
	v1alpha1.StatusInProgress: "Progressing",
	v1alpha1.StatusBlocked:    "Blocked",
	v1alpha1.StatusErroring:   "Erroring",
	v1alpha1.StatusPaused:     "Paused",
	v1alpha1.StatusWaiting:    "Waiting",
	v1alpha1.StatusDisabled:   "Disabled",
	v1alpha1.StatusUnknown:    "Unknown",
}

// conditions sets conditions that keep their transition time while the status is the same.
type conditions struct {
	status     *v1alpha1.SkyhookStatus
	now        metav1.Time
	generation int64
}

func setConditions(status *v1alpha1.SkyhookStatus, v *view) {
	c := conditions{status: status, now: metav1.NewTime(v.Now), generation: v.Skyhook.Generation}
	complete := AllComplete(v.Nodes) // also while paused, when the nodes' status does not show it
	invalid := v.Hold != nil && v.Hold.Reason == ReasonSpecInvalid

	message := v.readyMessage()
	if invalid {
		message = v.Hold.Message
	}
	c.set(ConditionReady, complete && !invalid, readyReasons[status.Status], message)
	c.mirror(ConditionReady, ConditionReady)
	c.mirror(ConditionReady, ConditionTransition)
	c.set(ConditionReconciling, reconciling(status.Status), readyReasons[status.Status], message)
	c.stalled(v, message)
	c.nodes(ConditionTaint, ReasonTaint, v.Nodes, "every taint is tolerated")
	c.nodes(ConditionIgnored, ReasonIgnored, v.Nodes, "no node is ignored")

	c.while(v.stopped != "", ConditionStopped, reasonFailureThreshold, v.stopped)
	c.while(v.PolicyMissing, ConditionPolicyNotFound, ReasonPolicyNotFound, HoldPolicyMissing(v.Skyhook).Message)
	c.mirror(ConditionPolicyNotFound, ConditionPolicyNotFound)
	c.uninstall(v.Input)
	SetCapabilityUnknown(status, v.Skyhook, v.Now)
}

// stalled says that only a person can help.
func (c conditions) stalled(v *view, message string) {
	idle := c.status.Nodes.InProgress == 0
	switch {
	case v.Hold != nil && (v.Hold.Reason == ReasonSpecInvalid || v.Hold.Reason == ReasonPolicyNotFound):
		c.set(ConditionStalled, true, v.Hold.Reason, v.Hold.Message)
	case v.Hold == nil && v.stopped != "" && idle:
		c.set(ConditionStalled, true, ConditionStopped, v.stopped)
	case c.status.Status == v1alpha1.StatusErroring && idle:
		c.set(ConditionStalled, true, "NodesErroring", troubleMessage(c.status.Attention))
	default:
		c.set(ConditionStalled, false, "Progressing", message)
	}
}

func reconciling(s v1alpha1.Status) bool {
	return s == v1alpha1.StatusInProgress || s == v1alpha1.StatusErroring || s == v1alpha1.StatusWaiting
}

func (c conditions) set(kind string, is bool, reason, message string) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&c.status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: cut(message, maxMessage),
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
		meta.RemoveStatusCondition(&c.status.Conditions, legacyPrefix+to)
		return
	}
	c.set(legacyPrefix+to, have.Status == metav1.ConditionTrue, have.Reason, have.Message)
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
		message = fmt.Sprintf("%d nodes%s", held.count, held.list())
	}
	c.set(kind, held.count > 0, kind, message)
	c.mirror(kind, kind)
}

// readyMessage tells how many nodes are in which status, with their names while they are few.
func (v *view) readyMessage() string {
	var b strings.Builder
	complete := v.groups[v1alpha1.StatusComplete]
	fmt.Fprintf(&b, "%d/%d nodes complete%s", v.count(v1alpha1.StatusComplete), len(v.Nodes), complete.list())
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
		if have := v.groups[g.status]; have != nil {
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

func troubleMessage(attention []v1alpha1.NodeAttention) string {
	if len(attention) == 0 {
		return "nodes are erroring"
	}
	a := attention[0]
	return fmt.Sprintf("node %s: %s: %s", a.Node, a.Reason, a.Message)
}
