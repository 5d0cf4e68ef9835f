package skyhook

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
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

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Sources are what wakes Skyhooks.
func (r *Reconciler) Sources() []state.Source {
	return []state.Source{
		state.Keyed(&v1alpha1.Skyhook{}, predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, deletionStarted())),
		state.Watched(&v1alpha1.Skyhook{}, r.successorHandler()),
		state.Watched(&v1alpha1.DeploymentPolicy{}, r.policyHandler(), predicate.GenerationChangedPredicate{}),
		state.Watched(&corev1.Node{}, r.nodeHandler(), state.NodeChanged()),
		state.Watched(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(skyhookOf), podGone()),
		state.Watched(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(skyhookOf)),
		state.Watched(&appsv1.ControllerRevision{}, handler.EnqueueRequestsFromMapFunc(skyhookOf), predicate.NewPredicateFuncs(isPin)),
	}
}

// SetupWithManager registers the controller: one key per Skyhook.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return state.SetUp(mgr, "skyhook", workers, r.Sources(), r)
}

// policyHandler wakes the Skyhooks that name a policy which comes, changes or goes.
func (r *Reconciler) policyHandler() handler.EventHandler {
	wake := func(ctx context.Context, o client.Object, q queue) {
		var all v1alpha1.SkyhookList
		if err := r.Client.List(ctx, &all); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list the Skyhooks of a policy", "policy", o.GetName())
			return
		}
		for i := range all.Items {
			if all.Items[i].Spec.DeploymentPolicy == o.GetName() {
				q.Add(request(all.Items[i].Name))
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			wake(ctx, e.Object, q)
			r.Policies.Forget(e.Object.GetName())
		},
	}
}

func deletionStarted() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
	}}
}

// podGone lets only deletions through: they may free a ConfigMap or end the deletion of a Skyhook.
func podGone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// isPin lets only pins through: the nodes write them, and what they say of moved tags is for the status.
func isPin(o client.Object) bool { return workload.IsPin(o) }

// skyhookOf maps a package pod, a ConfigMap or a pin to its Skyhook.
func skyhookOf(_ context.Context, o client.Object) []reconcile.Request {
	name, ok := o.GetLabels()[v1alpha1.LabelName]
	if owner := metav1.GetControllerOf(o); !ok || owner == nil {
		return nil
	}
	return []reconcile.Request{request(name)}
}

// nodeHandler wakes the Skyhooks that target a node now, did before, or have left something on it.
func (r *Reconciler) nodeHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.wakeSkyhooksOf(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			r.wakeSkyhooksOf(ctx, q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			r.wakeSkyhooksOf(ctx, q, e.Object)
			r.Records.Forget(e.Object.GetUID())
		},
	}
}

func (r *Reconciler) wakeSkyhooksOf(ctx context.Context, q queue, nodes ...client.Object) {
	var all v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &all); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the Skyhooks of a node", "node", nodes[0].GetName())
		return
	}
	for i := range all.Items {
		s := &all.Items[i]
		for _, n := range nodes {
			if r.Targets.Selects(s, n.GetLabels()) || record.Exists(s.Name, n.GetAnnotations(), n.GetLabels()) {
				q.Add(request(s.Name))
				break
			}
		}
	}
}

// successorHandler wakes the Skyhooks that come after one whose progress or order changed.
func (r *Reconciler) successorHandler() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.wakeSuccessors(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, okBefore := e.ObjectOld.(*v1alpha1.Skyhook)
			after, okAfter := e.ObjectNew.(*v1alpha1.Skyhook)
			if okBefore && okAfter && orderMatters(before, after) {
				r.wakeSuccessors(ctx, q, before, after)
			}
		},
	}
}

func orderMatters(before, after *v1alpha1.Skyhook) bool {
	return before.Generation != after.Generation || before.Status.Status != after.Status.Status ||
		rollout.CompleteEverywhere(before) != rollout.CompleteEverywhere(after) ||
		before.Annotations[v1alpha1.AnnotationDisable] != after.Annotations[v1alpha1.AnnotationDisable] ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
}

func (r *Reconciler) wakeSuccessors(ctx context.Context, q queue, changed ...client.Object) {
	var all v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &all); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the Skyhooks that come after one", "skyhook", changed[0].GetName())
		return
	}
	for i := range all.Items {
		for _, o := range changed {
			if s, ok := o.(*v1alpha1.Skyhook); ok && rollout.Before(s, &all.Items[i]) {
				q.Add(request(all.Items[i].Name))
			}
		}
	}
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
}
