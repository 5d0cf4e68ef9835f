package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/drain/evict"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// next asks lifecycle for the decision, and fetches what it asks for: a look at the pods that have to leave the node,
// and evictions, whose refusals the decision has to know to say what is waited for.
func (r *Reconciler) next(ctx context.Context, p *pass, s *v1alpha1.Skyhook, o lifecycle.Observation) (lifecycle.Decision, error) {
	d := lifecycle.Next(o)
	if !d.LookDrain {
		return d, nil
	}
	options, err := r.drainOptions(s, o)
	if err != nil {
		return d, err
	}
	// Listed live: only our own pods are cached, and the answer has to be true now.
	pods, err := evict.ListNode(ctx, r.Live, p.node.Name)
	if err != nil {
		return d, err
	}
	state := drain.Classify(pods, options, nil, p.now)
	o.Drain = drainOf(state)
	d = lifecycle.Next(o)
	if !d.Evict || len(state.Evict) == 0 {
		return d, nil
	}
	refused, err := r.Evictor.Evict(ctx, state.Evict, options)
	if err != nil {
		return d, fmt.Errorf("evict pods from node %s: %w", p.node.Name, err)
	}
	r.reportEvictions(p.node, s, state.Evict, refused)
	o.Drain = drainOf(drain.Classify(pods, options, refused, p.now))
	return lifecycle.Next(o), nil
}

func drainOf(s drain.State) *lifecycle.Drain {
	reason, message, _ := s.Summary()
	return &lifecycle.Drain{Clear: s.Clear, TimedOut: s.TimedOut, Reason: reason, Message: message}
}

func (r *Reconciler) drainOptions(s *v1alpha1.Skyhook, o lifecycle.Observation) (drain.Options, error) {
	options := drain.Options{OperatorNamespace: r.Workload.Namespace, Self: r.PodName, DeleteEmptyDirData: true}
	if labels := s.Spec.PodNonInterruptLabels; len(labels.MatchLabels)+len(labels.MatchExpressions) > 0 {
		selector, err := metav1.LabelSelectorAsSelector(&labels)
		if err != nil {
			return options, fmt.Errorf("spec.podNonInterruptLabels: %w", err)
		}
		options.NonInterrupt = selector
	}
	if w := o.Record.Wait; w != nil {
		options.Started = w.Since.Time
	}
	d := s.Spec.Drain
	if d == nil {
		return options, nil
	}
	options.GracePeriodSeconds, options.Force = d.GracePeriodSeconds, d.Force
	if d.DeleteEmptyDirData != nil {
		options.DeleteEmptyDirData = *d.DeleteEmptyDirData
	}
	if d.TimeoutSeconds != nil {
		options.Timeout = time.Duration(*d.TimeoutSeconds) * time.Second
	}
	return options, nil
}

// reportEvictions tells which pods were asked to leave.
func (r *Reconciler) reportEvictions(node *corev1.Node, s *v1alpha1.Skyhook, pods []drain.Pod, refused map[types.UID]string) {
	for _, pod := range pods {
		if _, no := refused[pod.UID]; !no {
			r.Events.Eventf(node, s, corev1.EventTypeNormal, "Interrupt", "Drain", "draining for Skyhook %s: evicted pod %s", s.Name, pod)
		}
	}
}
