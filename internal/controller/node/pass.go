package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/taint"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// pass is one look at one node.
type pass struct {
	node *corev1.Node
	now  time.Time
	// pods are all package pods on the node, shared with the cache.
	pods []*corev1.Pod
	// unschedulable and cordons are as the decisions so far leave them: who holds a cordon, by Skyhook.
	unschedulable bool
	cordons       map[string]bool
	// inFlight is the interrupt in flight on the node, as the decisions so far leave it; nil for none.
	inFlight *record.Interrupt
	// undone are, by name, the Skyhooks that the decisions so far leave with something to do on the node.
	undone map[string]bool
	// ownReboot says that the boot id changed because a Skyhook asked for the reboot.
	ownReboot bool
	// taint is what becomes of the runtime taint.
	taint taint.Change
	// taintFirst says that the runtime taint is all that comes of the pass.
	taintFirst bool
	// started counts the pods that the decisions so far start.
	started int
	// wrote is what this pass has written so far; its resourceVersion is the precondition of the next write.
	wrote written
	// skyhooks are all there are, in the order in which they work on a node, and snapshot is what is known of them.
	skyhooks []*v1alpha1.Skyhook
	snapshot state.Snapshot
	// items are those that have to do with this node.
	items []*item
	// asked says that the API server was asked for the package pods of the node, and unproved what keeps it from being
	// known that the cache has all of them.
	asked    bool
	unproved error
	// confirmed says that the API server had the node as the cache has it.
	confirmed bool
	// errs went wrong for single Skyhooks; they never stop the work for others. failed has them by Skyhook.
	errs   []error
	failed map[string]error
	// untold is when an event about gathered stages is to be sent; 0 for never.
	untold time.Duration
}

// fail notes what went wrong for one Skyhook.
func (p *pass) fail(s *v1alpha1.Skyhook, err error) {
	p.errs = append(p.errs, fmt.Errorf("Skyhook %s: %w", s.Name, err))
	p.blame(s, err)
}

// failAll notes what went wrong for all Skyhooks that have to do with the node.
func (p *pass) failAll(err error) {
	p.errs = append(p.errs, err)
	for _, i := range p.items {
		p.blame(i.skyhook, err)
	}
}

func (p *pass) blame(s *v1alpha1.Skyhook, err error) {
	if p.failed == nil {
		p.failed = map[string]error{}
	}
	p.failed[s.Name] = errors.Join(p.failed[s.Name], err)
}

// item is one Skyhook on the node of a pass.
type item struct {
	skyhook  *v1alpha1.Skyhook
	decision lifecycle.Decision
	// withheld says that nothing of it changes in this pass but what it waits for.
	withheld bool
	// seals says that the record is sealed as the decision leaves it.
	seals bool
	// before is the record before the decision, and flight the interrupt in flight then; nil for none.
	before record.Node
	flight *record.Interrupt
}

// plan observes and decides for every Skyhook that has to do with the node. It writes nothing but pins, which later
// decisions depend on.
func (r *Reconciler) plan(ctx context.Context, p *pass) {
	r.survey(p)
	if p.taintFirst = r.taintFirst(p); p.taintFirst {
		return
	}
	for _, s := range p.skyhooks {
		i, err := r.decide(ctx, p, s)
		if err != nil {
			p.fail(s, err)
		}
		if i != nil {
			if r.OnDecision != nil {
				r.OnDecision(p.node.Name, s.Name, &i.decision)
			}
			r.withhold(ctx, p, i)
			r.keepPins(ctx, p, i)
			p.items = append(p.items, i)
			r.follow(p, i)
		}
	}
	if !p.unschedulable {
		r.memory.Of(p.node).drain = drain.Memory{} // a drain may be broken off, and pods come back rightly after it
	}
	r.planTaint(ctx, p)
}

// survey finds out who holds cordons and who interrupts the node.
func (r *Reconciler) survey(p *pass) {
	p.unschedulable, p.cordons, p.undone = p.node.Spec.Unschedulable, map[string]bool{}, map[string]bool{}
	for _, name := range record.Skyhooks(p.node.Annotations, p.node.Labels) {
		n, _ := r.Records.Read(name, p.node)
		p.cordons[name] = n.Cordoned // also of Skyhooks that are gone, until they are cleared
	}
	at := p.snapshot.At(p.node, r.Records)
	p.inFlight = at.InFlight()
	p.ownReboot = p.snapshot.OwnReboot(p.node, p.inFlight, r.Records)
}

// follow makes what one Skyhook's decision changes on the node visible to those after it.
func (r *Reconciler) follow(p *pass, i *item) {
	d := i.decision
	p.cordons[i.skyhook.Name] = d.Record.Cordoned
	if d.Unschedulable != nil {
		p.unschedulable = *d.Unschedulable
	}
	p.started += len(d.Start)
	p.inFlight = d.InFlight
	s := i.skyhook
	p.undone[s.Name] = !d.Removing && s.DeletionTimestamp == nil && r.Targets.Selects(s, p.node.Labels) &&
		!situation.Complete(p.snapshot.Wanted(s, p.node.Name), d.Record)
}

