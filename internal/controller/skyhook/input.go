package skyhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// input is what one pass works with.
type input struct {
	rollout.Input
	// uninstalling are the definitions that packages are uninstalled with on some node, by their names.
	uninstalling map[string]lifecycle.Removal
	// unsure says that it could not be found out whether a node that holds a permit is gone: look again soon.
	unsure error
}

// obstruct holds all nodes while something lasting is in the way of their preparation. What holds the Skyhook in any
// case counts first. While it is the claim or definitions that are missing no node may start anything with this spec.
func (in *input) obstruct(err error) {
	o := obstacleOf(err)
	if o == nil {
		return
	}
	if in.Hold == nil {
		in.Hold = o.hold()
	}
	in.Unretained = in.Unretained || o.reason == v1alpha1.ReasonClaimRefused
}

// reading is a pass that reads its input.
type reading struct {
	*Reconciler
	skyhook  *v1alpha1.Skyhook
	target   *state.Target
	snapshot state.Snapshot
	pace     state.Pace
	// ordered are all Skyhooks in the order in which they work.
	ordered []*v1alpha1.Skyhook
	// detailed says that the fleet is small enough for the status to show every node.
	detailed     bool
	uninstalling map[string]lifecycle.Removal
	remains      remains
	// installed and complete count nodes by package, while an uninstall is asked for.
	installed, complete map[string]int
}

// input reads what a plan depends on.
func (r *Reconciler) input(ctx context.Context, s *v1alpha1.Skyhook, target *state.Target) (input, error) {
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes); err != nil {
		return input{}, fmt.Errorf("list nodes: %w", err)
	}
	var skyhooks v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &skyhooks); err != nil {
		return input{}, fmt.Errorf("list Skyhooks: %w", err)
	}
	g := &reading{
		Reconciler: r, skyhook: s, target: target, ordered: state.InOrder(skyhooks.Items),
		uninstalling: map[string]lifecycle.Removal{}, remains: remains{},
	}
	r.Records.Keep(nodes.Items, g.ordered)
	if asksForUninstall(s) {
		g.installed, g.complete = map[string]int{}, map[string]int{}
	}
	var err error
	if g.snapshot, err = r.Targets.Snapshot(ctx, r.Client, r.Workload, g.ordered); err != nil {
		return input{}, err
	}
	if g.pace, err = r.Policies.Of(ctx, r.Client, s); err != nil {
		return input{}, err
	}
	in := rollout.Input{
		Skyhook: s, Hold: g.snapshot.HoldAll(s, g.pace), Now: r.Clock.Now(), Policy: g.pace.Policy,
		Deleting: s.DeletionTimestamp != nil, Pins: g.snapshot.Pins(s),
	}
	// A policy that cannot be read is as good as missing to a deletion, which has to go on.
	in.PolicyMissing = g.pace.Missing || g.pace.Hold != nil && in.Deleting
	var selected []*corev1.Node
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if target.Selector.Matches(labels.Set(node.Labels)) {
			selected = append(selected, node)
		}
	}
	var unsure error
	in.Departed, unsure = r.departed(ctx, s, target, nodes.Items)
	slices.SortFunc(selected, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) }) // caches have no order
	g.detailed = len(selected) <= rollout.DetailLimit
	in.Nodes = make([]rollout.Node, 0, len(selected))
	for _, node := range selected {
		in.Nodes = append(in.Nodes, g.node(node))
	}
	in.Removal = g.removal()
	in.Installed, in.CompleteEverywhere = g.counts(len(selected))
	return input{Input: in, uninstalling: g.uninstalling, unsure: unsure}, nil
}

// node reads what the plan needs to know of one selected node.
func (g *reading) node(node *corev1.Node) rollout.Node {
	s := g.skyhook
	out := rollout.Node{
		Name: node.Name, Created: node.CreationTimestamp.Time,
		Labels: node.Labels, BootID: node.Status.NodeInfo.BootID,
	}
	wanted := g.snapshot.Wanted(s, node.Name)
	n, unusable := g.snapshot.Record(s, node, g.Records)
	out.FinishedPermit = n.FinishedPermit
	inFlight := record.ReadInterrupt(node.Annotations)
	around := state.Surroundings{Ordered: g.ordered, Records: g.Records, Pace: g.pace}
	if unusable != nil {
		// Nobody knows what is on the node, but a cordon is an annotation of its own.
		out.Facts = lifecycle.Facts{Disturbed: n.Cordoned || inFlight.OwnedBy(s.Name), Unavailable: !state.Ready(node)}
		out.Hold = g.snapshot.HoldHere(s, node, around)
		if out.Abandoned = wanted.Abandoned; out.Abandoned {
			out.Facts.Complete, out.Recorded = wanted.Deleting, "packages whose states cannot be read"
		}
		return out
	}
	out.Facts = lifecycle.FactsOf(s.Name, wanted, n, inFlight, state.Ready(node))
	out.Begun = len(n.Packages) > 0 && !out.Facts.FailedRun
	out.Wait = n.Wait
	if around.Complete = out.Facts.Complete; !around.Complete {
		if i := g.snapshot.InFlight(node, g.ordered, g.Records); i != nil {
			around.Interrupting = i.Skyhook
		}
	}
	out.Hold = g.snapshot.HoldHere(s, node, around)
	if broken := g.pace.Hold; out.Hold == nil && !around.Complete && s.DeletionTimestamp == nil {
		out.Hold = broken // as the node itself is held, be the policy missing or wrong
	}
	g.uninstalls(&out, wanted, n)
	if e, failed := lifecycle.FirstFailure(wanted, n); failed {
		out.Failure = failureOf(e)
	}
	if g.detailed {
		out.States = states(n)
	}
	return out
}

// failureOf tells of a failed run.
func failureOf(e record.Entry) *lifecycle.Wait {
	return &lifecycle.Wait{
		Package: e.Name, Reason: e.Reason, Since: e.Since,
		Message: fmt.Sprintf("package %s stage %s: %s", e.Name, e.Stage, e.Message),
	}
}

func states(n record.Node) map[string]v1alpha1.PackageStatus {
	mirror := make(map[string]v1alpha1.PackageStatus, len(n.Packages))
	for key, e := range n.Packages {
		mirror[key] = v1alpha1.PackageStatus{
			Name: e.Name, Version: e.Version, Image: e.Image,
			ContainerSHA: e.ContainerSHA, Stage: e.Stage, State: e.State, Restarts: e.Restarts,
			Superseded: e.Superseded,
		}
	}
	return mirror
}
