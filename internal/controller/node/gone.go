package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// nodeGone drops what is left of a node that does not exist any more. Its pods go with it, and the Skyhook controller
// takes back its permits; but its metadata belongs to Skyhooks, with which nobody would collect it before they go.
func (r *Reconciler) nodeGone(ctx context.Context, node string) error {
	r.memory.Forget(node)
	var all corev1.ConfigMapList
	if err := r.Client.List(ctx, &all, client.InNamespace(r.Workload.Namespace),
		client.MatchingFields{state.NodeMetaByNode: node}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list metadata of node %s: %w", node, err)
	}
	for i := range all.Items {
		cm := &all.Items[i]
		if !ownedBySkyhook(cm) {
			continue
		}
		gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: cm.Name, Namespace: cm.Namespace}}
		precondition := client.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion}
		if err := r.Client.Delete(ctx, gone, precondition); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s with the metadata of node %s, which is gone: %w", cm.Name, node, err)
		}
	}
	return nil
}

// ownedBySkyhook goes by owner, as labels prove nothing.
func ownedBySkyhook(o client.Object) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && owner.Kind == "Skyhook" &&
		schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group == v1alpha1.GroupName
}

// nodeOfMeta maps a metadata ConfigMap to its node: that may be gone since before this operator started.
func nodeOfMeta(_ context.Context, o client.Object) []reconcile.Request {
	if node := workload.NodeOfMeta(o); node != "" {
		return []reconcile.Request{request(node)}
	}
	return nil
}

// appeared lets only objects through that are new to the cache, as all are at the start.
func appeared() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
