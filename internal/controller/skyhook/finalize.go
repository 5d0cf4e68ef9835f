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
func (p *pass) finalize(ctx context.Context) error {
	if !controllerutil.ContainsFinalizer(p.skyhook, v1alpha1.Finalizer) {
		return p.leave(ctx)
	}
	if err := p.read(ctx); err != nil {
		return err
	}
	defer p.reconciler.spareNodes(p.in.Nodes)
	unprepared := p.prepare(ctx)
	p.obstruct(unprepared)
	if unprepared != nil && obstacleOf(unprepared) == nil {
		return unprepared
	}
	left, unknown := p.leftovers(ctx)
	if unknown == nil {
		p.unsure = errors.Join(p.unsure, p.goneOf(ctx, left))
	}
	if unknown = p.known.failures.lasting(unknown, v1alpha1.ReasonPassFailed); unknown != nil {
		if obstacleOf(unknown) == nil {
			return unknown
		}
		if rollout.AllComplete(p.in.Nodes) {
			p.in.Hold = obstacleOf(unknown).hold() // whatever else holds the Skyhook is not what keeps it
		}
		p.obstruct(unknown)
	}
	if unknown != nil || len(left) > 0 || !rollout.AllComplete(p.in.Nodes) {
		p.in.Freeing = left
		if err := p.writePlan(ctx); err != nil {
			return err
		}
		return errors.Join(unprepared, unknown, p.unsure, p.pruneConfigMaps(ctx))
	}
	if err := p.release(ctx); err != nil {
		if o := obstacleOf(err); o != nil { // nothing but this is left to tell
			p.in.Hold = o.hold()
			return errors.Join(p.writePlan(ctx), err)
		}
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Skyhook removed from all nodes", logs.Skyhook, p.skyhook.Name)
	p.reportAbandoned()
	return p.leave(ctx)
}

// leave forgets a Skyhook of which nothing is left. If somebody else's finalizer keeps it, its status says so.
func (p *pass) leave(ctx context.Context) error {
	s := p.skyhook
	p.Metrics.Forget(s.Name)
	if len(s.Finalizers) == 0 {
		return nil
	}
	last := rollout.Plan(rollout.Input{Skyhook: s, Deleting: true, Now: p.Clock.Now()})
	return client.IgnoreNotFound(p.writeStatus(ctx, last))
}

// release removes the finalizer.
func (p *pass) release(ctx context.Context) error {
	s := p.skyhook
	before := s.DeepCopy()
	controllerutil.RemoveFinalizer(s, v1alpha1.Finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := p.Client.Patch(ctx, s, patch); client.IgnoreNotFound(err) != nil {
		before.DeepCopyInto(s)
		err = fmt.Errorf("remove the finalizer of Skyhook %s: %w", s.Name, err)
		return p.refused(err, v1alpha1.ReasonClaimRefused, "the Skyhook")
	}
	return nil
}

// leftovers returns the sorted names of nodes that still have a pod or a part of the record of the Skyhook that has to
// go. The cache may be behind: when it shows none the API server is asked, before the last witness goes.
func (p *pass) leftovers(ctx context.Context) ([]string, error) {
	cached, err := p.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]metav1.ObjectMeta, len(cached))
	for i, n := range cached {
		nodes[i] = n.ObjectMeta
	}
	left, err := p.leftOn(ctx, p.Client, nodes)
	if err != nil || len(left) > 0 {
		return left, err
	}
	if nodes, err = liveNodes(ctx, p.Live); err != nil {
		return nil, err
	}
	return p.leftOn(ctx, p.Live, nodes)
}

// liveNodes reads the metadata of all nodes, in pages: there may be thousands.
func liveNodes(ctx context.Context, reader client.Reader) ([]metav1.ObjectMeta, error) {
	const page = 500
	var all []metav1.ObjectMeta
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	for {
		if err := reader.List(ctx, &list, client.Limit(page), client.Continue(list.Continue)); err != nil {
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

func (p *pass) leftOn(ctx context.Context, reader client.Reader, nodes []metav1.ObjectMeta) ([]string, error) {
	s := p.skyhook
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(p.Workload.Namespace),
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
func (p *pass) reportAbandoned() {
	for _, n := range p.in.Nodes {
		if n.Abandoned && n.Recorded != "" {
			p.Events.Eventf(p.skyhook, nil, corev1.EventTypeWarning, v1alpha1.EventUninstallAbandoned, "Delete",
				"packages stay on node %s, because the annotation %s names it: %s; the annotation %s of the node lists them",
				n.Name, v1alpha1.AnnotationAbandonUninstall, n.Recorded, v1alpha1.AnnotationNodeStatePrefix+p.skyhook.Name)
		}
	}
}
