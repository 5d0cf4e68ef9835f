package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/history"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// measure notes how long the stages took whose end a pass recorded, and a drain: each once, as no other pass records it.
// A drain that nothing needs any more has no end.
func (i *item) measure() {
	p := i.pass
	since := lifecycle.DrainStarted(i.before)
	if since != nil && i.decision.Drained && lifecycle.DrainStarted(i.decision.Record) == nil {
		p.Metrics.DrainTook(i.skyhook, max(0, p.now.Sub(since.Time)))
	}
	for _, c := range i.decision.Changes {
		if c.State != v1alpha1.StateComplete || c.Reason != "" {
			continue
		}
		key := history.Key{Package: c.Package, Version: c.Version, Stage: c.Stage}
		if record.IsInterrupt(c.Stage) && i.flight != nil {
			key.Interrupt = i.flight.Type
		}
		if took := i.took(c); took > 0 {
			p.Durations.Add(i.skyhook.Name, key, took)
			p.Metrics.StageTook(i.skyhook, c.Package, c.Stage, took)
			if key.Interrupt == v1alpha1.InterruptReboot {
				p.Metrics.RebootTook(i.skyhook, took)
			}
		}
	}
}

// took is how long a stage took that is complete now; 0 if that is not known, or if it took more than one attempt, which
// says nothing of how long one takes. Of packages that one interrupt runs for, the one that owns it tells.
func (i *item) took(c lifecycle.Change) time.Duration {
	e := i.before.Packages[record.Key(c.Package, c.Version)]
	if e.Stage != c.Stage || !e.Active() || e.Restarts > 0 {
		return 0
	}
	if record.IsInterrupt(c.Stage) && i.flight.IsReboot() {
		if i.flight.Since.IsZero() {
			return 0
		}
		back := i.pass.now
		for _, n := range i.pass.node.Status.Conditions { // this operator may have been away
			if at := n.LastTransitionTime.Time; n.Type == corev1.NodeReady && at.After(i.flight.Since.Time) && at.Before(back) {
				back = at
			}
		}
		return back.Sub(i.flight.Since.Time)
	}
	for _, pod := range i.decision.Delete {
		if pod.Package == c.Package && pod.Stage == c.Stage && pod.Run == e.Run {
			return pod.Took
		}
	}
	return 0
}
