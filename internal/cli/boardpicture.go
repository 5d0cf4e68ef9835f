package cli

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// picture is one Skyhook as its nodes are drawn.
type picture struct {
	skyhook  *v1alpha1.Skyhook
	selector labels.Selector
	// permits are those of nodes, by their names.
	permits map[string]v1alpha1.Permit
	// bars are the indexes of compartments.
	bars map[string]int
	// homes are the compartments of nodes; nil without a policy.
	homes map[string]string
}

func newPicture(sk *v1alpha1.Skyhook) *picture {
	p := &picture{skyhook: sk, permits: make(map[string]v1alpha1.Permit, len(sk.Status.Permits)), bars: map[string]int{}}
	var err error
	if p.selector, err = admission.Target(sk); err != nil {
		p.selector = labels.Nothing()
	}
	for _, permit := range sk.Status.Permits {
		p.permits[permit.Node] = permit
	}
	for i, name := range shownCompartments(sk.Status.CompartmentStatuses) {
		p.bars[name] = i
	}
	return p
}

// selects reports whether a node is in the picture.
func (p *picture) selects(n *corev1.Node) bool { return p.selector.Matches(labels.Set(n.Labels)) }

// settle finds the compartment of each node; of none while the policy is missing or wrong, or nobody may read it.
func (p *picture) settle(see *sight, nodes map[string]*corev1.Node) {
	p.homes = nil
	if p.skyhook.Spec.DeploymentPolicy == "" {
		return
	}
	p.homes = map[string]string{}
	policy := see.of[p.skyhook.Name].pace.Policy
	if policy == nil {
		return
	}
	var selected []rollout.Node
	for name, n := range nodes {
		if p.selects(n) {
			selected = append(selected, rollout.Node{Name: name, Labels: n.Labels})
		}
	}
	p.homes = policy.Homes(p.skyhook, selected)
}

// home is the compartment of a node; empty where nobody knows.
func (p *picture) home(node string) string {
	if p.homes == nil {
		return rollout.DefaultCompartment
	}
	return p.homes[node]
}

// node draws one node.
func (p *picture) node(see *sight, n *corev1.Node) board.Node {
	r, err := record.Read(p.skyhook.Name, n.Annotations)
	complete, total := (&onNode{record: r}).progress(p.skyhook)
	here, why, _ := see.reason(p.skyhook.Name, n)
	status := here.Status()
	bar, known := p.bars[p.home(n.Name)]
	if !known {
		bar = -1
	}
	drawn := board.Node{
		Name: n.Name, Status: status, Reason: why.Reason, Bar: bar, Group: p.group(&here, status, n.Name),
		Stage: stageOn(r), Packages: fmt.Sprintf("%d/%d", complete, total), Cordoned: n.Spec.Unschedulable,
	}
	if err != nil {
		drawn.Packages = "0/0"
	}
	return drawn
}

// stageOn is the first package that runs or fails on a node, and its stage; empty for none.
func stageOn(r record.Node) string {
	for _, e := range situation.Sorted(r.Packages) {
		if e.State == v1alpha1.StateInProgress || e.State == v1alpha1.StateErroring {
			return fmt.Sprintf("%s %s", e.Name, e.Stage)
		}
	}
	return ""
}

// group is where a node stands in its compartment.
func (p *picture) group(here *situation.Situation, status v1alpha1.Status, node string) int {
	_, holds := p.permits[node]
	switch {
	case here.Facts.Complete:
		return board.GroupComplete
	case holds, status == v1alpha1.StatusInProgress:
		return board.GroupBatch
	case status == v1alpha1.StatusErroring, status == v1alpha1.StatusBlocked, status == v1alpha1.StatusUnknown:
		return board.GroupFailing
	default:
		return board.GroupWaiting
	}
}
