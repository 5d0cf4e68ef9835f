package rollout

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// Stop is what is known of who stopped all Skyhooks.
type Stop struct {
	Since time.Time
	// By and Reason are what that person said; both may be empty.
	By, Reason string
}

// StopOf reads the ConfigMap that stops all Skyhooks; one without a name is none.
func StopOf(cm *corev1.ConfigMap) *Stop {
	if cm.Name == "" {
		return nil
	}
	return &Stop{Since: cm.CreationTimestamp.Time, By: cm.Data[v1alpha1.StopBy], Reason: cm.Data[v1alpha1.StopReason]}
}

// HoldAll returns what keeps every node of a Skyhook from new work; nil when nothing does. stop is nil while nobody
// stopped all Skyhooks.
func HoldAll(s *v1alpha1.Skyhook, invalid string, stop *Stop) *situation.Hold {
	switch {
	case s.Disabled():
		return takingOut(v1alpha1.StatusDisabled, stoppedBy(s, v1alpha1.AnnotationDisable, v1alpha1.ReasonDisabled))
	case s.Paused():
		return &situation.Hold{
			Status: v1alpha1.StatusPaused,
			Wait:   stoppedBy(s, v1alpha1.AnnotationPause, v1alpha1.ReasonPaused),
		}
	case stop != nil:
		return &situation.Hold{
			Status: v1alpha1.StatusPaused,
			Wait: record.Wait{
				Reason: v1alpha1.ReasonAllStopped, Frees: record.FreesAdministrator,
				Message: fmt.Sprintf("nothing new starts because %s; continue with `kubectl skyhook resume --all`", stop),
			},
		}
	case invalid != "" && s.DeletionTimestamp == nil: // a deletion does not depend on the rest of the spec
		return &situation.Hold{
			Status: v1alpha1.StatusBlocked,
			Wait:   record.Wait{Reason: v1alpha1.ReasonSpecInvalid, Frees: record.FreesAuthor, Message: invalid},
		}
	}
	return nil
}

// String tells who stopped everything, since when, and why.
func (s *Stop) String() string {
	const most = 200 // people wrote it
	out := "all Skyhooks have been stopped since " + s.Since.UTC().Format(time.RFC3339)
	if s.By != "" {
		out += " by " + text.Shorten(s.By, most)
	}
	if s.Reason != "" {
		out += " (" + text.Shorten(s.Reason, most) + ")"
	}
	return out
}

// takingOut is a hold by which a person takes a node out, whatever has begun there.
func takingOut(status v1alpha1.Status, w record.Wait) *situation.Hold {
	return &situation.Hold{Status: status, ReturnsPermit: true, TakesOut: true, Wait: w}
}

// releasing is a hold with which a node gives its permit back, unless work has begun there.
func releasing(status v1alpha1.Status, w record.Wait) *situation.Hold {
	return &situation.Hold{Status: status, ReturnsPermit: true, Wait: w}
}

// unusable is a hold for a record that nobody can go by.
func unusable(status v1alpha1.Status, w record.Wait) *situation.Hold {
	return &situation.Hold{Status: status, ReturnsPermit: true, Unusable: true, Wait: w}
}

func stoppedBy(s *v1alpha1.Skyhook, annotation, reason string) record.Wait {
	return record.Wait{
		Reason: reason, Frees: record.FreesAdministrator,
		Message: fmt.Sprintf("nothing new starts because the annotation %s is \"true\"; continue with %s",
			annotation, withoutAnnotation(s, annotation)),
	}
}

// withoutAnnotation is the command that removes an annotation of a Skyhook.
func withoutAnnotation(s *v1alpha1.Skyhook, key string) string {
	return fmt.Sprintf("`kubectl annotate skyhook %s %s-`", s.Name, key)
}

// HoldPolicyMissing keeps every node of a Skyhook whose policy does not exist. Permits stay out: when the policy is
// back, the rollout continues where it was.
func HoldPolicyMissing(s *v1alpha1.Skyhook) *situation.Hold {
	return &situation.Hold{
		Status: v1alpha1.StatusBlocked,
		Wait: record.Wait{
			Reason: v1alpha1.ReasonDeploymentPolicyNotFound, Frees: record.FreesAdministrator,
			Message: fmt.Sprintf("DeploymentPolicy %s does not exist, but spec.deploymentPolicy names it; create it, "+
				"or correct spec.deploymentPolicy", s.Spec.DeploymentPolicy),
		},
	}
}

// HoldMalformed keeps a Skyhook off a node whose record cannot be read. The permit goes back: only a person can help.
func HoldMalformed(s *v1alpha1.Skyhook, err error) *situation.Hold {
	helps := "; correct it, or remove it to apply the packages again on this node"
	if s.DeletionTimestamp != nil {
		helps = "; correct it: without it, nothing is uninstalled on this node"
	}
	return unusable(v1alpha1.StatusUnknown, record.Wait{
		Reason: v1alpha1.ReasonNodeStateMalformed, Frees: record.FreesAdministrator, Message: err.Error() + helps,
	})
}

