package main

import (
	"fmt"
	"strings"
)

// statuses in the order in which they are stacked, with their colors.
var statusColors = colors(
	"complete", "green", "in_progress", "blue", "waiting", "light-blue", "blocked", "orange", "erroring", "red",
	"paused", "yellow", "disabled", "purple", "unknown", "text",
)

const (
	ofSkyhook = `skyhook_name=~"$skyhook"`
	ofPackage = `skyhook_name=~"$skyhook",package_name=~"$package"`
)

func rows() []row {
	return []row{
		{"Skyhook Overview", append(overview(), causes()...)},
		{"Rollouts", rollouts()},
		{"Node Monitoring", nodes()},
		{"Package Monitoring", packages()},
		{"Operator", operator()},
	}
}

func overview() []panel {
	in := func(status string) string {
		return fmt.Sprintf(`sum(skyhook_status{%s,status=~%q}) or vector(0)`, ofSkyhook, status)
	}
	return []panel{
		stat("Total", "Skyhooks.", fmt.Sprintf(`count(skyhook_status{%s,status="complete"}) or vector(0)`, ofSkyhook), "text"),
		stat("Complete", "Skyhooks whose selected nodes are all complete.", in("complete"), "green"),
		stat("In Progress", "Skyhooks with nodes that work.", in("in_progress"), "blue"),
		stat("Erroring", "Skyhooks with a node on which something fails.", in("erroring"), "red"),
		stat("Blocked", "Skyhooks that wait for a person.", in("blocked"), "orange"),
		stat("Other", "Skyhooks that wait, are paused or disabled, or of which nothing is known yet.",
			in("waiting|paused|disabled|unknown"), "text"),
	}
}

func causes() []panel {
	timeline := panel{
		title: "Status over time", about: "One line for each Skyhook.", kind: "state-timeline", width: 12, height: 8,
		queries: []query{{
			expr: fmt.Sprintf(`sum by (skyhook_name) (
  skyhook_status{%[1]s,status="complete"} * 1 + ignoring(status) skyhook_status{%[1]s,status="in_progress"} * 2
  + ignoring(status) skyhook_status{%[1]s,status="waiting"} * 3 + ignoring(status) skyhook_status{%[1]s,status="blocked"} * 4
  + ignoring(status) skyhook_status{%[1]s,status="erroring"} * 5 + ignoring(status) skyhook_status{%[1]s,status="paused"} * 6
  + ignoring(status) skyhook_status{%[1]s,status="disabled"} * 7 + ignoring(status) skyhook_status{%[1]s,status="unknown"} * 8
)`, ofSkyhook), legend: "{{skyhook_name}}",
		}},
		mappings: statusNames(), custom: object{"fillOpacity": 70, "lineWidth": 0},
		options: object{"mergeValues": true, "showValue": "never", "rowHeight": 0.8, "legend": object{"showLegend": true}},
	}
	why := panel{
		title: "Why", about: "Conditions that are True: Stalled, RolloutStopped and others; see docs/reasons.md.",
		kind: "table", width: 12, height: 8,
		queries: []query{{expr: fmt.Sprintf(`skyhook_condition{%s} == 1`, ofSkyhook), instant: true, table: true}},
		transform: []object{{"id": "filterFieldsByName", "options": object{
			"include": object{"names": []string{"skyhook_name", "condition"}},
		}}},
	}
	return []panel{timeline, why}
}

// statusNames are the numbers of the time line.
func statusNames() []object {
	names := object{}
	for i, s := range []struct{ name, color string }{
		{"complete", "green"},
		{"in_progress", "blue"},
		{"waiting", "light-blue"},
		{"blocked", "orange"},
		{"erroring", "red"},
		{"paused", "yellow"},
		{"disabled", "purple"},
		{"unknown", "text"},
	} {
		names[fmt.Sprint(i+1)] = object{"text": s.name, "color": s.color, "index": i}
	}
	return []object{{"type": "value", "options": names}}
}

