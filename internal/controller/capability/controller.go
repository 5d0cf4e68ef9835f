// Package capability holds the controller that finds out from the images of a Skyhook's packages which of them can be
// uninstalled, where the spec does not say so. It runs only when the user asks for it.
//
// It is the only writer of the annotation uninstall-capability. An image that has answered is not asked again until its
// reference changes or the user removes the annotation; one that could not be asked is, from time to time. It never
// writes a spec.
package capability

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
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

// Reconciler finds out about the images of one Skyhook.
type Reconciler struct {
	// Client writes to the API server, and Live reads from it: what the last pass wrote may not be in the cache yet, and
	// a registry must not be asked twice.
	Client client.Client
	Live   client.Reader
	Events events.EventRecorder
	// Look asks for one image; Registries.Look.
	Look Look
	// PullSecret holds the credentials for registries; without a name there are none.
	PullSecret types.NamespacedName
	// Images are the rules of the cluster: the registry is asked that nodes pull from, and none that they do not allow.
	Images admission.ImageRules
	Clock  clock.PassiveClock

	// asked says when an image was last looked at in vain. There is one worker.
	asked map[string]time.Time
}

const (
	// RetryAfter is how long an image that could not be looked at is left alone.
	RetryAfter = 10 * time.Minute
	// perPass bounds how many images one pass looks at, and so what a restart loses, and for how long other Skyhooks wait
	// when no registry answers. Storing what one pass found sets off the next.
	perPass = 8
)

// SetupWithManager registers the controller: one key per Skyhook, one worker. A registry that does not answer holds
// back nothing but the answers about other images.
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
				annotation(e.ObjectOld) != annotation(e.ObjectNew)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

func annotation(s client.Object) string {
	return s.GetAnnotations()[v1alpha1.AnnotationUninstallCapability]
}

// Reconcile looks at the images of one Skyhook that nothing is known of, and forgets those that it has no more. A
// Skyhook that is being deleted is left alone: what is to be uninstalled must not change any more.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var s v1alpha1.Skyhook
	if err := r.Live.Get(ctx, req.NamespacedName, &s); err != nil || s.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if due := r.due(&s); len(due) > 0 || capability.Next(&s, nil) != annotation(&s) {
		before := capability.Read(&s)
		findings, err := r.lookAt(ctx, due[:min(len(due), perPass)], before)
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("look at the images of Skyhook %s: %w", s.Name, err)
		}
		if err := r.store(ctx, &s, findings); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		r.report(&s, before, findings)
	}
	if _, failed := capability.ToAsk(&s); len(failed) > 0 && s.DeletionTimestamp == nil {
		return ctrl.Result{RequeueAfter: RetryAfter}, nil
	}
	return ctrl.Result{}, nil
}

// due are the images that may be asked and that nothing is known of, and those that could not be looked at for a while.
// After a restart of the operator the while begins anew.
func (r *Reconciler) due(s *v1alpha1.Skyhook) []string {
	now := r.Clock.Now()
	maps.DeleteFunc(r.asked, func(_ string, at time.Time) bool { return now.Sub(at) > 2*RetryAfter })
	due, failed := capability.ToAsk(s)
	for _, reference := range failed {
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
	r.asked[reference] = r.Clock.Now()
}

// lookAt asks for images, one after the other, so that a digest they share is fetched once. The error is one of the API
// server, or says that the operator stops: then nothing was found.
func (r *Reconciler) lookAt(
	ctx context.Context, references []string, before capability.Known,
) ([]capability.Finding, error) {
	if len(references) == 0 {
		return nil, nil
	}
	keys, trouble, err := r.keychain(ctx)
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	maps.Copy(digests, before.Digests)
	var findings []capability.Finding
	for _, reference := range references {
		found, err := r.Look(ctx, r.Images.Mirror.Of(reference), keys, digests)
		if err != nil {
			return nil, err
		}
		found.Reference = reference
		if found.Reason == "" {
			digests[found.Digest] = found.Answer
		} else {
			r.note(reference)
			found.Message = trouble + found.Message
		}
		findings = append(findings, found)
	}
	return findings, nil
}

// store writes the findings into the annotation of the Skyhook as it is now, and returns it in s. Registries are slow,
// and the status is written meanwhile: a conflict means to read again, not to ask again. It patches metadata only.
func (r *Reconciler) store(ctx context.Context, s *v1alpha1.Skyhook, findings []capability.Finding) error {
	key := client.ObjectKeyFromObject(s)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		*s = v1alpha1.Skyhook{}
		if err := r.Live.Get(ctx, key, s); err != nil || s.DeletionTimestamp != nil {
			return err
		}
		before := s.DeepCopy()
		if next := capability.Next(s, findings); next != "" {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationUninstallCapability, next)
		} else {
			delete(s.Annotations, v1alpha1.AnnotationUninstallCapability)
		}
		return r.Client.Patch(ctx, s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return fmt.Errorf("store what the images of Skyhook %s say: %w", key.Name, err)
	}
	return nil
}

// report sends one event about the packages whose images were looked at in vain, once it is written down, and not again
// for the same reason.
func (r *Reconciler) report(s *v1alpha1.Skyhook, before capability.Known, findings []capability.Finding) {
	news := map[string]bool{}
	for _, f := range findings {
		known, _ := before.Of(f.Reference)
		news[f.Reference] = f.Reason == "" || known.Reason != f.Reason
	}
	doubts := slices.DeleteFunc(capability.Doubts(s), func(d capability.Doubt) bool { return !news[d.Reference] })
	if len(doubts) > 0 {
		r.Events.Eventf(s, nil, corev1.EventTypeWarning, v1alpha1.ConditionUninstallCapabilityUnknown, "Discover",
			"cannot tell whether it can be uninstalled: %s", capability.Summary(doubts))
	}
}
