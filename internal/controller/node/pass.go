package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/targets"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/taint"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// pass is one look at one node.
type pass struct {
	node *corev1.Node
	now  time.Time
	// pods are all package pods on the node.
	pods []corev1.Pod
	// unschedulable and cordons are as the decisions so far leave them: who holds a cordon, by Skyhook.
	unschedulable bool
	cordons       map[string]bool
	// interrupting is the Skyhook whose interrupt runs on the node or begins in this pass; empty for none.
	interrupting string
	// taint is what becomes of the runtime taint.
	taint taint.Change
	// started counts the pods that the decisions so far start.
	started int
	// wrote is what this pass has written so far; its resourceVersion is the precondition of the next write.
	wrote written
	// skyhooks are all there are, in the order in which they work on a node, and view is what is known of them.
	skyhooks []*v1alpha1.Skyhook
	view     targets.View
	// items are those that have to do with this node.
	items []*item
	// errs went wrong for single Skyhooks; they never stop the work for others.
	errs []error
}

// item is one Skyhook on the node of a pass.
type item struct {
	skyhook  *v1alpha1.Skyhook
	target   *targets.Target
	decision lifecycle.Decision
}

// plan observes and decides for every Skyhook that has to do with the node.
func (r *Reconciler) plan(ctx context.Context, p *pass) {
	r.survey(p)
	for _, s := range p.skyhooks {
		i, err := r.decide(ctx, p, s)
		if err != nil {
			p.errs = append(p.errs, fmt.Errorf("Skyhook %s: %w", s.Name, err))
		}
		if i != nil {
			p.items = append(p.items, i)
			p.follow(i)
		}
	}
	r.planTaint(p)
}

// survey finds out who holds cordons and who interrupts the node.
func (r *Reconciler) survey(p *pass) {
	p.unschedulable, p.cordons = p.node.Spec.Unschedulable, map[string]bool{}
	for _, name := range record.Skyhooks(p.node.Annotations, p.node.Labels) {
		n, _ := r.Records.Read(name, p.node)
		p.cordons[name] = n.Cordoned // also of Skyhooks that are gone, until they are cleared
	}
	p.interrupting = p.view.Interrupting(p.node, p.skyhooks, r.Records)
}

// follow makes what one Skyhook's decision changes on the node visible to those after it.
func (p *pass) follow(i *item) {
	d := i.decision
	p.cordons[i.skyhook.Name] = d.Record.Cordoned
	if d.Unschedulable != nil {
		p.unschedulable = *d.Unschedulable
	}
	p.started += len(d.Start)
	if lifecycle.Interrupting(d.Record) && !d.Leaving {
		p.interrupting = i.skyhook.Name
	}
}

// decide makes the decision for one Skyhook; nil when it has nothing to do with the node.
func (r *Reconciler) decide(ctx context.Context, p *pass, s *v1alpha1.Skyhook) (*item, error) {
	o, ok, err := r.observe(ctx, p, s)
	if err != nil || !ok {
		return nil, err
	}
	i := &item{skyhook: s, target: r.Targets.Of(s)}
	selected, deleting := r.Targets.Selects(s, p.node.Labels), s.DeletionTimestamp != nil
	if !selected || deleting && lifecycle.Complete(o.Wanted, o.Record) {
		i.decision = lifecycle.Leave(o)
		return i, nil
	}
	if o.Hold, err = r.hold(ctx, p, s, i.target); err != nil {
		return nil, err
	}
	i.decision, err = r.next(ctx, p, s, o)
	i.decision.Record.OperatorVersion = r.Version
	return i, err
}

// observe collects what the decision for one Skyhook depends on; false when it has nothing to do with the node, or not
// yet.
func (r *Reconciler) observe(ctx context.Context, p *pass, s *v1alpha1.Skyhook) (lifecycle.Observation, bool, error) {
	n, err := r.Records.Read(s.Name, p.node)
	if malformed := (*record.MalformedError)(nil); errors.As(err, &malformed) {
		// Nothing is done on unreadable state, so that nothing gets lost. The Skyhook's status tells about it. Only a node that
		// is no longer selected, or that the user gave up, is let go, with that state.
		givenUp := s.DeletionTimestamp != nil && p.view.Wanted(s, p.node.Name).Abandoned
		if !givenUp && r.Targets.Selects(s, p.node.Labels) {
			return lifecycle.Observation{}, false, nil
		}
	}
	o := lifecycle.Observation{
		Wanted: p.view.Wanted(s, p.node.Name), Record: n, Now: p.now,
		Pods: ownPods(s, p.pods), Permit: permitOf(s, p.node.Name),
		Serial: s.Spec.Serial, Generation: s.Generation, Reapply: r.ReapplyOnReboot,
	}
	o.Node = p.facts(s, len(o.Pods))
	known := len(o.Pods) > 0 || o.Permit != nil || record.Exists(s.Name, p.node.Annotations, p.node.Labels)
	planned := s.Status.ObservedGeneration == s.Generation && r.Targets.Selects(s, p.node.Labels)
	if !known && !planned {
		return o, false, nil // the plan of the Skyhook controller wakes this node
	}
	o.ConfigReady, err = r.configReady(ctx, s)
	if err == nil {
		o.RetainedReady, err = r.retainedReady(ctx, s, o)
	}
	return o, true, err
}

