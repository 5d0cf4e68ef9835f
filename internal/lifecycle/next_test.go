package lifecycle_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// row is one line of the state machine: what is seen, and what happens next.
type row struct {
	name string
	spec string
	// kept are the retained definitions.
	kept string
	// node is the record.
	node string
	pods string
	// gate is empty for a node that holds a permit and nothing in its way; else words of gates.
	gate string
	want string
}

func observation(t *testing.T, r row) lifecycle.Observation {
	t.Helper()
	w := lifecycle.Wanted{Packages: packages(t, r.spec), Retained: kept(t, r.kept)}
	o := lifecycle.Observation{
		Wanted: w, Pods: pods(t, r.pods), Permit: new(permit), ConfigReady: map[string]bool{}, RetainedReady: map[string]bool{}, Now: now,
		Record:     record.Node{Packages: entries(t, r.node, w)},
		Generation: generation, Node: lifecycle.Node{Ready: true, BootID: "b1"},
	}
	for name := range w.Packages {
		o.ConfigReady[name] = true
	}
	for name := range w.Retained {
		o.RetainedReady[name] = true
	}
	for gate := range strings.FieldsSeq(r.gate) {
		passGate(t, &o, gate)
	}
	return o
}

// group is a table, or a part of one.
type group struct {
	name string
	rows []row
}

func TestNext(t *testing.T) {
	checkRows(t, []group{
		{"life", life},
		{"versions", versions},
		{"dependencies", dependencies},
		{"gates", gated},
		{"failures", failures},
		{"pods", strayPods},
		{"config", configs},
		{"edits", edits},
		{"noop", pathOf("noop")},
		{"service", pathOf("service(x,y)")},
		{"restartAllServices", pathOf("restartAllServices")},
		{"reboot", pathOf("reboot")},
		{"cordon", cordons},
		{"drain", drains},
		{"merge", merges},
		{"interrupt waits", interruptWaits},
		{"service interrupt", serviceInterrupts},
		{"reboot interrupt", reboots},
		{"config interrupts", configInterrupts},
		{"other operators", others},
		{"upgrades", upgrades},
		{"serial", serials},
		{"limits", limits},
		{"reapply", reapplied},
	})
}

func checkRows(t *testing.T, groups []group) {
	t.Helper()
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, r := range g.rows {
				t.Run(r.name, func(t *testing.T) { checkRow(t, r) })
			}
		})
	}
}

func checkRow(t *testing.T, r row) {
	t.Helper()
	o := observation(t, r)
	untouched := observation(t, r)
	d := lifecycle.Next(o)
	if diff := cmp.Diff(items(r.want), describe(t, o, d)); diff != "" {
		t.Errorf("spec %s\nkept %s\nnode %s\npods %s\ngate %s\n-want +got\n%s", r.spec, r.kept, r.node, r.pods, r.gate, diff)
	}
	if !reflect.DeepEqual(o, untouched) {
		t.Errorf("Next changed what it was given:\n%s", cmp.Diff(untouched, o))
	}
	if again := lifecycle.Next(observation(t, r)); !reflect.DeepEqual(d, again) {
		t.Errorf("the same observation gave another decision:\n%s", cmp.Diff(d, again))
	}
}

