package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	// DefaultCompartment has the nodes that no compartment of the policy selects, and all nodes without a policy.
	DefaultCompartment = "__default__"
	// maxCompartments is the most that a policy may have, as in the CRD; they are bits of a word here.
	maxCompartments = 64
)

// Policy is a DeploymentPolicy, checked and parsed. It does not change any more and may be shared.
type Policy struct {
	// compartments are the compartments as the policy lists them, and the default at the end.
	compartments []compartmentSpec
	// keys of labels that decide where a node belongs.
	keys []string
	// reset is resetBatchStateOnCompletion; nil when unset.
	reset *bool
}

// compartmentSpec is one compartment as the policy describes it.
type compartmentSpec struct {
	name string
	// selector is nil for the default.
	selector labels.Selector
	budget   v1alpha1.Budget
	strategy strategy
}

// PreparePolicy parses a policy. The error names the field and the fix; it is for what the CRD should have refused.
func PreparePolicy(policy *v1alpha1.DeploymentPolicy) (*Policy, error) {
	p := &Policy{reset: policy.Spec.ResetBatchStateOnCompletion}
	if n := len(policy.Spec.Compartments); n > maxCompartments {
		return nil, fmt.Errorf("spec.compartments has %d entries; use at most %d", n, maxCompartments)
	}
	standard, err := prepareStrategy("spec.default.strategy", policy.Spec.Default.Strategy)
	if err != nil {
		return nil, err
	}
	if err := checkBudget("spec.default.budget", policy.Spec.Default.Budget); err != nil {
		return nil, err
	}
	keys, names := map[string]bool{}, map[string]bool{DefaultCompartment: true}
	for i := range policy.Spec.Compartments {
		c := &policy.Spec.Compartments[i]
		if c.Name == "" || names[c.Name] {
			return nil, fmt.Errorf("spec.compartments[%d].name %q is empty, reserved or used twice; choose another", i, c.Name)
		}
		names[c.Name] = true
		s, err := prepareCompartment(fmt.Sprintf("spec.compartments[%d]", i), c, standard)
		if err != nil {
			return nil, err
		}
		requirements, _ := s.selector.Requirements()
		for _, r := range requirements {
			keys[r.Key()] = true
		}
		p.compartments = append(p.compartments, s)
	}
	p.compartments = append(p.compartments, compartmentSpec{
		name: DefaultCompartment, budget: policy.Spec.Default.Budget, strategy: standard,
	})
	p.keys = slices.Sorted(maps.Keys(keys))
	return p, nil
}

func prepareCompartment(field string, c *v1alpha1.Compartment, standard strategy) (compartmentSpec, error) {
	s := compartmentSpec{name: c.Name, budget: c.Budget, strategy: standard}
	if err := checkBudget(field+".budget", c.Budget); err != nil {
		return compartmentSpec{}, err
	}
	var err error
	if c.Strategy != nil {
		if s.strategy, err = prepareStrategy(field+".strategy", *c.Strategy); err != nil {
			return compartmentSpec{}, err
		}
	}
	if s.selector, err = metav1.LabelSelectorAsSelector(&c.Selector); err != nil {
		return compartmentSpec{}, fmt.Errorf("%s.selector cannot be used: %w; correct it", field, err)
	}
	return s, nil
}

func checkBudget(field string, b v1alpha1.Budget) error {
	if (b.Count == nil) == (b.Percent == nil) {
		return fmt.Errorf("%s must have exactly one of percent and count; set one and remove the other", field)
	}
	return nil
}

// oneAtATime stands in for a policy that is missing while its Skyhook is deleted.
var oneAtATime = &Policy{compartments: []compartmentSpec{{
	name: DefaultCompartment, budget: v1alpha1.Budget{Count: new(1)}, strategy: strategy{kind: none},
}}}

// split puts every node into exactly one compartment, in the order of the policy. A node that several select belongs to
// the most careful of them; one that was stopped before is the most careful of all, else its nodes could escape when the
// ceilings change with the number of nodes.
func (p *Policy) split(nodes []Node, before map[string]v1alpha1.CompartmentStatus) []compartment {
	masks, matched := p.match(nodes)
	ranked := make([]int, len(p.compartments)-1)
	for k := range ranked {
		ranked[k] = k
	}
	goes := func(k int) int { // 0 if it is stopped
		if b := before[p.compartments[k].name].BatchState; b != nil && b.ShouldStop {
			return 0
		}
		return 1
	}
	slices.SortFunc(ranked, func(a, b int) int {
		// The ceiling of a compartment that selects nothing does not matter; it decides no node.
		return cmp.Or(cmp.Compare(goes(a), goes(b)),
			compareCare(&p.compartments[a], &p.compartments[b], matched[a], matched[b]))
	})
	home := make([]int, len(nodes)) // the compartment of each node
	sizes := make([]int, len(p.compartments))
	for i, mask := range masks {
		k := len(ranked) // the default
		if mask != 0 {
			k = ranked[slices.IndexFunc(ranked, func(k int) bool { return mask&(1<<k) != 0 })]
		}
		home[i] = k
		sizes[k]++
	}
	out := make([]compartment, len(p.compartments))
	for k := range p.compartments {
		s := &p.compartments[k]
		out[k] = compartment{compartmentSpec: s, ceiling: Ceiling(s.budget, sizes[k]), nodes: make([]int32, 0, sizes[k])}
	}
	for i, k := range home {
		out[k].nodes = append(out[k].nodes, int32(i))
	}
	return out
}

// Homes returns the compartment of each node that a Skyhook selects, by name.
func (p *Policy) Homes(s *v1alpha1.Skyhook, nodes []Node) map[string]string {
	homes := make(map[string]string, len(nodes))
	for _, c := range p.split(nodes, s.Status.CompartmentStatuses) {
		for _, i := range c.nodes {
			homes[nodes[i].Name] = c.name
		}
	}
	return homes
}

// match returns for each node a bit per compartment that selects it, and for each compartment the number of such nodes.
// A selector sees only the labels under keys, and few combinations of their values exist, so each is judged once.
func (p *Policy) match(nodes []Node) (masks []uint64, matched [maxCompartments]int) {
	masks = make([]uint64, len(nodes))
	if len(p.compartments) == 1 {
		return masks, matched
	}
	known := map[string]uint64{}
	var combination []byte
	for i := range nodes {
		combination = combination[:0]
		for _, key := range p.keys {
			value, ok := nodes[i].Labels[key]
			if ok {
				combination = append(combination, '=')
				combination = append(combination, value...)
			}
			combination = append(combination, ',')
		}
		mask, ok := known[string(combination)]
		if !ok {
			mask = p.judge(nodes[i].Labels)
			known[string(combination)] = mask
		}
		masks[i] = mask
		for k := range len(p.compartments) - 1 {
			matched[k] += int(mask >> k & 1)
		}
	}
	return masks, matched
}

func (p *Policy) judge(l map[string]string) uint64 {
	var mask uint64
	for k := range len(p.compartments) - 1 {
		if p.compartments[k].selector.Matches(labels.Set(l)) {
			mask |= 1 << k
		}
	}
	return mask
}