// decide makes the decision for one Skyhook; nil when it has nothing to do with the node.
func (r *Reconciler) decide(ctx context.Context, p *pass, s *v1alpha1.Skyhook) (*item, error) {
	n, unusable := p.snapshot.Record(s, p.node, r.Records)
	o := r.observe(p, s, n)
	selected, deleting := r.Targets.Selects(s, p.node.Labels), s.DeletionTimestamp != nil
	known := len(o.Pods) > 0 || o.Permit != nil || o.InFlight.OwnedBy(s.Name) ||
		record.Exists(s.Name, p.node.Annotations, p.node.Labels)
	if !known && (!selected || s.Status.ObservedGeneration != s.Generation) {
		return nil, nil //nolint:nilnil // the plan of the Skyhook controller wakes this node
	}
	i := &item{skyhook: s, before: n, flight: o.InFlight}
	i.seals = s.Status.SealedSince != nil && p.snapshot.Vouches(s, p.node, n)
	var err error
	if selected {
		err = r.proveDefinitions(ctx, s, o)
	}
	switch {
	case !selected, deleting && err == nil && (unusable == nil || o.Abandoned) && situation.Complete(o.Wanted, o.Record):
		i.decision = lifecycle.Remove(o)
		return i, nil
	case unusable != nil:
		i.decision = lifecycle.Unreadable(o, *unusable)
		i.decision.Record.OperatorVersion = r.Version
		return i, nil
	}
	if err == nil {
		err = r.ask(ctx, p, s, &o)
	}
	switch {
	case err == nil:
		i.decision, err = r.next(ctx, p, s, o)
	case o.Failed != "":
		i.decision = lifecycle.Stay(o)
	default:
		return nil, err
	}
	i.decision.Record.OperatorVersion = r.Version
	return i, err
}

// ask adds to an observation what is known only by questions.
func (r *Reconciler) ask(ctx context.Context, p *pass, s *v1alpha1.Skyhook, o *lifecycle.Observation) error {
	var err error
	if o.ConfigReady, err = r.configReady(ctx, s); err != nil {
		return err
	}
	if o.RetainedReady, err = r.retainedReady(ctx, s, *o); err != nil {
		return err
	}
	if o.Configured, err = r.configured(ctx, s, o.Unhashed(o.Record)); err != nil {
		return err
	}
	o.Hold, err = r.hold(ctx, p, s)
	return err
}

// observe collects what the decision for one Skyhook depends on, as far as it is known without a question.
func (r *Reconciler) observe(p *pass, s *v1alpha1.Skyhook, n record.Node) lifecycle.Observation {
	return lifecycle.Observation{
		Skyhook: s.Name, Wanted: p.snapshot.Wanted(s, p.node.Name), Record: n, Now: p.now, InFlight: p.inFlight,
		Pods: r.ownPods(s, p.pods), Permit: permitOf(s, p.node.Name), Node: p.facts(s),
		Serial: s.Spec.Serial, Reapply: r.Targets.Reapply,
		Failed: r.memory.Of(p.node).failures.told(s.Name), Pins: p.snapshot.Pins(s),
		Finished: record.Finished(s.Name, n, p.node.Status.Conditions),
	}
}

// hold returns the first reason for which the node must not start new work for a Skyhook; nil when there is none.
func (r *Reconciler) hold(ctx context.Context, p *pass, s *v1alpha1.Skyhook) (*situation.Hold, error) {
	pace, err := r.Policies.Of(ctx, r.Client, s)
	if err != nil {
		return nil, err
	}
	around := state.Surroundings{Pace: pace, Undone: p.undone}
	if p.inFlight != nil {
		around.Interrupting = p.inFlight.Skyhook
	}
	at := p.snapshot.At(p.node, r.Records)
	return at.Hold(s, around), nil
}

// facts is what a Skyhook sees of the node.
func (p *pass) facts(s *v1alpha1.Skyhook) lifecycle.Node {
	other := false
	for name, holds := range p.cordons {
		other = other || holds && name != s.Name
	}
	others, interrupts := p.othersPods(s)
	return lifecycle.Node{
		OtherPod: firstOf(others), InterruptPod: firstOf(interrupts),
		Ready: state.Ready(p.node), BootID: p.node.Status.NodeInfo.BootID, OwnReboot: p.ownReboot,
		Unschedulable: p.unschedulable, CordonUnread: p.unschedulable && !p.node.Spec.Unschedulable, CordonedByOther: other,
		OtherPods: p.started + len(others), InterruptPods: len(interrupts),
		Architecture: p.node.Status.NodeInfo.Architecture, Resolves: workload.Resolves(&p.node.Status.NodeInfo),
	}
}

