package faults

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// Rest is a world that has come to rest: all that there is to read of it, and how its operator is set up.
type Rest struct {
	forecast.Snapshot
	Now      time.Time
	Settings settings.Options
	// Metrics are those of the operator.
	Metrics *metrics.Store
	// Phase of the world in which that is.
	Phase string
}

// Rests plays a Plan, and lets others look whenever nobody has anything to do but wait for a person.
func Rests(p Plan, look func(*Rest)) []Finding {
	w := newWorld(&p, false, false)
	w.look = look
	w.play()
	if !w.over {
		w.rest()
	}
	return w.findings
}

// rested shows the world, unless something comes back time and again, of which a record may be a pass behind.
func (w *World) rested() {
	if w.look == nil || len(w.operators) == 0 || w.recurs {
		return
	}
	r := &Rest{Now: w.now, Settings: settingsOf(w.plan), Metrics: w.operators[0].metrics, Phase: w.phase}
	var (
		policies  v1alpha1.DeploymentPolicyList
		revisions appsv1.ControllerRevisionList
	)
	w.must(w.user.List(background, &policies))
	w.must(w.user.List(background, &revisions))
	r.Policies, r.Revisions = policies.Items, revisions.Items
	r.Nodes, r.Skyhooks = copies(w.cluster.Nodes()), copies(w.cluster.Skyhooks())
	r.Pods, r.ConfigMaps = copies(w.cluster.Pods()), copies(w.cluster.ConfigMaps())
	for _, pod := range r.Pods {
		if name := pod.Labels["budget"]; name != "" {
			r.Budgets = append(r.Budgets, w.budget(name))
		}
	}
	w.look(r)
}

// budget is one as Kubernetes shows it.
func (w *World) budget(name string) policyv1.PodDisruptionBudget {
	b := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: workloads, Name: name}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"budget": name}}
	b.Status.DisruptionsAllowed = int32(w.allowed(name))
	return b
}

// copies are objects that others may keep and change.
func copies[T any, P interface {
	*T
	DeepCopy() P
}](list []P) []T {
	all := make([]T, 0, len(list))
	for _, o := range list {
		all = append(all, *o.DeepCopy())
	}
	return all
}
