package faults

import (
	"fmt"
	"runtime/debug"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/forecast/process"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// operator is one process: its caches, clock, controllers and work queues.
type operator struct {
	w       *World
	name    string
	replica *cluster.Replica
	clock   *processClock
	// cached is how it reads, in any order.
	cached client.Client
	*process.Process
	// dies is the step at which it ends, because another one is the leader by now; 0 for never.
	dies int
	// from is the step before which its cache hears nothing of one kind.
	from int
	late cluster.Kind
	dead bool
	// stop is what stopped all Skyhooks when it began; nil for nothing.
	stop *corev1.ConfigMap
	// metrics are what it counts.
	metrics *metrics.Store
}

// processClock is the world's time as one process sees it.
type processClock struct {
	w      *World
	offset time.Duration
}

func (c *processClock) Now() time.Time                  { return c.w.now.Add(c.offset) }
func (c *processClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// settingsOf are those of every operator of a world.
func settingsOf(p *Plan) settings.Options {
	return settings.Options{
		Workload: workload.Options{
			Namespace: namespace, AgentImage: "registry.example/agent:1",
			CopyDirRoot:  "/var/lib/skyhook",
			AgentLogRoot: "/var/log/skyhook",
			RuntimeTaint: runtimeTaint, PinImages: true,
		},
		Reapply: lifecycle.Reapply{Reboots: p.Reapply, Hosts: true}, Version: "1.0.0",
	}
}

func (w *World) startOperator(offset time.Duration) {
	w.booted++
	o := &operator{w: w, name: fmt.Sprintf("operator-%d", w.booted), clock: &processClock{w: w, offset: offset}, stop: w.stop()}
	w.trace.add(w, "%s starts, clock %+v", o.name, offset)
	o.replica = w.cluster.NewReplicaAt(w.past.view(w.stale))
	shared := process.Shared(o.replica, o.clock, settingsOf(w.plan))
	shared.Durations = &state.Durations{}
	o.metrics = metrics.NewStore(o.clock, "1.0.0")
	shared.Metrics = o.metrics
	nodes := o.requests(shared)
	o.cached = nodes.Client
	o.Process = process.New(nodes, func() time.Time { return w.now })
	w.operators = append(w.operators, o)
	o.deliver(o.replica.Initial())
}

func (o *operator) deliver(events []cluster.Event) {
	for _, e := range events {
		o.w.audit.note(e.New)
	}
	o.Deliver(background, events)
}

// reconcile works on one key.
func (o *operator) reconcile(l *process.Loop, req reconcile.Request) {
	w := o.w
	w.trace.add(w, "%s reconciles %s %s", o.name, l.Kind, req.Name)
	w.acting = o
	result, died, err := o.safely(l, req)
	w.acting = nil
	if died {
		w.kill(o, "crashes")
		return
	}
	if l != o.Skyhooks || result.RequeueAfter == 0 { // a pass that came too soon says nothing about the last one
		delete(w.errors, l.Kind+"/"+req.Name)
	}
	if err != nil {
		w.trace.add(w, "  error: %v", err)
		w.errors[l.Kind+"/"+req.Name] = errorKind(err)
	}
}

func (o *operator) safely(l *process.Loop, req reconcile.Request) (result ctrl.Result, died bool, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case crashed:
			died = true
		default:
			o.w.find("panic", "%s of %s: %v\n%s", l.Kind, req.Name, p, debug.Stack())
		}
	}()
	result, err = l.Pass(background, req)
	return result, false, err
}

func (w *World) kill(o *operator, how string) {
	w.trace.add(w, "%s %s", o.name, how)
	o.dead = true
	o.replica.Close()
	for i, other := range w.operators {
		if other == o {
			w.operators = append(w.operators[:i:i], w.operators[i+1:]...)
		}
	}
}
