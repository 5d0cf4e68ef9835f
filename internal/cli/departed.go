package cli

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// departed adds to the causes on a node that the Skyhook no longer selects that it keeps its permit, if it does: others
// may wait for it, and nothing else tells where it is.
func (e explainer) departed(sk *v1alpha1.Skyhook, n *corev1.Node, all []cause) []cause {
	if selects(sk, n) || !holds(sk, n.Name) {
		return all
	}
	const keeps = "the node is no longer selected, but it was in progress and keeps its permit, which counts against the budget"
	switch {
	case !state.Ready(n):
		all = slices.Insert(all, 0, e.cause(sk.Name, record.Wait{
			Reason: v1alpha1.ReasonDepartedNotReady, Message: keeps + "; it is not Ready",
		}, n.Name))
	case len(all) > 0:
		all[0].Message += "\n" + keeps
	default:
		all = append(all, e.cause(sk.Name, record.Wait{
			Reason: notSelected, Frees: record.FreesNode, Message: keeps + ", until its work there is over",
		}, n.Name))
	}
	return all
}

// gone are the nodes that do not exist any more, but still have permits in the status of a Skyhook, or pods that do not
// end.
func (e explainer) gone(v *view, decided *v1alpha1.Skyhook) []cause {
	exists := func(node string) bool {
		return slices.ContainsFunc(v.Nodes, func(n corev1.Node) bool { return n.Name == node })
	}
	var all []cause
	told := map[string]bool{}
	sk := named(v.Skyhooks, decided.Name)
	for _, a := range slices.Concat(refusedBy(sk), decided.Status.Attention) {
		if !told[a.Node] && !exists(a.Node) {
			all = append(all, e.cause(decided.Name, record.Wait{
				Reason: a.Reason, Message: a.Message, Since: a.Since, Frees: record.FreesAdministrator,
			}, a.Node))
		}
		told[a.Node] = true
	}
	if sk == nil {
		return grouped(all)
	}
	for _, p := range sk.Status.Permits {
		if !told[p.Node] && !exists(p.Node) {
			all = append(all, e.cause(sk.Name, record.Wait{
				Reason: notSelected,
				Message: "the node is gone, but keeps its permit, which counts against the budget, until the operator has seen that " +
					"it is gone, and that no pod of the Skyhook is bound to it any more: Kubernetes deletes those, unless a " +
					"finalizer keeps them; " + e.toCluster(fmt.Sprintf("kubectl get pods -n %s -l %s=%s -o wide",
					e.namespace, v1alpha1.LabelName, sk.Name)) + " lists them",
			}, p.Node))
		}
	}
	return grouped(all)
}
