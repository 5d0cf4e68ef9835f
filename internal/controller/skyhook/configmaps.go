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
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// wantedMap is a ConfigMap that should be there, and what it is made of.
type wantedMap struct {
	*corev1.ConfigMap
	field string
}

// writeConfigMaps makes the package ConfigMaps hold what the spec says, and those of definitions that are being undone
// what they say. One that cannot be written does not keep the others from it.
func (p *pass) writeConfigMaps(ctx context.Context) error {
	existing, err := p.configMaps(ctx)
	if err != nil {
		return err
	}
	stay := p.earlier(existing)
	var errs []error
	for _, want := range p.wantedConfigMaps() {
		if !stay[want.Name] {
			errs = append(errs, p.writeConfigMap(ctx, want, existing[want.Name]))
		}
	}
	return errors.Join(errs...)
}

// earlier are the names of ConfigMaps that stay as another operator left them: some node has yet to record what these
// packages were configured with.
func (p *pass) earlier(have map[string]*corev1.ConfigMap) map[string]bool {
	names := map[string]bool{}
	for pkg := range p.unhashed {
		version := p.skyhook.Spec.Packages[pkg].Version
		name := workload.EarlierName(p.skyhook.Name, pkg, version)
		if cm := have[name]; cm != nil && workload.Earlier(cm, pkg, version) {
			names[name] = true
		}
	}
	return names
}

// configMaps are the package ConfigMaps of a Skyhook, by name.
func (p *pass) configMaps(ctx context.Context) (map[string]*corev1.ConfigMap, error) {
	s := p.skyhook
	var have corev1.ConfigMapList
	if err := p.Client.List(ctx, &have, client.InNamespace(p.Workload.Namespace),
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
func (p *pass) wantedConfigMaps() []wantedMap {
	s := p.skyhook
	var list []wantedMap
	mounted := map[string]bool{}
	mount := func(name string, pkg v1alpha1.Package, field string) {
		if cm := p.Workload.MountedConfigMap(s, name, pkg); !mounted[cm.Name] {
			mounted[cm.Name] = true
			list = append(list, wantedMap{cm, field})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		_, undone := p.uninstalling[p.target.Packages[name].Definition]
		if len(s.Spec.Packages[name].ConfigMap) > 0 && (undone || s.DeletionTimestamp == nil) {
			field := "spec.packages." + name + ".configMap"
			list = append(list, wantedMap{p.Workload.PackageConfigMap(s, name), field})
			mount(name, s.Spec.Packages[name], field)
		}
	}
	for _, definition := range slices.Sorted(maps.Keys(p.uninstalling)) {
		l := p.uninstalling[definition]
		if len(l.Package.ConfigMap) > 0 && !l.FromSpec {
			refused := "what refuses the configMap that package " + l.Package.Name + " was installed with"
			mount(l.Package.Name, l.Package.Package, refused)
		}
	}
	return list
}

func (p *pass) writeConfigMap(ctx context.Context, want wantedMap, have *corev1.ConfigMap) error {
	if have != nil {
		holds, seals := workload.Holds(have, want.Data), workload.Sealed(want.ConfigMap)
		switch {
		case holds && (workload.Sealed(have) || !seals):
			return nil
		case !workload.Sealed(have) && (holds || !seals):
			return p.updateConfigMap(ctx, want, have)
		}
		// What pods mount, or what cannot be changed, is replaced by another one.
		precondition := client.Preconditions{UID: &have.UID, ResourceVersion: &have.ResourceVersion}
		if err := p.Client.Delete(ctx, have, precondition); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("replace ConfigMap %s of Skyhook %s: %w", have.Name, p.skyhook.Name, err)
		}
	}
	err := p.Client.Create(ctx, want.ConfigMap, client.FieldOwner(fieldManager))
	if apierrors.IsAlreadyExists(err) {
		return p.nameTaken(ctx, "ConfigMap", want.ConfigMap, &corev1.ConfigMap{}, v1alpha1.ReasonConfigMapConflict)
	}
	if err != nil {
		return p.refused(fmt.Errorf("create ConfigMap %s of Skyhook %s: %w", want.Name, p.skyhook.Name, err),
			v1alpha1.ReasonConfigMapRefused, want.field)
	}
	return nil
}

// updateConfigMap writes what may be changed, and seals what holds what it should.
func (p *pass) updateConfigMap(ctx context.Context, want wantedMap, have *corev1.ConfigMap) error {
	want.ResourceVersion = have.ResourceVersion
	if err := p.Client.Update(ctx, want.ConfigMap, client.FieldOwner(fieldManager)); err != nil {
		return p.refused(fmt.Errorf("update ConfigMap %s of Skyhook %s: %w", want.Name, p.skyhook.Name, err),
			v1alpha1.ReasonConfigMapRefused, want.field)
	}
	return nil
}

// pruneConfigMaps deletes the ConfigMaps that no package needs any more, once no pod mounts them.
func (p *pass) pruneConfigMaps(ctx context.Context) error {
	s := p.skyhook
	left, err := p.configMaps(ctx)
	if err != nil {
		return err
	}
	for name := range p.earlier(left) {
		delete(left, name)
	}
	for _, want := range p.wantedConfigMaps() {
		delete(left, want.Name)
	}
	if len(left) == 0 {
		return nil
	}
	var pods corev1.PodList
	if err := p.Client.List(ctx, &pods, client.InNamespace(p.Workload.Namespace),
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
		if err := p.Client.Delete(ctx, cm, precondition); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete ConfigMap %s of Skyhook %s: %w", cm.Name, s.Name, err))
		}
	}
	return errors.Join(errs...)
}
