package certs

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Cache limits the cache to the objects that the Keeper reads: one Secret and one configuration.
func (k *Keeper) Cache(objects map[client.Object]cache.ByObject) {
	objects[&corev1.Secret{}] = cache.ByObject{Namespaces: map[string]cache.Config{
		k.Secret.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", k.Secret.Name)},
	}}
	objects[&admissionregistrationv1.ValidatingWebhookConfiguration{}] = cache.ByObject{
		Field: fields.OneTermEqualSelector("metadata.name", k.Configuration),
	}
}

// SetupWithManager has the Keeper work in every replica, leader or not, whenever one of its objects changes.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	request := reconcile.Request{NamespacedName: k.Secret}
	same := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{request}
	})
	// The first pass does not wait for an object: there may be none.
	first := source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.Add(request)
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("certificate").
		WatchesRawSource(first).
		Watches(&corev1.Secret{}, same).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, same).
		WithOptions(controller.Options{NeedLeaderElection: new(false), MaxConcurrentReconciles: 1}).
		Complete(k)
}
