package rollout

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/text"
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
	list       *[]metav1.Condition
	now        metav1.Time
	generation int64
}

func setConditions(status *v1alpha1.SkyhookStatus, sum *summary) {
	c := conditions{list: &status.Conditions, now: metav1.NewTime(sum.Now), generation: sum.Skyhook.Generation}
	complete := AllComplete(sum.Nodes)           // also while paused, which is what the nodes' status shows then
	faulty := sum.faulty() && !sum.PolicyMissing // what is complete stays so while a policy is missing

	message := sum.readyMessage()
	switch {
	case faulty:
		message = sum.Hold.Message
	case sum.Hold != nil && !sum.PolicyMissing:
		message += ": " + sum.Hold.Message
	}
	c.set(v1alpha1.ConditionReady, complete && !faulty, sum.readyReason(status.Status), message)
	c.mirror(v1alpha1.ConditionReady, v1alpha1.ConditionReady)
	c.mirror(v1alpha1.ConditionReady, v1alpha1.ConditionTransition)
	c.progress(sum, status.Status, message)
	c.excluded(sum)

	c.while(sum.stopped != "", v1alpha1.ConditionRolloutStopped, v1alpha1.ReasonFailureThreshold, sum.stopped)
	c.while(sum.PolicyMissing, v1alpha1.ConditionDeploymentPolicyNotFound, v1alpha1.ReasonDeploymentPolicyNotFound,
		HoldPolicyMissing(sum.Skyhook).Message)
	c.mirror(v1alpha1.ConditionDeploymentPolicyNotFound, v1alpha1.ConditionDeploymentPolicyNotFound)
	c.while(len(sum.dead) > 0, v1alpha1.ConditionDepartedNotReady, v1alpha1.ReasonDepartedNotReady,
		departedMessage(sum.dead))
	moved := movedImages(sum.Input)
	c.while(moved != "", v1alpha1.ConditionImageMoved, v1alpha1.ReasonImageMoved, moved)
	c.uninstall(sum)
	SetCapabilityUnknown(status, sum.Skyhook, sum.Now)
	for _, kind := range []string{applyPackage, v1alpha1.KeyPrefix + applyPackage} {
		meta.RemoveStatusCondition(c.list, kind)
	}
}

// applyPackage is a condition with the latest pod that another operator created. It is never false.
const applyPackage = "ApplyPackage"

// readyReason is why Ready is what it is. What pauses a Skyhook is its own annotation, or that all are stopped.
func (sum *summary) readyReason(status v1alpha1.Status) string {
	if status == v1alpha1.StatusPaused && sum.Hold != nil {
		return sum.Hold.Reason
	}
	return readyReasons[status]
}

// departedMessage names the nodes that left the selection in progress and are not Ready.
func departedMessage(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("node %s was in progress when it left the selection and is not Ready, so it counts against "+
			"the budget; %s", names[0], situation.BringBack(names[0]))
	}
	return fmt.Sprintf("nodes %s were in progress when they left the selection and are not Ready, so they count against "+
		"the budget; bring them back, or delete them with `kubectl delete node NODE`", text.Names(names))
}

// progress sets Reconciling and Stalled, which are never both true. What is not stalled has the reason of Reconciling.
func (c conditions) progress(sum *summary, status v1alpha1.Status, message string) {
	stalled, why := sum.stalled()
	reconciling, reason := sum.reconciling(stalled != ""), sum.readyReason(status)
	switch {
	case sum.Deleting:
		reason, message = v1alpha1.ReasonDeleting, sum.deletingMessage()
	case reconciling && sum.Hold == nil && status != v1alpha1.StatusWaiting:
		reason = v1alpha1.ReasonProgressing // whatever keeps single nodes
	}
	c.set(v1alpha1.ConditionReconciling, reconciling, reason, message)
	if stalled == "" {
		c.set(v1alpha1.ConditionStalled, false, reason, message)
		return
	}
	c.set(v1alpha1.ConditionStalled, true, stalled, why)
}

// deletingMessage names the nodes that still have something of a Skyhook that is being deleted, or what else keeps it.
func (sum *summary) deletingMessage() string {
	if nodes := sum.Freeing; len(nodes) > 0 {
		return fmt.Sprintf("the Skyhook is being removed from %s: %s", text.Count(len(nodes), "node"), text.Names(nodes))
	}
	if sum.faulty() {
		return "the Skyhook is being deleted"
	}
	if kept := KeptByOthers(sum.Skyhook); kept != "" && AllComplete(sum.Nodes) {
		return kept
	}
	return "the Skyhook is being deleted, and nothing of it is left on any node"
}

// KeptByOthers says which finalizers, other than the operator's, keep a Skyhook that is being deleted; empty for none.
func KeptByOthers(s *v1alpha1.Skyhook) string {
	others := slices.DeleteFunc(slices.Clone(s.Finalizers), func(f string) bool { return f == v1alpha1.Finalizer })
	if len(others) == 0 {
		return ""
	}
	return "the operator is done with the Skyhook, which stays until the owners of these finalizers remove them: " +
		text.Names(others)
}

