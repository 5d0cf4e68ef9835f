package skyhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// input is what one pass works with.
type input struct {
	rollout.Input
	// uninstalling are the definitions that packages are uninstalled with on some node, by their names.
	uninstalling map[string]situation.Removal
	// needs are the definitions that selected nodes name beside those of the spec, and others the nodes that are not
	// selected.
	needs  needs
	others []*corev1.Node
	// unhashed are packages of which only another operator's ConfigMap tells what some node configured them with.
	unhashed map[string]bool
	// census is what is counted for metrics.
	census metrics.Census
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
		in.Hold, in.Obstacle = o.hold(), true
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
	// detailed says that the fleet is small enough for the status to show every node.
	detailed     bool
	uninstalling map[string]situation.Removal
	needs        needs
	remains      remains
	unhashed     map[string]bool
	census       metrics.Census
	// installed and complete count nodes by package, while an uninstall is asked for.
	installed, complete map[string]int
}

// input reads what a plan depends on.
func (r *Reconciler) input(ctx context.Context, s *v1alpha1.Skyhook, target *state.Target) (input, error) {
	pace, begun := &r.memory.Of(s).pace, r.Clock.Now()
	defer func() { pace.read(r.Clock.Now().Sub(begun)) }()
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return input{}, err
	}
	var skyhooks v1alpha1.SkyhookList
	if err := r.Client.List(ctx, &skyhooks, client.UnsafeDisableDeepCopy); err != nil {
		return input{}, fmt.Errorf("list Skyhooks: %w", err)
	}
	g := &reading{
		Reconciler: r, skyhook: s, target: target,
		uninstalling: map[string]situation.Removal{}, needs: needs{of: map[string]bool{}}, remains: remains{},
		unhashed:  map[string]bool{},
		installed: map[string]int{}, complete: map[string]int{},
		census: metrics.Census{Outlines: map[record.Outline]int{}, Failing: map[string]int{}},
	}
	ordered := state.InOrder(skyhooks.Items)
	for i, other := range ordered {
		if other.UID == s.UID {
			ordered[i] = s // the pass goes by one version of it
		}
	}
	r.Records.Keep(nodes, ordered)
	if g.snapshot, err = r.Targets.Snapshot(ctx, r.Client, r.Workload, ordered); err != nil {
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
	selected, others := split(nodes, target.Selector)
	var unsure error
	in.Departed, unsure = r.departed(ctx, s, selected, others)
	g.detailed = len(selected) <= rollout.DetailLimit
	in.Nodes = r.takeNodes(len(selected))
	for _, node := range selected {
		in.Nodes = append(in.Nodes, g.node(node))
	}
	in.Removal = g.removal()
	in.Installed, in.CompleteEverywhere = g.counts(len(selected))
	return input{
		Input: in, uninstalling: g.uninstalling, needs: g.needs, others: others, unhashed: g.unhashed, census: g.census,
		unsure: unsure,
	}, nil
}

// split tells the nodes that are selected from the others.
func split(nodes []*corev1.Node, selector labels.Selector) (selected, others []*corev1.Node) {
	selected = make([]*corev1.Node, 0, len(nodes))
	for _, node := range nodes {
		if selector.Matches(labels.Set(node.Labels)) {
			selected = append(selected, node)
		} else {
			others = append(others, node)
		}
	}
	return selected, others
}

// node reads what the plan needs to know of one selected node.
func (g *reading) node(node *corev1.Node) rollout.Node {
	s := g.skyhook
	out := rollout.Node{
		Name: node.Name, Created: node.CreationTimestamp.Time,
		Labels: node.Labels, BootID: node.Status.NodeInfo.BootID,
	}
	at := g.snapshot.At(node, g.Records)
	here, v := at.Situation(s, g.pace)
	out.Situation = here
	if v == nil {
		g.unusable(&out, node)
		return out
	}
	out.FinishedPermit = v.FinishedPermit
	g.count(&out, &v.Outline, v.Cordoned)
	g.needs.add(v.Needs)
	for _, name := range v.Unhashed {
		g.unhashed[name] = true
	}
	g.uninstalls(&out, v)
	if g.detailed {
		n, _ := g.Records.Read(s.Name, node)
		out.States = states(n)
	}
	return out
}

// unusable reads what else is known of a node although its record cannot be used.
func (g *reading) unusable(out *rollout.Node, node *corev1.Node) {
	n, _ := g.snapshot.Record(g.skyhook, node, g.Records)
	wanted := g.snapshot.Wanted(g.skyhook, node.Name)
	g.needs.unknown = g.needs.unknown || n.Unreadable
	g.needs.add(rollout.NeedsOf(wanted, n))
	out.FinishedPermit = n.FinishedPermit
	if out.Abandoned = wanted.Abandoned; out.Abandoned {
		out.Recorded = "packages whose states cannot be read"
	}
	g.count(out, nil, n.Cordoned)
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
