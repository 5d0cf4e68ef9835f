package faults

import (
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// extend adds what few worlds have. Its choices are drawn apart from all others, which stay what they are for each seed.
func (g *generator) extend(p *Plan) {
	g.Rand = rand.New(rand.NewPCG(p.Seed, 0xe87e))
	if g.chance(0.03) {
		g.fleet(p)
	}
	for i := range p.Policies {
		if g.chance(0.3) {
			g.overlap(&p.Policies[i].Spec)
		}
	}
	for i := range p.Skyhooks {
		if d := p.Skyhooks[i].Spec.Drain; d != nil && g.chance(0.3) {
			d.DeleteEmptyDirData = new(g.chance(0.5))
		}
	}
}

// fleet makes a world of up to twelve nodes.
func (g *generator) fleet(p *Plan) {
	for _, name := range []string{"f", "g", "h", "i", "j", "k"} {
		p.Nodes = append(p.Nodes, NodePlan{
			Name:   name,
			Labels: map[string]string{"zone": pick(g.Rand, "one", "two"), "pool": pick(g.Rand, "x", "x", "y")},
		})
	}
}

// overlap adds compartments that share nodes with each other.
func (g *generator) overlap(spec *v1alpha1.DeploymentPolicySpec) {
	for _, c := range []struct{ name, key, value string }{{"pool", "pool", "x"}, {"second", "zone", "two"}} {
		other := v1alpha1.Compartment{
			Name: c.name, Selector: metav1.LabelSelector{MatchLabels: map[string]string{c.key: c.value}}, Budget: g.budget(),
		}
		if g.chance(0.6) {
			other.Strategy = new(g.strategy())
		}
		spec.Compartments = append(spec.Compartments, other)
	}
}
