package skyhook

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/logs"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// finalize uninstalls what can be uninstalled, and lets a deleted Skyhook go as soon as no node has anything of it any
// more. The node controller does both; each node that it has finished wakes this.
func (r *Reconciler) finalize(ctx context.Context, s *v1alpha1.Skyhook) error {
	if !controllerutil.ContainsFinalizer(s, v1alpha1.Finalizer) {
		return r.leave(ctx, s)
	}
	in, err := r.input(ctx, s, r.Targets.Of(s))
	if err != nil {
		return err
	}
	defer r.spareNodes(in.Nodes)
	unprepared := r.prepare(ctx, s, &in)
	in.obstruct(unprepared)
	if unprepared != nil && obstacleOf(unprepared) == nil {
		return unprepared
	}
	left, unknown := r.leftovers(ctx, s)
	if unknown == nil {
		in.unsure = errors.Join(in.unsure, r.goneOf(ctx, s, left, &in.Input))
	}
	if unknown = r.lasting(s, unknown, v1alpha1.ReasonPassFailed); unknown != nil {
		if obstacleOf(unknown) == nil {
			return unknown
		}
		if rollout.AllComplete(in.Nodes) {
			in.Hold = obstacleOf(unknown).hold() // whatever else holds the Skyhook is not what keeps it
		}
		in.obstruct(unknown)
	}
	if unknown != nil || len(left) > 0 || !rollout.AllComplete(in.Nodes) {
		in.Freeing = left
		if err := r.writePlan(ctx, s, &in); err != nil {
			return err
		}
		return errors.Join(unprepared, unknown, in.unsure, r.pruneConfigMaps(ctx, s, in.uninstalling, in.unhashed))
	}
	if err := r.release(ctx, s); err != nil {
		if o := obstacleOf(err); o != nil { // nothing but this is left to tell
			in.Hold = o.hold()
			return errors.Join(r.writePlan(ctx, s, &in), err)
		}
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Skyhook removed from all nodes", logs.Skyhook, s.Name)
	r.reportAbandoned(s, in.Input)
	return r.leave(ctx, s)
}

// leave forgets a Skyhook of which nothing is left. If somebody else's finalizer keeps it, its status says so.
func (r *Reconciler) leave(ctx context.Context, s *v1alpha1.Skyhook) error {
	r.Metrics.Forget(s.Name)
	if len(s.Finalizers) == 0 {
		return nil
	}
	last := rollout.Plan(rollout.Input{Skyhook: s, Deleting: true, Now: r.Clock.Now()})
	return client.IgnoreNotFound(r.writeStatus(ctx, s, last))
}

// release removes the finalizer.
func (r *Reconciler) release(ctx context.Context, s *v1alpha1.Skyhook) error {
	before := s.DeepCopy()
	controllerutil.RemoveFinalizer(s, v1alpha1.Finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, s, patch); client.IgnoreNotFound(err) != nil {
		before.DeepCopyInto(s)
		err = fmt.Errorf("remove the finalizer of Skyhook %s: %w", s.Name, err)
		return r.refused(s, err, v1alpha1.ReasonClaimRefused, "the Skyhook")
	}
	return nil
}

// leftovers returns the sorted names of nodes that still have a pod or a part of the record of the Skyhook that has to
// go. The cache may be behind: when it shows none the API server is asked, before the last witness goes.
func (r *Reconciler) leftovers(ctx context.Context, s *v1alpha1.Skyhook) ([]string, error) {
	cached, err := r.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]metav1.ObjectMeta, len(cached))
	for i, n := range cached {
		nodes[i] = n.ObjectMeta
	}
	left, err := r.leftOn(ctx, r.Client, s, nodes)
	if err != nil || len(left) > 0 {
		return left, err
	}
	if nodes, err = r.liveNodes(ctx); err != nil {
		return nil, err
	}
	return r.leftOn(ctx, r.Live, s, nodes)
}

// liveNodes reads the metadata of all nodes, in pages: there may be thousands.
func (r *Reconciler) liveNodes(ctx context.Context) ([]metav1.ObjectMeta, error) {
	const page = 500
	var all []metav1.ObjectMeta
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	for {
		if err := r.Live.List(ctx, &list, client.Limit(page), client.Continue(list.Continue)); err != nil {
			return nil, fmt.Errorf("list nodes: %w", err)
		}
		for i := range list.Items {
			all = append(all, list.Items[i].ObjectMeta)
		}
		if list.Continue == "" {
			return all, nil
		}
	}
}

func (r *Reconciler) leftOn(
	ctx context.Context, reader client.Reader, s *v1alpha1.Skyhook, nodes []metav1.ObjectMeta,
) ([]string, error) {
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(r.Workload.Namespace),
		client.MatchingLabels{v1alpha1.LabelName: s.Name}); err != nil {
		return nil, fmt.Errorf("list pods of Skyhook %s: %w", s.Name, err)
	}
	var names []string
	keys := record.KeysOf(s.Name)
	for i := range nodes {
		if keys.Left(nodes[i].Annotations, nodes[i].Labels) {
			names = append(names, nodes[i].Name)
		}
	}
	for i := range pods.Items {
		if metav1.IsControlledBy(&pods.Items[i], s) {
			names = append(names, pods.Items[i].Spec.NodeName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// reportAbandoned tells, once, what stays on nodes that the annotation names on which nothing is uninstalled.
func (r *Reconciler) reportAbandoned(s *v1alpha1.Skyhook, in rollout.Input) {
	for _, n := range in.Nodes {
		if n.Abandoned && n.Recorded != "" {
			r.Events.Eventf(s, nil, corev1.EventTypeWarning, v1alpha1.EventUninstallAbandoned, "Delete",
				"packages stay on node %s, because the annotation %s names it: %s; the annotation %s of the node lists them",
				n.Name, v1alpha1.AnnotationAbandonUninstall, n.Recorded, v1alpha1.AnnotationNodeStatePrefix+s.Name)
		}
	}
}
