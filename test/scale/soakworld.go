package main

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Skyhooks of the soak whose nodes are special: interrupting has workloads to drain, on failing the first attempt at
// each stage fails.
const (
	soakInterrupting = "interrupting"
	soakFailing      = "failing"
)

// part is one Skyhook of the soak: some racks, from the first to before the last; all nodes if there are none.
type part struct {
	name        string
	first, last int
	packages    int
	priority    int
	policy      bool
	interrupt   v1alpha1.InterruptType
}

// soakParts overlap in some racks, and everywhere has all nodes, so that Skyhooks wait for each other.
var soakParts = []part{
	{name: "everywhere", packages: 1, priority: 100},
	{name: soakInterrupting, first: 32, last: 34, packages: 1, priority: 150, interrupt: v1alpha1.InterruptService},
	{name: "left", first: 0, last: 16, packages: 2, priority: 200},
	{name: "right", first: 8, last: 24, packages: 1, priority: 200, policy: true},
	{name: soakFailing, first: 40, last: 44, packages: 1, priority: 200},
}

// soakNodes are the fewest nodes that give each Skyhook some.
const soakNodes = 48

func (p part) has(rack int) bool { return p.last == 0 || rack >= p.first && rack < p.last }

func (p part) racks() []string {
	var all []string
	for i := range racks {
		if p.has(i) {
			all = append(all, rack(i))
		}
	}
	return all
}

// share of all nodes that the Skyhook selects.
func (p part) share() float64 { return float64(len(p.racks())) / racks }

func (p part) skyhook() *v1alpha1.Skyhook {
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: p.name}}
	s.Spec.Priority = p.priority
	if p.last > 0 {
		s.Spec.NodeSelectors.MatchExpressions = []metav1.LabelSelectorRequirement{
			{Key: rackLabel, Operator: metav1.LabelSelectorOpIn, Values: p.racks()},
		}
	}
	s.Spec.Packages = map[string]v1alpha1.Package{}
	for i := range p.packages {
		name := fmt.Sprintf("package-%d", i)
		s.Spec.Packages[name] = p.newPackage(name)
	}
	if p.policy {
		s.Spec.DeploymentPolicy = policyName
	} else {
		s.Spec.InterruptionBudget.Percent = new(100)
	}
	return s
}

// newPackage can be uninstalled by removing it.
func (p part) newPackage(name string) v1alpha1.Package {
	pkg := World{Interrupt: p.interrupt}.newPackage(name)
	pkg.Uninstall.WhenRemoved = v1alpha1.WhenRemovedUninstall
	return pkg
}

func partOf(skyhook string) part {
	return soakParts[slices.IndexFunc(soakParts, func(p part) bool { return p.name == skyhook })]
}

// soakCourse lets first attempts fail on the nodes that were made for that.
func soakCourse(node string) course {
	var i int
	if _, err := fmt.Sscanf(node, "node-%d", &i); err != nil {
		return course{}
	}
	return course{Fails: partOf(soakFailing).has(i % racks)}
}
