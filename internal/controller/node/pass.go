package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// pass is one look at one node.
type pass struct {
	*state.Shared
	reconciler *Reconciler
	// known is what this process knows of the node beyond its cache.
	known *memory
	node  *corev1.Node
	now   time.Time
	// pods are all package pods on the node, shared with the cache.
	pods []*corev1.Pod
	// unbegun are those that went without having begun, as they were then.
	unbegun []*corev1.Pod
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

func (r *Reconciler) newPass(node *corev1.Node, pods []*corev1.Pod) *pass {
	now := r.Clock.Now()
	return &pass{
		Shared: &r.Shared, reconciler: r, known: r.memory.Of(node), node: node, pods: pods, now: now.Truncate(time.Second),
		wrote: written{resourceVersion: node.ResourceVersion, at: now},
	}
}

// read reads all Skyhooks.
func (p *pass) read(ctx context.Context) error {
	var all v1alpha1.SkyhookList
	if err := p.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Skyhooks: %w", err)
	}
	p.skyhooks = state.InOrder(all.Items)
	var err error
	p.snapshot, err = p.Targets.Snapshot(ctx, p.Client, p.Workload, p.skyhooks)
	return err
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

// plan observes and decides for every Skyhook that has to do with the node. It writes nothing but pins, which later
// decisions depend on.
func (p *pass) plan(ctx context.Context) {
	p.survey()
	if p.taintFirst = p.taintsFirst(); p.taintFirst {
		return
	}
	for _, s := range p.skyhooks {
		i := p.item(s)
		decided, err := i.decide(ctx)
		if err != nil {
			p.fail(s, err)
		}
		if !decided {
			continue
		}
		if told := p.reconciler.OnDecision; told != nil {
			told(p.node.Name, s.Name, &i.decision)
		}
		i.withhold(ctx)
		i.keepPins(ctx)
		p.items = append(p.items, i)
		i.follow()
	}
	if !p.unschedulable {
		p.known.drain = drain.Memory{} // a drain may be broken off, and pods come back rightly after it
	}
	p.planTaint(ctx)
}

// survey finds out who holds cordons and who interrupts the node.
func (p *pass) survey() {
	p.unschedulable, p.cordons, p.undone = p.node.Spec.Unschedulable, map[string]bool{}, map[string]bool{}
	for _, name := range record.Skyhooks(p.node.Annotations, p.node.Labels) {
		n, _ := p.Records.Read(name, p.node)
		p.cordons[name] = n.Cordoned // also of Skyhooks that are gone, until they are cleared
	}
	at := p.snapshot.At(p.node, p.Records)
	p.inFlight = at.InFlight()
	p.ownReboot = p.snapshot.OwnReboot(p.node, p.inFlight, p.Records)
}

// after is when to look again without an event; 0 for never.
func (p *pass) after() time.Duration {
	first := p.untold
	if d := p.taint.After; d > 0 && (first == 0 || d < first) {
		first = d
	}
	for _, i := range p.items {
		if d := i.decision.After; d > 0 && (first == 0 || d < first) {
			first = d
		}
	}
	return first
}
