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

	legacyPrefix = v1alpha1.GroupName + "/"
	// maxNames is how many node names a condition message lists before it only counts.
	maxNames = 10
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

func setConditions(status *v1alpha1.SkyhookStatus, in Input, groups map[v1alpha1.Status][]string) {
	c := conditions{status: status, now: metav1.NewTime(in.Now), generation: in.Skyhook.Generation}
	complete := AllComplete(in.Nodes) // also while paused, when the nodes' status does not show it
	invalid := in.Hold != nil && in.Hold.Reason == ReasonSpecInvalid

	message := readyMessage(groups, len(in.Nodes))
	if invalid {
		message = in.Hold.Message
	}
	c.set(ConditionReady, complete && !invalid, readyReasons[status.Status], message)
	c.mirror(ConditionReady, ConditionReady)
	c.mirror(ConditionReady, ConditionTransition)
	c.set(ConditionReconciling, reconciling(status.Status), readyReasons[status.Status], message)

	stalled, reason := false, "Progressing"
	switch {
	case invalid:
		stalled, reason = true, ReasonSpecInvalid
	case status.Status == v1alpha1.StatusErroring && status.Nodes.InProgress == 0:
		stalled, reason = true, "NodesErroring"
		message = troubleMessage(status.Attention)
	}
	c.set(ConditionStalled, stalled, reason, message)
	c.nodes(ConditionTaint, ReasonTaint, in.Nodes, "every taint is tolerated")
	c.nodes(ConditionIgnored, ReasonIgnored, in.Nodes, "no node is ignored")
	c.uninstall(in)
	SetCapabilityUnknown(status, in.Skyhook, in.Now)
}

func reconciling(s v1alpha1.Status) bool {
	return s == v1alpha1.StatusInProgress || s == v1alpha1.StatusErroring || s == v1alpha1.StatusWaiting
}

// conditions sets conditions that keep their transition time while the status is the same.
type conditions struct {
	status     *v1alpha1.SkyhookStatus
	now        metav1.Time
	generation int64
}

func (c conditions) set(kind string, is bool, reason, message string) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&c.status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: message,
		ObservedGeneration: c.generation, LastTransitionTime: c.now,
	})
}

// setOrRemove sets a condition that exists only while it is true.
func (c conditions) setOrRemove(kind string, is bool, reason, message string) {
	if !is {
		meta.RemoveStatusCondition(&c.status.Conditions, kind)
		return
	}
	c.set(kind, true, reason, message)
}

// mirror repeats a condition under the group's prefix.
func (c conditions) mirror(from, to string) {
	if have := meta.FindStatusCondition(c.status.Conditions, from); have != nil {
		c.set(legacyPrefix+to, have.Status == metav1.ConditionTrue, have.Reason, have.Message)
	}
}

// nodes sets a condition that is true while nodes are held back for the given reason, and mirrors it.
func (c conditions) nodes(kind, reason string, nodes []Node, none string) {
	var names []string
	for _, n := range nodes {
		if n.Hold != nil && n.Hold.Reason == reason {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	message := none
	if len(names) > 0 {
		message = fmt.Sprintf("%d nodes%s", len(names), nameList(names))
	}
	c.set(kind, len(names) > 0, kind, message)
	c.mirror(kind, kind)
}

// readyMessage tells how many nodes are in which status, with their names while they are few.
func readyMessage(groups map[v1alpha1.Status][]string, total int) string {
	var b strings.Builder
	complete := groups[v1alpha1.StatusComplete]
	fmt.Fprintf(&b, "%d/%d nodes complete%s", len(complete), total, nameList(complete))
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
		if names := groups[g.status]; len(names) > 0 {
			fmt.Fprintf(&b, ", %d %s%s", len(names), g.label, nameList(names))
		}
	}
	return b.String()
}

func nameList(names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > maxNames:
		return " (names left out: more than 10)"
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func troubleMessage(attention []v1alpha1.NodeAttention) string {
	if len(attention) == 0 {
		return "nodes are erroring"
	}
	a := attention[0]
	return fmt.Sprintf("node %s: %s: %s", a.Node, a.Reason, a.Message)
}
