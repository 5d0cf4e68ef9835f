package state

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// steering are the annotations of a Skyhook that change what its nodes do.
var steering = []string{
	v1alpha1.AnnotationPause, v1alpha1.AnnotationDisable, v1alpha1.AnnotationAbandonUninstall,
	v1alpha1.AnnotationUninstallCapability,
}

// SameSteering reports whether users ask the same of two versions of one Skyhook: its spec, its deletion, and what its
// annotations ask for.
func SameSteering(a, b metav1.Object) bool {
	for _, key := range steering {
		if a.GetAnnotations()[key] != b.GetAnnotations()[key] {
			return false
		}
	}
	return a.GetUID() == b.GetUID() && a.GetGeneration() == b.GetGeneration() &&
		(a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil)
}

// Latest makes sure that users ask nothing else of a Skyhook than the cache says, before something that no precondition
// guards and that cannot be taken back: the cache of an operator that has just begun, or whose watch stalls, may have an
// earlier version.
func (s *Shared) Latest(ctx context.Context, cached *v1alpha1.Skyhook) error {
	var live metav1.PartialObjectMetadata
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Skyhook"))
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(cached), &live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("find out whether the cache has the latest Skyhook %s: %w", cached.Name, err)
	}
	if !SameSteering(&live, cached) {
		return Behind(v1alpha1.GroupVersion.WithResource("skyhooks").GroupResource(), cached.Name)
	}
	return nil
}
