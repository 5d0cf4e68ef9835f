package state

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// Fields by which the controllers find objects in the cache. The first one is a field of the API server's as well.
const (
	PodsByNode           = "spec.nodeName"
	PackageMapsBySkyhook = "packageMapOf"
	OddMetaByNode        = "oddMetadataOfNode"
)

// Lookup is an index of the cache: a list by its Field costs as much as there is to be found, not as much as there is.
type Lookup struct {
	Object client.Object
	Field  string
	// Key is what an object is found by; empty if it is not.
	Key func(client.Object) string
}

// Lookups are all that the controllers need. A fleet has a ConfigMap for each node and Skyhook, so those of packages are
// a few among very many; and only those of them are indexed that an earlier operator named, as the others are found by
// their names.
var Lookups = []Lookup{
	{&corev1.Pod{}, PodsByNode, func(o client.Object) string {
		if p, ok := o.(*corev1.Pod); ok {
			return p.Spec.NodeName
		}
		return ""
	}},
	{&corev1.ConfigMap{}, PackageMapsBySkyhook, func(o client.Object) string { return o.GetLabels()[v1alpha1.LabelName] }},
	{&corev1.ConfigMap{}, OddMetaByNode, func(o client.Object) string {
		node := workload.NodeOfMeta(o)
		if node == "" || o.GetName() == workload.NodeMetaName(o.GetLabels()[v1alpha1.LabelNodeMeta], node) {
			return ""
		}
		return node
	}},
}

// Keys is the Key as an indexer of client-go wants it.
func (l Lookup) Keys(o client.Object) []string {
	if key := l.Key(o); key != "" {
		return []string{key}
	}
	return nil
}

// AddLookups makes the operator's cache keep all of them but pods, which Shared.CachedPods finds.
func AddLookups(ctx context.Context, cache client.FieldIndexer) error {
	for _, l := range Lookups {
		if l.Field == PodsByNode {
			continue
		}
		if err := cache.IndexField(ctx, l.Object, l.Field, l.Keys); err != nil {
			return fmt.Errorf("index by %s: %w", l.Field, err)
		}
	}
	return nil
}
