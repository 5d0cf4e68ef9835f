package cluster

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Kind names a kind of object, as in "Node".
type Kind string

// The kinds that are stored.
const (
	Nodes      Kind = "Node"
	Pods       Kind = "Pod"
	ConfigMaps Kind = "ConfigMap"
	Revisions  Kind = "ControllerRevision"
	Skyhooks   Kind = "Skyhook"
	Policies   Kind = "DeploymentPolicy"
)

// Kinds are all that are stored, in the order in which they are listed everywhere.
var Kinds = []Kind{Nodes, Pods, ConfigMaps, Revisions, Skyhooks, Policies}

// kind is what there is to know about a kind's Go types. Its functions take objects of that type only.
type kind struct {
	name       Kind
	gvk        schema.GroupVersionKind
	resource   schema.GroupResource
	namespaced bool
	// custom resources have a schema, must name a resourceVersion in updates, and count generations.
	custom bool
	// status of an object, as a pointer; nil without a status subresource.
	status func(client.Object) any
	// setStatus gives an object another's status, and copyStatus a copy of it.
	setStatus, copyStatus func(to, from client.Object)

	fresh   func() client.Object
	copyTo  func(from, to client.Object)
	shareTo func(from, to client.Object)
	fill    func(list client.ObjectList, from []client.Object, put func(from, to client.Object)) error
}

// typed is the part of a kind that follows from its types alone.
func typed[T any, P interface {
	*T
	client.Object
	DeepCopyInto(*T)
}](name Kind, version schema.GroupVersion, resource string, items func(client.ObjectList) *[]T) *kind {
	return &kind{
		name: name, gvk: version.WithKind(string(name)),
		resource: schema.GroupResource{Group: version.Group, Resource: resource},
		fresh:    func() client.Object { return P(new(T)) },
		copyTo:   func(from, to client.Object) { from.(P).DeepCopyInto((*T)(to.(P))) },
		shareTo:  func(from, to client.Object) { *to.(P) = *from.(P) },
		fill: func(list client.ObjectList, from []client.Object, put func(from, to client.Object)) error {
			all := items(list)
			if all == nil {
				return fmt.Errorf("a list of %s does not fit into %T", name, list)
			}
			*all = make([]T, len(from))
			for i, o := range from {
				put(o, P(&(*all)[i]))
			}
			return nil
		},
	}
}

// withStatus makes a status subresource.
func withStatus[S any, P interface {
	*S
	DeepCopyInto(*S)
}](k *kind, of func(client.Object) P) {
	k.status = func(o client.Object) any { return of(o) }
	k.setStatus = func(to, from client.Object) { *of(to) = *of(from) }
	k.copyStatus = func(to, from client.Object) { of(from).DeepCopyInto((*S)(of(to))) }
}

// sameSpec compares what a generation counts.
func sameSpec(a, b client.Object) bool {
	spec := func(o client.Object) any { return reflect.ValueOf(o).Elem().FieldByName("Spec").Addr().Interface() }
	return equality.Semantic.DeepEqual(spec(a), spec(b))
}

// in returns the items of a list of one type; nil for another type.
func in[L any, T any](items func(*L) *[]T) func(client.ObjectList) *[]T {
	return func(list client.ObjectList) *[]T {
		if l, ok := any(list).(*L); ok {
			return items(l)
		}
		return nil
	}
}

func kinds() map[Kind]*kind {
	apps, core, ours := appsv1.SchemeGroupVersion, corev1.SchemeGroupVersion, v1alpha1.GroupVersion
	node := typed[corev1.Node](Nodes, core, "nodes", in(func(l *corev1.NodeList) *[]corev1.Node { return &l.Items }))
	withStatus(node, func(o client.Object) *corev1.NodeStatus { return &o.(*corev1.Node).Status })

	pod := typed[corev1.Pod](Pods, core, "pods", in(func(l *corev1.PodList) *[]corev1.Pod { return &l.Items }))
	pod.namespaced = true
	withStatus(pod, func(o client.Object) *corev1.PodStatus { return &o.(*corev1.Pod).Status })

	configMap := typed[corev1.ConfigMap](ConfigMaps, core, "configmaps",
		in(func(l *corev1.ConfigMapList) *[]corev1.ConfigMap { return &l.Items }))
	configMap.namespaced = true

	revision := typed[appsv1.ControllerRevision](Revisions, apps, "controllerrevisions",
		in(func(l *appsv1.ControllerRevisionList) *[]appsv1.ControllerRevision { return &l.Items }))
	revision.namespaced = true

	skyhook := typed[v1alpha1.Skyhook](Skyhooks, ours, "skyhooks",
		in(func(l *v1alpha1.SkyhookList) *[]v1alpha1.Skyhook { return &l.Items }))
	skyhook.custom = true
	withStatus(skyhook, func(o client.Object) *v1alpha1.SkyhookStatus { return &o.(*v1alpha1.Skyhook).Status })

	policy := typed[v1alpha1.DeploymentPolicy](Policies, ours, "deploymentpolicies",
		in(func(l *v1alpha1.DeploymentPolicyList) *[]v1alpha1.DeploymentPolicy { return &l.Items }))
	policy.custom = true
	withStatus(policy, func(o client.Object) *v1alpha1.DeploymentPolicyStatus {
		return &o.(*v1alpha1.DeploymentPolicy).Status
	})
	return map[Kind]*kind{
		Nodes: node, Pods: pod, ConfigMaps: configMap, Revisions: revision, Skyhooks: skyhook,
		Policies: policy,
	}
}

// kindOf names the kind of an object or list.
func kindOf(o runtime.Object) (Kind, error) {
	switch o := o.(type) {
	case *corev1.Node, *corev1.NodeList:
		return Nodes, nil
	case *corev1.Pod, *corev1.PodList:
		return Pods, nil
	case *corev1.ConfigMap, *corev1.ConfigMapList:
		return ConfigMaps, nil
	case *appsv1.ControllerRevision, *appsv1.ControllerRevisionList:
		return Revisions, nil
	case *v1alpha1.Skyhook, *v1alpha1.SkyhookList:
		return Skyhooks, nil
	case *v1alpha1.DeploymentPolicy, *v1alpha1.DeploymentPolicyList:
		return Policies, nil
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		if k := Kind(strings.TrimSuffix(o.GetObjectKind().GroupVersionKind().Kind, "List")); slices.Contains(Kinds, k) {
			return k, nil
		}
	}
	return "", fmt.Errorf("%T is of no kind that this cluster stores", o)
}
