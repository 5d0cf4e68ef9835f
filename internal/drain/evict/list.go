package evict

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ListNode returns all pods that are bound to a node, in every namespace. The reader must not be a cache: nobody caches
// the cluster's pods, and only a live list proves that a pod has left.
func ListNode(ctx context.Context, reader client.Reader, node string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return nil, fmt.Errorf("list the pods of node %s: %w", node, err)
	}
	return pods.Items, nil
}
