package rollout

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	// DetailLimit is the largest fleet for which the status has per-node maps.
	DetailLimit = 256
	// maxNames is how many node names a condition message lists before it only counts.
	maxNames = 10
)

// view is the fleet as the status shows it, after the permits of a pass are given.
type view struct {
	*fleet
	compartments []compartment
	// statuses of the nodes, by index.
	statuses []v1alpha1.Status
	groups   map[v1alpha1.Status]*group
	// stopped says what is stopped and why; empty when nothing is.
	stopped string
	// blocked is the reason for which a deletion does not go on, and blockedWhy tells of it; empty when it does.
	blocked, blockedWhy string
}

// group is a number of nodes, and their names while they are few.
type group struct {
	count int
	names []string
}

func (g *group) add(name string) {
	g.count++
	if g.count <= maxNames {
		g.names = append(g.names, name)
	}
}

func newView(f *fleet, compartments []compartment) *view {
	v := &view{
		fleet: f, compartments: compartments,
		statuses: make([]v1alpha1.Status, len(f.Nodes)), groups: map[v1alpha1.Status]*group{},
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		s := n.status(f.Hold, f.holds[i])
		v.statuses[i] = s
		g := v.groups[s]
		if g == nil {
			g = &group{}
			v.groups[s] = g
		}
		g.add(n.Name)
	}
	for _, g := range v.groups {
		slices.Sort(g.names)
	}
	v.stopped = v.stopMessage()
	v.blocked, v.blockedWhy = v.deletionBlocked()
	return v
}

func (v *view) count(s v1alpha1.Status) int {
	if g := v.groups[s]; g != nil {
		return g.count
	}
	return 0
}

func (v *view) counts() v1alpha1.NodeCounts {
	return v1alpha1.NodeCounts{
		Total:      len(v.Nodes),
		Complete:   v.count(v1alpha1.StatusComplete),
		InProgress: v.count(v1alpha1.StatusInProgress),
		Erroring:   v.count(v1alpha1.StatusErroring),
		Blocked:    v.count(v1alpha1.StatusBlocked),
		Waiting:    v.count(v1alpha1.StatusWaiting),
		Paused:     v.count(v1alpha1.StatusPaused),
		Disabled:   v.count(v1alpha1.StatusDisabled),
		Unknown:    v.count(v1alpha1.StatusUnknown),
	}
}

// faulty reports whether something is wrong with the Skyhook itself, or in its way, whatever its nodes are at.
func (v *view) faulty() bool { return v.Hold != nil && v.Hold.Status == v1alpha1.StatusBlocked }

// rollUp is one status for the whole Skyhook: the first of these that applies. Paused; blocked by an invalid spec, a missing
// policy or what keeps it from being prepared, although all nodes may be complete; complete; what else holds all nodes; then what any node is: erroring,
// blocked (also by a stopped rollout), in_progress, waiting.
func (v *view) rollUp() v1alpha1.Status {
	complete := v.count(v1alpha1.StatusComplete) == len(v.Nodes)
	switch {
	case v.Hold != nil && v.Hold.Status == v1alpha1.StatusPaused:
		return v1alpha1.StatusPaused
	case v.faulty():
		return v1alpha1.StatusBlocked
	case complete:
		return v1alpha1.StatusComplete
	case v.Hold != nil:
		return v.Hold.Status
	}
	for _, s := range []v1alpha1.Status{
		v1alpha1.StatusErroring, v1alpha1.StatusBlocked, v1alpha1.StatusInProgress, v1alpha1.StatusWaiting,
		v1alpha1.StatusPaused, v1alpha1.StatusDisabled,
	} {
		// Blocked counts also what is stopped, and nodes of which nobody knows what is on them.
		if v.count(s) > 0 || s == v1alpha1.StatusBlocked && (v.stopped != "" || v.count(v1alpha1.StatusUnknown) > 0) {
			return s
		}
	}
	return v1alpha1.StatusUnknown
}

// detail fills the per-node maps for small fleets and drops them for large ones. The package states, the largest of them,
// also have to fit in.
func (v *view) detail(status *v1alpha1.SkyhookStatus) {
	before := status.NodePriority
	status.NodeState, status.NodeStatus, status.NodeBootIDs, status.NodePriority = nil, nil, nil, nil
	if len(v.Nodes) == 0 || len(v.Nodes) > DetailLimit {
		return
	}
	status.NodeStatus, status.NodeBootIDs = map[string]v1alpha1.Status{}, map[string]string{}
	room := v.room
	for i := range v.Nodes {
		n := &v.Nodes[i]
		status.NodeStatus[n.Name] = v.statuses[i]
		status.NodeBootIDs[n.Name] = cut(n.BootID, maxBootID)
		room -= nodeSize(n) + stateSize(n)
		if !v.holds[i] {
			continue
		}
		since, ok := before[n.Name]
		if !ok {
			since = v.second()
		}
		if status.NodePriority == nil {
			status.NodePriority = map[string]metav1.Time{}
		}
		status.NodePriority[n.Name] = since
	}
	if room < 0 {
		return
	}
	status.NodeState = map[string]map[string]v1alpha1.PackageStatus{}
	for i := range v.Nodes {
		if n := &v.Nodes[i]; len(n.States) > 0 {
			status.NodeState[n.Name] = n.States
		}
	}
}
