package skyhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// shortened are the ways to write a status, from all of it to what nothing goes without: what a single node made
// unacceptable must not keep the permits of all others from being stored.
var shortened = []struct {
	without string
	cut     func(*v1alpha1.SkyhookStatus)
}{
	{"", func(*v1alpha1.SkyhookStatus) {}},
	{"the per-node maps", func(s *v1alpha1.SkyhookStatus) {
		s.NodeState, s.NodeStatus, s.NodeBootIDs, s.NodePriority = nil, nil, nil, nil
	}},
	{"the per-node maps and attention", func(s *v1alpha1.SkyhookStatus) { s.Attention = nil }},
}

// writeStatus stores the plan. All permits are in this one object, and it is compared and swapped: a plan made from an
// old view of the permits is refused.
func (p *pass) writeStatus(ctx context.Context, status v1alpha1.SkyhookStatus) error {
	s := p.skyhook
	before := s.DeepCopy()
	var invalid error
	for _, form := range shortened {
		form.cut(&status)
		if equality.Semantic.DeepEqual(before.Status, status) {
			s.Status = before.Status
			return nil
		}
		err := p.patchStatus(ctx, before, status)
		if err == nil {
			p.known.pace.wrote(s, p.Clock.Now())
			p.report(ctx, before.Status)
			if invalid != nil {
				p.Events.Eventf(s, nil, corev1.EventTypeWarning, v1alpha1.EventStatusRefused, "Plan",
					"the status is written without %s, because the API server refuses it with them: %v", form.without, invalid)
			}
			return nil
		}
		if !apierrors.IsInvalid(err) {
			return err
		}
		invalid = err
	}
	return invalid
}

func (p *pass) patchStatus(ctx context.Context, before *v1alpha1.Skyhook, status v1alpha1.SkyhookStatus) error {
	s := p.skyhook
	before.DeepCopyInto(s)
	s.Status = status
	lock := client.MergeFromWithOptimisticLock{}
	change, err := client.MergeFromWithOptions(statusOf(before), lock).Data(statusOf(s))
	if err != nil {
		return fmt.Errorf("encode the status of Skyhook %s: %w", s.Name, err)
	}
	if err := p.Client.Status().Patch(ctx, s, client.RawPatch(types.MergePatchType, change)); err != nil {
		return fmt.Errorf("write the status of Skyhook %s: %w", s.Name, err)
	}
	return nil
}

// statusOf is a Skyhook without all that a change of its status does not depend on: the spec is much larger.
func statusOf(s *v1alpha1.Skyhook) *v1alpha1.Skyhook {
	object := metav1.ObjectMeta{Name: s.Name, ResourceVersion: s.ResourceVersion}
	return &v1alpha1.Skyhook{ObjectMeta: object, Status: s.Status}
}

// report logs what a status that was written says anew, and sends events about it: a warning for a condition that people
// have to act on, when it comes up or changes.
func (p *pass) report(ctx context.Context, before v1alpha1.SkyhookStatus) {
	s := p.skyhook
	logStatus(ctx, s, before)
	for _, kind := range []string{
		v1alpha1.ConditionDeletionBlocked, v1alpha1.ConditionUninstallFailed, v1alpha1.ConditionUninstallRequired,
		v1alpha1.ConditionDepartedNotReady, v1alpha1.ConditionStalled, v1alpha1.ConditionImageMoved,
	} {
		now, last := meta.FindStatusCondition(s.Status.Conditions, kind), meta.FindStatusCondition(before.Conditions, kind)
		if now == nil || now.Status != metav1.ConditionTrue || now.Reason == v1alpha1.ReasonNodesErroring {
			continue // single nodes have events of their own
		}
		if last == nil || last.Reason != now.Reason {
			p.Events.Eventf(s, nil, corev1.EventTypeWarning, kind, "Plan", "%s", now.Message)
		}
	}
	if from, to := before.Status, s.Status.Status; from != to {
		if from == "" {
			from = v1alpha1.StatusUnknown
		}
		p.Events.Eventf(s, nil, corev1.EventTypeNormal, v1alpha1.EventState, "Plan", "transitioned [%s] -> [%s]", from, to)
	}
}
