package state

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Nodes returns all nodes of the cache, in no order. They are shared, and must not be changed.
func (s *Shared) Nodes(ctx context.Context) ([]*corev1.Node, error) {
	if s.CachedNodes != nil {
		return s.CachedNodes(), nil
	}
	var list corev1.NodeList
	if err := s.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := make([]*corev1.Node, len(list.Items))
	for i := range list.Items {
		nodes[i] = &list.Items[i]
	}
	return nodes, nil
}

// PodsOn returns the package pods on a node in the cache. They are shared, and must not be changed.
func (s *Shared) PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error) {
	if s.CachedPods != nil {
		return s.CachedPods(node)
	}
	var list corev1.PodList
	if err := s.Client.List(ctx, &list, client.InNamespace(s.Workload.Namespace),
		client.MatchingFields{PodsByNode: node}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list package pods on node %s: %w", node, err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}
