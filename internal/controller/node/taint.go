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
func (p *pass) taintsFirst() bool {
	p.taint = p.nextTaint()
	if p.taint.Taints == nil || !p.addsTaint() {
		p.known.tainted = false
		return false
	}
	if p.known.tainted {
		return false
	}
	for _, s := range p.skyhooks {
		if p.Targets.Selects(s, p.node.Labels) || record.Exists(s.Name, p.node.Annotations, p.node.Labels) {
			i := p.item(s)
			i.putOff("")
			p.items = append(p.items, i)
		}
	}
	return true
}

// startsOver reports whether a Skyhook has its packages applied again after a reboot, or on another host.
func (i *item) startsOver() bool {
	return i.unusable == nil && i.differs(i.before) && i.pass.Targets.Selects(i.skyhook, i.pass.node.Labels) &&
		lifecycle.StartsOver(i.observe(i.before))
}

// differs reports whether the node booted since the record was written, or has another host, where that matters.
func (i *item) differs(n record.Node) bool {
	reapply, info := i.pass.Targets.Reapply, i.pass.node.Status.NodeInfo
	return reapply.Reboots && n.BootID != "" && n.BootID != info.BootID || reapply.Hosts && n.Host.Replaced(info.MachineID)
}

// planTaint decides about the runtime taint, after all Skyhooks had their say: it goes in the same write that records
// that the last of them is complete.
func (p *pass) planTaint(ctx context.Context) {
	p.taint = p.nextTaint()
	if err := p.proveTaint(ctx); err != nil {
		p.taint = taint.Change{}
		for _, s := range p.skyhooks { // workloads wait for all of these
			if s.Spec.RuntimeRequired && p.Targets.Selects(s, p.node.Labels) {
				p.fail(s, err)
			}
		}
	}
}

// nextTaint is what becomes of the runtime taint by the decisions so far.
func (p *pass) nextTaint() taint.Change {
	var all []taint.Skyhook
	at := p.snapshot.At(p.node, p.Records)
	for _, s := range p.skyhooks {
		if !s.Spec.RuntimeRequired || !p.Targets.Selects(s, p.node.Labels) {
			continue
		}
		one := taint.Skyhook{Required: true, Auto: p.snapshot.Taints(s, p.node), Deleting: s.DeletionTimestamp != nil}
		i := p.item(s)
		n := i.before
		early := !state.Ready(p.node) && i.unusable == nil && s.DeletionTimestamp == nil && !p.inFlight.OwnedBy(s.Name)
		one.Reapplied = i.startsOver() || early && at.StartsOver(s.Name) // workloads come as soon as it is Ready
		if k := slices.IndexFunc(p.items, func(i *item) bool { return i.skyhook == s }); k >= 0 {
			d := p.items[k].decision
			n = d.Record
			// Once an interrupt that was in flight has ended, it starts over in the same pass.
			one.Reapplied = one.Reapplied || slices.ContainsFunc(d.Changes, func(c lifecycle.Change) bool {
				return c.Reason == v1alpha1.ReasonReapplyAfterReboot || c.Reason == v1alpha1.ReasonHostReplaced
			})
		}
		one.Complete = i.unusable == nil && s.Status.ObservedGeneration > 0 &&
			situation.Complete(p.snapshot.Wanted(s, p.node.Name), n) &&
			(state.Ready(p.node) || !i.differs(n)) // until it is Ready, nobody can tell whether it starts over
		all = append(all, one)
	}
	next := taint.Next(p.node, p.Workload.RuntimeTaint, all, p.now)
	if ends := next.After > 0 || next.Mark != nil && *next.Mark != taint.Ours; v1alpha1.Ignored(p.node.Labels) && !ends {
		return taint.Change{} // an ignored node is left alone, but for what a deleted Skyhook leaves
	}
	return next
}

// proveTaint makes sure that the runtime taint is not removed while the cache lacks a Skyhook that the node has a record
// of.
func (p *pass) proveTaint(ctx context.Context) error {
	if p.taint.Taints == nil || p.addsTaint() {
		return nil
	}
	for _, name := range p.orphans() {
		gone, err := p.gone(ctx, name)
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
func (p *pass) addsTaint() bool {
	return taint.Has(&corev1.Node{Spec: corev1.NodeSpec{Taints: *p.taint.Taints}}, p.Workload.RuntimeTaint)
}

// taintPatch is what changes of the mark of the taint.
func (p *pass) taintPatch() record.Patch {
	if p.taint.Mark == nil {
		return record.Patch{}
	}
	value := p.taint.Mark
	if *value == "" {
		value = nil
	}
	return record.Patch{Annotations: map[string]*string{taint.Annotation(p.Workload.RuntimeTaint): value}}
}

func (p *pass) reportTaint(ctx context.Context) {
	if p.taint.Taints == nil {
		return
	}
	what := "removed"
	if p.addsTaint() {
		what = "added"
		p.known.tainted = true
	}
	text := p.Workload.RuntimeTaint.ToString()
	ctrl.LoggerFrom(ctx).Info("runtime taint "+what, logs.Node, p.node.Name, logs.Taint, text)
	p.Events.Eventf(p.node, nil, corev1.EventTypeNormal, v1alpha1.EventRuntimeTaint, "Taint", "taint %s %s: %s",
		text, what, p.taint.Message)
}
