// Package capability holds the controller that finds out from the images of a Skyhook's packages which of them can be
// uninstalled, where the spec does not say so. It runs only when the user asks for it.
//
// It is the only writer of the annotation uninstall-capability. An image is asked once: what the answer was, or why there
// was none, is remembered until the image's reference changes or the user removes the annotation. It never writes a spec.
package capability

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
)

// Registry looks at one image; see registry.Client. It has to come back in bounded time.
type Registry interface {
	Look(ctx context.Context, reference string, keys authn.Keychain, known map[string]capability.Answer) (capability.Finding, error)
}

// Reconciler finds out about the images of one Skyhook.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Events   events.EventRecorder
	Registry Registry
	// PullSecret holds the credentials for registries; without a name there are none.
	PullSecret types.NamespacedName
}

// SetupWithManager registers the controller: one key per Skyhook, one worker. A registry that does not answer holds back
// nothing but the answers about other images.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("uninstall-capability").
		For(&v1alpha1.Skyhook{}, builder.WithPredicates(changed())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(r)
}

// changed lets through what may change which images there are, or what is known of them.
func changed() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetAnnotations()[v1alpha1.AnnotationUninstallCapability] != e.ObjectNew.GetAnnotations()[v1alpha1.AnnotationUninstallCapability]
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// Reconcile looks at the images of one Skyhook that nothing is known of, and forgets those that it has no more.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var cached, s v1alpha1.Skyhook
	if err := r.Client.Get(ctx, req.NamespacedName, &cached); err != nil || settled(&cached) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	// The cache may not show yet what the last pass wrote, and a registry must not be asked twice.
	if err := r.Live.Get(ctx, req.NamespacedName, &s); err != nil || settled(&s) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	findings, err := r.look(ctx, &s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("look at the images of Skyhook %s: %w", s.Name, err)
	}
	stored, err := r.store(ctx, req.NamespacedName, findings)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.report(stored, findings)
	return ctrl.Result{}, nil
}

// settled is true when there is nothing to look at and nothing to forget. A Skyhook that is being deleted is left alone:
// what is to be undone must not change any more.
func settled(s *v1alpha1.Skyhook) bool {
	return s.DeletionTimestamp != nil ||
		len(capability.Missing(s)) == 0 && capability.Next(s, nil) == s.Annotations[v1alpha1.AnnotationUninstallCapability]
}