func (c conditions) set(kind string, is bool, reason, message string) {
	value := metav1.ConditionFalse
	if is {
		value = metav1.ConditionTrue
	}
	meta.SetStatusCondition(c.list, metav1.Condition{
		Type: kind, Status: value, Reason: word(reason), Message: text.Shorten(message, maxMessage),
		ObservedGeneration: c.generation, LastTransitionTime: c.now,
	})
}

// while sets a condition that exists only while it is true.
func (c conditions) while(is bool, kind, reason, message string) {
	if is {
		c.set(kind, true, reason, message)
		return
	}
	meta.RemoveStatusCondition(c.list, kind)
}

// mirror repeats a condition under the group's prefix, or its absence.
func (c conditions) mirror(from, to string) {
	have := meta.FindStatusCondition(*c.list, from)
	if have == nil {
		meta.RemoveStatusCondition(c.list, v1alpha1.KeyPrefix+to)
		return
	}
	c.set(v1alpha1.KeyPrefix+to, have.Status == metav1.ConditionTrue, have.Reason, have.Message)
}

// excluded sets the conditions that are true while nodes are held back by their taints or their label, and mirrors
// them.
func (c conditions) excluded(sum *summary) {
	tainted, ignored := sum.heldFor(v1alpha1.ReasonTaintNotTolerable), sum.heldFor(v1alpha1.ReasonNodeIgnored)
	message := "no selected node has a taint that this Skyhook does not tolerate"
	if tainted.count > 0 {
		helps := "add tolerations to spec.additionalTolerations, or find out who set the taints, and why"
		if sum.taintsStay() {
			helps = "status.attention says for each what takes its taint off"
		}
		message = fmt.Sprintf("%s excluded by taints that this Skyhook does not tolerate%s; %s", nodesAre(tainted.count),
			tainted.list(text.MostNames), helps)
	}
	c.set(v1alpha1.ConditionTaintNotTolerable, tainted.count > 0, v1alpha1.ConditionTaintNotTolerable, message)
	c.mirror(v1alpha1.ConditionTaintNotTolerable, v1alpha1.ConditionTaintNotTolerable)
	message = "no selected node has the label " + v1alpha1.LabelIgnore + "=true"
	if ignored.count > 0 {
		message = fmt.Sprintf("%s excluded by the label %s=true%s; include a node with `kubectl label node NODE %s-`",
			nodesAre(ignored.count), v1alpha1.LabelIgnore, ignored.list(text.MostNames), v1alpha1.LabelIgnore)
	}
	c.set(v1alpha1.ConditionNodesIgnored, ignored.count > 0, v1alpha1.ConditionNodesIgnored, message)
	c.mirror(v1alpha1.ConditionNodesIgnored, v1alpha1.ConditionNodesIgnored)
}

// taintsStay reports whether people had better leave the taint of a node alone: the operator takes it off, or work has begun
// on the node, and somebody may have set it because of that.
func (sum *summary) taintsStay() bool {
	return slices.ContainsFunc(sum.Nodes, func(n Node) bool {
		return n.Hold != nil && n.Hold.Barred && (n.Hold.Frees != record.FreesAdministrator || n.Facts.Begun)
	})
}

func nodesAre(n int) string {
	if n == 1 {
		return "1 node is"
	}
	return fmt.Sprintf("%d nodes are", n)
}

// heldFor are the nodes whose own hold has the given reason.
func (sum *summary) heldFor(reason string) group {
	var held group
	for i := range sum.Nodes {
		if n := &sum.Nodes[i]; n.Hold != nil && n.Hold.Reason == reason {
			held.add(n.Name)
		}
	}
	return held
}

// readyMessage tells how many nodes are in which status, with as many of their names as there is room for.
func (sum *summary) readyMessage() string {
	message := ""
	for _, names := range []int{text.MostNames, 5, 3, 1, 0} {
		if message = sum.statusCounts(names); len(message) <= maxDetail {
			break
		}
	}
	return text.Cut(message, maxDetail)
}

// statusCounts tells how many nodes are in which status, with up to so many names of each.
func (sum *summary) statusCounts(names int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d/%d nodes complete%s", sum.count(v1alpha1.StatusComplete), len(sum.Nodes),
		sum.groups[v1alpha1.StatusComplete].list(names))
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
			fmt.Fprintf(&b, ", %d %s%s", have.count, g.label, have.list(names))
		}
	}
	return b.String()
}

// list names the first nodes of a group, which may be nil, and counts the rest.
func (g *group) list(names int) string {
	if g == nil || g.count == 0 || names == 0 {
		return ""
	}
	return " (" + text.Some(g.names[:min(names, len(g.names))], g.count) + ")"
}
