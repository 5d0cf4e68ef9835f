package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	partMain   = ""
	partStatus = "status"
)

// create stores what the request asks for; the result is shared.
func (c *Cluster) create(t *table, request client.Object) (client.Object, error) {
	if request.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if t.get(client.ObjectKeyFromObject(request)) != nil {
		return nil, apierrors.NewAlreadyExists(t.resource, request.GetName())
	}
	o := t.fresh()
	t.copyTo(request, o)
	o.GetObjectKind().SetGroupVersionKind(none)
	o.SetUID(c.nextUID())
	o.SetCreationTimestamp(c.time())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetManagedFields(nil)
	o.SetGeneration(0)
	if t.custom {
		o.SetGeneration(1)
		if t.setStatus != nil {
			t.setStatus(o, t.fresh())
		}
	}
	if pod, ok := o.(*corev1.Pod); ok {
		preparePod(pod)
	}
	if err := c.check(t.kind, nil, o, partMain); err != nil {
		return nil, err
	}
	return c.commit(t, "create", nil, o), nil
}

func preparePod(pod *corev1.Pod) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(corev1.DefaultTerminationGracePeriodSeconds))
	}
}

// update stores o, which is nobody else's, as the next version of old; the result is shared. Of the subresource status
// nothing but the status counts, and the labels and annotations of what is no custom resource; of the object itself
// everything but the status.
func (c *Cluster) update(t *table, verb string, old, o client.Object, part string) (client.Object, error) {
	if err := precondition(t.kind, verb, old, o); err != nil {
		return nil, err
	}
	o = c.only(t.kind, old, o, part)
	if err := c.check(t.kind, old, o, part); err != nil {
		return nil, err
	}
	if t.custom && part == partMain && !sameSpec(old, o) {
		o.SetGeneration(old.GetGeneration() + 1)
	}
	if t.same(old, o, part) {
		return old, nil // a write that changes nothing is none
	}
	c.disown(old, o)
	if part != partMain {
		verb += "/" + part
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 &&
		ptr.Deref(o.GetDeletionGracePeriodSeconds(), 0) == 0 {
		return c.drop(t, verb, o), nil
	}
	return c.commit(t, verb, old, o), nil
}

// same reports whether a write changes nothing. Of a status write the rest is shared anyway.
func (k *kind) same(old, o client.Object, part string) bool {
	if part == partStatus {
		return equality.Semantic.DeepEqual(k.status(old), k.status(o)) &&
			maps.Equal(old.GetLabels(), o.GetLabels()) && maps.Equal(old.GetAnnotations(), o.GetAnnotations())
	}
	return equality.Semantic.DeepEqual(old, o)
}

// patched returns what a merge patch makes of an object; of the status, and the metadata that goes with it, if that is
// the part.
func patched(k *kind, old client.Object, body []byte, part string) (client.Object, error) {
	if part == partMain {
		next := k.fresh()
		k.copyTo(old, next)
		return next, merge(next, body)
	}
	return patchedStatus(k, old, body, merge)
}

// patchedStatus is patched for a status, which merge changes.
func patchedStatus(
	k *kind, old client.Object, body []byte, merge func(status any, patch []byte) error,
) (client.Object, error) {
	next := k.fresh()
	var parts struct {
		Metadata struct {
			UID                 *types.UID `json:"uid"`
			ResourceVersion     *string    `json:"resourceVersion"`
			Labels, Annotations map[string]*string
		} `json:"metadata"`
		Status json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(body, &parts); err != nil {
		return nil, fmt.Errorf("decode a patch: %w", err)
	}
	k.shareTo(old, next)
	k.copyStatus(next, old)
	next.SetUID(ptr.Deref(parts.Metadata.UID, ""))
	next.SetResourceVersion(ptr.Deref(parts.Metadata.ResourceVersion, ""))
	next.SetLabels(mergedStrings(old.GetLabels(), parts.Metadata.Labels))
	next.SetAnnotations(mergedStrings(old.GetAnnotations(), parts.Metadata.Annotations))
	if parts.Status == nil {
		return next, nil
	}
	return next, merge(k.status(next), parts.Status)
}

// mergedStrings is what a merge patch makes of labels or annotations, which stay as they are.
func mergedStrings(have map[string]string, patch map[string]*string) map[string]string {
	if len(patch) == 0 {
		return have
	}
	merged := maps.Clone(have)
	if merged == nil {
		merged = map[string]string{}
	}
	for k, v := range patch {
		if v == nil {
			delete(merged, k)
		} else {
			merged[k] = *v
		}
	}
	return merged
}

// precondition compares what the request is based on with what there is.
func precondition(k *kind, verb string, old, o client.Object) error {
	version := o.GetResourceVersion()
	if version == "" && k.custom && verb == "update" {
		at := fieldpath.NewPath("metadata", "resourceVersion")
		return invalid(k, o, fieldpath.ErrorList{fieldpath.Invalid(at, 0, "must be specified for an update")})
	}
	if version != "" && version != old.GetResourceVersion() {
		return apierrors.NewConflict(k.resource, o.GetName(),
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if uid := o.GetUID(); uid != "" && uid != old.GetUID() {
		return apierrors.NewConflict(k.resource, o.GetName(),
			fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old.GetUID()))
	}
	return nil
}

// only returns what of o the request may change.
func (c *Cluster) only(k *kind, old, o client.Object, part string) client.Object {
	if part == partStatus {
		out := k.fresh()
		k.shareTo(old, out)
		k.setStatus(out, o)
		if !k.custom {
			out.SetLabels(o.GetLabels())
			out.SetAnnotations(o.GetAnnotations())
		}
		return out
	}
	o.GetObjectKind().SetGroupVersionKind(none)
	o.SetUID(old.GetUID())
	o.SetResourceVersion(old.GetResourceVersion())
	o.SetGeneration(old.GetGeneration())
	o.SetCreationTimestamp(old.GetCreationTimestamp())
	o.SetDeletionTimestamp(old.GetDeletionTimestamp())
	o.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	o.SetManagedFields(nil)
	if k.setStatus != nil {
		k.setStatus(o, old)
	}
	return o
}
