//go:build e2e && nightly

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestMetrics follows every series that dashboards depend on through install, failure, upgrade, uninstall and deletion.
func TestMetrics(t *testing.T) {
	const name, file = "measured", "/skyhook-measured"
	ownNodes(t, nodeCount)
	pushLower(t)
	scripts := map[string]string{
		"apply.sh": gated(file, "apply"), "upgrade.sh": "exit 1", "uninstall.sh": gated(file, "uninstall"),
	}
	a := scripted(scripts)
	a.Version = "1.0.0"
	w := &wish{
		name: name, nodes: here(t).Nodes(), packages: map[string]v1alpha1.Package{"a": a}, spec: map[string]any{"deploymentPolicy": name},
	}
	ready(t, name, w.nodes, []string{file, gate(file, "apply"), gate(file, "upgrade"), gate(file, "uninstall")})
	mustKubectl(t, `apiVersion: skyhook.nvidia.com/v1alpha1
kind: DeploymentPolicy
metadata: {name: `+name+`}
spec:
  default:
    budget: {percent: 100}
    strategy: {linear: {initialBatch: 1, delta: 1, failureThreshold: 1, safetyLimit: 50}}
`, "apply", "-f", "-")
	t.Cleanup(func() {
		mustKubectl(t, "", "delete", "skyhook", name, "--ignore-not-found", "--timeout=2m")
		mustKubectl(t, "", "delete", "deploymentpolicy", name, "--ignore-not-found")
	})
	t.Cleanup(func() {
		for _, node := range w.nodes {
			for _, what := range []string{"apply", "upgrade", "uninstall"} {
				openGate(t, node, file, what)
			}
		}
	})
	s := newScraper(t, name)

	w.apply(t)
	installing := s.until(t, merged(
		skyhookIs("in_progress"), nodesAre(map[string]int{"in_progress": 1, "waiting": nodeCount - 1}),
		packageIs("1.0.0", "in_progress", "apply", 1), rolloutIs(nodeCount, nodeCount, 1, 0, 0, 1, 0, 0),
		map[string]string{
			"skyhook_permits": "1", "skyhook_budget_nodes": fmt.Sprint(nodeCount), "skyhook_rollout_progress_ratio": "0",
			`skyhook_waiting_nodes{reason="WaitingForPermit"}`: fmt.Sprint(nodeCount - 1), `skyhook_condition{condition="Ready"}`: "0",
		},
	))
	checkAll(t, installing)

	open(t, file, "apply", w.nodes...)
	untilReady(t, name)
	s.until(t, merged(
		skyhookIs("complete"), nodesAre(map[string]int{"complete": nodeCount}), packageIs("1.0.0", "complete", "config", nodeCount),
		rolloutIs(nodeCount, nodeCount, 0, nodeCount, 100, 1, 0, 0),
		map[string]string{
			"skyhook_permits": "0", "skyhook_rollout_progress_ratio": "1", `skyhook_condition{condition="Ready"}`: "1",
			`skyhook_waiting_nodes{reason="WaitingForPermit"}`: "", "skyhook_cordoned_nodes": "0", "skyhook_cordoned_node_seconds_total": "0",
			`skyhook_stage_duration_seconds_count{package_name="a",stage="apply"}`: fmt.Sprint(nodeCount),
			"skyhook_permit_to_complete_seconds_count":                             fmt.Sprint(nodeCount),
		},
	))

	w.change(t, "a", func(p *v1alpha1.Package) { p.Version, p.MaxRetries = "1.1.0", new(int32(1)) }) // so that it fails for good
	s.until(t, merged(
		skyhookIs("erroring"), nodesAre(map[string]int{"erroring": 1, "waiting": nodeCount - 1}),
		packageIs("1.1.0", "erroring", "upgrade", 1), packageIs("1.0.0", "complete", "config", nodeCount), // until it ends
		rolloutIs(nodeCount, nodeCount, 0, 0, 0, 2, 1, 1),
	))
	s.until(t, map[string]string{`skyhook_package_restarts_count{package_name="a",package_version="1.1.0"}`: "1"})

	w.change(t, "a", func(p *v1alpha1.Package) { p.ConfigMap["upgrade.sh"] = gated(file, "upgrade") })
	s.until(t, map[string]string{ // the node that stopped it goes first
		rolloutSeries("should_stop"): "0", rolloutSeries("consecutive_failures"): "0", "skyhook_permits": "1",
		`skyhook_package_state_count{package_name="a",package_version="1.1.0",state="in_progress"}`: "1",
		`skyhook_package_state_count{package_name="a",package_version="1.1.0",state="erroring"}`:    "0",
		`skyhook_package_stage_count{package_name="a",package_version="1.0.0",stage="config"}`:      fmt.Sprint(nodeCount),
	})
	open(t, file, "upgrade", w.nodes...)
	untilReady(t, name)
	upgraded := s.until(t, merged(
		skyhookIs("complete"), packageIs("1.1.0", "complete", "config", nodeCount), rolloutIs(nodeCount, nodeCount, 0, nodeCount, 100, 1, 0, 0),
	))
	for series := range upgraded {
		if strings.Contains(series, `package_version="1.0.0"`) {
			t.Errorf("of what was upgraded there is %s", series)
		}
	}

	w.change(t, "a", uninstallNow)
	s.until(t, map[string]string{
		`skyhook_package_state_count{package_name="a",package_version="1.1.0",state="in_progress"}`: "1",
		`skyhook_package_state_count{package_name="a",package_version="1.1.0",state="complete"}`:    fmt.Sprint(nodeCount - 1),
		`skyhook_package_stage_count{package_name="a",package_version="1.1.0",stage="uninstall"}`:   "1",
		`skyhook_package_stage_count{package_name="a",package_version="1.1.0",stage="config"}`:      fmt.Sprint(nodeCount - 1),
	})
	open(t, file, "uninstall", w.nodes...)
	s.until(t, merged(skyhookIs("complete"), map[string]string{
		`skyhook_package_restarts_count{package_name="a",package_version="1.1.0"}`:                  "",
		`skyhook_package_state_count{package_name="a",package_version="1.1.0",state="in_progress"}`: "",
		`skyhook_package_stage_count{package_name="a",package_version="1.1.0",stage="uninstall"}`:   "",
	}))

	w.delete(t)
	within(t, patience, name, func() []string {
		left, _, err := s.scrape(t)
		if err != nil {
			return []string{err.Error()}
		}
		return slices.Sorted(maps.Keys(left))
	})
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

var (
	everyStatus = []string{"complete", "in_progress", "erroring", "blocked", "waiting", "paused", "disabled", "unknown"}
	everyState  = []string{"complete", "in_progress", "skipped", "erroring", "unknown"}
	everyStage  = []string{"uninstall", "uninstall-interrupt", "upgrade", "apply", "interrupt", "post-interrupt", "config"}
	ofRollouts  = []string{
		"matched_nodes", "ceiling", "in_progress", "completed", "progress_percent", "current_batch", "consecutive_failures", "should_stop",
	}
)

// one has a series for each value of a label, all 0 but for the given ones.
func one(series, label string, values []string, are map[string]int) map[string]string {
	out := map[string]string{}
	for _, v := range values {
		out[fmt.Sprintf(series, label, v)] = fmt.Sprint(are[v])
	}
	return out
}

func skyhookIs(status string) map[string]string {
	return one("skyhook_status{%s=%q}", "status", everyStatus, map[string]int{status: 1})
}

func nodesAre(counts map[string]int) map[string]string {
	all := one("skyhook_node_status_count{%s=%q}", "status", everyStatus, counts)
	all["skyhook_node_target_count"] = fmt.Sprint(nodeCount)
	return all
}

// packageIs says that so many nodes have a version in a state and stage, and none has it in another.
func packageIs(version, state, stage string, nodes int) map[string]string {
	labels := fmt.Sprintf("{package_name=%q,package_version=%q,", "a", version)
	return merged(
		one("skyhook_package_state_count"+labels+"%s=%q}", "state", everyState, map[string]int{state: nodes}),
		one("skyhook_package_stage_count"+labels+"%s=%q}", "stage", everyStage, map[string]int{stage: nodes}),
	)
}

func rolloutSeries(what string) string {
	return "skyhook_rollout_" + what + `{compartment_name="__default__",policy_name="measured",strategy="linear"}`
}

// rolloutIs has values in the order of ofRollouts.
func rolloutIs(values ...int) map[string]string {
	out := map[string]string{}
	for i, what := range ofRollouts {
		out[rolloutSeries(what)] = fmt.Sprint(values[i])
	}
	return out
}

// checkAll checks that the series that dashboards depend on are there with the labels that they know, and no others.
func checkAll(t *testing.T, all map[string]string) {
	t.Helper()
	for family, want := range map[string]int{
		"skyhook_status": len(everyStatus), "skyhook_node_status_count": len(everyStatus), "skyhook_node_target_count": 1,
		"skyhook_package_state_count": len(everyState), "skyhook_package_stage_count": len(everyStage), "skyhook_package_restarts_count": 1,
	} {
		count := 0
		for series := range all {
			if have, _, _ := strings.Cut(series, "{"); have == family {
				count++
			}
		}
		if count != want {
			t.Errorf("%d series %s, want %d", count, family, want)
		}
	}
}
