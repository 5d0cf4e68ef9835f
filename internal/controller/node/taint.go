package node

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/logs"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// taintFirst reports whether the node gets its runtime taint in this pass. If so, nothing else happens: a workload may
// be bound until the taint is there, and what a Skyhook waits for depends on it. If somebody removes it each time, the
// work continues in the same pass.
func (r *Reconciler) taintFirst(p *pass) bool {
	p.taint = r.nextTaint(p)
	known := r.memory.Of(p.node)
	if p.taint.Taints == nil || !r.addsTaint(p) {
		known.tainted = false
		return false
	}
	if known.tainted {
		return false
	}
	for _, s := range p.skyhooks {
		if r.Targets.Selects(s, p.node.Labels) || record.Exists(s.Name, p.node.Annotations, p.node.Labels) {
			n, _ := p.snapshot.Record(s, p.node, r.Records)
			i := &item{skyhook: s, before: n, flight: p.inFlight}
			i.withheld, i.decision = true, lifecycle.Withhold(r.observe(p, s, n), "")
			p.items = append(p.items, i)
		}
	}
	return true
}

// startsOver reports whether a Skyhook has its packages applied again after a reboot.
func (r *Reconciler) startsOver(p *pass, s *v1alpha1.Skyhook) bool {
	n, unusable := p.snapshot.Record(s, p.node, r.Records)
	return unusable == nil && r.rebooted(p, n) && r.Targets.Selects(s, p.node.Labels) && lifecycle.StartsOver(r.observe(p, s, n))
}

// rebooted reports whether the node booted since the record was written, where that matters.
func (r *Reconciler) rebooted(p *pass, n record.Node) bool {
	return r.Targets.Reapply && n.BootID != "" && n.BootID != p.node.Status.NodeInfo.BootID
}

// planTaint decides about the runtime taint, after all Skyhooks had their say: it goes in the same write that records
// that the last of them is complete.
func (r *Reconciler) planTaint(ctx context.Context, p *pass) {
	p.taint = r.nextTaint(p)
	if err := r.proveTaint(ctx, p); err != nil {
		p.taint = taint.Change{}
		for _, s := range p.skyhooks { // workloads wait for all of these
			if s.Spec.RuntimeRequired && r.Targets.Selects(s, p.node.Labels) {
				p.fail(s, err)
			}
		}
	}
}

// nextTaint is what becomes of the runtime taint by the decisions so far.
func (r *Reconciler) nextTaint(p *pass) taint.Change {
	var all []taint.Skyhook
	at := p.snapshot.At(p.node, r.Records)
	for _, s := range p.skyhooks {
		if !s.Spec.RuntimeRequired || !r.Targets.Selects(s, p.node.Labels) {
			continue
		}
		one := taint.Skyhook{Required: true, Auto: p.snapshot.Taints(s, p.node), Deleting: s.DeletionTimestamp != nil}
		n, unusable := p.snapshot.Record(s, p.node, r.Records)
		early := !state.Ready(p.node) && unusable == nil && s.DeletionTimestamp == nil && !p.inFlight.OwnedBy(s.Name)
		one.Reapplied = r.startsOver(p, s) || early && at.StartsOver(s.Name) // workloads come as soon as it is Ready
		if k := slices.IndexFunc(p.items, func(i *item) bool { return i.skyhook == s }); k >= 0 {
			d := p.items[k].decision
			n = d.Record
			// Once an interrupt that was in flight has ended, it starts over in the same pass.
			one.Reapplied = one.Reapplied || slices.ContainsFunc(d.Changes, func(c lifecycle.Change) bool {
				return c.Reason == v1alpha1.ReasonReapplyAfterReboot
			})
		}
		one.Complete = unusable == nil && s.Status.ObservedGeneration > 0 &&
			situation.Complete(p.snapshot.Wanted(s, p.node.Name), n) &&
			(state.Ready(p.node) || !r.rebooted(p, n)) // until it is Ready, nobody can tell whether it starts over
		all = append(all, one)
	}
	next := taint.Next(p.node, r.Workload.RuntimeTaint, all)
	if ends := next.Mark != nil && !*next.Mark; v1alpha1.Ignored(p.node.Labels) && !ends {
		return taint.Change{} // an ignored node is left alone, but for what a deleted Skyhook leaves
	}
	return next
}

// proveTaint makes sure that the runtime taint is not removed while the cache lacks a Skyhook that the node has a record
// of.
func (r *Reconciler) proveTaint(ctx context.Context, p *pass) error {
	if p.taint.Taints == nil || r.addsTaint(p) {
		return nil
	}
	for _, name := range p.orphans() {
		gone, err := r.gone(ctx, name)
		if err == nil && !gone {
			err = state.Behind(v1alpha1.GroupVersion.WithResource("skyhooks").GroupResource(), name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addsTaint reports whether the taints that are written have the runtime taint.
func (r *Reconciler) addsTaint(p *pass) bool {
	return taint.Has(&corev1.Node{Spec: corev1.NodeSpec{Taints: *p.taint.Taints}}, r.Workload.RuntimeTaint)
}

// taintPatch adds the mark of the taint to the change of the node's metadata.
func (r *Reconciler) taintPatch(p *pass, all *record.Patch) {
	if p.taint.Mark == nil {
		return
	}
	var value *string
	if *p.taint.Mark {
		value = new("true")
	}
	all.Merge(record.Patch{Annotations: map[string]*string{taint.Annotation(r.Workload.RuntimeTaint): value}})
}

func (r *Reconciler) reportTaint(ctx context.Context, p *pass) {
	if p.taint.Taints == nil {
		return
	}
	what := "removed"
	if r.addsTaint(p) {
		what = "added"
		r.memory.Of(p.node).tainted = true
	}
	text := r.Workload.RuntimeTaint.ToString()
	ctrl.LoggerFrom(ctx).Info("runtime taint "+what, logs.Node, p.node.Name, logs.Taint, text)
	r.Events.Eventf(p.node, nil, corev1.EventTypeNormal, v1alpha1.EventRuntimeTaint, "Taint", "taint %s %s: %s",
		text, what, p.taint.Message)
}
