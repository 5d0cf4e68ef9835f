package faults

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/internal/controller/node"
	"github.com/skyhook-operator/skyhook/internal/controller/skyhook"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// operator is one process: its caches, clock, controllers and work queues.
type operator struct {
	w       *World
	name    string
	replica *cluster.Replica
	clock   *processClock
	loops   []*loop
	// dies is the step at which it ends, because another one is the leader by now; 0 for never.
	dies int
	// from is the step before which its cache hears nothing of one kind.
	from int
	late cluster.Kind
	dead bool
	// stop is what stopped all Skyhooks when it began; nil for nothing.
	stop *corev1.ConfigMap
}

// loop is one controller with its queue.
type loop struct {
	kind       string
	reconciler reconcile.Reconciler
	queue      *cluster.Queue
	sources    []state.Source
}

// processClock is the world's time as one process sees it.
type processClock struct {
	w      *World
	offset time.Duration
}

func (c *processClock) Now() time.Time                  { return c.w.now.Add(c.offset) }
func (c *processClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// crashed ends a process in the middle of a pass.
type crashed struct{}

var errInjected = errors.New("injected: the connection broke")

type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func (w *World) startOperator(offset time.Duration) {
	w.booted++
	o := &operator{w: w, name: fmt.Sprintf("operator-%d", w.booted), clock: &processClock{w: w, offset: offset}, stop: w.stop()}
	w.trace.add(w, "%s starts, clock %+v", o.name, offset)
	o.replica = w.cluster.NewReplica()
	o.replica.BeforeWrite, o.replica.AfterWrite, o.replica.BeforeLive = o.beforeWrite, o.afterWrite, o.beforeLive
	o.replica.Shuffle = w.rng.Shuffle
	o.replica.Share = true // TestReadsStayAsTheyAre
	options := workload.Options{
		Namespace: namespace, AgentImage: "registry.example/agent:1",
		CopyDirRoot:  "/var/lib/skyhook",
		AgentLogRoot: "/var/log/skyhook",
		RuntimeTaint: runtimeTaint, PinImages: true,
	}
	live := o.replica.Live()
	shared := state.Shared{
		Client: o.replica.Client(), CachedNodes: o.replica.CachedNodes, CachedPods: o.replica.CachedPods,
		Live: live, Events: noEvents{}, Clock: o.clock,
		Targets: &state.Index{Live: live, Reapply: w.plan.Reapply}, Records: &state.Records{}, Policies: &state.Policies{}, Durations: &state.Durations{},
		Workload: options, Version: "1.0.0",
	}
	nodes := &node.Reconciler{Shared: shared, Evictor: o.replica.Evictor()}
	skyhooks := &skyhook.Reconciler{Shared: shared}
	now := func() time.Time { return w.now }
	o.loops = []*loop{
		{kind: "skyhook", reconciler: skyhooks, queue: cluster.NewQueue(now), sources: skyhooks.Sources()},
		{kind: "node", reconciler: nodes, queue: cluster.NewQueue(now), sources: nodes.Sources()},
	}
	w.operators = append(w.operators, o)
	o.deliver(o.replica.Initial())
}

// deliver plays an informer: an event goes through predicates and handlers into the queues.
func (o *operator) deliver(events []cluster.Event) {
	for _, e := range events {
		for _, l := range o.loops {
			e.Wake(background, l.sources, l.queue)
		}
	}
}

// reconcile works on one key and requeues it as controller-runtime does.
func (o *operator) reconcile(l *loop, req reconcile.Request) {
	w := o.w
	w.trace.add(w, "%s reconciles %s %s", o.name, l.kind, req.Name)
	l.queue.Take(req)
	w.acting = o
	result, died, err := o.safely(l, req)
	w.acting = nil
	if died {
		w.kill(o, "crashes")
		return
	}
	if l.kind != "skyhook" || result.RequeueAfter == 0 { // a pass that came too soon says nothing about the last one
		delete(w.errors, l.kind+"/"+req.Name)
	}
	if err != nil {
		w.trace.add(w, "  error: %v", err)
		w.errors[l.kind+"/"+req.Name] = errorKind(err)
	}
	l.queue.Finish(req, result, err)
}

func (o *operator) safely(l *loop, req reconcile.Request) (result ctrl.Result, died bool, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case crashed:
			died = true
		default:
			o.w.find("panic", "%s of %s: %v\n%s", l.kind, req.Name, p, debug.Stack())
		}
	}()
	result, err = l.reconciler.Reconcile(background, req)
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

// faultState is what is wrong with the operators' requests.
type faultState struct {
	// failBefore, failAfter and crashAfter count down writes.
	failBefore, failAfter, crashAfter int
	failLists                         int
	// quota refuses pods whose names contain it; "*" refuses all.
	quota string
	// bindings counts down writes of nodes before which the scheduler puts a pod on that node.
	bindings int
	// strict budgets refuse every eviction, loose ones none.
	strict, loose bool
}

// runsOut counts down, and reports whether that was the last.
func runsOut(n *int) bool {
	if *n == 0 {
		return false
	}
	*n--
	return *n == 0
}

func (o *operator) beforeWrite(verb string, obj client.Object) error {
	f := &o.w.faults
	if n, ok := obj.(*corev1.Node); ok && f.bindings > 0 {
		f.bindings--
		o.w.bindLate(n.Name)
	}
	if runsOut(&f.failBefore) {
		o.w.trace.add(o.w, "  %s %s %s fails before it took effect", verb, kindOf(obj), obj.GetName())
		return apierrors.NewInternalError(errInjected)
	}
	return nil
}

func (o *operator) afterWrite(verb string, obj client.Object) error {
	f := &o.w.faults
	if runsOut(&f.crashAfter) {
		o.w.trace.add(o.w, "  crash after %s %s %s", verb, kindOf(obj), obj.GetName())
		panic(crashed{})
	}
	if runsOut(&f.failAfter) {
		o.w.trace.add(o.w, "  the answer to %s %s %s is lost", verb, kindOf(obj), obj.GetName())
		return apierrors.NewInternalError(errInjected)
	}
	return nil
}

func kindOf(o client.Object) string {
	t := reflect.TypeOf(o).String()
	return t[strings.LastIndex(t, ".")+1:]
}

// beforeLive lets a list at the API server fail.
func (o *operator) beforeLive(k cluster.Kind) error {
	f := &o.w.faults
	if k != cluster.Pods || f.failLists == 0 {
		return nil
	}
	f.failLists--
	o.w.trace.add(o.w, "  reading %s at the API server fails", k)
	return apierrors.NewInternalError(errInjected)
}
