package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// Kubelets may write records: whatever stands in them, the series stay few. maxPackages is how many package versions of a
// Skyhook are told of, those of the spec first; maxVersionBytes is more than the API allows for the name and version of
// one, and maxReasonBytes for a reason.
const (
	maxPackages     = 128
	maxVersionBytes = 128
	maxReasons      = 12
	maxReasonBytes  = 64
)

// Census is what a pass counts of the selected nodes of a Skyhook.
type Census struct {
	// Outlines of their records, for how many nodes each.
	Outlines map[record.Outline]int
	// Complete nodes, those that are not Ready, and those that the Skyhook holds a cordon on, selected or not.
	Complete, Unavailable, Cordoned int
	// Failing counts nodes by the reason of their first failed run.
	Failing map[string]int
	// Waits are what nodes in progress wait for, and those that fail because they wait for too long.
	Waits []record.Wait
}

// Snapshot is what the series of one Skyhook tell. It is made by a pass, and does not change any more.
type Snapshot struct {
	uid                             types.UID
	status                          v1alpha1.Status
	nodes                           v1alpha1.NodeCounts
	complete, unavailable, cordoned int
	permits, budget                 int
	waiting, failing                map[string]int
	oldestWait                      map[string]time.Time
	conditions                      map[string]bool
	policy                          string
	compartments                    []compartment
	packages                        []versionCount
	estimatedEnd                    time.Time
}

// compartment is what is told of one.
type compartment struct {
	name, strategy string
	// values are in the order of rollouts.
	values [len(rollouts)]int
}

// version is one of a package.
type version struct{ name, version string }

// versionCount is how many nodes have a package version, in which states and stages.
type versionCount struct {
	version
	nodes, restarts int
	states          map[v1alpha1.State]int
	stages          map[v1alpha1.Stage]int
}

// Of is the snapshot of a Skyhook, as a pass left it, with what the pass counted. estimatedEnd is when its rollout may be
// over; zero if nobody knows.
func Of(s *v1alpha1.Skyhook, c Census, estimatedEnd time.Time) *Snapshot {
	out := &Snapshot{
		uid: s.UID, status: cmp.Or(s.Status.Status, v1alpha1.StatusUnknown), nodes: s.Status.Nodes,
		complete: c.Complete, unavailable: c.Unavailable, cordoned: c.Cordoned, permits: len(s.Status.Permits),
		waiting: map[string]int{}, oldestWait: map[string]time.Time{},
		failing: reasons(c.Failing), conditions: map[string]bool{},
		policy: cmp.Or(s.Spec.DeploymentPolicy, legacyPolicy), packages: versions(s, c.Outlines), estimatedEnd: estimatedEnd,
	}
	for i := range s.Status.Waiting {
		out.waiting[s.Status.Waiting[i].Reason] += s.Status.Waiting[i].Nodes
	}
	out.wait(c.Waits)
	for i := range s.Status.Conditions {
		condition := &s.Status.Conditions[i]
		if !strings.Contains(condition.Type, "/") { // those are the same once more, for readers of earlier versions
			out.conditions[condition.Type] = condition.Status == metav1.ConditionTrue
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Status.CompartmentStatuses)) {
		status := s.Status.CompartmentStatuses[name]
		out.budget += status.Ceiling
		out.compartments = append(out.compartments, compartmentOf(name, s.Spec.DeploymentPolicy == "", &status))
	}
	out.budget = min(out.budget, rollout.MaxPermits)
	return out
}

// wait adds nodes in progress to those that wait. There are as few reasons as of those that wait and fail.
func (s *Snapshot) wait(waits []record.Wait) {
	counts, oldest := map[string]int{}, map[string]time.Time{}
	for i := range waits {
		w := &waits[i]
		if !w.Overdue { // else the node fails
			counts[w.Reason]++
		}
		if first, known := oldest[w.Reason]; !known || w.Since.Time.Before(first) {
			oldest[w.Reason] = w.Since.Time
		}
	}
	for reason, nodes := range reasons(counts) {
		s.waiting[reason] += nodes
	}
	for reason, since := range oldest {
		_, waits := s.waiting[reason]
		_, fails := s.failing[reason]
		if (waits || fails) && !since.IsZero() {
			s.oldestWait[reason] = since
		}
	}
}

const (
	// legacyPolicy stands for none.
	legacyPolicy    = "legacy"
	strategyFixed   = "fixed"
	strategyUnknown = "unknown"
)

var strategies = []string{strategyFixed, "linear", "exponential"}

// compartmentOf is what is told of a compartment. Without a policy its strategy counts as fixed.
func compartmentOf(name string, legacy bool, s *v1alpha1.CompartmentStatus) compartment {
	c := compartment{name: name, strategy: s.Strategy}
	switch {
	case legacy:
		c.strategy = strategyFixed
	case !slices.Contains(strategies, s.Strategy):
		c.strategy = strategyUnknown
	}
	c.values = [...]int{s.Matched, s.Ceiling, s.InProgress, s.Completed, s.ProgressPercent, 0, 0, 0}
	if b := s.BatchState; b != nil {
		stop := 0
		if b.ShouldStop {
			stop = 1
		}
		c.values[5], c.values[6], c.values[7] = b.CurrentBatch, b.ConsecutiveFailures, stop
	}
	return c
}

// versions are those of the spec, but for what is uninstalled from every node on request, and those that nodes have, by
// name.
func versions(s *v1alpha1.Skyhook, outlines map[record.Outline]int) []versionCount {
	counts := map[version]*versionCount{}
	of := func(v version) *versionCount {
		if counts[v] == nil {
			counts[v] = &versionCount{version: v, states: map[v1alpha1.State]int{}, stages: map[v1alpha1.Stage]int{}}
		}
		return counts[v]
	}
	for outline, nodes := range outlines {
		for _, p := range outline.Packages() {
			if len(p.Name)+len(p.Version) > maxVersionBytes {
				continue
			}
			c := of(version{p.Name, p.Version})
			c.nodes += nodes
			c.restarts += nodes * int(p.Restarts)
			c.states[p.State] += nodes
			c.stages[p.Stage] += nodes
		}
	}
	wanted := map[version]bool{}
	for name := range s.Spec.Packages {
		p := s.Spec.Packages[name]
		if v := (version{name, p.Version}); p.Uninstall == nil || !p.Uninstall.Apply {
			wanted[v] = true
			of(v)
		}
	}
	list := make([]versionCount, 0, len(counts))
	for _, c := range counts {
		list = append(list, *c)
	}
	byName := func(a, b versionCount) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.version.version, b.version.version))
	}
	if len(list) > maxPackages {
		slices.SortFunc(list, func(a, b versionCount) int {
			switch {
			case wanted[a.version] == wanted[b.version]:
				return cmp.Or(cmp.Compare(b.nodes, a.nodes), byName(a, b))
			case wanted[a.version]:
				return -1
			}
			return 1
		})
		list = list[:maxPackages]
	}
	slices.SortFunc(list, byName)
	return list
}

// otherReason stands for reasons that are none, or one too many.
const otherReason = "Other"

// reasons are few words, the most frequent ones of those given.
func reasons(counts map[string]int) map[string]int {
	ordered := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	out := map[string]int{}
	for _, reason := range ordered {
		word := strings.IndexFunc(reason, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) < 0
		if _, known := out[reason]; !known && len(out) >= maxReasons || !word || reason == "" || len(reason) > maxReasonBytes {
			out[otherReason] += counts[reason]
		} else {
			out[reason] += counts[reason]
		}
	}
	return out
}
