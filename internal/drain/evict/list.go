package evict

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ListNode returns the pods that are bound to a node, in every namespace, as the API server's own cache has them: that
// is cheap enough to be asked every few seconds for many nodes, but may be a little old. It shows what a drain waits
// for; that a node is clear is for ConfirmNode to say. The reader must not be a cache: nobody caches the cluster's
// pods.
func ListNode(ctx context.Context, reader client.Reader, node string) ([]corev1.Pod, error) {
	return listNode(ctx, reader, node, "0")
}

// ConfirmNode returns the pods that are bound to a node as they are now: only this list proves that a pod has left, or
// that none has come since. It costs the API server a look through more than this node's pods.
func ConfirmNode(ctx context.Context, reader client.Reader, node string) ([]corev1.Pod, error) {
	return listNode(ctx, reader, node, "")
}

func listNode(ctx context.Context, reader client.Reader, node, resourceVersion string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, &client.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node),
		Raw:           &metav1.ListOptions{ResourceVersion: resourceVersion},
	})
	if err != nil {
		return nil, fmt.Errorf("list the pods of node %s: %w", node, err)
	}
	return pods.Items, nil
}
