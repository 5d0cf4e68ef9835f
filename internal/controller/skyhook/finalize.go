package skyhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// finalize lets a deleted Skyhook go as soon as no node has anything of it any more. The node controller cleans up; each
// node that it has cleaned wakes this.
func (r *Reconciler) finalize(ctx context.Context, s *v1alpha1.Skyhook) error {
	if !controllerutil.ContainsFinalizer(s, Finalizer) {
		return nil
	}
	left, err := r.leftovers(ctx, r.Client, s)
	if err == nil && len(left) == 0 {
		// The cache may be behind: ask the API server before the last witness goes.
		left, err = r.leftovers(ctx, r.Live, s)
	}
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return r.showDeleting(ctx, s, left)
	}
	before := s.DeepCopy()
	controllerutil.RemoveFinalizer(s, Finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, s, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the finalizer of Skyhook %s: %w", s.Name, err)
	}
	r.pacer.forget(s.UID)
	return nil
}

// leftovers returns the sorted names of nodes that still have a pod or the status label of the Skyhook. The label goes
// in the same write as the rest of the record.
func (r *Reconciler) leftovers(ctx context.Context, reader client.Reader, s *v1alpha1.Skyhook) ([]string, error) {
	var nodes corev1.NodeList
	if err := reader.List(ctx, &nodes, client.HasLabels{record.StatusLabel(s.Name)}); err != nil {
		return nil, fmt.Errorf("list nodes with Skyhook %s: %w", s.Name, err)
	}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(r.Workload.Namespace),
		client.MatchingLabels{workload.LabelName: s.Name}); err != nil {
		return nil, fmt.Errorf("list pods of Skyhook %s: %w", s.Name, err)
	}
	var names []string
	for i := range nodes.Items {
		names = append(names, nodes.Items[i].Name)
	}
	for i := range pods.Items {
		if metav1.IsControlledBy(&pods.Items[i], s) {
			names = append(names, pods.Items[i].Spec.NodeName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// showDeleting tells in the status which nodes the deletion waits for.
func (r *Reconciler) showDeleting(ctx context.Context, s *v1alpha1.Skyhook, nodes []string) error {
	const shown = 10
	names := strings.Join(nodes[:min(len(nodes), shown)], ", ")
	status := *s.Status.DeepCopy()
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: rollout.ConditionReconciling, Status: metav1.ConditionTrue, Reason: "Deleting",
		Message:            fmt.Sprintf("%d nodes are being freed of this Skyhook: %s", len(nodes), names),
		ObservedGeneration: s.Generation, LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	})
	return r.writeStatus(ctx, s, status)
}
