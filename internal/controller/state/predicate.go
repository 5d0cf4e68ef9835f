package state

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// GenerationChanged drops the updates that change no spec. One to another object of the same name is none of them: a list
// after a watch that was dropped shows no more of what went and came again.
func GenerationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
	}}
}

// NodeChanged drops the updates of a node that concern nobody here, above all the kubelet's heartbeats.
func NodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*corev1.Node)
		after, okAfter := e.ObjectNew.(*corev1.Node)
		return !okBefore || !okAfter || nodeDiffers(before, after)
	}}
}

func nodeDiffers(a, b *corev1.Node) bool {
	return a.UID != b.UID ||
		a.Spec.Unschedulable != b.Spec.Unschedulable ||
		a.Status.NodeInfo.BootID != b.Status.NodeInfo.BootID ||
		Ready(a) != Ready(b) ||
		!record.SameUnsealed(a.Labels, b.Labels) ||
		!maps.Equal(ours(a.Annotations), ours(b.Annotations)) ||
		!equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints)
}

// ours are the annotations that the operator reads. Those of others come up to once a second on each node; steps read
// them as they are when their pod starts.
func ours(annotations map[string]string) map[string]string {
	only := make(map[string]string, len(annotations))
	for k, v := range annotations {
		if strings.HasPrefix(k, v1alpha1.KeyPrefix) {
			only[k] = v
		}
	}
	return only
}

// Ready reports whether the node's kubelet says that it is ready.
func Ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
