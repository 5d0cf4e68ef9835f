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
// takes back its permits; but its metadata belongs to Skyhooks, with which it would be collected no sooner than they go.
func (r *Reconciler) nodeGone(ctx context.Context, node string) error {
	r.memory.Forget(node)
	r.departures.forget(node)
	var skyhooks v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &skyhooks, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Skyhooks: %w", err)
	}
	var odd corev1.ConfigMapList
	if err := r.Client.List(ctx, &odd, client.InNamespace(r.Workload.Namespace),
		client.MatchingFields{state.OddMetaByNode: node}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list metadata of node %s: %w", node, err)
	}
	var names []string
	for i := range skyhooks.Items {
		names = append(names, workload.NodeMetaName(skyhooks.Items[i].Name, node))
	}
	for i := range odd.Items {
		names = append(names, odd.Items[i].Name)
	}
	for _, name := range names {
		if err := r.deleteMeta(ctx, name, node); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) deleteMeta(ctx context.Context, name, node string) error {
	var cm corev1.ConfigMap
	key := client.ObjectKey{Namespace: r.Workload.Namespace, Name: name}
	err := r.Client.Get(ctx, key, &cm, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get ConfigMap %s with the metadata of node %s, which is gone: %w", name, node, err)
	}
	if err != nil || workload.NodeOfMeta(&cm) != node || !ownedBySkyhook(&cm) {
		return nil //nolint:nilerr // there is none
	}
	gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: cm.Name, Namespace: cm.Namespace}}
	precondition := client.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion}
	if err := r.Client.Delete(ctx, gone, precondition); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ConfigMap %s with the metadata of node %s, which is gone: %w", cm.Name, node, err)
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