// HoldUnsealed keeps a Skyhook off a node that keeps workloads off until it is complete, but whose record somebody else
// than the operator wrote: by that alone it would let them in.
func HoldUnsealed(skyhook, node string) *situation.Hold {
	key := v1alpha1.AnnotationNodeStatePrefix + skyhook
	return unusable(v1alpha1.StatusBlocked, record.Wait{
		Reason: v1alpha1.ReasonNodeStateUnsealed, Frees: record.FreesAdministrator,
		Message: fmt.Sprintf("the runtime taint stays because the annotation %s differs from what the operator wrote; "+
			"apply the packages again with `kubectl annotate node %s %s-`", key, node, key),
	})
}

// HoldNode returns what keeps one node from new work for a Skyhook; nil when nothing does. Only a Skyhook that
// workloads wait for works under the runtime taint; awaited is such a one, upon whose end the operator takes the taint off
// the node, nil where it stays.
func HoldNode(s *v1alpha1.Skyhook, node *corev1.Node, known Taints, awaited *v1alpha1.Skyhook) *situation.Hold {
	if v1alpha1.Ignored(node.Labels) {
		return takingOut(v1alpha1.StatusBlocked, record.Wait{
			Reason: v1alpha1.ReasonNodeIgnored, Frees: record.FreesAdministrator,
			Message: fmt.Sprintf("the node is excluded by its label %s=true; include it with `kubectl label node %s %s-`",
				v1alpha1.LabelIgnore, node.Name, v1alpha1.LabelIgnore),
		})
	}
	if hold := holdRenamed(node); hold != nil {
		return hold
	}
	var hold *situation.Hold
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		own := taint.MatchTaint(&known.Runtime)
		if s.Spec.RuntimeRequired && own || !repels(taint) || known.tolerated(s, taint) {
			continue
		}
		message := fmt.Sprintf("the node has the taint %s, which the Skyhook does not tolerate; ", taint.ToString())
		if !own || awaited == nil {
			by := fmt.Sprintf("%s:%s", taint.Key, taint.Effect)
			hold = holdTainted(record.FreesAdministrator, message+"add a toleration to spec.additionalTolerations, "+
				"or find out who set the taint, and why")
			hold.By = by
			return hold
		}
		hold = holdTainted(record.FreesOther, message+"the operator removes the taint when the Skyhooks with runtimeRequired "+
			"are complete on the node")
		if hold.By = awaited.Name; Stopped(awaited) {
			hold.Frees = record.FreesAdministrator
			hold.Message += fmt.Sprintf(", but Skyhook %s is paused or disabled", awaited.Name)
		}
	}
	return hold
}

// renamedPrefix begins the annotations in which NodeWright, the operator of this API under its later name, keeps records.
const renamedPrefix = "nodewright.nvidia.com/nodeState_"

// Renamed is the annotation of a node, the first by name, that is a record of NodeWright; empty for none. What
// that one did there is not in our records.
func Renamed(node *corev1.Node) string {
	first := ""
	for key := range node.Annotations {
		if strings.HasPrefix(key, renamedPrefix) && (first == "" || key < first) {
			first = key
		}
	}
	return first
}

// holdRenamed keeps off a node on which two operators would undo each other's work.
func holdRenamed(node *corev1.Node) *situation.Hold {
	key := Renamed(node)
	if key == "" {
		return nil
	}
	return releasing(v1alpha1.StatusBlocked, record.Wait{
		Reason: v1alpha1.ReasonNodeWrightRecords, Frees: record.FreesAdministrator,
		Message: fmt.Sprintf("NodeWright has a record on the node, in the annotation %s, and two operators on one node work against each "+
			"other; when NodeWright is gone from the cluster, remove its record with `kubectl annotate node %s %s-`",
			key, node.Name, key),
	})
}

func holdTainted(frees record.Frees, message string) *situation.Hold {
	hold := releasing(v1alpha1.StatusBlocked, record.Wait{
		Reason: v1alpha1.ReasonTaintNotTolerable, Frees: frees, Message: message,
	})
	hold.Barred = true
	return hold
}

// repels reports whether the taint's effect matters to a pod that is bound to its node directly. What the node
// lifecycle controller sets while a node is away, as in a reboot, comes and goes and says nothing about intent.
func repels(t *corev1.Taint) bool {
	if t.Effect == corev1.TaintEffectPreferNoSchedule {
		return false
	}
	switch t.Key {
	case corev1.TaintNodeUnschedulable, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
		corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure,
		corev1.TaintNodeNetworkUnavailable:
		return false
	}
	return true
}

// Taints are the operator's settings about taints of nodes.
type Taints struct {
	// Runtime is the taint that keeps workloads off a node until the Skyhooks that they require are complete.
	Runtime corev1.Taint
	// Tolerated are those of all Skyhooks, beside what each adds.
	Tolerated []corev1.Toleration
}

