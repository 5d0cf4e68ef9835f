package cli

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// picture is one Skyhook as its nodes are drawn.
type picture struct {
	skyhook  *v1alpha1.Skyhook
	selector labels.Selector
	// permits are the nodes that may work.
	permits map[string]bool
	// attention are the reasons of nodes that the status tells by name, and common is that of all nodes that wait: empty
	// where they wait for several things, as then nobody but why knows which of them waits for what.
	attention map[string]string
	common    string
	// bars are the indexes of compartments.
	bars map[string]int
	// homes are the compartments of nodes; nil without a policy.
	homes map[string]string
}

func newPicture(sk *v1alpha1.Skyhook) *picture {
	p := &picture{skyhook: sk, permits: make(map[string]bool, len(sk.Status.Permits)), bars: map[string]int{}}
	var err error
	if p.selector, err = metav1.LabelSelectorAsSelector(&sk.Spec.NodeSelectors); err != nil {
		p.selector = labels.Nothing()
	}
	for _, permit := range sk.Status.Permits {
		p.permits[permit.Node] = true
	}
	p.attention = make(map[string]string, len(sk.Status.Attention))
	for i := range sk.Status.Attention {
		p.attention[sk.Status.Attention[i].Node] = sk.Status.Attention[i].Reason
	}
	switch waiting := sk.Status.Waiting; len(waiting) {
	case 0:
		p.common = v1alpha1.ReasonWaitingForPermit
	case 1:
		p.common = waiting[0].Reason
	}
	for i, name := range shownCompartments(sk.Status.CompartmentStatuses) {
		p.bars[name] = i
	}
	return p
}

// selects reports whether a node is in the picture.
func (p *picture) selects(n *corev1.Node) bool { return p.selector.Matches(labels.Set(n.Labels)) }

// settle finds the compartment of each node. policy is nil if it is missing, or nobody may read it.
func (p *picture) settle(policy *v1alpha1.DeploymentPolicy, nodes map[string]*corev1.Node) {
	p.homes = nil
	if p.skyhook.Spec.DeploymentPolicy == "" {
		return
	}
	p.homes = map[string]string{}
	if policy == nil {
		return
	}
	prepared, err := rollout.PreparePolicy(policy)
	if err != nil {
		return
	}
	var selected []rollout.Node
	for name, n := range nodes {
		if p.selects(n) {
			selected = append(selected, rollout.Node{Name: name, Labels: n.Labels})
		}
	}
	p.homes = prepared.Homes(selected)
}

// home is the compartment of a node; empty where nobody knows.
func (p *picture) home(node string) string {
	if p.homes == nil {
		return rollout.DefaultCompartment
	}
	return p.homes[node]
}

// node draws one node.
func (p *picture) node(n *corev1.Node) board.Node {
	r, err := record.Read(p.skyhook.Name, n.Annotations)
	here := &onNode{node: *n, skyhook: p.skyhook.Name, record: r}
	complete, total := here.progress()
	status := p.status(here)
	bar, known := p.bars[p.home(n.Name)]
	if !known {
		bar = -1
	}
	drawn := board.Node{
		Name: n.Name, Status: status, Reason: p.reason(here, status), Bar: bar, Group: p.group(here, status),
		Packages: fmt.Sprintf("%d/%d", complete, total), Cordoned: n.Spec.Unschedulable,
	}
	if err != nil {
		drawn.Packages = "0/0"
	}
	return drawn
}

// status is what node status says of the node, or where the operator has not yet said anything, what follows from the
// Skyhook.
func (p *picture) status(here *onNode) v1alpha1.Status {
	if s := here.status(); s != v1alpha1.StatusUnknown || here.record.Status != "" {
		return s
	}
	switch s := p.skyhook.Status.Status; {
	case s == "" || s == v1alpha1.StatusUnknown:
		return v1alpha1.StatusUnknown
	case s == v1alpha1.StatusPaused || s == v1alpha1.StatusDisabled:
		return s
	case p.permits[here.node.Name]:
		return v1alpha1.StatusInProgress
	default:
		return v1alpha1.StatusWaiting
	}
}

// reason is why a node is not complete, in one word.
func (p *picture) reason(here *onNode, status v1alpha1.Status) string {
	if status == v1alpha1.StatusComplete {
		return ""
	}
	held := status != v1alpha1.StatusErroring && here.record.Wait != nil // what failed is not tried again meanwhile
	for _, e := range here.entries() {
		if !held && e.State == v1alpha1.StateErroring && !e.Superseded && e.Reason != "" {
			return e.Reason
		}
	}
	told := p.attention[here.node.Name]
	switch {
	case here.record.Unreadable:
		return v1alpha1.ReasonNodeStateMalformed
	case here.record.Wait != nil:
		return here.record.Wait.Reason
	case told != "":
		return told
	case !state.Ready(&here.node):
		return v1alpha1.ReasonNodeNotReady
	case status == v1alpha1.StatusWaiting, status == v1alpha1.StatusBlocked && p.common != v1alpha1.ReasonWaitingForPermit:
		return p.common
	default:
		return ""
	}
}

// group is where a node stands in its compartment.
func (p *picture) group(here *onNode, status v1alpha1.Status) int {
	switch {
	case status == v1alpha1.StatusComplete, p.done(here.record):
		return board.GroupComplete
	case p.permits[here.node.Name], status == v1alpha1.StatusInProgress:
		return board.GroupBatch
	case status == v1alpha1.StatusErroring, status == v1alpha1.StatusBlocked, status == v1alpha1.StatusUnknown:
		return board.GroupFailing
	default:
		return board.GroupWaiting
	}
}

// done reports whether all packages are complete on a node whose Skyhook was paused or disabled after that.
func (p *picture) done(r record.Node) bool {
	if r.Status != v1alpha1.StatusPaused && r.Status != v1alpha1.StatusDisabled || r.Wait != nil {
		return false
	}
	for name, pkg := range p.skyhook.Spec.Packages {
		if r.Packages[record.Key(name, pkg.Version)].State != v1alpha1.StateComplete {
			return false
		}
	}
	return true
}
