package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// Sources are what wakes nodes.
func (r *Reconciler) Sources() []state.Source {
	return []state.Source{
		state.Keyed(&corev1.Node{}, state.NodeChanged()),
		state.Watched(&corev1.Node{}, r.recordsOfGone()),
		state.Watched(&corev1.Pod{}, r.podHandler(), podChanged()),
		state.Mapped(&corev1.ConfigMap{}, r.permittedNodes),
		state.Mapped(&corev1.ConfigMap{}, nodeOfMeta, appeared()),
		state.Mapped(&corev1.ConfigMap{}, r.everyNode, state.IsStop()),
		state.Watched(&v1alpha1.Skyhook{}, r.skyhookHandler()),
		state.Mapped(&v1alpha1.DeploymentPolicy{}, r.pacedNodes, state.GenerationChanged()),
	}
}

// SetupWithManager registers the controller: one key per node, several nodes at a time.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return state.SetUp(mgr, "node", state.Order{Workers: workers, Urgent: r.urgent}, r.Sources(), r)
}

// urgent reports whether a node goes before others, as the cache has it. What has begun is finished before more begins: a
// node with package pods, or one that is cordoned. One that is not Ready may be new, and workloads come as soon as it is,
// so a taint that keeps them off must not wait.
func (r *Reconciler) urgent(req ctrl.Request) bool {
	ctx := context.Background() // the cache asks nobody
	var node corev1.Node
	if err := r.Client.Get(ctx, req.NamespacedName, &node, client.UnsafeDisableDeepCopy); err != nil {
		return false
	}
	if node.Spec.Unschedulable || !state.Ready(&node) {
		return true
	}
	pods, err := r.PodsOn(ctx, node.Name)
	return err == nil && len(pods) > 0
}

// recordsOfGone wakes nobody: it drops what passes over a node have read.
func (r *Reconciler) recordsOfGone() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ state.Queue) {
		r.Records.Forget(e.Object.GetUID())
	}}
}

func nodeOfPod(_ context.Context, o client.Object) []reconcile.Request {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	return []reconcile.Request{request(pod.Spec.NodeName)}
}

// podChanged drops updates that tell nothing about the pod's stage.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*corev1.Pod)
		after, okAfter := e.ObjectNew.(*corev1.Pod)
		if !okBefore || !okAfter {
			return true
		}
		was, errBefore := workload.Observe(before)
		is, errAfter := workload.Observe(after)
		return errBefore != nil || errAfter != nil || was != is
	}}
}

// permittedNodes are those that may wait for a package's ConfigMap.
func (r *Reconciler) permittedNodes(ctx context.Context, cm client.Object) []reconcile.Request {
	name, ok := cm.GetLabels()[v1alpha1.LabelName]
	if !ok {
		return nil
	}
	var s v1alpha1.Skyhook
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, &s, client.UnsafeDisableDeepCopy); err != nil {
		return nil // gone, or its own event follows
	}
	return permitted(&s)
}

func permitted(s *v1alpha1.Skyhook) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(s.Status.Permits))
	for _, p := range s.Status.Permits {
		requests = append(requests, request(p.Node))
	}
	return requests
}

// pacedNodes are those of Skyhooks that name a policy: without it nothing new starts, and each of them says so.
func (r *Reconciler) pacedNodes(ctx context.Context, policy client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, s := range r.Policies.Changed(ctx, r.Client, policy) {
		requests = append(requests, r.nodesOf(ctx, &s)...)
	}
	return requests
}

// skyhookHandler wakes the nodes that a change of a Skyhook concerns: those whose permit changed, those that waited for it, or all of its nodes
// when there is a new plan for a new generation, when a user steers it, or when it comes or goes.
func (r *Reconciler) skyhookHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q state.Queue) { r.wakeAll(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q state.Queue) {
			r.wakeAll(ctx, e.Object, q)
			if s, ok := e.Object.(*v1alpha1.Skyhook); ok {
				r.wakeLater(ctx, s, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q state.Queue) {
			before, okBefore := e.ObjectOld.(*v1alpha1.Skyhook)
			after, okAfter := e.ObjectNew.(*v1alpha1.Skyhook)
			if !okBefore || !okAfter {
				return
			}
			all := concernsAll(before, after)
			if all && !equality.Semantic.DeepEqual(before.Spec.NodeSelectors, after.Spec.NodeSelectors) {
				r.wakeAll(ctx, before, q)
			}
			if all {
				r.wakeAll(ctx, after, q) // last, so that the target that is known is that of the new spec
			}
			for node := range changedPermits(before, after) {
				q.Add(request(node))
			}
			if all || before.Generation != after.Generation || rollout.CompleteEverywhere(before) != rollout.CompleteEverywhere(after) {
				r.wakeLater(ctx, before, q)
				r.wakeLater(ctx, after, q)
			}
		},
	}
}

// wakeLater wakes the nodes at work for Skyhooks that come after one which has to be complete everywhere before: what has
// begun there may have waited for it, and needs no node of it.
func (r *Reconciler) wakeLater(ctx context.Context, s *v1alpha1.Skyhook, q state.Queue) {
	if s.Spec.Sequencing != v1alpha1.SequencingAll {
		return
	}
	var all v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the Skyhooks that come later")
	}
	for i := range all.Items {
		if !rollout.Before(s, &all.Items[i]) {
			continue
		}
		for _, node := range permitted(&all.Items[i]) {
			q.Add(node)
		}
	}
}

func concernsAll(before, after *v1alpha1.Skyhook) bool {
	return !state.SameSteering(before, after) ||
		before.Status.ObservedGeneration != after.Status.ObservedGeneration ||
		(before.Status.SealedSince == nil) != (after.Status.SealedSince == nil)
}

// changedPermits are the nodes that got, lost or changed their permit.
func changedPermits(before, after *v1alpha1.Skyhook) map[string]bool {
	changed := map[string]bool{}
	had := make(map[string]v1alpha1.Permit, len(before.Status.Permits))
	for _, p := range before.Status.Permits {
		had[p.Node] = p
	}
	for _, p := range after.Status.Permits {
		if had[p.Node] != p {
			changed[p.Node] = true
		}
		delete(had, p.Node)
	}
	for node := range had {
		changed[node] = true
	}
	return changed
}

// everyNode that has to do with a Skyhook is woken when all are stopped, or continue.
func (r *Reconciler) everyNode(ctx context.Context, _ client.Object) []reconcile.Request {
	var all v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the Skyhooks that are stopped, or continue")
	}
	var requests []reconcile.Request
	for i := range all.Items {
		requests = append(requests, r.nodesOf(ctx, &all.Items[i])...)
	}
	return requests
}

// wakeAll queues every node that a Skyhook targets or has left something on.
func (r *Reconciler) wakeAll(ctx context.Context, o client.Object, q state.Queue) {
	if s, ok := o.(*v1alpha1.Skyhook); ok {
		for _, node := range r.nodesOf(ctx, s) {
			q.Add(node)
		}
	}
}

// nodesOf are the nodes that a Skyhook targets or has left something on.
func (r *Reconciler) nodesOf(ctx context.Context, s *v1alpha1.Skyhook) []reconcile.Request {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list nodes of a Skyhook", "skyhook", s.Name)
		return nil
	}
	var requests []reconcile.Request
	for _, n := range nodes {
		if r.Targets.Selects(s, n.Labels) || record.Exists(s.Name, n.Annotations, n.Labels) {
			requests = append(requests, request(n.Name))
		}
	}
	return requests
}

func request(node string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: node}}
}