// life is a package without anything in its way: specification 5.3, rows 1 to 6.
var life = []row{
	{
		name: "nothing wanted, nothing there",
		want: "is complete; returned",
	},
	{
		name: "absent: apply",
		spec: "a@1.0",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "apply runs",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "is in_progress",
	},
	{
		name: "apply done: config starts in the same pass, after its pod is gone",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "apply done, seen by an operator that stopped before it started config",
		spec: "a@1.0", node: "a@1.0 apply:complete",
		want: "a@1.0 config:in_progress run=now; start a config; is in_progress",
	},
	{
		name: "config runs",
		spec: "a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config running",
		want: "is in_progress",
	},
	{
		name: "config done: complete, and the permit goes back",
		spec: "a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1; delete a-config; is complete; returned",
	},
	{
		name: "complete: nothing to do, whatever happens again",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "complete, with a permit nobody needs",
		spec: "a@1.0", node: "a@1.0 config:complete",
		want: "is complete; returned",
	},
	{
		name: "complete, but its pod is still there: the permit waits for it",
		spec: "a@1.0", node: "a@1.0 config:complete", pods: "a@1.0 config done",
		want: "delete a-config; is complete",
	},
	{
		name: "restarts of a stage stay known after it is done",
		spec: "a@1.0", node: "a@1.0 config:erroring restarts=2 reason=StepFailed", pods: "a@1.0 config done restarts=3",
		want: "a@1.0 config:complete run=r1 restarts=3; delete a-config; is complete; returned",
	},
	{
		name: "two independent packages start together",
		spec: "a@1.0; b@2.0",
		want: "a@1.0 apply:in_progress run=now; b@2.0 apply:in_progress run=now; start a apply; start b apply; is in_progress",
	},
	{
		name: "two independent packages go on by themselves",
		spec: "a@1.0; b@2.0", node: "a@1.0 config:in_progress; b@2.0 apply:in_progress",
		pods: "a@1.0 config done; b@2.0 apply running",
		want: "a@1.0 config:complete run=r1; delete a-config; is in_progress",
	},
	{
		name: "one complete, one absent",
		spec: "a@1.0; b@2.0", node: "a@1.0 config:complete",
		want: "b@2.0 apply:in_progress run=now; start b apply; is in_progress",
	},
	{
		name: "a state that nobody writes any more runs config again",
		spec: "a@1.0", node: "a@1.0 config:unknown",
		want: "a@1.0 config:in_progress run=now; start a config; is in_progress",
	},
}

// versions: specification 5.3, rows 5, 13 and 14.
var versions = []row{
	{
		name: "higher than what is complete: upgrade",
		spec: "a@1.1", node: "a@1.0 config:complete",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "higher than what is in its config: upgrade, once its pod is gone",
		spec: "a@1.1", node: "a@1.0 config:in_progress", pods: "a@1.0 config running",
		want: "delete a-config; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "higher than what is in its config: upgrade",
		spec: "a@1.1", node: "a@1.0 config:in_progress",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "higher than what is applied but not configured: upgrade",
		spec: "a@1.1", node: "a@1.0 apply:complete",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "higher than what never got through apply: apply",
		spec: "a@1.1", node: "a@1.0 apply:erroring restarts=3 reason=StepFailed",
		want: "a@1.1 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "higher than an upgrade under way: upgrade",
		spec: "a@1.2", node: "a@1.0 config:complete; a@1.1 upgrade:in_progress",
		want: "a@1.2 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "lower: apply, the old entry stays",
		spec: "a@1.0", node: "a@1.1 config:complete",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "upgrade done: all other versions are forgotten, config starts",
		spec: "a@1.2", node: "a@1.0 config:complete; a@1.1 apply:complete; a@1.2 upgrade:in_progress",
		pods: "a@1.2 upgrade done",
		want: "a@1.2 upgrade:complete; a@1.2 config:in_progress run=now; forget a@1.0; forget a@1.1; delete a-upgrade; start a config; is in_progress",
	},
	{
		name: "upgrade done: other packages keep their entries",
		spec: "a@1.2", node: "a@1.0 config:complete; b@1.0 config:complete; a@1.2 upgrade:in_progress", pods: "a@1.2 upgrade done",
		want: "a@1.2 upgrade:complete; a@1.2 config:in_progress run=now; forget a@1.0; delete a-upgrade; start a config; is in_progress",
	},
	{
		name: "apply done: all other versions are forgotten",
		spec: "a@1.2", node: "a@1.1 apply:erroring restarts=2 reason=StepFailed; a@1.3 config:complete; a@1.2 apply:in_progress",
		pods: "a@1.2 apply done",
		want: "a@1.2 apply:complete; a@1.2 config:in_progress run=now; forget a@1.1; forget a@1.3; delete a-apply; start a config; is in_progress",
	},
	{
		name: "equal versions are one: 1.2 and 1.2.0",
		spec: "a@1.2.0", node: "a@1.2 config:complete", gate: "acknowledged",
		want: "rename a@1.2.0; forget a@1.2; is complete",
	},
	{
		name: "equal versions are one: v1.2.0 and 1.2.0",
		spec: "a@1.2.0", node: "a@v1.2.0 config:complete", gate: "acknowledged",
		want: "rename a@1.2.0; forget a@v1.2.0; is complete",
	},
	{
		name: "equal versions are one, also while a pod of the other spelling runs",
		spec: "a@v1.2", node: "a@1.2.0 apply:in_progress", pods: "a@1.2.0 apply done",
		want: "a@v1.2 apply:complete; a@v1.2 config:in_progress run=now; forget a@1.2.0; delete a-apply; start a config; is in_progress",
	},
	{
		name: "a release is higher than its candidate",
		spec: "a@1.2.0", node: "a@1.2.0-rc.1 config:complete",
		want: "a@1.2.0 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "numbers, not texts: 1.10 is higher than 1.9",
		spec: "a@1.10", node: "a@1.9 config:complete",
		want: "a@1.10 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "what is no version is not upgraded from",
		spec: "a@1.0", node: "a@today config:complete",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "what is no version equals itself",
		spec: "a@today", node: "a@today config:complete", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "another package's older version means nothing",
		spec: "a@1.1", node: "b@1.0 config:complete",
		want: "a@1.1 apply:in_progress run=now; start a apply; is in_progress",
	},
}

