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

// input is what one pass works with.
type input struct {
	rollout.Input
	// undoing are the definitions that packages are uninstalled with on some node, by their names.
	undoing map[string]lifecycle.Leaving
}

// reading is a pass that reads its input.
type reading struct {
	*Reconciler
	skyhook *v1alpha1.Skyhook
	target  *targets.Target
	view    targets.View
	// ordered are all Skyhooks in the order in which they work.
	ordered []*v1alpha1.Skyhook
	// detailed says that the fleet is small enough for the status to show every node.
	detailed bool
	undoing  map[string]lifecycle.Leaving
	remains  remains
	// installed and complete count nodes by package, while an uninstall is asked for.
	installed, complete map[string]int
}

// input reads what a plan depends on.
func (r *Reconciler) input(ctx context.Context, s *v1alpha1.Skyhook, target *targets.Target) (input, error) {
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes); err != nil {
		return input{}, fmt.Errorf("list nodes: %w", err)
	}
	var skyhooks v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &skyhooks); err != nil {
		return input{}, fmt.Errorf("list Skyhooks: %w", err)
	}
	g := &reading{
		Reconciler: r, skyhook: s, target: target, ordered: targets.InOrder(skyhooks.Items),
		undoing: map[string]lifecycle.Leaving{}, remains: remains{},
	}
	if asksForUninstall(s) {
		g.installed, g.complete = map[string]int{}, map[string]int{}
	}
	var err error
	if g.view, err = r.Targets.View(ctx, r.Client, r.Workload, g.ordered); err != nil {
		return input{}, err
	}
	in := rollout.Input{
		Skyhook: s, Hold: rollout.HoldAll(s, target.Invalid), Now: r.Clock.Now(), Departed: map[string]string{},
		Deleting: s.DeletionTimestamp != nil,
	}
	pace, err := r.Policies.Of(ctx, r.Client, s)
	if err != nil {
		return input{}, err
	}
	// A policy that cannot be read is as good as missing to a deletion, which has to go on.
	in.Policy, in.PolicyMissing = pace.Policy, pace.Missing || pace.Hold != nil && in.Deleting
	if in.Hold == nil && !in.Deleting {
		in.Hold = pace.Hold
	}
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
	g.detailed = len(selected) <= rollout.DetailLimit
	in.Nodes = make([]rollout.Node, 0, len(selected))
	for _, node := range selected {
		in.Nodes = append(in.Nodes, g.node(node))
	}
	in.Removal = g.removal()
	in.Installed, in.CompleteEverywhere = g.counts(len(selected))
	return input{Input: in, undoing: g.undoing}, nil
}

// node reads what the plan needs to know of one selected node.
func (g *reading) node(node *corev1.Node) rollout.Node {
	s := g.skyhook
	out := rollout.Node{
		Name: node.Name, Created: node.CreationTimestamp.Time,
		Labels: node.Labels, Ready: targets.Ready(node), BootID: node.Status.NodeInfo.BootID,
	}
	wanted := g.view.Wanted(s, node.Name)
	n, err := g.Records.Read(s.Name, node)
	out.Status, out.Done, out.Cordoned = n.Status, n.Done, n.Cordoned
	out.Begun = len(n.Packages) > 0 && n.Status != v1alpha1.StatusErroring
	if malformed := (*record.MalformedError)(nil); errors.As(err, &malformed) {
		out.Hold = &lifecycle.Hold{Status: v1alpha1.StatusBlocked, Reason: rollout.ReasonMalformed, Message: err.Error()}
		if out.Abandoned = wanted.Abandoned; out.Abandoned {
			out.Complete, out.Recorded = wanted.Deleting, "packages whose states cannot be read"
		}
		return out
	}
	out.Complete = lifecycle.Complete(wanted, n)
	if out.Hold = rollout.HoldNode(s, node, g.Workload.RuntimeTaint); out.Hold == nil && !out.Complete {
		by := g.view.Interrupting(node, g.ordered, g.Records)
		out.Hold = g.view.HoldByOthers(s, by, g.ordered, node, g.Records)
	}
	g.uninstalls(&out, wanted, n)
	if e, failed := lifecycle.FirstFailure(wanted, n); failed {
		out.Trouble = trouble(e)
	}
	if w := n.Wait; w != nil {
		out.Wait = &rollout.Trouble{Reason: w.Reason, Message: w.Message, Since: w.Since.Time}
	}
	if g.detailed {
		out.States = states(n)
	}
	return out
}

func trouble(e record.Entry) *rollout.Trouble {
	return &rollout.Trouble{
		Reason: e.Reason, Since: e.Since.Time,
		Message: fmt.Sprintf("package %s stage %s: %s", e.Name, e.Stage, e.Message),
	}
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
