package settings

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// CacheOptions keep the cache small on large fleets: pods and ConfigMaps of the operator's namespace only, nodes
// without what nobody here reads. The copies of clusters in memory hold the same.
func CacheOptions(namespace string) cache.Options {
	own, known := map[string]cache.Config{namespace: {}}, &words{}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}:      {Transform: known.slimNode},
			&corev1.Pod{}:       {Field: in(namespace), Label: has(v1alpha1.LabelName), Transform: known.slimPod},
			&corev1.ConfigMap{}: {Namespaces: own, Transform: known.slimConfigMap},

			&appsv1.ControllerRevision{}: {Namespaces: own, Label: has(v1alpha1.LabelName)},
		},
	}
}

// in selects what is in a namespace. Other than Namespaces, it leaves the informer as it is, so that it can be asked.
func in(namespace string) fields.Selector {
	return fields.OneTermEqualSelector("metadata.namespace", namespace)
}

func has(label string) labels.Selector {
	r, err := labels.NewRequirement(label, selection.Exists, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	return labels.NewSelector().Add(*r)
}

// slimNode leaves what somebody here reads: of a real node's object, less than half.
func (w *words) slimNode(o any) (any, error) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	var conditions []corev1.NodeCondition
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady || record.OwnsCondition(c.Type) {
			c.Type, c.Status = corev1.NodeConditionType(w.of(string(c.Type))), corev1.ConditionStatus(w.of(string(c.Status)))
			c.Reason, c.Message = w.of(c.Reason), w.of(c.Message)
			conditions = append(conditions, c)
		}
	}
	info := n.Status.NodeInfo
	n.ManagedFields = nil
	n.Spec = corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints}
	n.Status = corev1.NodeStatus{Conditions: slices.Clone(conditions), NodeInfo: corev1.NodeSystemInfo{
		MachineID: info.MachineID, BootID: info.BootID, Architecture: w.of(info.Architecture),
		ContainerRuntimeVersion: w.of(info.ContainerRuntimeVersion),
	}}
	n.Labels, n.Annotations = w.share(n.Labels), w.share(n.Annotations)
	return n, nil
}

// slimPod leaves of the spec where the pod runs and which ConfigMaps it mounts: pods are compared by the hash in their
// annotation. Those of other operators have none, but tell in the environment of their containers what they are for.
func (w *words) slimPod(o any) (any, error) {
	if p, ok := o.(*corev1.Pod); ok {
		p.ManagedFields = nil
		spec := corev1.PodSpec{NodeName: p.Spec.NodeName, Volumes: p.Spec.Volumes}
		if p.Annotations[v1alpha1.AnnotationHash] == "" {
			spec.InitContainers = p.Spec.InitContainers
		}
		p.Spec = spec
		p.Labels, p.Annotations = w.share(p.Labels), w.share(p.Annotations)
	}
	return o, nil
}

func (w *words) slimConfigMap(o any) (any, error) {
	if cm, ok := o.(*corev1.ConfigMap); ok {
		cm.ManagedFields = nil
		if _, meta := cm.Labels[v1alpha1.LabelNodeMeta]; meta {
			workload.SlimMeta(cm)
			w.shareMeta(cm)
		}
	}
	return o, nil
}

// Scheme returns the types that the operator reads and writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	return scheme, nil
}
