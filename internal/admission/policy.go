package admission

import (
	"fmt"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// CheckPolicy returns what is wrong with a DeploymentPolicy and cannot be said by CEL: whether a selector of labels is
// one is known only by reading it.
func CheckPolicy(p *v1alpha1.DeploymentPolicy) []Problem {
	c := &checker{}
	if n := len(p.Spec.Compartments); n > MaxCompartments {
		c.add("spec.compartments", "has %d entries; use at most %d", n, MaxCompartments)
		return c.problems
	}
	for i := range p.Spec.Compartments {
		c.requirements(fmt.Sprintf("spec.compartments[%d].selector", i), &p.Spec.Compartments[i].Selector)
	}
	if len(c.problems) > 0 {
		return c.problems
	}
	for i := range p.Spec.Compartments {
		c.selector(fmt.Sprintf("spec.compartments[%d].selector", i), &p.Spec.Compartments[i].Selector)
	}
	return c.problems
}
