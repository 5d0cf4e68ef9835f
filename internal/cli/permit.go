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

// forPermit lets one node more work in the first compartment of those that wait; empty if that is stopped, or only has to
// wait for its batch, or for a node that does not progress, which the advice names then: the next one would go the same way.
func (e explainer) forPermit(v *view, sk *v1alpha1.Skyhook, c *cause) string {
	if sk == nil {
		return ""
	}
	if stalled := meta.FindStatusCondition(sk.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil &&
		stalled.Status == metav1.ConditionTrue && stalled.Message == c.Message { // what keeps it from being prepared
		c.EndedBy = string(record.FreesAdministrator)
		c.Do = e.addressed("Look at what keeps the Skyhook from being prepared: `kubectl skyhook why " + sk.Name + "`.")
		return ""
	}
	at := compartmentOf(v, sk, c.Nodes)
	policy, compartment := at.policy, at.name
	now, ok := sk.Status.CompartmentStatuses[compartment]
	if !ok {
		return ""
	}
	if now.BatchState != nil && now.BatchState.ShouldStop {
		c.Do = e.addressed("Look at what stopped the rollout: `kubectl skyhook why " + sk.Name + "`.")
		return ""
	}
	if node := at.troubled(sk); node != "" {
		c.Do = e.addressed(fmt.Sprintf("Look at node %s, which holds a place and does not progress: `kubectl skyhook why node %[1]s`.", node))
		if first(v.Nodes, func(n *corev1.Node) bool { return n.Name == node }) == nil {
			c.Do = e.addressed(fmt.Sprintf("Look at what is left of node %s, which is gone: `kubectl skyhook why %s`.", node, sk.Name))
		}
		return ""
	}
	if now.InProgress+now.Erroring < now.Ceiling || at.prepared != nil && at.prepared.BatchFull(sk, compartment) {
		return ""
	}
	more := now.Ceiling + 1
	budget := fmt.Sprintf(`{"count":%d,"percent":null}`, more)
	if policy == nil {
		return fmt.Sprintf(`kubectl patch skyhook %s --type=merge -p '{"spec":{"interruptionBudget":%s}}'`, sk.Name, budget)
	}
	for i := range policy.Spec.Compartments {
		if policy.Spec.Compartments[i].Name == compartment {
			return fmt.Sprintf(`kubectl patch deploymentpolicy %s --type=json -p `+
				`'[{"op":"replace","path":"/spec/compartments/%d/budget","value":{"count":%d}}]'`, policy.Name, i, more)
		}
	}
	return fmt.Sprintf(`kubectl patch deploymentpolicy %s --type=merge -p '{"spec":{"default":{"budget":%s}}}'`, policy.Name, budget)
}

// compartment is one of the policy that a Skyhook names; the policy is prepared if it is valid.
type compartment struct {
	name     string
	policy   *v1alpha1.DeploymentPolicy
	prepared *rollout.Policy
	// homes are the compartments of all selected nodes; nil where there is only one.
	homes map[string]string
}

// compartmentOf is the one that the first of some nodes belongs to.
func compartmentOf(v *view, sk *v1alpha1.Skyhook, nodes []string) compartment {
	at := compartment{name: rollout.DefaultCompartment}
	at.policy = first(v.Policies, func(p *v1alpha1.DeploymentPolicy) bool { return p.Name == sk.Spec.DeploymentPolicy })
	if at.policy == nil || len(nodes) == 0 {
		return at
	}
	var err error
	if at.prepared, err = rollout.PreparePolicy(at.policy); err != nil {
		at.prepared = nil
		return at
	}
	var selected []rollout.Node
	for k := range v.Nodes {
		if n := &v.Nodes[k]; selects(sk, n) {
			selected = append(selected, rollout.Node{Name: n.Name, Labels: n.Labels})
		}
	}
	at.homes = at.prepared.Homes(sk, selected)
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
