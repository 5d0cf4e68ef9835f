package faults

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	shortTimeout = 2 * time.Minute
	longTimeout  = 30 * time.Minute
)

// odds are how likely the parts of a world are.
type odds struct {
	interrupt, reboot, policy, depends, uninstall, protect, pods, drain float64
	retries, timeout, serial, sequencing, runtime, reapply, poison      float64
	many, collide, lag, clock, breaks                                   float64
	// scripts and events are how many there are at most.
	scripts, events int
}

type profile struct {
	name   string
	weight int
	odds   odds
	// groups are those of the happenings, each with its weight: "edit 6, node 2".
	groups string
}

// profiles make unlikely combinations likely: each is about one part of the engine and has a little of all others.
var profiles = []profile{
	{"plain", 4, odds{depends: 0.4, serial: 0.3, many: 0.3, scripts: 2, lag: 0.3}, ""},
	{
		"interrupts", 10,
		odds{interrupt: 0.8, pods: 0.5, many: 0.6, retries: 0.3, poison: 0.2, events: 4},
		"edit 6, node 2, steer 2, foreign 2",
	},
	{"reboots", 8, odds{interrupt: 0.8, reboot: 0.8, reapply: 0.6, many: 0.8, events: 3}, "node 4, edit 1, pod 2"},
	{
		"policy", 10,
		odds{interrupt: 0.5, policy: 1, protect: 0.5, pods: 0.7, drain: 0.5, poison: 0.1, events: 4},
		"edit 3, steer 2, node 2",
	},
	{
		"drain", 10,
		odds{interrupt: 0.9, policy: 0.6, protect: 0.7, pods: 1, drain: 0.9, many: 0.2, lag: 0.5, events: 2},
		"foreign 4, pod 1, write 1, node 1",
	},
	{
		"uninstall", 10,
		odds{interrupt: 0.4, depends: 0.7, uninstall: 0.8, serial: 0.2, events: 6},
		"uninstall 6, pod 4, edit 2",
	},
	{
		"failing", 10,
		odds{interrupt: 0.7, retries: 0.6, timeout: 0.3, poison: 0.4, many: 0.7, scripts: 3, events: 4},
		"edit 4, pod 3, steer 3",
	},
	{
		"edits", 10,
		odds{interrupt: 0.6, depends: 0.3, uninstall: 0.3, policy: 0.2, events: 12, many: 0.5},
		"edit 8, steer 3, selector 2, uninstall 2",
	},
	{"selectors", 8, odds{interrupt: 0.9, many: 1, pods: 0.3, timeout: 0.2, events: 6}, "selector 8, pod 1, steer 1"},
	{
		"crashes", 8,
		odds{interrupt: 0.6, depends: 0.3, uninstall: 0.3, policy: 0.2, many: 0.4, lag: 0.7, events: 10},
		"operator 6, write 5, pod 2, edit 2, stop 2",
	},
	{"clocks", 8, odds{interrupt: 0.4, timeout: 0.3, clock: 0.7, events: 7}, "clock 5, edit 4, operator 2, pod 1"},
	{"lost", 6, odds{interrupt: 0.3, retries: 0.8, lag: 0.8, events: 8, scripts: 1}, "pod 8, node 2"},
	{"names", 3, odds{interrupt: 0.3, collide: 1, many: 1, uninstall: 0.3, events: 4}, "taken 4, edit 2, pod 1"},
	{"taken", 4, odds{interrupt: 0.3, many: 0.6, depends: 0.2, events: 4}, "taken 6, quota 2, edit 2, map 3"},
	{
		"broken", 5,
		odds{interrupt: 0.4, policy: 0.3, runtime: 0.3, many: 0.5, serial: 0.3, sequencing: 0.3, events: 8},
		"garbage 4, node 3, policy 3, quota 2, edit 2",
	},
	{
		"forged", 5,
		odds{interrupt: 0.3, runtime: 0.9, reapply: 0.3, many: 0.6, uninstall: 0.2, events: 8},
		"forge 6, garbage 1, node 3, steer 2, edit 3, selector 2",
	},
	{
		"images", 4,
		odds{interrupt: 0.3, many: 0.6, uninstall: 0.3, retries: 0.3, depends: 0.3, events: 8},
		"image 6, edit 4, pod 2, operator 1, write 1, uninstall 1",
	},
	{
		"hosts", 8,
		odds{interrupt: 0.4, policy: 0.8, many: 1, lag: 0.2, retries: 0.3, timeout: 0.5, breaks: 0.7, scripts: 3, events: 5},
		"edit 4, node 3, steer 2, policy 1, operator 1",
	},
	{"all", 12, odds{
		interrupt: 0.5, reboot: 0.2, policy: 0.3, depends: 0.3, uninstall: 0.3, protect: 0.2, pods: 0.4,
		drain: 0.3, retries: 0.2, timeout: 0.2, serial: 0.2, sequencing: 0.2, runtime: 0.2, reapply: 0.2, poison: 0.1,
		many: 0.4, lag: 0.3, clock: 0.1, scripts: 2, events: 14,
	}, "edit 5, steer 3, selector 2, uninstall 3, pod 3, node 3, foreign 1, operator 2, write 2, clock 1, " +
		"garbage 1, policy 1, quota 1, taken 1, forge 1, image 1, stop 1"},
}