// hold returns the first reason for which the node must not start new work for a Skyhook; nil when there is none.
func (r *Reconciler) hold(ctx context.Context, p *pass, s *v1alpha1.Skyhook, t *targets.Target) (*lifecycle.Hold, error) {
	if h := rollout.HoldAll(s, t.Invalid); h != nil {
		return h, nil
	}
	deleting := s.DeletionTimestamp != nil
	if pace, err := r.Policies.Of(ctx, r.Client, s); err != nil || pace.Hold != nil && !deleting {
		return pace.Hold, err
	}
	if h := rollout.HoldNode(s, p.node, r.Workload.RuntimeTaint); h != nil {
		return h, nil
	}
	return p.view.HoldByOthers(s, p.interrupting, p.skyhooks, p.node, r.Records), nil
}

// facts is what a Skyhook with the given number of pods sees of the node.
func (p *pass) facts(s *v1alpha1.Skyhook, own int) lifecycle.Node {
	other := false
	for name, holds := range p.cordons {
		other = other || holds && name != s.Name
	}
	return lifecycle.Node{
		Ready: targets.Ready(p.node), BootID: p.node.Status.NodeInfo.BootID,
		Unschedulable: p.unschedulable, CordonedByOther: other,
		OtherPods: len(p.pods) - own + p.started,
	}
}

// ownPods returns the pods whose controller is this very Skyhook. Labels prove nothing.
func ownPods(s *v1alpha1.Skyhook, pods []corev1.Pod) []lifecycle.Pod {
	var own []lifecycle.Pod
	for k := range pods {
		if !metav1.IsControlledBy(&pods[k], s) {
			continue
		}
		pod, err := workload.Observe(&pods[k])
		if err != nil {
			// Ours by owner, but nobody can read what it is for: it matches no run and is replaced.
			pod = lifecycle.Pod{Name: pods[k].Name, UID: pods[k].UID, Terminating: pods[k].DeletionTimestamp != nil}
		}
		own = append(own, pod)
	}
	return own
}

func permitOf(s *v1alpha1.Skyhook, node string) *v1alpha1.Permit {
	for i := range s.Status.Permits {
		if s.Status.Permits[i].Node == node {
			return &s.Status.Permits[i]
		}
	}
	return nil
}

// configReady tells for each package whether the ConfigMap that its pod would mount holds what the spec says. Before the
// plan for this generation is there, none is: the package's definition may not be retained yet, without which it could not
// be undone.
func (r *Reconciler) configReady(ctx context.Context, s *v1alpha1.Skyhook) (map[string]bool, error) {
	ready := make(map[string]bool, len(s.Spec.Packages))
	if s.Status.ObservedGeneration != s.Generation {
		return ready, nil
	}
	for name, pkg := range s.Spec.Packages {
		holds, err := r.holds(ctx, s, workload.ConfigMapName(s.Name, name, pkg.Version), pkg.ConfigMap)
		if err != nil {
			return nil, err
		}
		ready[name] = holds
	}
	return ready, nil
}

// retainedReady tells the same of the definitions that something on this node is undone with.
func (r *Reconciler) retainedReady(ctx context.Context, s *v1alpha1.Skyhook, o lifecycle.Observation) (map[string]bool, error) {
	ready := map[string]bool{}
	for _, l := range o.Leaving(o.Record) {
		if l.FromSpec || l.Missing {
			continue
		}
		pkg := l.Package
		holds, err := r.holds(ctx, s, workload.RetainedConfigMapName(s.Name, pkg.Name, pkg.Version, pkg.Definition), pkg.ConfigMap)
		if err != nil {
			return nil, err
		}
		ready[pkg.Definition] = holds
	}
	return ready, nil
}

// holds reports whether a ConfigMap is the Skyhook's and holds the data; without data none is needed.
func (r *Reconciler) holds(ctx context.Context, s *v1alpha1.Skyhook, name string, data map[string]string) (bool, error) {
	if len(data) == 0 {
		return true, nil
	}
	var cm corev1.ConfigMap
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Workload.Namespace, Name: name}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return err == nil && metav1.IsControlledBy(&cm, s) && maps.Equal(cm.Data, data), nil
}

// after is when to look again without an event; 0 for never.
func (p *pass) after() time.Duration {
	var first time.Duration
	for _, i := range p.items {
		if d := i.decision.After; d > 0 && (first == 0 || d < first) {
			first = d
		}
	}
	return first
}
