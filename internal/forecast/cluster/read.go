package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reader reads one kind, from the server or from a cache.
type reader struct {
	*table
	// version that lists carry.
	version string
	// cached gives away the very maps and lists that are stored, and sets the TypeMeta, as caches do.
	cached bool
	// namespace that alone can be read; empty for all.
	namespace string
	// fields by which lists can be narrowed down.
	fields map[string]func(client.Object) string
}

var podNode = func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName }

// serverFields are the field selectors of the real server that make sense here.
var serverFields = map[Kind]map[string]func(client.Object) string{
	Pods: {"spec.nodeName": podNode},
}

// read is a look at the server.
func (c *Cluster) read(k Kind) reader {
	return reader{table: c.tables[k], version: strconv.FormatInt(c.version, 10), fields: serverFields[k]}
}

func (r reader) get(key client.ObjectKey, into client.Object, options *client.GetOptions) error {
	if !r.namespaced {
		key.Namespace = ""
	} else if r.namespace != "" && key.Namespace != r.namespace {
		return fmt.Errorf("unable to get: %v because of unknown namespace for the cache", key)
	}
	o := r.table.get(key)
	if o == nil {
		return apierrors.NewNotFound(r.resource, key.Name)
	}
	if partial, ok := into.(*metav1.PartialObjectMetadata); ok {
		partialOf(o, partial)
		return nil
	}
	r.put(options.UnsafeDisableDeepCopy)(o, into)
	return nil
}

// put gives an object of the server to a caller, who may change it unless he asked for the shared one; one of a cache,
// which nobody may change.
func (r reader) put(shared *bool) func(from, to client.Object) {
	switch {
	case shared != nil && *shared:
		return r.shareTo
	case !r.cached:
		return r.copyTo
	}
	return func(from, to client.Object) {
		r.shareTo(from, to)
		to.GetObjectKind().SetGroupVersionKind(r.gvk)
	}
}

func (r reader) list(into client.ObjectList, options *client.ListOptions) error {
	if options.Continue != "" {
		return errors.New("lists of this cluster have one page")
	}
	if r.namespaced && r.namespace != "" && options.Namespace != "" && options.Namespace != r.namespace {
		return fmt.Errorf("unable to list: %v because of unknown namespace for the cache", options.Namespace)
	}
	wanted, err := r.selector(options)
	if err != nil {
		return err
	}
	have := r.items
	if r.name == Pods && options.FieldSelector != nil && len(options.FieldSelector.Requirements()) == 1 {
		have = r.on(options.FieldSelector.Requirements()[0].Value) // pods are selected by their node alone
	}
	items := make([]client.Object, 0, len(have))
	for _, o := range have {
		if wanted(o) {
			items = append(items, o)
		}
	}
	into.SetResourceVersion(r.version)
	if partial, ok := into.(*metav1.PartialObjectMetadataList); ok {
		partial.Items = make([]metav1.PartialObjectMetadata, len(items))
		for i, o := range items {
			partialOf(o, &partial.Items[i])
		}
		return nil
	}
	return r.fill(into, items, r.put(options.UnsafeDisableDeepCopy))
}

func (r reader) selector(options *client.ListOptions) (func(client.Object) bool, error) {
	var requirements fields.Requirements
	if options.FieldSelector != nil {
		requirements = options.FieldSelector.Requirements()
	}
	for _, q := range requirements {
		if r.fields[q.Field] == nil || q.Operator == selection.NotEquals {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("%s of %s is no field to select by", q.Field, r.name))
		}
	}
	return func(o client.Object) bool {
		return (options.Namespace == "" || o.GetNamespace() == options.Namespace) &&
			(options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(o.GetLabels()))) &&
			!slices.ContainsFunc(requirements, func(q fields.Requirement) bool { return r.fields[q.Field](o) != q.Value })
	}, nil
}

func partialOf(o client.Object, to *metav1.PartialObjectMetadata) {
	gvk := to.GroupVersionKind()
	*to = metav1.PartialObjectMetadata{}
	to.SetGroupVersionKind(gvk)
	source := o.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
	source.DeepCopyInto(&to.ObjectMeta)
}
