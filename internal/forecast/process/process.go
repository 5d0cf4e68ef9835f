// Package process is one process of the operator in virtual time: the controllers of nodes and Skyhooks as they are, upon
// a cluster in memory, with what wakes them. What comes next, and when, is for its driver to say. It knows nothing of
// kubelets, users or failures: what a driver wants to happen to requests, it puts before the clients in state.Shared.
package process

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/internal/controller/node"
	"github.com/skyhook-operator/skyhook/internal/controller/skyhook"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// Process is one operator.
type Process struct {
	// Skyhooks and Nodes are the controllers, Loops both of them in this order.
	Skyhooks, Nodes *Loop
	Loops           []*Loop
}

// Loop is one controller with its queue.
type Loop struct {
	reconcile.Reconciler
	// Kind of what it works on, as a word.
	Kind  string
	Queue *cluster.Queue

	sources []state.Source
}

// Shared is what the controllers of an operator with these settings share, upon a replica. They tell nobody of events.
func Shared(r *cluster.Replica, c clock.PassiveClock, o settings.Options) state.Shared {
	return state.Shared{
		Client: r.Client(), CachedNodes: r.CachedNodes, CachedPods: r.CachedPods,
		Live: r.Live(), Events: noEvents{}, Clock: c,
		Targets: &state.Index{Images: o.Images, Live: r.Live(), Reapply: o.Reapply, Limits: o.Limits},
		Records: &state.Records{}, Policies: &state.Policies{},
		Workload: o.Workload, Version: o.Version,
	}
}

type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// New returns a process that has heard of nothing yet. Its queues go by now, which need not be the time of its clock.
func New(nodes *node.Reconciler, now func() time.Time) *Process {
	skyhooks := &skyhook.Reconciler{Shared: nodes.Shared}
	p := &Process{
		Skyhooks: &Loop{Reconciler: skyhooks, Kind: "Skyhook", Queue: cluster.NewQueue(now), sources: skyhooks.Sources()},
		Nodes:    &Loop{Reconciler: nodes, Kind: "node", Queue: cluster.NewQueue(now), sources: nodes.Sources()},
	}
	p.Loops = []*Loop{p.Skyhooks, p.Nodes}
	return p
}

// Deliver plays an informer: each event goes through predicates and handlers into the queues.
func (p *Process) Deliver(ctx context.Context, events []cluster.Event) {
	for _, e := range events {
		for _, l := range p.Loops {
			e.Wake(ctx, l.sources, l.Queue)
		}
	}
}

// Next is when the next timer of a queue fires; false when there is none.
func (p *Process) Next() (next time.Time, ok bool) {
	for _, l := range p.Loops {
		if at, set := l.Queue.Next(); set && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

// Pass works on a ready key and queues it again as controller-runtime does. After a panic the process is of no use.
func (l *Loop) Pass(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	l.Queue.Take(key)
	result, err := l.Reconcile(ctx, key)
	l.Queue.Finish(key, result, err)
	return result, err
}
