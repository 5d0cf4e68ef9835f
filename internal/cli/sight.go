package cli

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// sight is a cluster as its operator sees it: whatever shows a node asks it, so that all say the same as the operator.
type sight struct {
	state.Snapshot
	records state.Records
	of      map[string]beheld
}

// beheld is a Skyhook, and what holds it on every node.
type beheld struct {
	skyhook *v1alpha1.Skyhook
	pace    state.Pace
	all     *situation.Hold
}

// sightOf takes of what was read all but pods: what is with a node is in its record.
func sightOf(o settings.Options, read *forecast.Snapshot) *sight {
	targets, policies := &state.Index{Images: o.Images, Reapply: o.Reapply, Limits: o.Limits}, &state.Policies{}
	see := &sight{of: make(map[string]beheld, len(read.Skyhooks))}
	ordered := state.InOrder(read.Skyhooks)
	see.Snapshot = targets.See(o.Workload, ordered, read.Revisions, stopAmong(read.ConfigMaps))
	for _, sk := range ordered {
		h := beheld{skyhook: sk, pace: policies.Pace(sk, first(read.Policies, func(p *v1alpha1.DeploymentPolicy) bool {
			return p.Name == sk.Spec.DeploymentPolicy
		}))}
		h.all = see.HoldAll(sk, h.pace)
		see.of[sk.Name] = h
	}
	return see
}

// stopAmong is what stops all Skyhooks, as one of these ConfigMaps says; nil for nothing.
func stopAmong(all []corev1.ConfigMap) *rollout.Stop {
	if cm := first(all, func(cm *corev1.ConfigMap) bool { return cm.Name == v1alpha1.StopConfigMap }); cm != nil {
		return rollout.StopOf(cm)
	}
	return nil
}

// first is the first of a list that is as wanted; nil for none.
func first[T any](list []T, wanted func(*T) bool) *T {
	for i := range list {
		if wanted(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// on is what is with a node for a Skyhook; false for one that does not exist or does not select it.
func (see *sight) on(skyhook string, n *corev1.Node) (situation.Situation, bool) {
	h, there := see.of[skyhook]
	if !there || !see.Selects(h.skyhook, n) {
		return situation.Situation{}, false
	}
	here := see.At(n, &see.records)
	return here.Shown(h.skyhook, h.pace, h.all), true
}

// selecting is the Skyhook of that name; nil if it does not exist or does not select the node.
func (see *sight) selecting(skyhook string, n *corev1.Node) *v1alpha1.Skyhook {
	if h, there := see.of[skyhook]; there && see.Selects(h.skyhook, n) {
		return h.skyhook
	}
	return nil
}

// status is that of a node for a Skyhook. Where the Skyhook has nothing to do any more, it is what its operator left.
func (see *sight) status(skyhook string, n *corev1.Node) v1alpha1.Status {
	if here, selected := see.on(skyhook, n); selected {
		return here.Status()
	}
	r, _ := record.Read(skyhook, n.Annotations) // a status stands beside what cannot be read
	if r.Status == "" {
		return v1alpha1.StatusUnknown
	}
	return r.Status
}

// reason is what is with a node for a Skyhook that selects it, and why it does not progress; false if it does.
func (see *sight) reason(skyhook string, n *corev1.Node) (situation.Situation, record.Wait, bool) {
	here, selected := see.on(skyhook, n)
	if !selected {
		return here, record.Wait{}, false
	}
	w, told := here.Reason(n.Name)
	return here, w, told
}

// failed are the stages that failed on a node and matter for a Skyhook, in order of the packages' names.
func (see *sight) failed(skyhook string, n *corev1.Node, r record.Node) []record.Entry {
	entries := (&onNode{record: r}).entries()
	if h, there := see.of[skyhook]; there && see.Selects(h.skyhook, n) {
		entries = see.Wanted(h.skyhook, n.Name).Relevant(r)
	}
	return slices.DeleteFunc(entries, func(e record.Entry) bool {
		return e.State != v1alpha1.StateErroring || e.Superseded
	})
}

// operatorAmong is the operator's Deployment, and the settings that it gives it: the defaults without one.
func operatorAmong(all []appsv1.Deployment, namespace, version string) (*appsv1.Deployment, settings.Options, error) {
	env := map[string]string{}
	d := first(all, func(d *appsv1.Deployment) bool { return isOperator(d) && len(d.Spec.Template.Spec.Containers) > 0 })
	if d != nil {
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			if e.ValueFrom == nil {
				env[e.Name] = e.Value
			}
		}
	}
	env["NAMESPACE"] = namespace
	o, err := settings.FromEnvironment(func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}, version)
	return d, o, err
}
