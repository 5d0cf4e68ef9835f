package node

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// item is one Skyhook on the node of a pass.
type item struct {
	pass    *pass
	skyhook *v1alpha1.Skyhook
	// before is the record before the decision, with what keeps anybody from going by it, and flight the interrupt in
	// flight then; nil for none.
	before   record.Node
	unusable *situation.Hold
	flight   *record.Interrupt
	decision lifecycle.Decision
	// withheld says that nothing of it changes in this pass but what it waits for.
	withheld bool
	// seals says that the record is sealed as the decision leaves it.
	seals bool
}

// item looks at a Skyhook as the decisions so far leave the node.
func (p *pass) item(s *v1alpha1.Skyhook) *item {
	i := &item{pass: p, skyhook: s, flight: p.inFlight}
	i.before, i.unusable = p.snapshot.Record(s, p.node, p.Records)
	return i
}

// decide makes the decision; false when there is none, as the Skyhook has nothing to do with the node or this fails.
func (i *item) decide(ctx context.Context) (decided bool, err error) {
	p, s := i.pass, i.skyhook
	o := i.observe(i.before)
	selected, deleting := p.Targets.Selects(s, p.node.Labels), s.DeletionTimestamp != nil
	known := len(o.Pods) > 0 || o.Permit != nil || o.InFlight.OwnedBy(s.Name) ||
		record.Exists(s.Name, p.node.Annotations, p.node.Labels)
	if !known && (!selected || s.Status.ObservedGeneration != s.Generation) {
		return false, nil // the plan of the Skyhook controller wakes this node
	}
	i.seals = s.Status.SealedSince != nil && p.snapshot.Vouches(s, p.node, i.before)
	if selected {
		err = i.proveDefinitions(ctx, o)
	}
	switch {
	case !selected, deleting && err == nil && (i.unusable == nil || o.Abandoned) && situation.Complete(o.Wanted, o.Record):
		i.decision = lifecycle.Remove(o)
		return true, nil
	case i.unusable != nil:
		i.decision = lifecycle.Unreadable(o, *i.unusable)
		i.decision.Record.OperatorVersion = p.Version
		return true, nil
	}
	if err == nil {
		err = i.ask(ctx, &o)
	}
	switch {
	case err == nil:
		i.decision, err = i.next(ctx, o)
	case o.Failed != "":
		i.decision = lifecycle.Stay(o)
	default:
		return false, err
	}
	i.decision.Record.OperatorVersion = p.Version
	return true, err
}

// observe collects what the decision depends on by a record, as far as it is known without a question.
func (i *item) observe(n record.Node) lifecycle.Observation {
	p, s := i.pass, i.skyhook
	return lifecycle.Observation{
		Skyhook: s.Name, Wanted: p.snapshot.Wanted(s, p.node.Name), Record: n, Now: p.now, InFlight: p.inFlight,
		Pods: i.ownPods(p.pods), Unbegun: i.ownPods(p.unbegun), Permit: permitOf(s, p.node), Node: i.facts(),
		Serial: s.Spec.Serial, Reapply: p.Targets.Reapply,
		Failed: p.known.failures.told(s.Name), Pins: p.snapshot.Pins(s),
		Finished: record.Finished(s.Name, n, p.node.Status.Conditions),
	}
}

// facts is what a Skyhook sees of the node.
func (i *item) facts() lifecycle.Node {
	p := i.pass
	other := false
	for name, holds := range p.cordons {
		other = other || holds && name != i.skyhook.Name
	}
	others, interrupts := i.othersPods()
	return lifecycle.Node{
		OtherPod: firstOf(others), InterruptPod: firstOf(interrupts),
		Ready: state.Ready(p.node), BootID: p.node.Status.NodeInfo.BootID, OwnReboot: p.ownReboot,
		MachineID:     p.node.Status.NodeInfo.MachineID,
		Unschedulable: p.unschedulable, CordonUnread: p.unschedulable && !p.node.Spec.Unschedulable, CordonedByOther: other,
		OtherPods: p.started + len(others), InterruptPods: len(interrupts),
		Architecture: p.node.Status.NodeInfo.Architecture, Resolves: workload.Resolves(&p.node.Status.NodeInfo),
	}
}

// othersPods are the package pods that are not this Skyhook's, and those of them that run an interrupt. One that has
// ended runs nothing any more, whoever may be held up in deleting it.
func (i *item) othersPods() (all, interrupts []types.NamespacedName) {
	for _, pod := range i.pass.pods {
		if workload.Ended(pod) || metav1.IsControlledBy(pod, i.skyhook) {
			continue
		}
		all = append(all, client.ObjectKeyFromObject(pod))
		if workload.IsInterrupt(pod) {
			interrupts = append(interrupts, client.ObjectKeyFromObject(pod))
		}
	}
	return all, interrupts
}

// firstOf is the first of some pods by name, whatever order they come in; zero of none.
func firstOf(pods []types.NamespacedName) types.NamespacedName {
	if len(pods) == 0 {
		return types.NamespacedName{}
	}
	return slices.MinFunc(pods, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
}

// ownPods returns the pods whose controller is this very Skyhook. Labels prove nothing.
func (i *item) ownPods(pods []*corev1.Pod) []lifecycle.Pod {
	var own []lifecycle.Pod
	for _, pod := range pods {
		if !metav1.IsControlledBy(pod, i.skyhook) {
			continue
		}
		seen, err := workload.Observe(pod)
		if err != nil {
			// Ours by owner, but nobody can read what it is for: it matches no run and is replaced.
			seen = workload.Unreadable(pod)
		}
		seen.Elsewhere = i.pass.Workload.PullsElsewhere(pod, seen)
		own = append(own, seen)
	}
	return own
}

// permitOf is the permit that the status has for a node. That of another node under its name has to be given back: the
// plan may not know yet that the node was replaced.
func permitOf(s *v1alpha1.Skyhook, node *corev1.Node) *v1alpha1.Permit {
	for _, p := range s.Status.Permits {
		if p.Node == node.Name {
			p.Revoked = p.Revoked || rollout.Replaced(s, node.CreationTimestamp.Time)
			return &p
		}
	}
	return nil
}

// putOff decides that nothing changes but what the node waits for, if it is told that. The record stays as it is, also
// one that nothing may go by.
func (i *item) putOff(told string) {
	n, _ := i.pass.Records.Read(i.skyhook.Name, i.pass.node)
	i.withheld, i.decision = true, lifecycle.Withhold(i.observe(n), told)
}

// follow makes what one Skyhook's decision changes on the node visible to those after it.
func (i *item) follow() {
	p, s, d := i.pass, i.skyhook, i.decision
	p.cordons[s.Name] = d.Record.Cordoned
	if d.Unschedulable != nil {
		p.unschedulable = *d.Unschedulable
	}
	p.started += len(d.Start)
	p.inFlight = d.InFlight
	p.undone[s.Name] = !d.Removing && s.DeletionTimestamp == nil && p.Targets.Selects(s, p.node.Labels) &&
		!situation.Complete(p.snapshot.Wanted(s, p.node.Name), d.Record)
}