// othersPods are the package pods that are not this Skyhook's, and those of them that run an interrupt. One that has
// ended runs nothing any more, whoever may be held up in deleting it.
func (p *pass) othersPods(s *v1alpha1.Skyhook) (all, interrupts []types.NamespacedName) {
	for _, pod := range p.pods {
		if workload.Ended(pod) || metav1.IsControlledBy(pod, s) {
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
func (r *Reconciler) ownPods(s *v1alpha1.Skyhook, pods []*corev1.Pod) []lifecycle.Pod {
	var own []lifecycle.Pod
	for _, pod := range pods {
		if !metav1.IsControlledBy(pod, s) {
			continue
		}
		seen, err := workload.Observe(pod)
		if err != nil {
			// Ours by owner, but nobody can read what it is for: it matches no run and is replaced.
			seen = workload.Unreadable(pod)
		}
		seen.Elsewhere = r.Workload.PullsElsewhere(pod, seen)
		own = append(own, seen)
	}
	return own
}

func permitOf(s *v1alpha1.Skyhook, node string) *v1alpha1.Permit {
	for i := range s.Status.Permits {
		if s.Status.Permits[i].Node == node {
			return &s.Status.Permits[i]
		}
	}
	return nil
}

// configReady tells for each package whether the ConfigMap that its pod would mount holds what the spec says. Before
// the plan for this generation is there, none is: the package's definition may not be retained yet, without which it
// could not be undone.
func (r *Reconciler) configReady(ctx context.Context, s *v1alpha1.Skyhook) (map[string]bool, error) {
	ready := make(map[string]bool, len(s.Spec.Packages))
	if s.Status.ObservedGeneration != s.Generation {
		return ready, nil
	}
	for name, pkg := range s.Spec.Packages {
		var err error
		if ready[name], err = r.holds(ctx, s, name, pkg); err != nil {
			return nil, err
		}
	}
	return ready, nil
}

// retainedReady tells the same of the definitions that something on this node is undone with. Before the plan for this
// generation is there, none is: which nodes may begin with it is decided there. A deletion does not wait for that.
func (r *Reconciler) retainedReady(
	ctx context.Context, s *v1alpha1.Skyhook, o lifecycle.Observation,
) (map[string]bool, error) {
	ready := map[string]bool{}
	if s.Status.ObservedGeneration != s.Generation && s.DeletionTimestamp == nil {
		return ready, nil
	}
	for _, l := range o.Removals(o.Record) {
		if l.FromSpec || l.Missing {
			continue
		}
		var err error
		if ready[l.Package.Definition], err = r.holds(ctx, s, l.Package.Name, l.Package.Package); err != nil {
			return nil, err
		}
	}
	return ready, nil
}

// holds reports whether the ConfigMap that a package's pod mounts is the Skyhook's and holds what it should for good;
// without data none is needed.
func (r *Reconciler) holds(
	ctx context.Context, s *v1alpha1.Skyhook, pkgName string, pkg v1alpha1.Package,
) (bool, error) {
	if len(pkg.ConfigMap) == 0 {
		return true, nil
	}
	var cm corev1.ConfigMap
	name := workload.MountedConfigMapName(s.Name, pkgName, pkg.Version, pkg.ConfigMap)
	key := client.ObjectKey{Namespace: r.Workload.Namespace, Name: name}
	err := r.Client.Get(ctx, key, &cm, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return err == nil && metav1.IsControlledBy(&cm, s) && workload.Sealed(&cm) && workload.Holds(&cm, pkg.ConfigMap), nil
}

// configured has hashes of what another operator configured the named packages of the spec with, of those whose
// ConfigMap it left.
func (r *Reconciler) configured(
	ctx context.Context, s *v1alpha1.Skyhook, names []string,
) (map[string]map[string]string, error) {
	hashes := map[string]map[string]string{}
	for _, pkg := range names {
		var cm corev1.ConfigMap
		version := s.Spec.Packages[pkg].Version
		key := client.ObjectKey{Namespace: r.Workload.Namespace, Name: workload.EarlierName(s.Name, pkg, version)}
		err := r.Client.Get(ctx, key, &cm, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get ConfigMap %s: %w", key.Name, err)
		}
		if err == nil && metav1.IsControlledBy(&cm, s) && workload.Earlier(&cm, pkg, version) {
			hashes[pkg] = record.HashConfig(cm.Data)
		}
	}
	return hashes, nil
}

// after is when to look again without an event; 0 for never.
func (p *pass) after() time.Duration {
	first := p.untold
	for _, i := range p.items {
		if d := i.decision.After; d > 0 && (first == 0 || d < first) {
			first = d
		}
	}
	return first
}
