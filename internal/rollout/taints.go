package rollout

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// maxTaints is how many taints Untolerated tells of.
const maxTaints = 10

// Untolerated tells which of the selected nodes the Skyhook leaves out because of their taints, one sentence for each
// taint, those of the most nodes first. The runtime taint is not among them: the operator takes it off by itself.
func Untolerated(s *v1alpha1.Skyhook, selected []corev1.Node, known Taints) []string {
	taints := map[string][]string{} // nodes by taint
	for i := range selected {
		n := &selected[i]
		for j := range n.Spec.Taints {
			t := &n.Spec.Taints[j]
			if !v1alpha1.Ignored(n.Labels) && repels(t) && !known.tolerated(s, t) && !t.MatchTaint(&known.Runtime) {
				taints[t.ToString()] = append(taints[t.ToString()], n.Name)
			}
		}
	}
	kinds := make([]string, 0, len(taints))
	for t := range taints {
		kinds = append(kinds, t)
	}
	slices.Sort(kinds)
	slices.SortStableFunc(kinds, func(a, b string) int { return len(taints[b]) - len(taints[a]) })
	var all []string
	for _, t := range kinds[:min(len(kinds), maxTaints)] {
		all = append(all, fmt.Sprintf("spec.additionalTolerations: the taint %s of %d of the %d selected nodes (%s) is not "+
			"tolerated, so nothing starts there; add a toleration, or select other nodes",
			t, len(taints[t]), len(selected), text.Names(taints[t])))
	}
	return all
}
