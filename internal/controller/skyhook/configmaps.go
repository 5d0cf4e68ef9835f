package skyhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// wantedMap is a ConfigMap that should be there, and what it is made of.
type wantedMap struct {
	*corev1.ConfigMap
	field string
}

// writeConfigMaps makes the package ConfigMaps hold what the spec says, and those of definitions that are being undone
// what they say. One that cannot be written does not keep the others from it.
func (r *Reconciler) writeConfigMaps(
	ctx context.Context, s *v1alpha1.Skyhook, uninstalling map[string]situation.Removal, unhashed map[string]bool,
) error {
	existing, err := r.configMaps(ctx, s)
	if err != nil {
		return err
	}
	stay := earlier(existing, s, unhashed)
	var errs []error
	for _, want := range r.wantedConfigMaps(s, uninstalling) {
		if !stay[want.Name] {
			errs = append(errs, r.writeConfigMap(ctx, s, want, existing[want.Name]))
		}
	}
	return errors.Join(errs...)
}

// earlier are the names of ConfigMaps that stay as another operator left them: some node has yet to record what these
// packages were configured with.
func earlier(have map[string]*corev1.ConfigMap, s *v1alpha1.Skyhook, unhashed map[string]bool) map[string]bool {
	names := map[string]bool{}
	for pkg := range unhashed {
		version := s.Spec.Packages[pkg].Version
		name := workload.EarlierName(s.Name, pkg, version)
		if cm := have[name]; cm != nil && workload.Earlier(cm, pkg, version) {
			names[name] = true
		}
	}
	return names
}

// configMaps are the package ConfigMaps of a Skyhook, by name.
func (r *Reconciler) configMaps(ctx context.Context, s *v1alpha1.Skyhook) (map[string]*corev1.ConfigMap, error) {
	var have corev1.ConfigMapList
	if err := r.Client.List(ctx, &have, client.InNamespace(r.Workload.Namespace),
		client.MatchingFields{state.PackageMapsBySkyhook: s.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ConfigMaps of Skyhook %s: %w", s.Name, err)
	}
	existing := map[string]*corev1.ConfigMap{}
	for i := range have.Items {
		if cm := &have.Items[i]; metav1.IsControlledBy(cm, s) {
			existing[cm.Name] = cm
		}
	}
	return existing, nil
}

// wantedConfigMaps are those of the spec's packages and of what is being undone. A Skyhook that is being deleted needs
// no more than the latter.
func (r *Reconciler) wantedConfigMaps(s *v1alpha1.Skyhook, uninstalling map[string]situation.Removal) []wantedMap {
	var list []wantedMap
	mounted := map[string]bool{}
	mount := func(name string, pkg v1alpha1.Package, field string) {
		if cm := r.Workload.MountedConfigMap(s, name, pkg); !mounted[cm.Name] {
			mounted[cm.Name] = true
			list = append(list, wantedMap{cm, field})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		_, undone := uninstalling[r.Targets.Of(s).Packages[name].Definition]
		if len(s.Spec.Packages[name].ConfigMap) > 0 && (undone || s.DeletionTimestamp == nil) {
			field := "spec.packages." + name + ".configMap"
			list = append(list, wantedMap{r.Workload.PackageConfigMap(s, name), field})
			mount(name, s.Spec.Packages[name], field)
		}
	}
	for _, definition := range slices.Sorted(maps.Keys(uninstalling)) {
		l := uninstalling[definition]
		if len(l.Package.ConfigMap) > 0 && !l.FromSpec {
			refused := "what refuses the configMap that package " + l.Package.Name + " was installed with"
			mount(l.Package.Name, l.Package.Package, refused)
		}
	}
	return list
}

func (r *Reconciler) writeConfigMap(
	ctx context.Context, s *v1alpha1.Skyhook, want wantedMap, have *corev1.ConfigMap,
) error {
	if have != nil {
		holds, seals := workload.Holds(have, want.Data), workload.Sealed(want.ConfigMap)
		switch {
		case holds && (workload.Sealed(have) || !seals):
			return nil
		case !workload.Sealed(have) && (holds || !seals):
			return r.updateConfigMap(ctx, s, want, have)
		}
		// What pods mount, or what cannot be changed, is replaced by another one.
		precondition := client.Preconditions{UID: &have.UID, ResourceVersion: &have.ResourceVersion}
		if err := r.Client.Delete(ctx, have, precondition); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("replace ConfigMap %s of Skyhook %s: %w", have.Name, s.Name, err)
		}
	}
	err := r.Client.Create(ctx, want.ConfigMap, client.FieldOwner(fieldManager))
	if apierrors.IsAlreadyExists(err) {
		return r.configMapTaken(ctx, s, want)
	}
	if err != nil {
		return r.refused(s, fmt.Errorf("create ConfigMap %s of Skyhook %s: %w", want.Name, s.Name, err),
			v1alpha1.ReasonConfigMapRefused, want.field)
	}
	return nil
}

// updateConfigMap writes what may be changed, and seals what holds what it should.
func (r *Reconciler) updateConfigMap(
	ctx context.Context, s *v1alpha1.Skyhook, want wantedMap, have *corev1.ConfigMap,
) error {
	want.ResourceVersion = have.ResourceVersion
	if err := r.Client.Update(ctx, want.ConfigMap, client.FieldOwner(fieldManager)); err != nil {
		return r.refused(s, fmt.Errorf("update ConfigMap %s of Skyhook %s: %w", want.Name, s.Name, err),
			v1alpha1.ReasonConfigMapRefused, want.field)
	}
	return nil
}

// configMapTaken looks at the object that has the name of a ConfigMap to be created. One of ours is in the cache soon.
func (r *Reconciler) configMapTaken(ctx context.Context, s *v1alpha1.Skyhook, want wantedMap) error {
	var live corev1.ConfigMap
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(want.ConfigMap), &live); err != nil {
		return fmt.Errorf("get ConfigMap %s, whose name is taken: %w", want.Name, err)
	}
	if metav1.IsControlledBy(&live, s) {
		return nil
	}
	return taken("ConfigMap", &live, s, v1alpha1.ReasonConfigMapConflict)
}

// pruneConfigMaps deletes the ConfigMaps that no package needs any more, once no pod mounts them.
func (r *Reconciler) pruneConfigMaps(
	ctx context.Context, s *v1alpha1.Skyhook, uninstalling map[string]situation.Removal, unhashed map[string]bool,
) error {
	left, err := r.configMaps(ctx, s)
	if err != nil {
		return err
	}
	for name := range earlier(left, s, unhashed) {
		delete(left, name)
	}
	for _, want := range r.wantedConfigMaps(s, uninstalling) {
		delete(left, want.Name)
	}
	if len(left) == 0 {
		return nil
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(r.Workload.Namespace),
		client.MatchingLabels{v1alpha1.LabelName: s.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list pods of Skyhook %s: %w", s.Name, err)
	}
	for i := range pods.Items {
		for _, v := range pods.Items[i].Spec.Volumes {
			if v.ConfigMap != nil {
				delete(left, v.ConfigMap.Name)
			}
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(left)) {
		cm := left[name]
		precondition := client.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion}
		if err := r.Client.Delete(ctx, cm, precondition); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete ConfigMap %s of Skyhook %s: %w", cm.Name, s.Name, err))
		}
	}
	return errors.Join(errs...)
}
