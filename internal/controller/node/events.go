package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// report logs what became of one Skyhook's decision, and sends its events, after its writes.
func (r *Reconciler) report(ctx context.Context, node *corev1.Node, i *item) {
	logRecord(ctx, node.Name, i)
	for _, c := range i.decision.Changes {
		logChange(ctx, node.Name, i, c)
		if c.Reason != "" {
			kind := corev1.EventTypeNormal
			if c.Reason == v1alpha1.ReasonImageMoved { // somebody has to look at it
				kind = corev1.EventTypeWarning
			}
			r.both(node, i, kind, c.Reason, c, "node %s: %s", node.Name, c.Message)
			continue
		}
		switch c.State {
		case v1alpha1.StateErroring:
			r.both(node, i, corev1.EventTypeWarning, v1alpha1.EventError, c,
				"stage %s of package [%s:%s] fails on node %s: %s", c.Stage, c.Package, c.Version, node.Name, c.Message)
		case v1alpha1.StateInProgress:
			r.both(node, i, corev1.EventTypeNormal, v1alpha1.EventApply, c,
				"stage %s of package [%s:%s] begins on node %s", c.Stage, c.Package, c.Version, node.Name)
		default:
			r.Events.Eventf(node, i.skyhook, corev1.EventTypeNormal, v1alpha1.EventApply, string(c.Stage),
				"stage %s of package [%s:%s] is %s for Skyhook %s", c.Stage, c.Package, c.Version, c.State, i.skyhook.Name)
		}
	}
}

// both sends an event to the node and to the Skyhook: people look at either.
func (r *Reconciler) both(
	node *corev1.Node, i *item, kind, reason string, c lifecycle.Change, format string, args ...any,
) {
	r.Events.Eventf(node, i.skyhook, kind, reason, string(c.Stage), format, args...)
	r.Events.Eventf(i.skyhook, node, kind, reason, string(c.Stage), format, args...)
}
