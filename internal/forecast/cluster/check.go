package cluster

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// none is the group, version and kind of typed objects, which their type says.
var none = schema.GroupVersionKind{}

// invalid names all that is wrong, always in the same order.
func invalid(k *kind, o client.Object, errs fieldpath.ErrorList) error {
	slices.SortFunc(errs, func(a, b *fieldpath.Error) int { return cmp.Compare(a.Error(), b.Error()) })
	return apierrors.NewInvalid(k.gvk.GroupKind(), o.GetName(), errs)
}

// check refuses what a real server does; old is nil for a new object. It looks only at what the write changes.
func (c *Cluster) check(k *kind, old, o client.Object, part string) error {
	var errs fieldpath.ErrorList
	if part == partMain || !k.custom {
		errs = checkMeta(k, old, o)
	}
	switch o := o.(type) {
	case *corev1.ConfigMap:
		before, _ := old.(*corev1.ConfigMap)
		errs = append(errs, checkData(before, o)...)
	case *corev1.Pod:
		if old != nil && part == partMain && !sameSpec(old, o) {
			errs = append(errs, fieldpath.Forbidden(fieldpath.NewPath("spec"), "pod updates may not change the spec"))
		}
	}
	if k.custom {
		more, err := checkSchema(k, o, part)
		if err != nil {
			return err
		}
		errs = append(errs, more...)
	}
	if len(errs) > 0 {
		return invalid(k, o, errs)
	}
	return nil
}

func checkMeta(k *kind, old, o client.Object) fieldpath.ErrorList {
	at := fieldpath.NewPath("metadata")
	if old == nil {
		// The name of a DeploymentPolicy or Skyhook is a DNS subdomain as those of the others are.
		errs := apivalidation.ValidateObjectMetaAccessor(o, k.namespaced, apivalidation.NameIsDNSSubdomain, at)
		if k.name == Skyhooks && len(o.GetName()) > 53 {
			errs = append(errs, fieldpath.TooLong(at.Child("name"), o.GetName(), 53))
		}
		return errs
	}
	var errs fieldpath.ErrorList
	if labels := changed(old.GetLabels(), o.GetLabels()); len(labels) > 0 {
		errs = unversioned.ValidateLabels(labels, at.Child("labels"))
	}
	if annotations := changed(old.GetAnnotations(), o.GetAnnotations()); len(annotations) > 0 {
		errs = append(errs, apivalidation.ValidateAnnotations(annotations, at.Child("annotations"))...)
		if err := apivalidation.ValidateAnnotationsSize(o.GetAnnotations()); err != nil {
			errs = append(errs, fieldpath.TooLong(at.Child("annotations"), "", apivalidation.TotalAnnotationSizeLimitB))
		}
	}
	if !slices.Equal(old.GetFinalizers(), o.GetFinalizers()) && old.GetDeletionTimestamp() != nil {
		if extra := sets.New(o.GetFinalizers()...).Delete(old.GetFinalizers()...); extra.Len() > 0 {
			errs = append(errs, fieldpath.Forbidden(at.Child("finalizers"), "no new finalizers can be added if the object is being deleted"))
		}
	}
	return errs
}

// changed are the entries of after that before lacks or has otherwise.
func changed(before, after map[string]string) map[string]string {
	out := maps.Clone(after)
	maps.DeleteFunc(out, func(k, v string) bool {
		had, ok := before[k]
		return ok && had == v
	})
	return out
}

func checkData(before, cm *corev1.ConfigMap) fieldpath.ErrorList {
	if before != nil && maps.Equal(before.Data, cm.Data) {
		return nil
	}
	var errs fieldpath.ErrorList
	size, at := 0, fieldpath.NewPath("data")
	for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
		for _, m := range validation.IsConfigMapKey(key) {
			errs = append(errs, fieldpath.Invalid(at.Key(key), key, m))
		}
		size += len(cm.Data[key])
	}
	for _, raw := range cm.BinaryData {
		size += len(raw)
	}
	if size > corev1.MaxSecretSize { // which is the limit of ConfigMaps as well
		errs = append(errs, fieldpath.TooLong(fieldpath.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}
