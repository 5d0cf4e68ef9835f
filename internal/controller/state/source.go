package state

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue has the keys that a controller is to look at.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Source is one thing that wakes a controller: an event of the Object's kind that passes all Predicates goes to the
// Handler, which queues keys. Sources are values, so that the manager and the fault simulator wake by the same rules.
type Source struct {
	Object     client.Object
	Handler    handler.EventHandler
	Predicates []predicate.Predicate
}

// Keyed is the source whose objects are the controller's keys.
func Keyed(o client.Object, predicates ...predicate.Predicate) Source {
	return Source{Object: o, Handler: &handler.EnqueueRequestForObject{}, Predicates: predicates}
}

// Watched is a source whose events the handler maps to keys.
func Watched(o client.Object, h handler.EventHandler, predicates ...predicate.Predicate) Source {
	return Source{Object: o, Handler: h, Predicates: predicates}
}

// Mapped is a source whose events wake the keys that the object is mapped to; of an update, the old one and the new
// one.
func Mapped(o client.Object, keys handler.MapFunc, predicates ...predicate.Predicate) Source {
	return Watched(o, handler.EnqueueRequestsFromMapFunc(keys), predicates...)
}

// Order is how a controller takes the keys that wait.
type Order struct {
	// Workers is how many keys are worked on at a time.
	Workers int
	// Urgent says of a key that is added whether it goes before those that are not urgent; nil if none is.
	Urgent func(reconcile.Request) bool
}

// SetUp registers a controller that its sources wake. One source is Keyed; log lines name its kind.
func SetUp(mgr ctrl.Manager, name string, order Order, sources []Source, r reconcile.Reconciler) error {
	options := controller.Options{MaxConcurrentReconciles: order.Workers}
	if order.Urgent != nil {
		options.NewQueue = newQueue(order.Urgent)
	}
	b := ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(options)
	for _, s := range sources {
		with := builder.WithPredicates(s.Predicates...)
		if _, keyed := s.Handler.(*handler.EnqueueRequestForObject); keyed {
			b = b.For(s.Object, with)
		} else {
			b = b.Watches(s.Object, s.Handler, with)
		}
	}
	return b.Complete(whileRunning(r))
}

// whileRunning leaves out the passes that are queued when the operator is told to stop, and what is said of those that
// are under way: all that they ask for fails. The next operator makes them again.
func whileRunning(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, key reconcile.Request) (result reconcile.Result, err error) {
		if ctx.Err() == nil {
			result, err = r.Reconcile(ctx, key)
		}
		if ctx.Err() != nil {
			return reconcile.Result{}, nil //nolint:nilerr // nothing failed but for the stop
		}
		return result, err
	})
}
