package forecast

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// replaced is how long an evicted pod takes until another one stands in for it.
const replaced = time.Minute

// budget is a PodDisruptionBudget, and what it allows.
type budget struct {
	namespace, name string
	selector        labels.Selector
	healthy, needed int32
	allowed         int32
	// back is when each disruption that is used up is allowed again.
	back []time.Time
}

func budgetsOf(all []policyv1.PodDisruptionBudget) []budget {
	var out []budget
	for i := range all {
		b := &all[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // the API server ignores it as well
		}
		out = append(out, budget{
			namespace: b.Namespace, name: b.Name, selector: selector,
			healthy: b.Status.CurrentHealthy, needed: b.Status.DesiredHealthy, allowed: b.Status.DisruptionsAllowed,
		})
	}
	return out
}

// disrupt refuses an eviction as the API server does.
func (w *world) disrupt(pod *corev1.Pod) string {
	for i := range w.budgets {
		b := &w.budgets[i]
		if b.namespace != pod.Namespace || !b.selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		var left []time.Time
		for _, at := range b.back {
			if at.After(w.now) {
				left = append(left, at)
			}
		}
		if b.back = left; int(b.allowed)-len(left) <= 0 {
			return fmt.Sprintf("Cannot evict pod as it would violate the pod's disruption budget. "+
				"The disruption budget %s needs %d healthy pods and has %d currently", b.name, b.needed, b.healthy)
		}
		if !w.drainsEnd() {
			b.back = append(b.back, w.now.Add(replaced))
		}
	}
	return ""
}

// drainsEnd reports whether a drain has a time limit. How long others take is a guess, and must not be what exceeds it: then
// a stop would be foretold that does not come.
func (w *world) drainsEnd() bool {
	for _, s := range w.cluster.Skyhooks() {
		if d := s.Spec.Drain; d != nil && d.TimeoutSeconds != nil && *d.TimeoutSeconds > 0 {
			return true
		}
	}
	return false
}
