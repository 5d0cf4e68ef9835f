package skyhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// read reads what a plan depends on.
func (p *pass) read(ctx context.Context) error {
	s, begun := p.skyhook, p.Clock.Now()
	defer func() { p.known.pace.read(p.Clock.Now().Sub(begun)) }()
	nodes, err := p.Nodes(ctx)
	if err != nil {
		return err
	}
	var skyhooks v1alpha1.SkyhookList
	if err := p.Client.List(ctx, &skyhooks, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Skyhooks: %w", err)
	}
	ordered := state.InOrder(skyhooks.Items)
	for i, other := range ordered {
		if other.UID == s.UID {
			ordered[i] = s // the pass goes by one version of it
		}
	}
	p.Records.Keep(nodes, ordered)
	if p.snapshot, err = p.Targets.Snapshot(ctx, p.Client, p.Workload, ordered); err != nil {
		return err
	}
	if p.pace, err = p.Policies.Of(ctx, p.Client, s); err != nil {
		return err
	}
	p.in = rollout.Input{
		Skyhook: s, Hold: p.snapshot.HoldAll(s, p.pace), Now: p.Clock.Now(), Policy: p.pace.Policy,
		Deleting: s.DeletionTimestamp != nil, Pins: p.snapshot.Pins(s),
		Installed: map[string]bool{}, CompleteEverywhere: map[string]bool{},
	}
	p.in.PolicyMissing, p.in.PolicyInvalid = p.pace.Missing, p.pace.Hold != nil && !p.pace.Missing
	selected, others := split(nodes, p.target.Selector)
	p.others = others
	p.unsure = p.departed(ctx, selected)
	p.detailed = len(selected) <= rollout.DetailLimit
	p.in.Nodes = p.reconciler.takeNodes(len(selected))
	for _, node := range selected {
		p.in.Nodes = append(p.in.Nodes, p.node(node))
	}
	p.in.Removal = p.remains.removal(s)
	for name, n := range p.complete {
		p.in.CompleteEverywhere[name] = n == len(selected)
	}
	return nil
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
func (p *pass) node(node *corev1.Node) rollout.Node {
	s := p.skyhook
	out := rollout.Node{
		Name: node.Name, Created: node.CreationTimestamp.Time,
		Labels: node.Labels, BootID: node.Status.NodeInfo.BootID,
	}
	at := p.snapshot.At(node, p.Records)
	here, v := at.Situation(s, p.pace)
	out.Situation = here
	if v == nil {
		p.unusable(&out, node)
		return out
	}
	out.FinishedPermit = v.FinishedPermit
	count(&p.census, &out, &v.Outline, v.Cordoned)
	p.needs.add(v.Needs)
	for _, name := range v.Unhashed {
		p.unhashed[name] = true
	}
	p.uninstalls(&out, v)
	if p.detailed {
		n, _ := p.Records.Read(s.Name, node)
		out.States = states(n)
	}
	return out
}

// unusable reads what else is known of a node although its record cannot be used.
func (p *pass) unusable(out *rollout.Node, node *corev1.Node) {
	n, _ := p.snapshot.Record(p.skyhook, node, p.Records)
	wanted := p.snapshot.Wanted(p.skyhook, node.Name)
	p.needs.unknown = p.needs.unknown || n.Unreadable
	p.needs.add(rollout.NeedsOf(wanted, n))
	out.FinishedPermit = n.FinishedPermit
	if out.Abandoned = wanted.Abandoned; out.Abandoned {
		out.Recorded = "packages whose states cannot be read"
	}
	count(&p.census, out, nil, n.Cordoned)
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
