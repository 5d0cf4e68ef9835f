package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// metaPatience is how old a pod has to be until what it mounts and the cache lacks is written again: before, the cache
// may only not show it yet.
const metaPatience = time.Minute

// fieldManager owns what this controller applies.
const fieldManager = "skyhook-node-controller"

// writeNodeMeta brings the ConfigMap with the node's metadata up to date, before a pod mounts it.
func (i *item) writeNodeMeta(ctx context.Context) error {
	p, s := i.pass, i.skyhook
	want, err := p.Workload.NodeMeta(s, p.node)
	if err != nil {
		return err
	}
	digest := workload.ContentDigest(want)
	var have corev1.ConfigMap
	err = p.Client.Get(ctx, client.ObjectKeyFromObject(want), &have, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get ConfigMap %s: %w", want.Name, err)
	}
	exists := err == nil
	if exists && workload.MetaDigest(&have) == digest && metav1.IsControlledBy(&have, s) {
		return nil
	}
	want.Annotations[v1alpha1.AnnotationDigest] = digest
	if exists { // as a whole, so that nothing stays that others put there
		want.ResourceVersion = have.ResourceVersion
		err = p.Client.Update(ctx, want, client.FieldOwner(fieldManager))
	} else {
		err = p.Client.Apply(ctx, applyConfigMap(want), client.FieldOwner(fieldManager), client.ForceOwnership)
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s with the metadata of node %s: %w", want.Name, p.node.Name, err)
	}
	return nil
}

// keepNodeMeta writes the ConfigMap again if it is gone while a pod mounts it, which starts no container without it, nor
// after the next boot: the cache may have shown one that a pass had deleted that took the node for gone.
func (i *item) keepNodeMeta(ctx context.Context) error {
	p := i.pass
	if !slices.ContainsFunc(p.pods, func(pod *corev1.Pod) bool {
		return metav1.IsControlledBy(pod, i.skyhook) && pod.DeletionTimestamp == nil && !workload.Ended(pod) &&
			p.now.Sub(pod.CreationTimestamp.Time) >= metaPatience
	}) {
		return nil
	}
	key := client.ObjectKey{Namespace: p.Workload.Namespace, Name: workload.NodeMetaName(i.skyhook.Name, p.node.Name)}
	err := p.Client.Get(ctx, key, &corev1.ConfigMap{}, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return i.writeNodeMeta(ctx)
	}
	if err != nil {
		err = fmt.Errorf("get ConfigMap %s: %w", key.Name, err)
	}
	return err
}

func applyConfigMap(cm *corev1.ConfigMap) *corev1ac.ConfigMapApplyConfiguration {
	ref := cm.OwnerReferences[0]
	controls, blocks := ref.Controller != nil && *ref.Controller, ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
	return corev1ac.ConfigMap(cm.Name, cm.Namespace).
		WithLabels(cm.Labels).WithAnnotations(cm.Annotations).WithData(cm.Data).
		WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion(ref.APIVersion).WithKind(ref.Kind).
			WithName(ref.Name).WithUID(ref.UID).WithController(controls).WithBlockOwnerDeletion(blocks))
}

// conditionChanges are the items of a strategic merge patch that give the node its conditions of all Skyhooks, and
// remove those of Skyhooks that left; none when none changed.
func (p *pass) conditionChanges() []any {
	want := p.conditions()
	if sameConditions(p.node.Status.Conditions, want) {
		return nil
	}
	var changes []any
	for _, c := range want {
		changes = append(changes, c)
	}
	for _, h := range p.node.Status.Conditions {
		wanted := slices.ContainsFunc(want, func(w corev1.NodeCondition) bool { return w.Type == h.Type })
		if record.OwnsCondition(h.Type) && !wanted {
			changes = append(changes, map[string]any{"$patch": "delete", "type": h.Type})
		}
	}
	return changes
}

// conditions are all that the node should have of ours: those of this pass, and those of Skyhooks that it left alone.
func (p *pass) conditions() []corev1.NodeCondition {
	var want []corev1.NodeCondition
	for _, i := range p.items {
		if !i.decision.Removing && !i.withheld {
			d := i.decision
			want = append(want,
				record.Conditions(i.skyhook.Name, d.Record, d.Erroring, p.node.Status.Conditions, metav1.NewTime(p.now))...)
		}
	}
	handled := func(t corev1.NodeConditionType) bool {
		return slices.ContainsFunc(p.items, func(i *item) bool {
			return !i.withheld && record.ConditionOf(i.skyhook.Name, t)
		})
	}
	exists := func(t corev1.NodeConditionType) bool {
		return slices.ContainsFunc(p.skyhooks, func(s *v1alpha1.Skyhook) bool { return record.ConditionOf(s.Name, t) })
	}
	for _, c := range p.node.Status.Conditions {
		if record.OwnsCondition(c.Type) && !handled(c.Type) && exists(c.Type) {
			want = append(want, c)
		}
	}
	return want
}

// sameConditions compares our conditions in have with want, without their times.
func sameConditions(have, want []corev1.NodeCondition) bool {
	count := 0
	for _, h := range have {
		if !record.OwnsCondition(h.Type) {
			continue
		}
		count++
		if !slices.ContainsFunc(want, func(w corev1.NodeCondition) bool {
			return w.Type == h.Type && w.Status == h.Status && w.Reason == h.Reason
		}) {
			return false
		}
	}
	return count == len(want)
}
