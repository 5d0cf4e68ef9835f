package skyhook

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// writeConfigMaps makes the package ConfigMaps hold what the spec says, and those of definitions that are being undone
// what they say, and removes those that no package or pod needs.
func (r *Reconciler) writeConfigMaps(ctx context.Context, s *v1alpha1.Skyhook, undoing map[string]lifecycle.Leaving) error {
	var have corev1.ConfigMapList
	if err := r.Client.List(ctx, &have, client.InNamespace(r.Workload.Namespace),
		client.MatchingLabels{workload.LabelName: s.Name}); err != nil {
		return fmt.Errorf("list ConfigMaps of Skyhook %s: %w", s.Name, err)
	}
	existing := map[string]*corev1.ConfigMap{}
	for i := range have.Items {
		if cm := &have.Items[i]; metav1.IsControlledBy(cm, s) {
			existing[cm.Name] = cm
		}
	}
	for _, want := range r.wantedConfigMaps(s, undoing) {
		if err := r.writeConfigMap(ctx, s, want, existing[want.Name]); err != nil {
			return err
		}
		delete(existing, want.Name)
	}
	return r.pruneConfigMaps(ctx, s, existing)
}

// wantedConfigMaps are those of the spec's packages and of what is being undone. A Skyhook that is being deleted needs no
// more than the latter.
func (r *Reconciler) wantedConfigMaps(s *v1alpha1.Skyhook, undoing map[string]lifecycle.Leaving) []*corev1.ConfigMap {
	var list []*corev1.ConfigMap
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		_, undone := undoing[r.Targets.Of(s).Packages[name].Definition]
		if len(s.Spec.Packages[name].ConfigMap) > 0 && (undone || s.DeletionTimestamp == nil) {
			list = append(list, r.Workload.PackageConfigMap(s, name))
		}
	}
	for _, definition := range slices.Sorted(maps.Keys(undoing)) {
		l := undoing[definition]
		if cm := r.Workload.RetainedConfigMap(s, definition, l.Package.Package); cm != nil && !l.FromSpec {
			list = append(list, cm)
		}
	}
	return list
}

func (r *Reconciler) writeConfigMap(ctx context.Context, s *v1alpha1.Skyhook, want, have *corev1.ConfigMap) error {
	if have == nil {
		if err := r.Client.Create(ctx, want, client.FieldOwner(fieldManager)); err != nil {
			return fmt.Errorf("create ConfigMap %s of Skyhook %s: %w", want.Name, s.Name, err)
		}
		return nil
	}
	if maps.Equal(have.Data, want.Data) {
		return nil
	}
	want.ResourceVersion = have.ResourceVersion
	if err := r.Client.Update(ctx, want, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("update ConfigMap %s of Skyhook %s: %w", want.Name, s.Name, err)
	}
	return nil
}

// pruneConfigMaps deletes the ConfigMaps of packages that left the spec, once no pod mounts them any more.
func (r *Reconciler) pruneConfigMaps(ctx context.Context, s *v1alpha1.Skyhook, left map[string]*corev1.ConfigMap) error {
	if len(left) == 0 {
		return nil
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(r.Workload.Namespace),
		client.MatchingLabels{workload.LabelName: s.Name}); err != nil {
		return fmt.Errorf("list pods of Skyhook %s: %w", s.Name, err)
	}
	for i := range pods.Items {
		for _, v := range pods.Items[i].Spec.Volumes {
			if v.ConfigMap != nil {
				delete(left, v.ConfigMap.Name)
			}
		}
	}
	for _, cm := range left {
		precondition := client.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion}
		if err := r.Client.Delete(ctx, cm, precondition); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s of Skyhook %s: %w", cm.Name, s.Name, err)
		}
	}
	return nil
}