func profileWeights() []int {
	weights := make([]int, len(profiles))
	for i, p := range profiles {
		weights[i] = p.weight
	}
	return weights
}

// happeningWeights are those of all kinds in the profile's groups: each kind weighs what its group does.
func (p profile) happeningWeights() (kinds []string, weights []int) {
	groups := strings.Split(p.groups, ", ")
	slices.Sort(groups)
	for _, group := range groups {
		var name string
		var weight int
		if _, err := fmt.Sscan(group, &name, &weight); err != nil {
			panic(err) // it is in the table above
		}
		for _, kind := range happeningGroups[name] {
			kinds = append(kinds, kind)
			weights = append(weights, max(1, weight*12/len(happeningGroups[name])))
		}
	}
	return kinds, weights
}

// happeningGroups are the kinds of happenings by what they are about.
var happeningGroups = map[string][]string{
	"edit": {
		"edit-config", "edit-config", "edit-env", "version-up", "version-up", "version-down", "edit-interrupt", "poison",
		"cure", "remove-package",
		"add-package", "rename-package", "edit-budget", "edit-priority", "edit-serial", "edit-limits", "edit-drain",
		"create-skyhook", "edit-earlier", "edit-earlier",
	},
	"steer": {
		"pause", "unpause", "disable", "enable", "ignore-node", "unignore-node", "delete-skyhook",
		"force-delete", "resume",
	},
	"stop":     {"stop-all", "stop-take-over", "resume-all"},
	"selector": {"edit-selector", "label-node", "deselect", "deselect"},
	"uninstall": {
		"undermine", "undermine", "uninstall-apply", "uninstall-apply", "uninstall-apply", "uninstall-cancel",
		"when-removed", "remove-package", "delete-skyhook",
	},
	"pod": {"delete-pod", "delete-pod", "lose-pod", "lose-pod", "shutdown-pod"},
	"node": {
		"cordon", "uncordon", "taint", "untaint", "not-ready", "reboot", "reboot", "delete-node",
		"boot-id-missing", "node-down",
	},
	"foreign":  {"foreign-pod", "protected-pod", "late-binding", "late-binding", "pdb-strict", "pdb-loose"},
	"operator": {"crash", "crash", "second-operator", "take-over", "take-over", "relist", "restart"},
	"write":    {"write-fails", "write-lost", "crash-after-write", "crash-after-write", "list-fails"},
	"clock":    {"restart-behind", "restart-ahead", "version-up"},
	"garbage":  {"garbage-states", "garbage-wait", "remove-states", "remove-record"},
	"forge":    {"forge-record", "forge-record", "forge-node"},
	"policy":   {"policy-edit", "policy-break", "policy-delete", "policy-create", "policy-switch"},
	"quota":    {"quota-on", "quota-off", "quota-one"},
	"image":    {"move-tags", "move-tags", "edit-config"},
	"map":      {"delete-maps"},
	"taken":    {"take-pod-name", "take-config-name", "huge-config"},
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
