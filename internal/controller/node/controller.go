// Package node holds the controller that works on one node at a time: it reads the node, its package pods and the
// Skyhooks that target it, asks lifecycle what happens next for each, and does it.
//
// It is the only writer of node records, node conditions, package pods and node metadata ConfigMaps. It takes no
// decision of its own and never polls: pods, nodes, Skyhooks and ConfigMaps wake it.
package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// Reconciler does one node's next actions.
type Reconciler struct {
	state.Shared
	// PodName is the pod that this operator runs in; it does not evict itself. Empty outside of a cluster.
	PodName string

	// Evictor asks pods to leave a node that is to be interrupted.
	Evictor Evictor
	// Patience is how long a pass waits for evictions; 0 for as long as they take.
	Patience time.Duration
	// OnDecision is told of every decision before it is carried out; nil where nobody asks.
	OnDecision func(node, skyhook string, d *lifecycle.Decision)
	// DrainForce is what counts where spec.drain.force is unset.
	DrainForce bool

	memory     state.Memory[memory]
	departures departures
}

// memory is what this process knows of a node beyond its cache.
type memory struct {
	// wrote is what the last pass wrote, which the next one waits to see.
	wrote written
	// drain is what is known of the drain under way.
	drain drain.Memory
	// evictions are those that a pass did not wait for; nil when there are none.
	evictions *evictions
	failures  failures
	// tainted says that the last pass that wanted the runtime taint added it.
	tainted bool
	// untold are the stages that were gathered for events.
	untold []*untold
}

// Evictor evicts pods, as many as there is time for in a pass; refused tells, by UID, which the API server did not let
// go and why.
type Evictor interface {
	Evict(
		ctx context.Context, pods []drain.Pod, o drain.Options,
	) (accepted []drain.Pod, refused map[types.UID]string, err error)
}

// Reconcile brings one node one step further for every Skyhook that targets it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := r.Client.Get(ctx, req.NamespacedName, &node, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, r.nodeGone(ctx, req.Name)
		}
		return ctrl.Result{}, fmt.Errorf("get node %s: %w", req.Name, err)
	}
	pods, err := r.PodsOn(ctx, node.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := r.newPass(&node, pods)
	switch behind, err := p.behind(ctx); {
	case err != nil: // pauses grow until the cache catches up, from which a record would be written
		ctrl.LoggerFrom(ctx).Error(err, "a node waits for the cache")
		r.Events.Eventf(&node, nil, corev1.EventTypeWarning, v1alpha1.ReasonPassFailed, "Pass",
			"Nothing is done on node %s until the operator sees its present state: %s", node.Name, err)
		return ctrl.Result{RequeueAfter: p.known.failures.pause(0, []error{err})}, nil
	case behind:
		return ctrl.Result{RequeueAfter: min(max(freshRetry, p.wrote.at.Sub(p.known.wrote.at)), freshRetryMost)}, nil
	}
	var waits bool
	if p.unbegun, waits = r.departures.follow(node.Name, pods, p.untouched, p.wrote.at); waits {
		return ctrl.Result{RequeueAfter: freshRetry}, nil
	}
	if err := p.read(ctx); err != nil {
		return ctrl.Result{}, err
	}
	p.plan(ctx)
	p.dropEvictions(ctx)
	p.execute(ctx)
	if len(p.errs) == 0 {
		r.departures.settle(node.Name, p.unbegun)
	}
	p.untold = p.tellGathered()
	p.known.wrote = p.wrote
	return p.result(ctx), nil
}
