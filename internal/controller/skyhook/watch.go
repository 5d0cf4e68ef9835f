package skyhook

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// Sources are what wakes Skyhooks.
func (r *Reconciler) Sources() []state.Source {
	return []state.Source{
		state.Keyed(&v1alpha1.Skyhook{}, predicate.Or(
			state.GenerationChanged(), predicate.AnnotationChangedPredicate{}, deletionAdvanced())),
		state.Mapped(&v1alpha1.Skyhook{}, r.successors, orderChanged()),
		state.Mapped(&v1alpha1.DeploymentPolicy{}, r.pacedSkyhooks, state.GenerationChanged()),
		state.Mapped(&corev1.Node{}, r.skyhooksOn, state.NodeChanged()),
		state.Mapped(&corev1.Pod{}, skyhookOf, podGone()),
		state.Mapped(&corev1.ConfigMap{}, skyhookOf),
		state.Mapped(&corev1.ConfigMap{}, r.everySkyhook, state.IsStop()),
		state.Mapped(&appsv1.ControllerRevision{}, skyhookOf, predicate.NewPredicateFuncs(isPin)),
	}
}

// SetupWithManager registers the controller: one key per Skyhook.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return state.SetUp(mgr, "skyhook", state.Order{Workers: workers}, r.Sources(), r)
}

// pacedSkyhooks are those that name a policy which comes, changes or goes.
func (r *Reconciler) pacedSkyhooks(ctx context.Context, policy client.Object) []reconcile.Request {
	return requests(r.Policies.Changed(ctx, r.Client, policy), func(*v1alpha1.Skyhook) bool { return true })
}

// deletionAdvanced lets a deletion through when it starts, and when a finalizer goes: the status names those of others.
func deletionAdvanced() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return after.GetDeletionTimestamp() != nil &&
			(before.GetDeletionTimestamp() == nil || !slices.Equal(before.GetFinalizers(), after.GetFinalizers()))
	}}
}

// podGone lets deletions through: they may free a ConfigMap or end the deletion of a Skyhook. So may a pod that only
// somebody's finalizer keeps; if its node is gone, it frees the permit.
func podGone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return leaving(e.ObjectOld) != leaving(e.ObjectNew) },
	}
}

// progress is how far a pod is that is being deleted: something keeps it once it has ended, or its grace period has,
// which a later deletion can shorten.
type progress struct {
	due   int64 // in seconds of Unix time, 0 while it is not being deleted
	ended bool
}

func leaving(o client.Object) progress {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.DeletionTimestamp == nil {
		return progress{}
	}
	return progress{due: pod.DeletionTimestamp.Unix(), ended: workload.Ended(pod)}
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

// skyhooksOn are those that target a node, or have left something on it.
func (r *Reconciler) skyhooksOn(ctx context.Context, n client.Object) []reconcile.Request {
	return requests(r.all(ctx), func(s *v1alpha1.Skyhook) bool {
		return r.Targets.Selects(s, n.GetLabels()) || record.Exists(s.Name, n.GetAnnotations(), n.GetLabels())
	})
}

// everySkyhook is woken when all are stopped, or continue.
func (r *Reconciler) everySkyhook(ctx context.Context, _ client.Object) []reconcile.Request {
	return requests(r.all(ctx), func(*v1alpha1.Skyhook) bool { return true })
}

// successors are the Skyhooks that come after one.
func (r *Reconciler) successors(ctx context.Context, o client.Object) []reconcile.Request {
	first, ok := o.(*v1alpha1.Skyhook)
	return requests(r.all(ctx), func(s *v1alpha1.Skyhook) bool { return ok && rollout.Before(first, s) })
}

func (r *Reconciler) all(ctx context.Context) []v1alpha1.Skyhook {
	var all v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the Skyhooks that an event concerns")
	}
	return all.Items
}

func requests(skyhooks []v1alpha1.Skyhook, concerned func(*v1alpha1.Skyhook) bool) []reconcile.Request {
	var list []reconcile.Request
	for i := range skyhooks {
		if concerned(&skyhooks[i]) {
			list = append(list, request(skyhooks[i].Name))
		}
	}
	return list
}

// orderChanged lets a Skyhook through whose progress or order matters to others.
func orderChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, okBefore := e.ObjectOld.(*v1alpha1.Skyhook)
			after, okAfter := e.ObjectNew.(*v1alpha1.Skyhook)
			return okBefore && okAfter && orderMatters(before, after)
		},
	}
}

func orderMatters(before, after *v1alpha1.Skyhook) bool {
	return before.Generation != after.Generation || before.Status.Status != after.Status.Status ||
		rollout.CompleteEverywhere(before) != rollout.CompleteEverywhere(after) ||
		before.Annotations[v1alpha1.AnnotationDisable] != after.Annotations[v1alpha1.AnnotationDisable] ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
}