func rollouts() []panel {
	progress := panel{
		title: "Progress", about: "Complete nodes as a part of the selected ones.", kind: "bargauge", width: 8, height: 8,
		unit: "percentunit", max: 1,
		queries: []query{{expr: each("skyhook_rollout_progress_ratio", "").expr, legend: "{{skyhook_name}}", instant: true}},
		options: object{
			"orientation": "horizontal", "displayMode": "basic", "reduceOptions": object{"calcs": []string{"lastNotNull"}},
		},
		steps: []object{{"value": nil, "color": "blue"}, {"value": 1, "color": "green"}},
	}
	compartments := panel{
		title: "Compartments", about: "Each compartment of a deployment policy; `__default__` has the nodes of no compartment.",
		kind: "table", width: 16, height: 8, transform: []object{
			{"id": "joinByField", "options": object{"byField": "join", "mode": "outer"}},
		},
	}
	for _, what := range []string{
		"matched_nodes", "completed", "in_progress", "ceiling", "current_batch", "consecutive_failures", "should_stop",
	} {
		compartments.queries = append(compartments.queries, query{
			expr: fmt.Sprintf(`label_join(sum by (skyhook_name, compartment_name) (skyhook_rollout_%s{%s}), "join", " / ", `+
				`"skyhook_name", "compartment_name")`, what, ofSkyhook),
			instant: true, table: true,
		})
	}
	compartments.transform = append(compartments.transform, object{"id": "organize", "options": object{
		"renameByName": object{
			"join": "compartment", "Value #A": "nodes", "Value #B": "complete", "Value #C": "in progress",
			"Value #D": "at most", "Value #E": "batch", "Value #F": "bad in a row", "Value #G": "stopped",
		},
	}}, object{"id": "filterFieldsByName", "options": object{"include": object{"names": []string{
		"compartment", "nodes", "complete", "in progress", "at most", "batch", "bad in a row", "stopped",
	}}}})
	return []panel{
		progress, compartments,
		lines("Permits and budget", "Nodes that hold a permit, and how many may.", "", 8,
			each("skyhook_permits", "permits"), each("skyhook_budget_nodes", "budget")),
		lines("From permit to complete", "How long nodes take, over the last hour.", "s", 8,
			quantileOf(0.5, "skyhook_permit_to_complete_seconds"),
			quantileOf(0.99, "skyhook_permit_to_complete_seconds")),
		lines("Cost", "Node-hours in the hour before for which nodes were cordoned: what rollouts took from workloads.", "h", 8,
			query{
				expr:   fmt.Sprintf(`sum by (skyhook_name) (increase(skyhook_cordoned_node_seconds_total{%s}[1h])) / 3600`, ofSkyhook),
				legend: "{{skyhook_name}}",
			}),
	}
}

// each is a gauge of each Skyhook. Which replica has it, since it leads, makes no other line.
func each(gauge, legend string) query {
	return query{
		expr: fmt.Sprintf(`max by (skyhook_name) (%s{%s})`, gauge, ofSkyhook), legend: strings.TrimSpace("{{skyhook_name}} " + legend),
	}
}

// quantileOf values that came in within an hour.
func quantileOf(q float64, histogram string) query {
	return query{
		expr:   fmt.Sprintf(`histogram_quantile(%g, sum by (skyhook_name, le) (increase(%s_bucket{%s}[1h])))`, q, histogram, ofSkyhook),
		legend: fmt.Sprintf("{{skyhook_name}} %g %%", 100*q),
	}
}

func nodes() []panel {
	in := func(status string) string {
		return fmt.Sprintf(`sum(skyhook_node_status_count{%s,status=~%q}) or vector(0)`, ofSkyhook, status)
	}
	return []panel{
		stat("Total nodes", "Nodes that Skyhooks select; a node counts once for each.",
			fmt.Sprintf(`sum(skyhook_node_target_count{%s}) or vector(0)`, ofSkyhook), "text"),
		stat("Complete", "Nodes on which every package is complete.", in("complete"), "green"),
		stat("In Progress", "Nodes that work.", in("in_progress"), "blue"),
		stat("Erroring", "Nodes on which something fails.", in("erroring"), "red"),
		stat("Blocked", "Nodes that wait for a person.", in("blocked"), "orange"),
		stat("Other", "Nodes that wait, are paused or disabled, or of which nothing is known yet.",
			in("waiting|paused|disabled|unknown"), "text"),
		stacked("Nodes by status", "A node counts once for each Skyhook that selects it.", 12, statusColors,
			query{expr: fmt.Sprintf(`sum by (status) (skyhook_node_status_count{%s})`, ofSkyhook), legend: "{{status}}"}),
		lines("Unavailable and cordoned", "Nodes that are not Ready, and those that a Skyhook cordoned.", "", 12,
			each("skyhook_unavailable_nodes", "not Ready"), each("skyhook_cordoned_nodes", "cordoned")),
		stacked("Why nodes wait", "See docs/reasons.md.", 8, nil,
			query{expr: fmt.Sprintf(`sum by (reason) (skyhook_waiting_nodes{%s})`, ofSkyhook), legend: "{{reason}}"}),
		stacked("Why nodes fail", "See docs/reasons.md.", 8, nil,
			query{expr: fmt.Sprintf(`sum by (reason) (skyhook_failing_nodes{%s})`, ofSkyhook), legend: "{{reason}}"}),
		lines("Drains and reboots", "How long half of them take, over the last hour.", "s", 8,
			named(quantileOf(0.5, "skyhook_drain_duration_seconds"), "{{skyhook_name}} drain"),
			named(quantileOf(0.5, "skyhook_reboot_duration_seconds"), "{{skyhook_name}} reboot")),
	}
}

