package rollout

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// DetailLimit is the largest fleet for which the status has per-node maps.
const DetailLimit = 256

// summary is the fleet as the status shows it, after the permits of a pass are given.
type summary struct {
	*fleet
	compartments []compartment
	// statuses of the nodes, by index.
	statuses []v1alpha1.Status
	groups   map[v1alpha1.Status]*group
	// stopped says what is stopped and why; empty when nothing is.
	stopped string
	// blocked is the reason for which a deletion does not progress, and blockedWhy tells of it; empty when it does.
	blocked, blockedWhy string
}

// group is a number of nodes, and the first of their names, sorted.
type group struct {
	count int
	names []string
}

func (g *group) add(name string) {
	g.count++
	at, _ := slices.BinarySearch(g.names, name)
	if at < text.MostNames {
		g.names = slices.Insert(g.names, at, name)
		g.names = g.names[:min(len(g.names), text.MostNames)]
	}
}

func newSummary(f *fleet, compartments []compartment) *summary {
	sum := &summary{
		fleet: f, compartments: compartments,
		statuses: make([]v1alpha1.Status, len(f.Nodes)), groups: map[v1alpha1.Status]*group{},
	}
	for i := range f.Nodes {
		n := sum.situation(i)
		s := n.Status()
		sum.statuses[i] = s
		g := sum.groups[s]
		if g == nil {
			g = &group{}
			sum.groups[s] = g
		}
		g.add(f.Nodes[i].Name)
	}
	sum.stopped = sum.stopMessage()
	sum.blocked, sum.blockedWhy = sum.deletionBlocked()
	return sum
}

// situation is that of a node after the permits of the pass.
func (sum *summary) situation(i int) situation.Situation {
	s := sum.Nodes[i].Situation
	k := sum.permitOf(int32(i)) //nolint:gosec // an index of a node
	s.Permit = k >= 0 && !sum.permits[k].Revoked
	return s
}

func (sum *summary) count(s v1alpha1.Status) int {
	if g := sum.groups[s]; g != nil {
		return g.count
	}
	return 0
}

func (sum *summary) counts() v1alpha1.NodeCounts {
	return v1alpha1.NodeCounts{
		Total:      len(sum.Nodes),
		Complete:   sum.count(v1alpha1.StatusComplete),
		InProgress: sum.count(v1alpha1.StatusInProgress),
		Erroring:   sum.count(v1alpha1.StatusErroring),
		Blocked:    sum.count(v1alpha1.StatusBlocked),
		Waiting:    sum.count(v1alpha1.StatusWaiting),
		Paused:     sum.count(v1alpha1.StatusPaused),
		Disabled:   sum.count(v1alpha1.StatusDisabled),
		Unknown:    sum.count(v1alpha1.StatusUnknown),
	}
}

// faulty reports whether something is wrong with the Skyhook itself, or in its way, whatever its nodes are at.
func (sum *summary) faulty() bool {
	return sum.Hold != nil && sum.Hold.Status == v1alpha1.StatusBlocked
}

// rollUp is one status for the whole Skyhook: the first of these that applies. Paused; blocked by an invalid spec, a
// missing policy or what keeps it from being prepared, although all nodes may be complete; complete; what else holds
// all nodes; then what any node is: erroring, blocked (also by a stopped rollout), in_progress, waiting.
func (sum *summary) rollUp() v1alpha1.Status {
	complete := sum.count(v1alpha1.StatusComplete) == len(sum.Nodes)
	switch {
	case sum.Hold != nil && sum.Hold.Status == v1alpha1.StatusPaused:
		return v1alpha1.StatusPaused
	case sum.faulty():
		return v1alpha1.StatusBlocked
	case complete:
		return v1alpha1.StatusComplete
	case sum.Hold != nil:
		return sum.Hold.Status
	}
	for _, s := range []v1alpha1.Status{
		v1alpha1.StatusErroring, v1alpha1.StatusBlocked, v1alpha1.StatusInProgress, v1alpha1.StatusWaiting,
		v1alpha1.StatusPaused, v1alpha1.StatusDisabled,
	} {
		// Blocked counts also what is stopped, and nodes of which nobody knows what is on them.
		if sum.count(s) > 0 || s == v1alpha1.StatusBlocked && (sum.stopped != "" || sum.count(v1alpha1.StatusUnknown) > 0) {
			return s
		}
	}
	return v1alpha1.StatusUnknown
}

// detail fills the per-node maps for small fleets and drops them for large ones. The package states, the largest of
// them, also have to fit in.
func (sum *summary) detail(status *v1alpha1.SkyhookStatus) {
	before := status.NodePriority
	status.NodeState, status.NodeStatus, status.NodeBootIDs, status.NodePriority = nil, nil, nil, nil
	if len(sum.Nodes) == 0 || len(sum.Nodes) > DetailLimit {
		return
	}
	status.NodeStatus, status.NodeBootIDs = map[string]v1alpha1.Status{}, map[string]string{}
	room := sum.room
	for i := range sum.Nodes {
		n := &sum.Nodes[i]
		status.NodeStatus[n.Name] = sum.statuses[i]
		status.NodeBootIDs[n.Name] = text.Prefix(n.BootID, maxBootID)
		room -= nodeSize(n) + stateSize(n)
		if !sum.holds[i] {
			continue
		}
		since, ok := before[n.Name]
		if !ok {
			since = sum.second()
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
	for i := range sum.Nodes {
		if n := &sum.Nodes[i]; len(n.States) > 0 {
			status.NodeState[n.Name] = n.States
		}
	}
}
