package rollout

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

const (
	// maxUsedBy is how many Skyhooks the status of a policy names, as in the CRD.
	maxUsedBy = 100
	// maxCompartmentList bounds the compartments in one line; a name that is longer than maxNameBytes is cut.
	maxCompartmentList = 384
)

// Use is a Skyhook that names a policy.
type Use struct {
	Skyhook string
	// Nodes that it selects; their names and labels are enough.
	Nodes []Node
}

// PolicyStatus returns what a policy applies to: who uses it, and how many nodes are in each compartment. Nodes are
// counted as the plan of each Skyhook splits them. invalid tells what is wrong with the policy, which is nil then.
func PolicyStatus(
	of *v1alpha1.DeploymentPolicy, policy *Policy, invalid string, uses []Use, now metav1.Time,
) v1alpha1.DeploymentPolicyStatus {
	status := v1alpha1.DeploymentPolicyStatus{
		ObservedGeneration: of.Generation, Skyhooks: len(uses), Conditions: slices.Clone(of.Status.Conditions),
	}
	nodes := map[string]bool{}
	for _, u := range uses {
		status.UsedBy = append(status.UsedBy, u.Skyhook)
		for i := range u.Nodes {
			nodes[u.Nodes[i].Name] = true
		}
	}
	slices.Sort(status.UsedBy)
	status.UsedBy = status.UsedBy[:min(len(status.UsedBy), maxUsedBy)]
	status.Nodes = len(nodes)
	var empty, unmatched string
	if policy != nil {
		var without []string
		status.Compartments, without = policy.count(uses)
		empty, unmatched = emptyMessage(status), unmatchedMessage(without)
	}
	status.CompartmentList = compartmentList(status.Compartments)
	c := conditions{list: &status.Conditions, now: now, generation: of.Generation}
	c.while(invalid != "", v1alpha1.ConditionStalled, v1alpha1.ReasonSpecInvalid, invalid)
	c.while(empty != "", v1alpha1.ConditionCompartmentEmpty, v1alpha1.ConditionCompartmentEmpty, empty)
	c.while(unmatched != "", v1alpha1.ConditionCompartmentsUnmatched, v1alpha1.ConditionCompartmentsUnmatched, unmatched)
	return status
}

// count counts nodes by compartment, and names the Skyhooks of which all nodes are in the default although there are
// compartments.
func (p *Policy) count(uses []Use) (counts []v1alpha1.CompartmentNodes, without []string) {
	members := make([]map[string]bool, len(p.compartments))
	for _, u := range uses {
		homes := p.split(u.Nodes, nil)
		for k := range homes {
			if members[k] == nil {
				members[k] = map[string]bool{}
			}
			for _, i := range homes[k].nodes {
				members[k][u.Nodes[i].Name] = true
			}
		}
		outside := len(homes[len(homes)-1].nodes)
		if len(homes) > 1 && outside > 0 && outside == len(u.Nodes) {
			without = append(without, u.Skyhook)
		}
	}
	for k := range p.compartments {
		counts = append(counts, v1alpha1.CompartmentNodes{Name: p.compartments[k].name, Nodes: len(members[k])})
	}
	return counts, without
}

func compartmentList(counts []v1alpha1.CompartmentNodes) string {
	list := make([]string, 0, len(counts))
	for _, c := range counts {
		list = append(list, fmt.Sprintf("%s:%d", text.Cut(c.Name, maxNameBytes), c.Nodes))
	}
	return text.Fit(list, maxCompartmentList)
}

// emptyMessage names the compartments without nodes while others have some; empty when there are none.
func emptyMessage(status v1alpha1.DeploymentPolicyStatus) string {
	var names []string
	for _, c := range status.Compartments {
		if c.Nodes == 0 && c.Name != DefaultCompartment {
			names = append(names, text.Cut(c.Name, maxNameBytes))
		}
	}
	if all := len(status.Compartments) - 1; len(names) == 0 || len(names) == all {
		return "" // where all are empty, their Skyhooks are named instead
	}
	return fmt.Sprintf("none of the %s belongs to %s: no label matches, or a more careful compartment has them; correct "+
		"spec.compartments[].selector, or remove the compartments that you do not need", text.Count(status.Nodes, "node"),
		named("compartment", names))
}

// unmatchedMessage names the Skyhooks that have no node in any compartment; empty when there are none.
func unmatchedMessage(skyhooks []string) string {
	if len(skyhooks) == 0 {
		return ""
	}
	return fmt.Sprintf("no compartment matches a node of %s, so spec.default applies to all of them; correct "+
		"spec.compartments[].selector, or the labels of the nodes", named("Skyhook", skyhooks))
}

func named(thing string, names []string) string {
	if len(names) > 1 {
		thing += "s"
	}
	return thing + " " + text.Names(names)
}
