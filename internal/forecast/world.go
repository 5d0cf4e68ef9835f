package forecast

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/node"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/forecast/process"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

const (
	// settle is how long decisions that were made once are followed up: a Skyhook is planned once a second.
	settle = 5 * time.Second
	// patience is for how long nothing may happen before nothing is expected to.
	patience = 10 * time.Minute
	// sparser is how much rarer the operator's looks become the longer nothing happens after that: each after that part
	// of the time since. A pod may have weeks to end, and the drain that waits for it is looked at every five seconds.
	sparser = 100
	// mostPasses bounds the work, whatever goes round in circles.
	mostPasses = 5_000_000
)

// world is the copy of a cluster, and time in it.
type world struct {
	options Options
	cluster *cluster.Cluster
	replica *cluster.Replica
	user    client.Client
	process *process.Process
	now     time.Time
	// moved is when something happened last that people would see.
	moved time.Time
	// due is when a kubelet has something to do with a pod.
	due     map[types.UID]due
	budgets []budget
	journal []*Node
	of      map[NodeOf]*Node
	// homes are the compartments of nodes, by Skyhook and node.
	homes   map[string]map[string]string
	decided map[NodeOf][]record.Wait
	// garbage says that owners are gone whose objects may have to follow.
	garbage bool
	failure error
	// failing are the errors that passes of the operator ended with last.
	failing map[string]error
}

// clock is the world's.
type clock struct{ *world }

func (c clock) Now() time.Time                  { return c.now }
func (c clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// quiet is the context of all that happens: the operator's log is not the user's.
var quiet = ctrl.LoggerInto(context.Background(), logr.Discard())

func newWorld(s Snapshot, o Options) (*world, error) {
	scheme, err := settings.Scheme()
	if err != nil {
		return nil, err
	}
	w := &world{
		options: o, now: o.Now, moved: o.Now, due: map[types.UID]due{}, of: map[NodeOf]*Node{},
		homes:   map[string]map[string]string{},
		decided: map[NodeOf][]record.Wait{}, failing: map[string]error{}, budgets: budgetsOf(s.Budgets),
	}
	w.cluster = cluster.New(scheme, func() time.Time { return w.now })
	w.cluster.Namespace = o.Operator.Workload.Namespace
	if err := w.cluster.Load(s.objects()...); err != nil {
		return nil, fmt.Errorf("copy the cluster: %w", err)
	}
	w.cluster.OnWrite, w.cluster.Disrupt = w.written, w.disrupt
	w.user = w.cluster.Client()
	for _, p := range w.cluster.Pods() {
		w.adopt(p)
	}
	w.remember()
	w.start()
	return w, nil
}

// start begins the operator.
func (w *world) start() {
	o := w.options.Operator
	w.replica = w.cluster.NewReplica()
	w.process = process.New(&node.Reconciler{
		Shared: process.Shared(w.replica, clock{w}, o), Evictor: w.replica.Evictor(), PodName: o.PodName,
		DrainForce: o.DrainForce, OnDecision: w.note,
	}, func() time.Time { return w.now })
	w.process.Nodes.Queue.Only = w.options.Node
	w.process.Deliver(quiet, w.replica.Initial())
}

// note keeps what a decision waits for.
func (w *world) note(name, of string, d *lifecycle.Decision) {
	w.decided[NodeOf{Node: name, Skyhook: of}] = d.Waits
}

// run lets time pass until nothing happens any more.
func (w *world) run() error {
	for passes := 0; passes < mostPasses; {
		select {
		case <-w.options.Interrupted:
			return ErrInterrupted
		default:
		}
		n := w.work()
		if passes += n; w.failure != nil {
			return w.failure
		}
		if n > 0 {
			continue
		}
		next, kubelet := w.next()
		if w.show(next) {
			continue
		}
		if next.IsZero() || next.After(w.until(kubelet)) {
			return nil
		}
		w.now = next
		w.kubelets()
	}
	return fmt.Errorf("no end is in sight after %d passes of the operator; please report this with the Skyhooks and nodes", mostPasses)
}

// show lets others look, and reports whether they changed something.
func (w *world) show(next time.Time) bool {
	if w.options.Each == nil {
		return false
	}
	before := w.cluster.Writes()
	w.options.Each(w.user, w.now, next)
	return w.cluster.Writes() != before
}

// until is how far to look for what comes next. What a kubelet does happens for sure, if there is to be a look ahead.
func (w *world) until(kubelet bool) time.Time {
	switch ahead := w.options.Ahead; {
	case ahead == 0:
		return w.options.Now.Add(settle)
	case kubelet:
		return w.options.Now.Add(ahead)
	default:
		limit := w.options.Now.Add(ahead)
		if quiet := w.moved.Add(patience); quiet.Before(limit) {
			return quiet
		}
		return limit
	}
}

// work does all that can be done now, and returns how many passes that were.
func (w *world) work() int {
	for _, k := range w.replica.Pending() {
		w.process.Deliver(quiet, w.replica.Deliver(k, w.replica.Lag(k)))
	}
	if w.garbage {
		w.garbage = w.cluster.CollectGarbage()
	}
	passes := 0
	for _, l := range w.process.Loops {
		for _, key := range l.Queue.Ready() {
			_, err := l.Pass(quiet, key)
			w.passed(l.Kind+" "+key.Name, err)
			passes++
		}
	}
	return passes + len(w.replica.Pending())
}

// passed keeps how the last pass over something ended.
func (w *world) passed(what string, err error) {
	if err == nil {
		delete(w.failing, what)
		return
	}
	w.failing[what] = err
}

// next is when something happens next, and whether a kubelet does it; zero for never.
func (w *world) next() (next time.Time, kubelet bool) {
	if w.options.Ahead > 0 {
		for _, d := range w.due {
			if next.IsZero() || d.at.Before(next) {
				next, kubelet = d.at, true
			}
		}
	}
	at, ok := w.process.Next()
	if still := w.now.Sub(w.moved); ok && still >= patience {
		at = latest(at, w.now.Add(still/sparser))
	}
	if ok && (next.IsZero() || at.Before(next)) {
		next, kubelet = at, kubelet && !at.Before(next)
	}
	return next, kubelet || len(w.due) > 0 && w.options.Ahead > 0
}

// written follows what is written.
func (w *world) written(verb string, o client.Object) {
	switch o := o.(type) {
	case *corev1.Pod:
		w.podWritten(verb, o)
	case *v1alpha1.Skyhook:
		w.permits(o)
		w.garbage = w.garbage || verb == "delete" || o.DeletionTimestamp != nil
	case *corev1.Node:
		w.cordoned(o)
	}
}
