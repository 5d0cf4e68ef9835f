// Package skyhook holds the controller that looks at one Skyhook at a time: it reads its nodes' records from the cache,
// asks rollout which nodes may work, and writes the permits and the status once per pass.
//
// It is the only writer of Skyhook status and of package ConfigMaps. It never writes a spec and never touches a node.
package skyhook

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/logs"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

const (
	// fieldManager owns what this controller applies.
	fieldManager = "skyhook-controller"
	// passInterval is how often one Skyhook is looked at, at most: bursts of node changes become one pass.
	passInterval = time.Second
	// passShare is the part of the time, one of so many, in which the fleet may be read for one Skyhook: passes over a
	// large fleet are rarer, up to passIntervalMost.
	passShare        = 100
	passIntervalMost = 5 * time.Second
)

// Reconciler plans the rollout of one Skyhook.
type Reconciler struct {
	state.Shared

	memory state.Memory[memory]
	// spare are lists of nodes that no pass uses: a new one for each pass over a large fleet would be most of what has to
	// be collected.
	spare sync.Pool
}

// memory is what this process knows of a Skyhook beyond its cache. No decision depends on it: after a restart the first
// pass is simply not delayed, and what fails on counts again.
type memory struct {
	pace     pace
	failures failures
	past     past
	speed    speed
}

// Reconcile plans one Skyhook.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var s v1alpha1.Skyhook
	if err := r.Client.Get(ctx, req.NamespacedName, &s, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.memory.Forget(req.Name)
			r.Transitions.Take(req.Name) // nobody is left to tell
			r.Durations.Take(req.Name)
			r.Metrics.Forget(req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	known := r.memory.Of(&s)
	if wait := known.pace.wait(s.Generation, r.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	known.past.again, known.pace.rest = 0, 0
	err := r.newPass(s.DeepCopy()).reconcile(ctx)
	// What comes in after this waits for the next pass; every status that is written has one after it.
	r.tellTransitions(&s)
	if known.failures.note(err, r.Clock.Now()) {
		r.reportFailing(&s, err)
	}
	r.Metrics.Fails(s.Name, known.failures.Last)
	switch o := obstacleOf(err); {
	case o != nil:
		// Not the error, which may quote what is refused: the condition Stalled has it.
		ctrl.LoggerFrom(ctx).Info("Skyhook not prepared for its nodes", logs.Skyhook, s.Name, logs.Reason, o.reason)
		return ctrl.Result{RequeueAfter: obstacleRetry}, nil //nolint:nilerr // the status tells of it, and it is tried again
	case apierrors.IsConflict(err):
		// The cache was behind; the change that it missed wakes this Skyhook, at the latest this does.
		return ctrl.Result{RequeueAfter: passInterval}, nil
	}
	again := soonest(known.pace.again(&s, r.Clock.Now()), known.past.again, known.pace.rest)
	return ctrl.Result{RequeueAfter: again}, err
}

// soonest is the least of some pauses; those of 0 do not count.
func soonest(pauses ...time.Duration) time.Duration {
	var least time.Duration
	for _, p := range pauses {
		if p > 0 && (least == 0 || p < least) {
			least = p
		}
	}
	return least
}

// takeNodes returns an empty list with room for so many nodes.
func (r *Reconciler) takeNodes(most int) []rollout.Node {
	list, _ := r.spare.Get().(*[]rollout.Node)
	if list == nil {
		list = new([]rollout.Node)
	}
	return slices.Grow((*list)[:0], most)
}

// spareNodes takes a list back that nothing refers to any more.
func (r *Reconciler) spareNodes(list []rollout.Node) {
	clear(list)
	r.spare.Put(&list)
}

// pace spaces the passes over a Skyhook.
type pace struct {
	// at is when the last pass began, over a generation.
	at         time.Time
	generation int64
	// took is how long it read the fleet, and tookBefore how long the pass before it did.
	took, tookBefore time.Duration
	// since is when this process first saw the generation, and first any.
	since, first time.Time
	// rest is how long after the pass unused definitions may go, a pod that outlives its node has to be told of, or a node
	// has been away for too long; 0 when none of that is to come.
	rest time.Duration
	// written is the resourceVersion of the last status that was written, at a time.
	written   string
	writtenAt time.Time
}

// wait returns how long the next pass has to wait; 0 when it may run now, which is then counted. A new generation never
// waits: somebody is looking.
func (p *pace) wait(generation int64, now time.Time) time.Duration {
	interval := min(max(passInterval, passShare*min(p.took, p.tookBefore)), passIntervalMost)
	if left := p.at.Add(interval).Sub(now); p.generation == generation && left > 0 {
		return left
	}
	if p.generation != generation {
		p.generation, p.since = generation, now
	}
	if p.first.IsZero() {
		p.first = now
	}
	p.at = now
	return 0
}

// settled reports whether the spec has been the same for so long that no pass goes by an earlier one.
func (p *pace) settled(generation int64, now time.Time) bool {
	return p.generation == generation && now.Sub(p.since) >= definitionsAge
}

// read notes how long a pass read the fleet. A single one that took long tells nothing of the fleet: processors were
// busy, or the API server was asked for a node that left.
func (p *pace) read(took time.Duration) { p.took, p.tookBefore = took, p.took }

// wrote notes a status that was written.
func (p *pace) wrote(s *v1alpha1.Skyhook, now time.Time) {
	p.written, p.writtenAt = s.ResourceVersion, now
}

// again returns when to look once more at a Skyhook that the cache showed without the last status that was written:
// what was right against that needed no write, and the write wakes nobody. After as long as it was waited, since a
// watch may stall, and an API server that was restored from a backup counts from an earlier version. 0 when the cache
// was not behind.
func (p *pace) again(cached *v1alpha1.Skyhook, now time.Time) time.Duration {
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, p.written)
	if err != nil || order >= 0 {
		return 0
	}
	return max(passInterval, now.Sub(p.writtenAt))
}
