package rollout

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// HoldAll returns what keeps every node of a Skyhook from new work; nil when nothing does.
func HoldAll(s *v1alpha1.Skyhook, invalid string) *lifecycle.Hold {
	switch {
	case s.Annotations[v1alpha1.AnnotationDisable] == "true":
		return &lifecycle.Hold{
			Status: v1alpha1.StatusDisabled, Release: true,
			Wait: lifecycle.Wait{Reason: v1alpha1.ReasonDisabled, Frees: record.FreesAdministrator, Message: "annotation " + v1alpha1.AnnotationDisable + " is \"true\"; remove it to go on"},
		}
	case s.Annotations[v1alpha1.AnnotationPause] == "true":
		return &lifecycle.Hold{
			Status: v1alpha1.StatusPaused,
			Wait:   lifecycle.Wait{Reason: v1alpha1.ReasonPaused, Frees: record.FreesAdministrator, Message: "annotation " + v1alpha1.AnnotationPause + " is \"true\"; remove it to go on"},
		}
	case invalid != "" && s.DeletionTimestamp == nil: // a deletion does not depend on the rest of the spec
		return &lifecycle.Hold{
			Status: v1alpha1.StatusBlocked,
			Wait:   lifecycle.Wait{Reason: v1alpha1.ReasonSpecInvalid, Frees: record.FreesAuthor, Message: invalid},
		}
	}
	return nil
}

// HoldPolicyMissing keeps every node of a Skyhook whose policy does not exist. Permits stay out: when the policy is back,
// the rollout goes on where it was.
func HoldPolicyMissing(s *v1alpha1.Skyhook) *lifecycle.Hold {
	return &lifecycle.Hold{
		Status: v1alpha1.StatusBlocked,
		Wait: lifecycle.Wait{Reason: v1alpha1.ReasonDeploymentPolicyNotFound, Frees: record.FreesAdministrator, Message: fmt.Sprintf("spec.deploymentPolicy names DeploymentPolicy %s, which does not exist; create it, or name another",
			s.Spec.DeploymentPolicy)},
	}
}

// HoldMalformed keeps a Skyhook off a node whose record cannot be read. The permit goes back: only a person can help.
func HoldMalformed(err error) *lifecycle.Hold {
	return &lifecycle.Hold{
		Status: v1alpha1.StatusUnknown, Release: true,
		Wait: lifecycle.Wait{Reason: v1alpha1.ReasonNodeStateMalformed, Frees: record.FreesAdministrator, Message: err.Error()},
	}
}

// HoldUnsealed keeps a Skyhook off a node that keeps workloads off until it is complete, but whose record somebody else than the
// operator wrote: by that alone it would let them in.
func HoldUnsealed(skyhook string) *lifecycle.Hold {
	return &lifecycle.Hold{
		Status: v1alpha1.StatusBlocked, Release: true,
		Wait: lifecycle.Wait{Reason: v1alpha1.ReasonNodeStateUnsealed, Frees: record.FreesAdministrator, Message: fmt.Sprintf(
			"annotation %s is not as the operator wrote it, so the runtime taint stays; remove the annotation to have the packages applied again on this node",
			v1alpha1.AnnotationNodeStatePrefix+skyhook)},
	}
}

// HoldNode returns what keeps one node from new work for a Skyhook; nil when nothing does. Only a Skyhook that workloads
// wait for works under the runtime taint; for others, goes says that the operator will take it off the node by itself.
func HoldNode(s *v1alpha1.Skyhook, node *corev1.Node, runtime corev1.Taint, goes bool) *lifecycle.Hold {
	if node.Labels[v1alpha1.LabelIgnore] == "true" {
		return &lifecycle.Hold{
			Status: v1alpha1.StatusBlocked, Release: true,
			Wait: lifecycle.Wait{Reason: v1alpha1.ReasonNodeIgnored, Frees: record.FreesAdministrator, Message: "label " + v1alpha1.LabelIgnore + " is \"true\""},
		}
	}
	var hold *lifecycle.Hold
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		own := taint.MatchTaint(&runtime)
		if s.Spec.RuntimeRequired && own || !repels(taint) || tolerated(s, taint) {
			continue
		}
		if !own || !goes {
			return holdTainted(record.FreesAdministrator, fmt.Sprintf("taint %s is not tolerated; add it to spec.additionalTolerations or remove it from the node", taint.ToString()))
		}
		hold = holdTainted(record.FreesOther, fmt.Sprintf("taint %s is not tolerated; the operator removes it when the Skyhooks with runtimeRequired are complete here", taint.ToString()))
	}
	return hold
}

