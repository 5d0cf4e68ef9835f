package policy

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
)

// Sources are what wakes policies. One that was written is looked at once more: the pass may have been made from a cache
// that did not show what was written before.
func (r *Reconciler) Sources() []state.Source {
	return []state.Source{
		state.Keyed(&v1alpha1.DeploymentPolicy{}),
		state.Watched(&v1alpha1.Skyhook{}, gathered(named), state.GenerationChanged()),
		state.Watched(&corev1.Node{}, gathered(r.all), labelsChanged()),
	}
}

// SetupWithManager registers the controller: one key per policy, one worker.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return state.SetUp(mgr, "deploymentpolicy", state.Order{Workers: 1}, r.Sources(), r)
}

// gathered wakes policies after passInterval: what happens meanwhile to the whole fleet is one pass.
func gathered(policies func(context.Context, client.Object) []string) handler.EventHandler {
	add := func(ctx context.Context, o client.Object, q state.Queue) {
		for _, name := range policies(ctx, o) {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}, passInterval)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q state.Queue) { add(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q state.Queue) { add(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q state.Queue) {
			add(ctx, e.ObjectOld, q)
			add(ctx, e.ObjectNew, q)
		},
	}
}

// named is the policy that a Skyhook names.
func named(_ context.Context, o client.Object) []string {
	if s, ok := o.(*v1alpha1.Skyhook); ok && s.Spec.DeploymentPolicy != "" {
		return []string{s.Spec.DeploymentPolicy}
	}
	return nil
}

// all are all policies; there are few.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []string {
	var policies v1alpha1.DeploymentPolicyList
	if err := r.Client.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the policies that a node concerns")
	}
	names := make([]string, 0, len(policies.Items))
	for i := range policies.Items {
		names = append(names, policies.Items[i].Name)
	}
	return names
}

// labelsChanged drops updates of a node that move it to no other selection or compartment.
func labelsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
	}}
}
