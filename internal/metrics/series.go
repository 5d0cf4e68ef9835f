package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// labelSkyhook is the label that all series of a Skyhook have.
const labelSkyhook = "skyhook_name"

// series are those of one Skyhook whose values are read off its snapshot.
var series []*prometheus.Desc

func describe(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, append([]string{labelSkyhook}, labels...), nil)
	series = append(series, d)
	return d
}

// The names, labels and meaning of these are what dashboards depend on; see rollouts for the rest of them.
var (
	skyhookStatus = describe("skyhook_status",
		"1 for the status of the Skyhook, 0 for every other status.", "status")
	nodeStatus = describe("skyhook_node_status_count",
		"Selected nodes by their status.", "status")
	nodeTarget = describe("skyhook_node_target_count",
		"Nodes that the Skyhook selects.")
	packageState = describe("skyhook_package_state_count",
		"Selected nodes that have the package version, by the state of its stage.", "package_name", "package_version", "state")
	packageStage = describe("skyhook_package_stage_count",
		"Selected nodes that have the package version, by the stage it is at or ended last.",
		"package_name", "package_version", "stage")
	packageRestarts = describe("skyhook_package_restarts_count",
		"How often the present stage of the package version was started again after it failed, over all selected nodes.",
		"package_name", "package_version")
	rollouts = [...]*prometheus.Desc{
		describeRollout("matched_nodes", "Nodes in the compartment."),
		describeRollout("ceiling", "The most nodes of the compartment that may be in progress at the same time."),
		describeRollout("in_progress", "Nodes of the compartment with the status `in_progress`."),
		describeRollout("completed", "Nodes of the compartment that are complete."),
		describeRollout("progress_percent", "Complete nodes in percent of those in the compartment, rounded down."),
		describeRollout("current_batch", "Number of the batch that runs or comes next, from 1; 0 without batches."),
		describeRollout("consecutive_failures", "Bad batches in a row."),
		describeRollout("should_stop", "1 if bad batches stopped the compartment."),
	}
)

func describeRollout(what, help string) *prometheus.Desc {
	return describe("skyhook_rollout_"+what, help, "policy_name", "compartment_name", "strategy")
}

// These are beside them.
var (
	waitingNodes = describe("skyhook_waiting_nodes",
		"Nodes that are not complete and do not fail, by the reason for which they wait, also while in progress.", "reason")
	oldestWait = describe("skyhook_oldest_wait_timestamp_seconds",
		"Unix time since which the node in progress, or that waits for too long, has waited that did so first.", "reason")
	failingNodes = describe("skyhook_failing_nodes",
		"Nodes on which a run failed, by the reason of the first.", "reason")
	planFailing = describe("skyhook_plan_failing",
		"1 while the operator fails again and again to plan for the Skyhook or to write its status; else absent.")
	conditions = describe("skyhook_condition",
		"1 if the condition of the Skyhook is True, else 0.", "condition")
	permits = describe("skyhook_permits",
		"Nodes that hold a permit.")
	budget = describe("skyhook_budget_nodes",
		"The most nodes that may be in progress at the same time, over all compartments.")
	unavailableNodes = describe("skyhook_unavailable_nodes",
		"Selected nodes that are not Ready.")
	cordonedNodes = describe("skyhook_cordoned_nodes",
		"Nodes that are cordoned because of the Skyhook.")
	cordonedSeconds = describe("skyhook_cordoned_node_seconds_total",
		"Seconds for which nodes were cordoned because of the Skyhook, added up: what rollouts cost.")
	progress = describe("skyhook_rollout_progress_ratio",
		"Complete nodes as a part of the selected ones, from 0 to 1.")
	estimatedEnd = describe("skyhook_rollout_estimated_end_timestamp_seconds",
		"Unix time at which the rollout may be over, if nodes take as long as those so far; absent while nobody knows.")
)

// emitter takes the values of one Skyhook.
type emitter func(d *prometheus.Desc, value float64, labels ...string)

func (s *Snapshot) emit(to emitter) {
	count := map[v1alpha1.Status]int{
		v1alpha1.StatusComplete: s.nodes.Complete, v1alpha1.StatusInProgress: s.nodes.InProgress,
		v1alpha1.StatusErroring: s.nodes.Erroring, v1alpha1.StatusBlocked: s.nodes.Blocked,
		v1alpha1.StatusWaiting: s.nodes.Waiting, v1alpha1.StatusPaused: s.nodes.Paused,
		v1alpha1.StatusDisabled: s.nodes.Disabled, v1alpha1.StatusUnknown: s.nodes.Unknown,
	}
	for _, status := range v1alpha1.Statuses() {
		to(skyhookStatus, number(status == s.status), string(status))
		to(nodeStatus, float64(count[status]), string(status))
	}
	to(nodeTarget, float64(s.nodes.Total))
	for i := range s.packages {
		s.packages[i].emit(to)
	}
	for i := range s.compartments {
		c := &s.compartments[i]
		for k, d := range rollouts {
			to(d, float64(c.values[k]), s.policy, c.name, c.strategy)
		}
	}
	for reason, nodes := range s.waiting {
		to(waitingNodes, float64(nodes), reason)
	}
	for reason, since := range s.oldestWait {
		to(oldestWait, float64(since.Unix()), reason)
	}
	for reason, nodes := range s.failing {
		to(failingNodes, float64(nodes), reason)
	}
	for name, is := range s.conditions {
		to(conditions, number(is), name)
	}
	to(permits, float64(s.permits))
	to(budget, float64(s.budget))
	to(unavailableNodes, float64(s.unavailable))
	to(cordonedNodes, float64(s.cordoned))
	to(progress, s.progress())
	if !s.estimatedEnd.IsZero() {
		to(estimatedEnd, float64(s.estimatedEnd.UnixMilli())/float64(time.Second/time.Millisecond))
	}
}

func (v *versionCount) emit(to emitter) {
	for _, state := range v1alpha1.States() {
		to(packageState, float64(v.states[state]), v.name, v.version.version, string(state))
	}
	for _, stage := range v1alpha1.Stages() {
		to(packageStage, float64(v.stages[stage]), v.name, v.version.version, string(stage))
	}
	to(packageRestarts, float64(v.restarts), v.name, v.version.version)
}

// progress is 1 without nodes: nothing is left to do.
func (s *Snapshot) progress() float64 {
	if s.nodes.Total == 0 {
		return 1
	}
	return float64(s.complete) / float64(s.nodes.Total)
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
