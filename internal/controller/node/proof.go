package node

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// proveIdle asks the API server whether the cache has all package pods of the node, before the interrupt in flight is given up
// or the cordon is lifted. An operator that has just taken over may know the record that the one before wrote, and not yet
// the pod that followed it: nothing changes the node after that pod, so no precondition would tell.
func (r *Reconciler) proveIdle(ctx context.Context, p *pass) error {
	released := p.flying != nil && (p.inFlight == nil || p.inFlight.Run != p.flying.Run || p.inFlight.Skyhook != p.flying.Skyhook)
	uncordons := p.node.Spec.Unschedulable && !p.unschedulable
	if !released && !uncordons {
		return nil
	}
	var live corev1.PodList
	err := r.Live.List(ctx, &live, client.InNamespace(r.Workload.Namespace),
		client.HasLabels{v1alpha1.LabelName}, client.MatchingFields{PodNodeIndex: p.node.Name})
	if err != nil {
		return fmt.Errorf("list package pods on node %s: %w", p.node.Name, err)
	}
	for k := range live.Items {
		pod := &live.Items[k]
		known := slices.ContainsFunc(p.pods, func(have corev1.Pod) bool { return have.UID == pod.UID })
		if !known && !workload.Ended(pod) {
			return fmt.Errorf("pod %s is on node %s, but the cache does not show it yet", pod.Name, p.node.Name)
		}
	}
	return nil
}