func holdTainted(frees record.Frees, message string) *lifecycle.Hold {
	return &lifecycle.Hold{
		Status: v1alpha1.StatusBlocked, Release: true,
		Wait: lifecycle.Wait{Reason: v1alpha1.ReasonTaintNotTolerable, Frees: frees, Message: message},
	}
}

// repels reports whether the taint's effect matters to a pod that is bound to its node directly. What the node
// lifecycle controller sets while a node is away, as in a reboot, comes and goes and says nothing about intent.
func repels(t *corev1.Taint) bool {
	if t.Effect == corev1.TaintEffectPreferNoSchedule {
		return false
	}
	switch t.Key {
	case corev1.TaintNodeUnschedulable, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
		corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeNetworkUnavailable:
		return false
	}
	return true
}

func tolerated(s *v1alpha1.Skyhook, taint *corev1.Taint) bool {
	for i := range s.Spec.AdditionalTolerations {
		if tolerates(&s.Spec.AdditionalTolerations[i], taint) {
			return true
		}
	}
	return false
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
func HoldInterrupted(by string) *lifecycle.Hold {
	return &lifecycle.Hold{
		Status: v1alpha1.StatusWaiting, Release: true,
		Wait: lifecycle.Wait{Reason: v1alpha1.ReasonWaitingForInterrupt, Frees: record.FreesOther, Message: fmt.Sprintf("Skyhook %s interrupts the node", by)},
	}
}

// HoldAfterInterrupt is the hold by an earlier Skyhook of one whose own interrupt is in flight on the node: it starts nothing
// else there, but the earlier one waits for it, and not the other way round.
func HoldAfterInterrupt(order *lifecycle.Hold) *lifecycle.Hold {
	return &lifecycle.Hold{
		Status: v1alpha1.StatusInProgress, Release: order.Release,
		Wait: lifecycle.Wait{
			Reason: v1alpha1.ReasonWaitingForInterrupt, Frees: record.FreesNode,
			Message: "its own interrupt is under way on the node; after that " + order.Message,
		},
	}
}

// Earlier is what a Skyhook needs to know of one that comes before it on the same node.
type Earlier struct {
	Skyhook *v1alpha1.Skyhook
	// IncompleteHere says that it targets the node and is not complete there.
	IncompleteHere bool
}

// HoldOrder returns a hold while a Skyhook that comes earlier has to finish first; nil when none has.
func HoldOrder(earlier []Earlier) *lifecycle.Hold {
	for _, e := range earlier {
		// One that is being deleted installs nothing any more, and may take long to go.
		all := e.Skyhook.Spec.Sequencing == v1alpha1.SequencingAll && e.Skyhook.DeletionTimestamp == nil && !CompleteEverywhere(e.Skyhook)
		if !all && !e.IncompleteHere {
			continue
		}
		where := "on this node"
		if all {
			where = "on all its nodes, as its sequencing is \"all\""
		}
		w := lifecycle.Wait{
			Reason: v1alpha1.ReasonWaitingForSkyhook, Frees: record.FreesOther,
			Message: fmt.Sprintf("Skyhook %s, which has priority %d, must be complete %s first", e.Skyhook.Name, e.Skyhook.Spec.Priority, where),
		}
		if e.Skyhook.Annotations[v1alpha1.AnnotationPause] == "true" {
			w.Frees, w.Message = record.FreesAdministrator, w.Message+"; it is paused: remove its annotation "+v1alpha1.AnnotationPause
		}
		return &lifecycle.Hold{Status: v1alpha1.StatusWaiting, Release: true, Wait: w}
	}
	return nil
}

// Compare orders Skyhooks as they work where they target the same node: by priority, then by name.
func Compare(a, b *v1alpha1.Skyhook) int {
	return cmp.Or(cmp.Compare(a.Spec.Priority, b.Spec.Priority), cmp.Compare(a.Name, b.Name))
}

// Before reports whether Skyhook a comes before b where both target a node.
func Before(a, b *v1alpha1.Skyhook) bool { return Compare(a, b) < 0 }

// Precedes reports whether a has to be finished before b may work: it comes before b and is not disabled.
func Precedes(a, b *v1alpha1.Skyhook) bool {
	return Before(a, b) && a.Annotations[v1alpha1.AnnotationDisable] != "true"
}

// Stopped reports whether a person stopped a Skyhook on purpose, so that it does not get on until one takes that back.
func Stopped(s *v1alpha1.Skyhook) bool {
	return s.Annotations[v1alpha1.AnnotationPause] == "true" || s.Annotations[v1alpha1.AnnotationDisable] == "true"
}

// CompleteEverywhere asks the condition, not the status: a Skyhook that was paused when it was complete still is.
func CompleteEverywhere(s *v1alpha1.Skyhook) bool {
	return s.Status.ObservedGeneration == s.Generation && meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady)
}
