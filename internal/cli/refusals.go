package cli

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// refused are the reasons that only the operator can tell, as the API server refused or failed what it asked for: a copy
// of the cluster, by which all others are found, refuses nothing.
var refused = []string{
	v1alpha1.ReasonPassFailed, v1alpha1.ReasonClaimRefused, v1alpha1.ReasonConfigMapRefused, v1alpha1.ReasonDefinitionRefused,
}

// refusals are the causes that the operator told for one of these reasons, of a Skyhook and on its nodes, or on the one
// that is named.
func (e explainer) refusals(v *view, sk *v1alpha1.Skyhook, only string) []cause {
	var all []cause
	if only == "" {
		all = slices.DeleteFunc(e.conditions(sk, sk), func(c cause) bool { return !slices.Contains(refused, c.Reason) })
	}
	return append(all, grouped(e.refusedOn(sk, v.Nodes, only))...)
}

func (e explainer) refusedOn(sk *v1alpha1.Skyhook, nodes []corev1.Node, only string) []cause {
	var here []cause
	for i := range nodes {
		n := &nodes[i]
		if only != "" && n.Name != only {
			continue
		}
		r, _ := record.Read(sk.Name, n.Annotations) // a wait stands beside what cannot be read
		if r.Wait != nil && slices.Contains(refused, r.Wait.Reason) {
			here = append(here, e.cause(sk.Name, *r.Wait, n.Name))
		}
	}
	return here
}

// refusedBy is what of a Skyhook's attention has one of these reasons.
func refusedBy(sk *v1alpha1.Skyhook) []v1alpha1.NodeAttention {
	if sk == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(sk.Status.Attention), func(a v1alpha1.NodeAttention) bool {
		return !slices.Contains(refused, a.Reason)
	})
}
