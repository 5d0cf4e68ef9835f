package skyhook

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/targets"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// input reads what a plan depends on.
func (r *Reconciler) input(ctx context.Context, s *v1alpha1.Skyhook, target *targets.Target) (rollout.Input, error) {
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes); err != nil {
		return rollout.Input{}, fmt.Errorf("list nodes: %w", err)
	}
	var skyhooks v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &skyhooks); err != nil {
		return rollout.Input{}, fmt.Errorf("list Skyhooks: %w", err)
	}
	in := rollout.Input{
		Skyhook: s, Hold: rollout.HoldAll(s, target.Invalid), Now: r.Clock.Now(), Departed: map[string]string{},
	}
	ordered := targets.InOrder(skyhooks.Items)
	var selected []*corev1.Node
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if target.Selector.Matches(labels.Set(node.Labels)) {
			selected = append(selected, node)
		} else if len(s.Status.Permits) > 0 {
			// Unreadable or not, the token is an annotation of its own.
			n, _ := r.Records.Read(s.Name, node)
			in.Departed[node.Name] = n.Done
		}
	}
	in.Nodes = make([]rollout.Node, 0, len(selected))
	for _, node := range selected {
		in.Nodes = append(in.Nodes, r.node(s, target, node, ordered, len(selected) <= rollout.DetailLimit))
	}
	return in, nil
}

// node reads what the plan needs to know of one selected node.
func (r *Reconciler) node(s *v1alpha1.Skyhook, target *targets.Target, node *corev1.Node,
	ordered []*v1alpha1.Skyhook, detailed bool,
) rollout.Node {
	out := rollout.Node{
		Name: node.Name, Created: node.CreationTimestamp.Time,
		Ready: targets.Ready(node), BootID: node.Status.NodeInfo.BootID,
	}
	n, err := r.Records.Read(s.Name, node)
	out.Status, out.Done = n.Status, n.Done
	if malformed := (*record.MalformedError)(nil); errors.As(err, &malformed) {
		out.Hold = &lifecycle.Hold{Status: v1alpha1.StatusBlocked, Reason: rollout.ReasonMalformed, Message: err.Error()}
		return out
	}
	out.Complete = lifecycle.Complete(target.Packages, n)
	if out.Hold = rollout.HoldNode(s, node); out.Hold == nil && !out.Complete {
		out.Hold = rollout.HoldOrder(r.Targets.Earlier(s, ordered, node, r.Records))
	}
	if e, failed := lifecycle.FirstFailure(target.Packages, n); failed {
		out.Trouble = &rollout.Trouble{
			Reason: e.Reason, Since: e.Since.Time,
			Message: fmt.Sprintf("package %s stage %s: %s", e.Name, e.Stage, e.Message),
		}
	}
	if w := n.Wait; w != nil {
		out.Wait = &rollout.Trouble{Reason: w.Reason, Message: w.Message, Since: w.Since.Time}
	}
	if detailed {
		out.States = states(n)
	}
	return out
}

func states(n record.Node) map[string]v1alpha1.PackageStatus {
	mirror := make(map[string]v1alpha1.PackageStatus, len(n.Packages))
	for key, e := range n.Packages {
		mirror[key] = v1alpha1.PackageStatus{
			Name: e.Name, Version: e.Version, Image: e.Image,
			ContainerSHA: e.ContainerSHA, Stage: e.Stage, State: e.State, Restarts: e.Restarts,
		}
	}
	return mirror
}