// dependencies: specification 4, without its defects.
var dependencies = []row{
	{
		name: "the dependency comes first",
		spec: "a@1.0; b@1.0<a@1.0",
		want: "a@1.0 apply:in_progress run=now; start a apply; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "the dependency is applied but not configured",
		spec: "a@1.0; b@1.0<a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config running",
		want: "wait b WaitingForDependency; is in_progress",
	},
	{
		name: "the dependency becomes complete: its dependent starts in the same pass",
		spec: "a@1.0; b@1.0<a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1; b@1.0 apply:in_progress run=now; delete a-config; start b apply; is in_progress",
	},
	{
		name: "the dependency becomes complete after its dependent was looked at: next pass",
		spec: "a@1.0<b@1.0; b@1.0", node: "b@1.0 config:in_progress", pods: "b@1.0 config done",
		want: "b@1.0 config:complete run=r1; delete b-config; wait a WaitingForDependency; is in_progress",
	},
	{
		name: "the dependency was complete in another version",
		spec: "a@2.0; b@1.0<a@2.0", node: "a@1.0 config:complete",
		want: "a@2.0 upgrade:in_progress run=now; start a upgrade; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "all of several dependencies are needed",
		spec: "a@1.0; b@1.0; c@1.0<a@1.0<b@1.0", node: "a@1.0 config:complete; b@1.0 config:in_progress", pods: "b@1.0 config running",
		want: "wait c WaitingForDependency; is in_progress",
	},
	{
		name: "all of several dependencies are complete",
		spec: "a@1.0; b@1.0; c@1.0<a@1.0<b@1.0", node: "a@1.0 config:complete; b@1.0 config:complete",
		want: "c@1.0 apply:in_progress run=now; start c apply; is in_progress",
	},
	{
		name: "a dependent of a finished root does not wait for the other roots",
		spec: "a@1.0; b@1.0; c@1.0<a@1.0", node: "a@1.0 config:complete; b@1.0 apply:in_progress", pods: "b@1.0 apply running",
		want: "c@1.0 apply:in_progress run=now; start c apply; is in_progress",
	},
	{
		name: "a chain",
		spec: "a@1.0; b@1.0<a@1.0; c@1.0<b@1.0", node: "a@1.0 config:complete",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait c WaitingForDependency; is in_progress",
	},
	{
		name: "a dependency that the spec does not have",
		spec: "b@1.0<a@1.0",
		want: "wait b DependencyMissing; is in_progress",
	},
	{
		name: "a dependency on another version than the spec has",
		spec: "a@1.0; b@1.0<a@2.0", node: "a@1.0 config:complete",
		want: "wait b DependencyMissing; is in_progress",
	},
	{
		name: "a dependency on the same version, spelled otherwise",
		spec: "a@1.0.0; b@1.0<a@v1.0", node: "a@1.0.0 config:complete",
		want: "b@1.0 apply:in_progress run=now; start b apply; is in_progress",
	},
	{
		name: "a cycle waits and says so",
		spec: "a@1.0<b@1.0; b@1.0<a@1.0",
		want: "wait a WaitingForDependency; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "the dependency's config changed: the dependent's next stage waits for it",
		spec: "a@1.0{k=2}; b@1.0<a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 apply:in_progress", pods: "b@1.0 apply done",
		want: "a@1.0 config:in_progress run=now changed=k; b@1.0 apply:complete run=r1; delete b-apply; start a config; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "a complete dependent stays complete while its dependency works again",
		spec: "a@1.0{k=2}; b@1.0<a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 config:complete",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
}

// gated: design 3, permits, and what holds a node.
var gated = []row{
	{
		name: "no permit: nothing starts",
		spec: "a@1.0", gate: "no-permit",
		want: "wait a WaitingForPermit; is waiting",
	},
	{
		name: "no permit: complete is complete",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "no-permit",
		want: "is complete",
	},
	{
		name: "no permit, but something runs: it is judged, its successor waits",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done", gate: "no-permit",
		want: "a@1.0 apply:complete run=r1; delete a-apply; wait a WaitingForPermit; is waiting",
	},
	{
		name: "a permit that was given back is none",
		spec: "a@1.0", gate: "acknowledged",
		want: "wait a WaitingForPermit; is waiting",
	},
	{
		name: "the permit before was given back, this one is good",
		spec: "a@1.0", gate: "returned-one-before",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "a new permit is given back, too",
		spec: "a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config done", gate: "returned-one-before",
		want: "a@1.0 config:complete run=r1; delete a-config; is complete; returned",
	},
	{
		name: "paused: nothing starts, the permit stays",
		spec: "a@1.0", gate: "paused",
		want: "wait Paused; is paused",
	},
	{
		name: "paused: what runs goes on, its successor waits",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done", gate: "paused",
		want: "a@1.0 apply:complete run=r1; delete a-apply; wait Paused; is paused",
	},
	{
		name: "paused: a node that is complete shows it, and gives its permit back",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "paused",
		want: "is paused; returned",
	},
	{
		name: "paused: a pod that somebody deleted is not made again",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", gate: "paused",
		want: "wait Paused; is paused",
	},
	{
		name: "disabled: nothing starts, the permit goes back",
		spec: "a@1.0", gate: "disabled",
		want: "wait Disabled; is disabled; returned",
	},
	{
		name: "disabled: the permit stays while a pod runs",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "disabled",
		want: "wait Disabled; is disabled",
	},
	{
		name: "disabled: the permit goes back when the pod is done",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done", gate: "disabled",
		want: "a@1.0 apply:complete run=r1; delete a-apply; wait Disabled; is disabled; returned",
	},
	{
		name: "disabled: the permit stays until a pod that ends has ended",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running terminating", gate: "disabled",
		want: "wait a WaitingForPodToEnd; wait Disabled; is disabled",
	},
	{
		name: "disabled and complete is complete",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "disabled",
		want: "is complete; returned",
	},
	{
		name: "disabled without a permit",
		spec: "a@1.0", gate: "disabled no-permit",
		want: "wait Disabled; is disabled",
	},
	{
		name: "blocked: nothing starts, the permit goes back",
		spec: "a@1.0", node: "a@1.0 apply:complete", gate: "blocked",
		want: "wait Taint; is blocked; returned",
	},
	{
		name: "blocked, with a step that fails: erroring matters more",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed", pods: "a@1.0 apply failing restarts=1 reason=StepFailed", gate: "blocked",
		want: "wait Taint; is erroring",
	},
	{
		name: "waiting for an earlier Skyhook: the permit goes back",
		spec: "a@1.0", gate: "turn",
		want: "wait WaitingForSkyhook; is waiting; returned",
	},
	{
		name: "invalid spec: nothing starts, the permit stays",
		spec: "a@1.0", gate: "invalid",
		want: "wait SpecInvalid; is blocked",
	},
	{
		name: "the ConfigMap is not there yet",
		spec: "a@1.0{k=v}; b@1.0", gate: "no-config-of-a",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a WaitingForConfigMap; is in_progress",
	},
	{
		name: "the ConfigMap is not there yet for a pod that is to be made again",
		spec: "a@1.0{k=v}", node: "a@1.0 apply:in_progress", gate: "no-config-of-a",
		want: "wait a WaitingForConfigMap; is in_progress",
	},
	{
		name: "the ConfigMap is not there: what runs goes on",
		spec: "a@1.0{k=v}", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "no-config-of-a",
		want: "is in_progress",
	},
}
