package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Server-side apply is there for what the operator applies: ConfigMaps. Ownership is that of whole owner references,
// where a real server knows single fields. Applies are forced.

// owners are the parts of an object that each manager applied, as paths.
type owners map[string]map[string]bool

const (
	dataPath       = "data/"
	labelPath      = "metadata.labels/"
	annotationPath = "metadata.annotations/"
	ownerPath      = "metadata.ownerReferences/"
)

// partOf returns what an object has at a path; nil for nothing.
func partOf(o client.Object, path string) any {
	where, name, _ := strings.Cut(path, "/")
	entry := func(m map[string]string) any {
		if v, ok := m[name]; ok {
			return v
		}
		return nil
	}
	switch where + "/" {
	case dataPath:
		if cm, ok := o.(*corev1.ConfigMap); ok {
			return entry(cm.Data)
		}
	case labelPath:
		return entry(o.GetLabels())
	case annotationPath:
		return entry(o.GetAnnotations())
	case ownerPath:
		for _, ref := range o.GetOwnerReferences() {
			if string(ref.UID) == name {
				return ref
			}
		}
	}
	return nil
}

// disown takes from everybody what a write changed: it belongs to the writer from now on.
func (c *Cluster) disown(old, o client.Object) {
	for _, paths := range c.applied[old.GetUID()] {
		maps.DeleteFunc(paths, func(path string, _ bool) bool {
			before, after := partOf(old, path), partOf(o, path)
			return after == nil || !equality.Semantic.DeepEqual(before, after)
		})
	}
}

// abandoned are the paths that only this manager applied, and does not any more.
func (c *Cluster) abandoned(uid types.UID, manager string, now map[string]bool) []string {
	var list []string
	for path := range c.applied[uid][manager] {
		shared := false
		for other, paths := range c.applied[uid] {
			shared = shared || other != manager && paths[path]
		}
		if !now[path] && !shared {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// apply stores o with the new ownership. An apply that changes neither is none.
func (c *Cluster) apply(t *table, old, o client.Object, manager string, paths map[string]bool) (client.Object, error) {
	had := maps.Clone(c.applied[old.GetUID()][manager])
	stored, err := c.update(t, "apply", old, o, partMain)
	if err != nil {
		return nil, err
	}
	if stored == old && !maps.Equal(had, paths) {
		next := t.fresh()
		t.shareTo(old, next)
		stored = c.commit(t, "apply", old, next)
	}
	c.own(old.GetUID(), manager, paths)
	return stored, nil
}

func (c *Cluster) own(uid types.UID, manager string, paths map[string]bool) {
	if c.applied[uid] == nil {
		c.applied[uid] = owners{}
	}
	c.applied[uid][manager] = paths
}

// applyConfigMap creates or changes a ConfigMap.
func (c *Cluster) applyConfigMap(ac *corev1ac.ConfigMapApplyConfiguration, manager string) (client.Object, error) {
	if ac.BinaryData != nil || ac.Immutable != nil || len(ac.Finalizers) > 0 {
		return nil, errors.New("this cluster applies only data, labels, annotations and owners of a ConfigMap")
	}
	t, key := c.tables[ConfigMaps], client.ObjectKey{Namespace: ptr.Deref(ac.Namespace, ""), Name: ptr.Deref(ac.Name, "")}
	old, exists := t.get(key).(*corev1.ConfigMap)
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if exists {
		o = old.DeepCopy()
	}
	paths := map[string]bool{}
	set := func(to map[string]string, prefix string, from map[string]string) map[string]string {
		if to == nil && len(from) > 0 {
			to = map[string]string{}
		}
		for k, v := range from {
			to[k], paths[prefix+k] = v, true
		}
		return to
	}
	o.Data = set(o.Data, dataPath, ac.Data)
	o.Labels = set(o.Labels, labelPath, ac.Labels)
	o.Annotations = set(o.Annotations, annotationPath, ac.Annotations)
	if err := applyOwners(o, ac, paths); err != nil {
		return nil, err
	}
	if !exists {
		if uid := ptr.Deref(ac.UID, ""); uid != "" {
			return nil, apierrors.NewConflict(t.resource, key.Name,
				fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		stored, err := c.create(t, o)
		if err == nil {
			c.own(stored.GetUID(), manager, paths)
		}
		return stored, err
	}
	for _, path := range c.abandoned(old.UID, manager, paths) {
		removePart(o, path)
	}
	o.UID, o.ResourceVersion = ptr.Deref(ac.UID, ""), ptr.Deref(ac.ResourceVersion, "")
	return c.apply(t, old, o, manager, paths)
}

// applyOwners merges owner references by their UIDs.
func applyOwners(o *corev1.ConfigMap, ac *corev1ac.ConfigMapApplyConfiguration, paths map[string]bool) error {
	raw, err := json.Marshal(ac.OwnerReferences)
	if err != nil {
		return fmt.Errorf("encode owner references: %w", err)
	}
	var refs []metav1.OwnerReference
	if err := json.Unmarshal(raw, &refs); err != nil {
		return fmt.Errorf("decode owner references: %w", err)
	}
	for _, ref := range refs {
		paths[ownerPath+string(ref.UID)] = true
		i := slices.IndexFunc(o.OwnerReferences, func(have metav1.OwnerReference) bool { return have.UID == ref.UID })
		if i >= 0 {
			o.OwnerReferences[i] = ref
		} else {
			o.OwnerReferences = append(o.OwnerReferences, ref)
		}
	}
	return nil
}

func removePart(o *corev1.ConfigMap, path string) {
	where, name, _ := strings.Cut(path, "/")
	switch where + "/" {
	case dataPath:
		delete(o.Data, name)
	case labelPath:
		delete(o.Labels, name)
	case annotationPath:
		delete(o.Annotations, name)
	case ownerPath:
		o.OwnerReferences = slices.DeleteFunc(o.OwnerReferences,
			func(r metav1.OwnerReference) bool { return string(r.UID) == name })
	}
}