func (t Taints) tolerated(s *v1alpha1.Skyhook, taint *corev1.Taint) bool {
	by := func(t corev1.Toleration) bool { return tolerates(&t, taint) }
	return slices.ContainsFunc(t.Tolerated, by) || slices.ContainsFunc(s.Spec.AdditionalTolerations, by)
}

// tolerates follows the scheduler's rules: an empty key with Exists tolerates all, an empty effect every effect.
func tolerates(t *corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		return true
	case "", corev1.TolerationOpEqual:
		return t.Key != "" && t.Value == taint.Value
	default:
		return false
	}
}

// HoldInterrupted keeps a Skyhook off a node that another one interrupts.
func HoldInterrupted(by string) *situation.Hold {
	return releasing(v1alpha1.StatusWaiting, record.Wait{
		Reason: v1alpha1.ReasonWaitingForInterrupt, Frees: record.FreesOther, By: by,
		Message: fmt.Sprintf("an interrupt of Skyhook %s is in flight on the node, and nothing else starts before "+
			"its end", by),
	})
}

// HoldAfterInterrupt is the hold by an earlier Skyhook of one whose own interrupt is in flight on the node: it starts
// nothing else there, but the earlier one waits for it, and not the other way round.
func HoldAfterInterrupt(order *situation.Hold) *situation.Hold {
	return &situation.Hold{
		Status: v1alpha1.StatusInProgress, ReturnsPermit: order.ReturnsPermit,
		Wait: record.Wait{
			Reason: v1alpha1.ReasonWaitingForInterrupt, Frees: record.FreesNode,
			Message: "an interrupt of this Skyhook is in flight on the node; after it: " + order.Message,
		},
	}
}

// Earlier is what a Skyhook needs to know of one that comes before it on the same node.
type Earlier struct {
	Skyhook *v1alpha1.Skyhook
	// IncompleteHere says that it targets the node and is not complete there.
	IncompleteHere bool
}

// Unfinished returns the first Skyhook that has to finish first; nil when none has.
func Unfinished(earlier iter.Seq[Earlier]) *v1alpha1.Skyhook {
	for e := range earlier {
		if e.IncompleteHere || awaitedEverywhere(e.Skyhook) {
			return e.Skyhook
		}
	}
	return nil
}

// awaitedEverywhere reports whether others wait for a Skyhook until it is complete on all its nodes. One that is being
// deleted installs nothing any more, and may take long to go.
func awaitedEverywhere(s *v1alpha1.Skyhook) bool {
	return s.Spec.Sequencing == v1alpha1.SequencingAll && s.DeletionTimestamp == nil && !CompleteEverywhere(s)
}

// HoldAfter keeps those that come later off a node until a Skyhook has finished. It is the same on every node.
func HoldAfter(earlier *v1alpha1.Skyhook) *situation.Hold {
	w := record.Wait{
		Reason: v1alpha1.ReasonWaitingForSkyhook, Frees: record.FreesOther, By: earlier.Name,
		Message: orderMessage(earlier, awaitedEverywhere(earlier)),
	}
	if earlier.Paused() {
		w.Frees = record.FreesAdministrator
	}
	return releasing(v1alpha1.StatusWaiting, w)
}

// orderMessage says which Skyhook comes first, where it is not complete, and how to find out more.
func orderMessage(earlier *v1alpha1.Skyhook, everywhere bool) string {
	message := fmt.Sprintf("Skyhook %s has priority %d and is not complete on this node", earlier.Name,
		earlier.Spec.Priority)
	if everywhere {
		message = fmt.Sprintf("Skyhook %s has priority %d and sequencing \"all\", and is not complete on all its nodes",
			earlier.Name, earlier.Spec.Priority)
	}
	if earlier.Paused() {
		return message + "; it is paused: continue it with " + withoutAnnotation(earlier, v1alpha1.AnnotationPause)
	}
	return message + "; see `kubectl describe skyhook " + earlier.Name + "`"
}

// Compare orders Skyhooks as they work where they target the same node: by priority, then by name.
func Compare(a, b *v1alpha1.Skyhook) int {
	return cmp.Or(cmp.Compare(a.Spec.Priority, b.Spec.Priority), cmp.Compare(a.Name, b.Name))
}

// Before reports whether Skyhook a comes before b where both target a node.
func Before(a, b *v1alpha1.Skyhook) bool { return Compare(a, b) < 0 }

// Precedes reports whether a has to be finished before b may work: it comes before b and is not disabled.
func Precedes(a, b *v1alpha1.Skyhook) bool {
	return Before(a, b) && !a.Disabled()
}

// Stopped reports whether a person stopped a Skyhook on purpose, so that it does not get on until one takes that back.
func Stopped(s *v1alpha1.Skyhook) bool {
	return s.Paused() || s.Disabled()
}

// CompleteEverywhere asks the condition, not the status: a Skyhook that was paused when it was complete still is.
func CompleteEverywhere(s *v1alpha1.Skyhook) bool {
	return s.Status.ObservedGeneration == s.Generation &&
		meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady)
}