func named(q query, legend string) query {
	q.legend = legend
	return q
}

func packages() []panel {
	by := func(label string) query {
		return query{
			expr:   fmt.Sprintf(`sum by (%s) (skyhook_package_%s_count{%s})`, label, label, ofPackage),
			legend: "{{" + label + "}}", instant: true,
		}
	}
	pie := func(title, about string, q query, colors []object) panel {
		return panel{
			title: title, about: about, kind: "piechart", width: 6, height: 8, queries: []query{q}, overrides: colors,
			options: object{
				"legend":        object{"displayMode": "table", "placement": "right", "values": []string{"value"}},
				"reduceOptions": object{"calcs": []string{"lastNotNull"}},
			},
		}
	}
	join := func(expr string) query {
		return query{
			expr:    fmt.Sprintf(`label_join(%s, "join", " ", "skyhook_name", "package_name", "package_version")`, expr),
			instant: true, table: true,
		}
	}
	const version = "skyhook_name, package_name, package_version"
	table := panel{
		title: "Package versions", about: "Nodes that have each version, by state.", kind: "table", width: 12, height: 8,
		queries: []query{
			join(fmt.Sprintf(`sum by (%s) (skyhook_package_state_count{%s,state="complete"})`, version, ofPackage)),
			join(fmt.Sprintf(`sum by (%s) (skyhook_package_state_count{%s,state="in_progress"})`, version, ofPackage)),
			join(fmt.Sprintf(`sum by (%s) (skyhook_package_state_count{%s,state="erroring"})`, version, ofPackage)),
			join(fmt.Sprintf(`sum by (%s) (skyhook_package_restarts_count{%s})`, version, ofPackage)),
		},
		transform: []object{
			{"id": "joinByField", "options": object{"byField": "join", "mode": "outer"}},
			{"id": "organize", "options": object{"renameByName": object{
				"join": "package", "Value #A": "complete", "Value #B": "in progress", "Value #C": "erroring", "Value #D": "restarts",
			}}},
			{"id": "filterFieldsByName", "options": object{"include": object{"names": []string{
				"package", "complete", "in progress", "erroring", "restarts",
			}}}},
		},
	}
	return []panel{
		pie("Packages by stage", "A package counts once for each node.", by("stage"), nil),
		pie("Packages by state", "A package counts once for each node.", by("state"), colors(
			"complete", "green", "in_progress", "blue", "skipped", "light-blue", "erroring", "red", "unknown", "text",
		)),
		table,
		stacked("States over time", "A package counts once for each node.", 12, statusColors,
			query{expr: fmt.Sprintf(`sum by (state) (skyhook_package_state_count{%s})`, ofPackage), legend: "{{state}}"}),
		lines("Stages", "How long half of the stages take that succeed at once, over the last hour.", "s", 12,
			query{
				expr: fmt.Sprintf(`histogram_quantile(0.5, sum by (package_name, stage, le) (`+
					`increase(skyhook_stage_duration_seconds_bucket{%s}[1h])))`, ofPackage),
				legend: "{{package_name}} {{stage}}",
			}),
	}
}

func operator() []panel {
	return []panel{
		lines("Writes", "Requests of the operator that change something.", "reqps", 8,
			query{
				expr:   `sum by (verb, resource, subresource) (rate(skyhook_api_writes_total[$__rate_interval]))`,
				legend: "{{verb}} {{resource}} {{subresource}}",
			}),
		lines("Refused writes", "Answers of the API server from 400 on. Conflicts (409) are repeated and harmless.", "reqps", 8,
			query{
				expr:   `sum by (code) (rate(skyhook_api_writes_total{code!~"2.."}[$__rate_interval])) or vector(0)`,
				legend: "{{code}}",
			}),
		lines("Planning", "How long it takes to read a fleet and to plan, without writes.", "s", 8,
			query{
				expr:   `histogram_quantile(0.99, sum by (le) (rate(skyhook_plan_duration_seconds_bucket[$__rate_interval])))`,
				legend: "99 %",
			}),
	}
}
