// Package capability holds the controller that finds out from the images of a Skyhook's packages which of them can be
// uninstalled, where the spec does not say so. It runs only when the user asks for it.
//
// It is the only writer of the annotation uninstall-capability. An image that has answered is not asked again until its
// reference changes or the user removes the annotation; one that could not be asked is, from time to time. It never writes
// a spec.
package capability

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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
	"github.com/skyhook-operator/skyhook/internal/admission"
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
	// Images are the rules of the cluster: no registry is asked that they do not allow.
	Images admission.ImageRules
	// Now is the time; nil for the clock's.
	Now func() time.Time

	// asked says when an image was last looked at in vain. There is one worker.
	asked map[string]time.Time
}

// RetryAfter is how long an image that could not be looked at is left alone.
const RetryAfter = 10 * time.Minute

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
	if err := r.Client.Get(ctx, req.NamespacedName, &cached); err != nil || r.settled(&cached) {
		return r.later(&cached), client.IgnoreNotFound(err)
	}
	// The cache may not show yet what the last pass wrote, and a registry must not be asked twice.
	if err := r.Live.Get(ctx, req.NamespacedName, &s); err != nil || r.settled(&s) {
		return r.later(&s), client.IgnoreNotFound(err)
	}
	findings, err := r.look(ctx, &s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("look at the images of Skyhook %s: %w", s.Name, err)
	}
	stored, err := r.store(ctx, req.NamespacedName, findings)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.report(stored, news(&s, findings))
	return r.later(stored), nil
}

// later has the Skyhook come again if an image is to be asked again.
func (r *Reconciler) later(s *v1alpha1.Skyhook) ctrl.Result {
	if s.DeletionTimestamp != nil || len(capability.Failed(s)) == 0 {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: RetryAfter}
}

// due are the images that may be asked and that nothing is known of, and those that could not be looked at for a while. After a restart of the
// operator the while begins anew.
func (r *Reconciler) due(s *v1alpha1.Skyhook) []string {
	now := r.now()
	maps.DeleteFunc(r.asked, func(_ string, at time.Time) bool { return now.Sub(at) > 2*RetryAfter })
	due := capability.Missing(s)
	for _, reference := range capability.Failed(s) {
		at, seen := r.asked[reference]
		switch {
		case !seen:
			r.note(reference)
		case now.Sub(at) >= RetryAfter:
			due = append(due, reference)
		}
	}
	return slices.DeleteFunc(due, func(reference string) bool { return !r.Images.Allows(reference) })
}

func (r *Reconciler) note(reference string) {
	if r.asked == nil {
		r.asked = map[string]time.Time{}
	}
	r.asked[reference] = r.now()
}

func (r *Reconciler) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// news are the findings that tell another reason than what was known.
func news(before *v1alpha1.Skyhook, findings []capability.Finding) []capability.Finding {
	known := capability.Read(before)
	return slices.DeleteFunc(slices.Clone(findings), func(f capability.Finding) bool {
		verdict, told := known.Of(f.Reference)
		return told && f.Reason != "" && verdict.Reason == f.Reason
	})
}

// settled is true when there is nothing to look at and nothing to forget. A Skyhook that is being deleted is left alone:
// what is to be undone must not change any more.
func (r *Reconciler) settled(s *v1alpha1.Skyhook) bool {
	return s.DeletionTimestamp != nil ||
		len(r.due(s)) == 0 && capability.Next(s, nil) == s.Annotations[v1alpha1.AnnotationUninstallCapability]
}
