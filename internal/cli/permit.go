package cli

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// adviseOnPermit says what frees a place, unless that takes only time: what stopped the compartment, or a node that holds
// its place and does not progress. A larger budget is never the advice, as the next node would go the same way.
func (e explainer) adviseOnPermit(v *view, sk *v1alpha1.Skyhook, c *cause) {
	if sk == nil {
		return
	}
	if stalled := meta.FindStatusCondition(sk.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil &&
		stalled.Status == metav1.ConditionTrue && stalled.Message == c.Message { // what keeps it from being prepared
		c.EndedBy = string(record.FreesAdministrator)
		c.Do = e.addressed("Look at what keeps the Skyhook from being prepared: `kubectl skyhook why " + sk.Name + "`.")
		return
	}
	at := compartmentOf(v, sk, c.Nodes)
	if now := sk.Status.CompartmentStatuses[at.name]; now.BatchState != nil && now.BatchState.ShouldStop {
		c.Do = e.addressed("Look at what stopped the rollout: `kubectl skyhook why " + sk.Name + "`.")
		return
	}
	if node := at.troubled(sk); node != "" {
		c.Do = e.addressed(fmt.Sprintf("Look at node %s, which holds a place and does not progress: `kubectl skyhook why node %[1]s`.", node))
		if first(v.Nodes, func(n *corev1.Node) bool { return n.Name == node }) == nil {
			c.Do = e.addressed(fmt.Sprintf("Look at what is left of node %s, which is gone: `kubectl skyhook why %s`.", node, sk.Name))
		}
	}
}

// compartment is one of the policy that a Skyhook names.
type compartment struct {
	name string
	// homes are the compartments of all selected nodes; nil where there is only one.
	homes map[string]string
}

// compartmentOf is the one that the first of some nodes belongs to.
func compartmentOf(v *view, sk *v1alpha1.Skyhook, nodes []string) compartment {
	at := compartment{name: rollout.DefaultCompartment}
	policy := first(v.Policies, func(p *v1alpha1.DeploymentPolicy) bool { return p.Name == sk.Spec.DeploymentPolicy })
	if policy == nil || len(nodes) == 0 {
		return at
	}
	prepared, err := rollout.PreparePolicy(policy)
	if err != nil {
		return at
	}
	var selected []rollout.Node
	for k := range v.Nodes {
		if n := &v.Nodes[k]; selects(sk, n) {
			selected = append(selected, rollout.Node{Name: n.Name, Labels: n.Labels})
		}
	}
	at.homes = prepared.Homes(sk, selected)
	at.name = at.homes[nodes[0]]
	return at
}

// troubled is the first node of the compartment that holds a place and does not progress, those with a permit first; empty
// for none. One that left the selection counts in all of them.
func (at *compartment) troubled(sk *v1alpha1.Skyhook) string {
	unusable := ""
	for _, a := range sk.Status.Attention {
		home, here := at.homes[a.Node]
		reboots := a.Status == v1alpha1.StatusInProgress && a.Reason == v1alpha1.ReasonWaitingForReboot
		switch {
		case reboots, here && home != at.name:
		case holds(sk, a.Node):
			return a.Node
		case a.Reason == v1alpha1.ReasonNodeStateUnsealed, a.Reason == v1alpha1.ReasonNodeStateMalformed:
			unusable = cmp.Or(unusable, a.Node)
		}
	}
	return unusable
}
