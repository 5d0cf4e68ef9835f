package capability

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
)

// store writes the findings into the annotation of the Skyhook as it is now, and returns it. Registries are slow, and
// the status is written meanwhile: a conflict means to read again, not to ask again. It patches metadata only.
func (r *Reconciler) store(ctx context.Context, name types.NamespacedName, findings []capability.Finding) (*v1alpha1.Skyhook, error) {
	var stored *v1alpha1.Skyhook
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stored = &v1alpha1.Skyhook{}
		if err := r.Live.Get(ctx, name, stored); err != nil {
			return err
		}
		if stored.DeletionTimestamp != nil {
			return nil
		}
		before := stored.DeepCopy()
		annotate(stored, capability.Next(stored, findings))
		return r.Client.Patch(ctx, stored, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return nil, fmt.Errorf("store what the images of Skyhook %s say: %w", name.Name, err)
	}
	return stored, nil
}

func annotate(s *v1alpha1.Skyhook, value string) {
	if value == "" {
		delete(s.Annotations, v1alpha1.AnnotationUninstallCapability)
		return
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[v1alpha1.AnnotationUninstallCapability] = value
}

// report sends one event about the packages whose images were looked at in vain, once it is written down.
func (r *Reconciler) report(s *v1alpha1.Skyhook, findings []capability.Finding) {
	doubts := slices.DeleteFunc(capability.Doubts(s), func(d capability.Doubt) bool {
		return !slices.ContainsFunc(findings, func(f capability.Finding) bool { return f.Reference == d.Reference })
	})
	if len(doubts) > 0 {
		r.Events.Eventf(s, nil, corev1.EventTypeWarning, v1alpha1.ConditionUninstallCapabilityUnknown, "Discover",
			"cannot tell whether it can be uninstalled: %s", capability.Summary(doubts))
	}
}
