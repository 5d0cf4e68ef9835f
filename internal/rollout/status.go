package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	// DetailLimit is the largest fleet for which the status has per-node maps.
	DetailLimit = 256
	// maxAttention bounds the list of nodes that need attention.
	maxAttention = 10
)

// Plan returns the Skyhook's status after this pass. It leaves the input alone.
func Plan(in Input) v1alpha1.SkyhookStatus {
	status := *in.Skyhook.Status.DeepCopy()
	status.ObservedGeneration = in.Skyhook.Generation
	status.Permits, status.NextOrder = Grant(in)
	status.NodeOrderOffset = int(status.NextOrder)
	holders := holderSet(status.Permits)

	groups := group(in.Nodes, holders)
	status.Nodes = count(groups, len(in.Nodes))
	status.Status = rollUp(in, groups)
	status.NodesInProgress = status.Nodes.InProgress + status.Nodes.Erroring
	status.CompleteNodes = fmt.Sprintf("%d/%d", status.Nodes.Complete, status.Nodes.Total)
	status.PackageList = packageList(in.Skyhook)
	status.Attention = attention(in, holders)
	detail(&status, in, holders)
	setConditions(&status, in, groups)
	return status
}

// group sorts the node names into their statuses.
func group(nodes []Node, holders map[string]bool) map[v1alpha1.Status][]string {
	groups := map[v1alpha1.Status][]string{}
	for _, n := range nodes {
		s := n.status(holders[n.Name])
		groups[s] = append(groups[s], n.Name)
	}
	for _, names := range groups {
		slices.Sort(names)
	}
	return groups
}

func count(groups map[v1alpha1.Status][]string, total int) v1alpha1.NodeCounts {
	return v1alpha1.NodeCounts{
		Total:      total,
		Complete:   len(groups[v1alpha1.StatusComplete]),
		InProgress: len(groups[v1alpha1.StatusInProgress]),
		Erroring:   len(groups[v1alpha1.StatusErroring]),
		Blocked:    len(groups[v1alpha1.StatusBlocked]),
		Waiting:    len(groups[v1alpha1.StatusWaiting]),
		Paused:     len(groups[v1alpha1.StatusPaused]),
		Disabled:   len(groups[v1alpha1.StatusDisabled]),
		Unknown:    len(groups[v1alpha1.StatusUnknown]),
	}
}

// rollUp is one status for the whole Skyhook. When not all nodes are complete the first of these that applies wins:
// disabled, paused, erroring, blocked, in_progress, waiting.
func rollUp(in Input, groups map[v1alpha1.Status][]string) v1alpha1.Status {
	if in.Hold != nil && in.Hold.Status == v1alpha1.StatusPaused {
		return v1alpha1.StatusPaused
	}
	if in.Hold != nil && in.Hold.Reason == ReasonSpecInvalid {
		return v1alpha1.StatusBlocked
	}
	if len(groups[v1alpha1.StatusComplete]) == len(in.Nodes) {
		return v1alpha1.StatusComplete
	}
	if in.Hold != nil {
		return in.Hold.Status
	}
	for _, s := range []v1alpha1.Status{
		v1alpha1.StatusErroring, v1alpha1.StatusBlocked, v1alpha1.StatusInProgress, v1alpha1.StatusWaiting,
		v1alpha1.StatusPaused, v1alpha1.StatusDisabled,
	} {
		if len(groups[s]) > 0 {
			return s
		}
	}
	return v1alpha1.StatusUnknown
}

func packageList(s *v1alpha1.Skyhook) string {
	list := make([]string, 0, len(s.Spec.Packages))
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		list = append(list, name+":"+s.Spec.Packages[name].Version)
	}
	return strings.Join(list, ",")
}

// attention lists the first nodes that are erroring or blocked; erroring ones first, then by name.
func attention(in Input, holders map[string]bool) []v1alpha1.NodeAttention {
	var list []v1alpha1.NodeAttention
	for _, n := range in.Nodes {
		switch s := n.status(holders[n.Name]); {
		case s == v1alpha1.StatusErroring && n.Trouble != nil:
			list = append(list, v1alpha1.NodeAttention{
				Node: n.Name, Status: s,
				Reason: n.Trouble.Reason, Message: n.Trouble.Message, Since: metav1.NewTime(n.Trouble.Since),
			})
		case s == v1alpha1.StatusBlocked && n.Hold != nil:
			list = append(list, v1alpha1.NodeAttention{
				Node: n.Name, Status: s,
				Reason: n.Hold.Reason, Message: n.Hold.Message, Since: blockedSince(in, n),
			})
		case n.Wait != nil && (s == v1alpha1.StatusInProgress || s == v1alpha1.StatusErroring):
			list = append(list, v1alpha1.NodeAttention{
				Node: n.Name, Status: s,
				Reason: n.Wait.Reason, Message: n.Wait.Message, Since: metav1.NewTime(n.Wait.Since),
			})
		case s == v1alpha1.StatusWaiting && !n.Ready:
			list = append(list, v1alpha1.NodeAttention{
				Node: n.Name, Status: s, Reason: ReasonNotReady,
				Message: "the node is not Ready; it gets its turn when it is", Since: blockedSince(in, n),
			})
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.NodeAttention) int {
		return cmp.Or(cmp.Compare(urgency(a.Status), urgency(b.Status)), cmp.Compare(a.Node, b.Node))
	})
	return list[:min(len(list), maxAttention)]
}

func urgency(s v1alpha1.Status) int {
	return slices.Index([]v1alpha1.Status{
		v1alpha1.StatusErroring, v1alpha1.StatusBlocked, v1alpha1.StatusInProgress, v1alpha1.StatusWaiting,
	}, s)
}

// blockedSince keeps the time of the same reason from the status before.
func blockedSince(in Input, n Node) metav1.Time {
	reason := ReasonNotReady
	if n.Hold != nil {
		reason = n.Hold.Reason
	}
	for _, a := range in.Skyhook.Status.Attention {
		if a.Node == n.Name && a.Reason == reason {
			return a.Since
		}
	}
	return metav1.NewTime(in.Now.Truncate(time.Second))
}

// detail fills the per-node maps for small fleets and drops them for large ones.
func detail(status *v1alpha1.SkyhookStatus, in Input, holders map[string]bool) {
	before := status.NodePriority
	status.NodeState, status.NodeStatus, status.NodeBootIDs, status.NodePriority = nil, nil, nil, nil
	if len(in.Nodes) == 0 || len(in.Nodes) > DetailLimit {
		return
	}
	status.NodeState = map[string]map[string]v1alpha1.PackageStatus{}
	status.NodeStatus = map[string]v1alpha1.Status{}
	status.NodeBootIDs = map[string]string{}
	for _, n := range in.Nodes {
		if len(n.States) > 0 {
			status.NodeState[n.Name] = n.States
		}
		status.NodeStatus[n.Name] = n.status(holders[n.Name])
		status.NodeBootIDs[n.Name] = n.BootID
		if holders[n.Name] {
			since, ok := before[n.Name]
			if !ok {
				since = metav1.NewTime(in.Now.Truncate(time.Second))
			}
			if status.NodePriority == nil {
				status.NodePriority = map[string]metav1.Time{}
			}
			status.NodePriority[n.Name] = since
		}
	}
}
