package node

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// withhold puts off what one Skyhook decided while the cache may lack a package pod of the node. An operator that has
// just taken over may know the record that the one before wrote, and not yet the pod that followed it: nothing changes
// the node after that pod, so no precondition would tell. What lasts is told.
func (i *item) withhold(ctx context.Context) {
	p := i.pass
	if !i.needsProof() {
		return
	}
	if err := p.prove(ctx); err != nil {
		told := ""
		if p.wrote.at.Sub(p.wrote.doubted) >= freshPatience {
			told = err.Error()
		}
		i.putOff(told)
		return
	}
	if !i.outdated() {
		return
	}
	if err := p.Latest(ctx, i.skyhook); err != nil {
		p.errs = append(p.errs, err)
		i.putOff("")
	}
}

// needsProof reports whether a decision could meet a pod that the cache lacks. Before the first pod that this process
// starts, or permit that it gives back, on a node one look is enough, as it knows its own pods. An interrupt begins or
// ends, and a cordon is lifted, only after a look of its own.
func (i *item) needsProof() bool {
	d := i.decision
	finished := d.Record.FinishedPermit != "" && d.Record.FinishedPermit != i.before.FinishedPermit
	first := !i.pass.wrote.proved && (len(d.Start) > 0 || finished)
	uncordons := d.Unschedulable != nil && !*d.Unschedulable
	return first || uncordons || i.forgets() || !sameInterrupt(i.pass.inFlight, d.InFlight) || i.outdated()
}

// forgets reports whether a package is dropped from the record because nothing of it ever ran.
func (i *item) forgets() bool {
	for key, e := range i.before.Packages {
		if _, kept := i.decision.Record.Packages[key]; e.Untouched && !kept {
			return true
		}
	}
	return false
}

// outdated reports whether something begins for an earlier spec than that of the permit which the node finished with last:
// the Skyhook was created anew, or the cache of an operator that has just taken over shows an earlier version of it, with
// the permit of that time.
func (i *item) outdated() bool {
	d := i.decision
	last, ok := v1alpha1.ParsePermitToken(i.before.FinishedPermit)
	begins := len(d.Start) > 0 || d.Unschedulable != nil && *d.Unschedulable
	return begins && ok && i.skyhook.Generation < last.Generation
}

func sameInterrupt(a, b *record.Interrupt) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Run == b.Run && a.Skyhook == b.Skyhook
}

// prove asks the API server, at most once in a pass, whether the cache has all package pods of the node that may run
// something. The error says why that is not so, or not known; it is noted.
func (p *pass) prove(ctx context.Context) error {
	if p.asked {
		return p.unproved
	}
	p.asked = true
	if p.unproved = p.compare(ctx); p.unproved == nil {
		p.wrote.proved = true
		return nil
	}
	p.errs = append(p.errs, p.unproved)
	if p.wrote.doubted = p.known.wrote.doubted; p.wrote.doubted.IsZero() {
		p.wrote.doubted = p.wrote.at
	}
	return p.unproved
}

// compare goes by owner as well as by label: a pod of ours that lost its label is in no cache.
func (p *pass) compare(ctx context.Context) error {
	var live corev1.PodList
	if err := p.Live.List(ctx, &live, client.InNamespace(p.Workload.Namespace),
		client.MatchingFields{state.PodsByNode: p.node.Name}); err != nil {
		return fmt.Errorf("list package pods on node %s: %w", p.node.Name, err)
	}
	for k := range live.Items {
		pod := &live.Items[k]
		known := slices.ContainsFunc(p.pods, func(have *corev1.Pod) bool { return have.UID == pod.UID })
		lost := unlabelled(pod)
		if known || workload.Ended(pod) || lost != nil && !ownedBySkyhook(pod) {
			continue
		}
		if p.wrote.proved = false; lost != nil {
			return lost
		}
		return fmt.Errorf("pod %s is on node %s, but the cache does not show it yet", pod.Name, p.node.Name)
	}
	return nil
}

// proveDefinitions makes sure that the API server lacks the definitions as well that the cache lacks and a record goes
// by: without its definition a package counts as one that cannot be uninstalled. One that counts for nothing is lacking.
func (i *item) proveDefinitions(ctx context.Context, o lifecycle.Observation) error {
	s := i.skyhook
	lacking := o.Undefined(o.Record)
	if len(lacking) == 0 {
		return nil
	}
	var live appsv1.ControllerRevisionList
	if err := i.pass.Live.List(ctx, &live, client.InNamespace(i.pass.Workload.Namespace),
		client.MatchingLabels{v1alpha1.LabelName: s.Name}); err != nil {
		return fmt.Errorf("list retained definitions of Skyhook %s: %w", s.Name, err)
	}
	for k := range live.Items {
		one := &live.Items[k]
		if _, name, err := workload.ReadRevision(one); err == nil && lacking[name] && metav1.IsControlledBy(one, s) {
			return state.Behind(appsv1.Resource("controllerrevisions"), one.Name)
		}
	}
	return nil
}

// unlabelled says what to do about a pod of ours that no cache will ever show; nil when it has its label.
func unlabelled(pod *corev1.Pod) error {
	if _, ok := pod.Labels[v1alpha1.LabelName]; ok {
		return nil
	}
	return fmt.Errorf("pod %s/%s has lost its label %s, so the operator does not see it; stop what removes the label, "+
		"such as a webhook; the stage runs again when the pod is gone",
		pod.Namespace, pod.Name, v1alpha1.LabelName)
}
