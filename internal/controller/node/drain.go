package node

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/logs"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/drain/evict"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// next asks lifecycle for the decision, and fetches what it asks for: a look at the pods that have to leave the node,
// and evictions, whose refusals the decision has to know to say what is waited for.
func (i *item) next(ctx context.Context, o lifecycle.Observation) (lifecycle.Decision, error) {
	p := i.pass
	d := lifecycle.Next(o)
	if !d.LookDrain {
		return d, nil
	}
	if o.Failed == "" { // until there is an answer: a look that fails must not start the drain's time again
		d.Record.Wait, d.Record.Status = o.Record.Wait, cmp.Or(o.Record.Status, d.Record.Status)
	}
	unanswered := d
	options, err := p.reconciler.drainOptions(i.skyhook, o)
	if err != nil {
		return d, err
	}
	// Only our own pods are cached, so they are listed. An older list will do to wait by; one that shows none left, or
	// none that keeps the others from being evicted, has to be true now.
	pods, err := evict.ListNode(ctx, p.Live, p.node.Name)
	if err != nil {
		return d, err
	}
	options.Memory = &p.known.drain
	options.Memory.Look(pods, p.now)
	state := drain.Classify(pods, options, nil, p.now)
	if state.Clear || len(state.Evict) > 0 {
		if pods, err = evict.ConfirmNode(ctx, p.Live, p.node.Name); err != nil {
			return d, err
		}
		state = drain.Classify(pods, options, nil, p.now)
	}
	if state.Clear {
		*options.Memory = drain.Memory{}
	}
	o.Drain = drainOf(state)
	d = lifecycle.Next(o)
	evicts := d.Evict && len(state.Evict) > 0
	if evicts || len(d.Start) > 0 {
		if err := i.mayDisturb(ctx); err != nil {
			return unanswered, err // nothing was asked to leave, and no interrupt begins
		}
	}
	if !evicts {
		return d, nil
	}
	refused, err := i.evict(ctx, state.Evict, options)
	o.Drain = drainOf(drain.Classify(pods, options, refused, p.now))
	return lifecycle.Next(o), err
}

// mayDisturb makes sure that the cache has the node, the Skyhook and the stop of all Skyhooks as the API server has them.
// An eviction has no precondition and an interrupt only that of the node, and neither may happen if somebody has paused
// or stopped it.
func (i *item) mayDisturb(ctx context.Context) error {
	p := i.pass
	if err := p.unchanged(ctx); err != nil {
		return err
	}
	if err := p.snapshot.LatestStop(ctx, p.Live, p.Workload.Namespace); err != nil {
		return err
	}
	return p.Latest(ctx, i.skyhook)
}

func drainOf(s drain.State) *lifecycle.Drain {
	reason, message, _ := s.Summary()
	d := &lifecycle.Drain{Clear: s.Clear, TimedOut: s.TimedOut, Reason: reason, Message: message}
	if len(s.Blockers) > 0 {
		d.By = s.Blockers[0].String()
	}
	return d
}

func (r *Reconciler) drainOptions(s *v1alpha1.Skyhook, o lifecycle.Observation) (drain.Options, error) {
	options := drain.Options{
		OperatorNamespace: r.Workload.Namespace, Self: r.PodName, DeleteEmptyDirData: true, Force: r.DrainForce,
	}
	if labels := s.Spec.PodNonInterruptLabels; len(labels.MatchLabels)+len(labels.MatchExpressions) > 0 {
		selector, err := metav1.LabelSelectorAsSelector(&labels)
		if err != nil {
			return options, fmt.Errorf("spec.podNonInterruptLabels: %w", err)
		}
		options.NonInterrupt = selector
	}
	if started := lifecycle.DrainStarted(o.Record); started != nil {
		options.Started = started.Time
	}
	d := s.Spec.Drain
	if d == nil {
		return options, nil
	}
	options.GracePeriodSeconds = d.GracePeriodSeconds
	if d.Force != nil {
		options.Force = *d.Force
	}
	if d.DeleteEmptyDirData != nil {
		options.DeleteEmptyDirData = *d.DeleteEmptyDirData
	}
	if d.TimeoutSeconds != nil {
		options.Timeout = time.Duration(*d.TimeoutSeconds) * time.Second
	}
	return options, nil
}

// reportEvictions tells which pods were asked to leave.
func (i *item) reportEvictions(ctx context.Context, pods []drain.Pod) {
	s, node := i.skyhook, i.pass.node
	for _, pod := range pods {
		ctrl.LoggerFrom(ctx).Info("pod evicted", logs.Skyhook, s.Name, logs.Node, node.Name, logs.Pod, pod.String())
		i.pass.Events.Eventf(node, s, corev1.EventTypeNormal, v1alpha1.EventInterrupt, "Drain",
			"drain for an interrupt of Skyhook %s: evicted pod %s", s.Name, pod)
	}
}
