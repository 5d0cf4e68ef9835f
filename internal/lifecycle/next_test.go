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
	// node is the record.
	node string
	pods string
	// gate is empty for a node that holds a permit and nothing in its way; else words of gates.
	gate string
	want string
}

func observation(t *testing.T, r row) lifecycle.Observation {
	t.Helper()
	spec := packages(t, r.spec)
	o := lifecycle.Observation{
		Wanted: lifecycle.Wanted{Packages: spec}, Pods: pods(t, r.pods), Permit: new(permit), ConfigReady: map[string]bool{}, Now: now,
		Record:     record.Node{Packages: entries(t, r.node, spec)},
		Generation: generation, Node: lifecycle.Node{Ready: true, BootID: "b1"},
	}
	for name := range spec {
		o.ConfigReady[name] = true
	}
	for gate := range strings.FieldsSeq(r.gate) {
		passGate(t, &o, gate)
	}
	return o
}

func TestNext(t *testing.T) {
	for _, group := range []struct {
		name string
		rows []row
	}{
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
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, r := range group.rows {
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
		t.Errorf("spec %s\nnode %s\npods %s\ngate %s\n-want +got\n%s", r.spec, r.node, r.pods, r.gate, diff)
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

// failures: specification 5.3, row 2, and design 7, image pull errors.
var failures = []row{
	{
		name: "a step fails for the first time",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply failing restarts=1 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=1 reason=StepFailed; is erroring",
	},
	{
		name: "it fails again: since when stays",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed", pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=StepFailed; is erroring",
	},
	{
		name: "it fails for another reason",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed", pods: "a@1.0 apply failing restarts=1 reason=OOMKilled",
		want: "a@1.0 apply:erroring run=r1 restarts=1 since=-1h0m0s reason=OOMKilled; is erroring",
	},
	{
		name: "nothing new: nothing is written",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed", pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "is erroring",
	},
	{
		name: "the count of attempts never goes down",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=3 reason=StepFailed", pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "is erroring",
	},
	{
		name: "one package fails, the other works",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed; b@1.0 apply:in_progress",
		pods: "a@1.0 apply failing restarts=2 reason=StepFailed; b@1.0 apply done",
		want: "b@1.0 apply:complete; b@1.0 config:in_progress run=now; delete b-apply; start b config; is erroring",
	},
	{
		name: "it recovers: the step is through, the check runs",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed", pods: "a@1.0 apply running restarts=2",
		want: "a@1.0 apply:in_progress run=r1 restarts=2; is in_progress",
	},
	{
		name: "it recovers and is done",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed", pods: "a@1.0 apply done restarts=2",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "a container cannot be started: one minute of patience",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply stuck created=-59s reason=ImagePullBackOff",
		want: "wait a PodCannotStart; again 1s; is in_progress",
	},
	{
		name: "a container cannot be started for a minute: an error",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply stuck created=-60s reason=ImagePullBackOff",
		want: "a@1.0 apply:erroring run=r1 reason=ImagePullBackOff; is erroring",
	},
	{
		name: "the image can be pulled at last",
		spec: "a@1.0", node: "a@1.0 apply:erroring reason=ImagePullBackOff", pods: "a@1.0 apply running",
		want: "a@1.0 apply:in_progress run=r1; is in_progress",
	},
	{
		name: "two containers cannot be started: the earlier time to look again wins",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:in_progress; b@1.0 apply:in_progress",
		pods: "a@1.0 apply stuck created=-20s reason=ErrImagePull; b@1.0 apply stuck created=-50s reason=ErrImagePull",
		want: "wait a PodCannotStart; wait b PodCannotStart; again 10s; is in_progress",
	},
	{
		name: "the pod is lost: it is deleted, the error is told",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply lost reason=Evicted",
		want: "a@1.0 apply:erroring run=r1 restarts=1 reason=Evicted; delete a-apply; is erroring",
	},
	{
		name: "lost again: each loss counts and starts the backoff anew",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=Evicted", pods: "a@1.0 apply lost reason=Evicted",
		want: "a@1.0 apply:erroring run=r1 restarts=2 reason=Evicted; delete a-apply; is erroring",
	},
	{
		name: "lost and ending: it is not counted twice",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=0s reason=Evicted", pods: "a@1.0 apply lost terminating reason=Evicted",
		want: "wait a WaitingForPodToEnd; is erroring",
	},
	{
		name: "after a loss: 10 s",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=-3s reason=Evicted",
		want: "wait a BackingOff; again 7s; is erroring",
	},
	{
		name: "after a loss: up to the last second",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=-9s reason=Evicted",
		want: "wait a BackingOff; again 1s; is erroring",
	},
	{
		name: "after a loss: the 10 s are over",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=-10s reason=Evicted",
		want: "start a apply; is erroring",
	},
	{
		name: "after two losses: 20 s",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=2 since=-10s reason=Evicted",
		want: "wait a BackingOff; again 10s; is erroring",
	},
	{
		name: "after five losses: 160 s",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=5 since=-10s reason=Evicted",
		want: "wait a BackingOff; again 2m30s; is erroring",
	},
	{
		name: "after six losses: not more than 5 min",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=6 since=-10s reason=Evicted",
		want: "wait a BackingOff; again 4m50s; is erroring",
	},
	{
		name: "after a great many losses: 5 min",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1000 since=-5m reason=Evicted",
		want: "start a apply; is erroring",
	},
	{
		name: "a permit is needed for the pod after a loss, too",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=-1m reason=Evicted", gate: "no-permit",
		want: "wait a WaitingForPermit; is erroring",
	},
}

// strayPods are pods that are not what the record expects.
var strayPods = []row{
	{
		name: "somebody deleted the pod: it is made again, for the same run",
		spec: "a@1.0", node: "a@1.0 apply:in_progress",
		want: "start a apply; is in_progress",
	},
	{
		name: "somebody is deleting the pod: its replacement waits",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running terminating",
		want: "wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "somebody is deleting the pod, but it was done",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done terminating",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "the result of an earlier run proves nothing",
		spec: "a@1.0", node: "a@1.0 config:in_progress run=r2", pods: "a@1.0 config done run=r1",
		want: "delete a-config; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the pod of the stage before is in the way",
		spec: "a@1.0", node: "a@1.0 config:in_progress run=r2", pods: "a@1.0 apply done run=r1",
		want: "delete a-apply; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the pod of the stage before ends",
		spec: "a@1.0", node: "a@1.0 config:in_progress run=r2", pods: "a@1.0 apply done run=r1 terminating",
		want: "wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the pod of another version proves nothing",
		spec: "a@1.1", node: "a@1.1 apply:in_progress", pods: "a@1.0 apply done",
		want: "delete a-apply; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "a pod without an entry is deleted before the package starts",
		spec: "a@1.0", pods: "a@1.0 apply done",
		want: "delete a-apply; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "a pod of a package that left the spec",
		spec: "a@1.0", node: "a@1.0 config:complete; b@1.0 apply:in_progress", pods: "b@1.0 apply running",
		want: "delete b-apply; is complete",
	},
	{
		name: "a pod of a package that left the spec ends: the node is at work until it has",
		spec: "a@1.0", node: "a@1.0 config:complete; b@1.0 apply:in_progress", pods: "b@1.0 apply running terminating",
		want: "is complete",
	},
	{
		name: "a pod of one package does not hold back another",
		spec: "a@1.0; b@1.0", node: "b@1.0 apply:in_progress", pods: "b@1.0 apply running terminating",
		want: "a@1.0 apply:in_progress run=now; start a apply; wait b WaitingForPodToEnd; is in_progress",
	},
	{
		name: "an entry without a run, of another operator, begins anew",
		spec: "a@1.0", node: "a@1.0 apply:in_progress run=",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "an entry without a run, of another operator, whose pod is still there",
		spec: "a@1.0", node: "a@1.0 apply:in_progress run=", pods: "a@1.0 apply running run= #",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; is in_progress",
	},
}

// configs: design 3, "level, not edge": what a configMap change does is the difference between node and spec.
var configs = []row{
	{
		name: "a value changed",
		spec: "a@1.0{k=2}", node: "a@1.0 config:complete config{k=1}",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "a key was added",
		spec: "a@1.0{k=1,l=1}", node: "a@1.0 config:complete config{k=1}",
		want: "a@1.0 config:in_progress run=now changed=l; start a config; is in_progress",
	},
	{
		name: "a key was removed",
		spec: "a@1.0{k=1}", node: "a@1.0 config:complete config{k=1,l=1}",
		want: "a@1.0 config:in_progress run=now changed=l; start a config; is in_progress",
	},
	{
		name: "all keys were removed",
		spec: "a@1.0", node: "a@1.0 config:complete config{k=1}",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "nothing changed",
		spec: "a@1.0{k=1,l=2}", node: "a@1.0 config:complete config{l=2,k=1}", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "a change takes a permit",
		spec: "a@1.0{k=2}", node: "a@1.0 config:complete config{k=1}", gate: "acknowledged",
		want: "wait a WaitingForPermit; is waiting",
	},
	{
		name: "an operator that kept no hashes: taken as current",
		spec: "a@1.0{k=2}", node: "a@1.0 config:complete config=unknown", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "changed and changed back before anything started",
		spec: "a@1.0{k=1}", node: "a@1.0 config:complete config{k=1}",
		want: "is complete; returned",
	},
	{
		name: "it changes while apply runs: apply is done with the old, config takes the new",
		spec: "a@1.0{k=2}", node: "a@1.0 apply:in_progress config{k=1}", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "it changes while config is done with the old: config once more",
		spec: "a@1.0#2{k=2}", node: "a@1.0 config:in_progress config{k=1}", pods: "a@1.0 config done",
		want: "a@1.0 config:complete; a@1.0 config:in_progress run=now changed=k; delete a-config; start a config; is in_progress",
	},
	{
		name: "it changes while the pod is missing: the run begins anew with the new",
		spec: "a@1.0{k=2}", node: "a@1.0 config:in_progress config{k=1}",
		want: "a@1.0 config:in_progress run=now; start a config; is in_progress",
	},
}

// edits change what a running pod should be.
var edits = []row{
	{
		name: "while a step runs: the pod is replaced when it is gone",
		spec: "a@1.0#2", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; is in_progress",
	},
	{
		name: "the pod before the edit ends",
		spec: "a@1.0#2", node: "a@1.0 apply:in_progress run=r2 hash=2", pods: "a@1.0 apply running terminating",
		want: "wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the pod before the edit is gone",
		spec: "a@1.0#2", node: "a@1.0 apply:in_progress run=r2 hash=2",
		want: "start a apply; is in_progress",
	},
	{
		name: "while a step fails: a fresh start, the errors are forgotten",
		spec: "a@1.0#2", node: "a@1.0 apply:erroring restarts=4 reason=StepFailed", pods: "a@1.0 apply failing restarts=4 reason=StepFailed",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; is in_progress",
	},
	{
		name: "while an image cannot be pulled",
		spec: "a@1.0#2", node: "a@1.0 apply:erroring reason=ImagePullBackOff", pods: "a@1.0 apply stuck reason=ImagePullBackOff",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; is in_progress",
	},
	{
		name: "when a step is done already, it counts",
		spec: "a@1.0#2", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "when the package is complete: nothing runs again",
		spec: "a@1.0#2", node: "a@1.0 config:complete", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "two edits within a second: the runs differ",
		spec: "a@1.0#3", node: "a@1.0 apply:in_progress run=now", pods: "a@1.0 apply running run=now #2",
		want: "a@1.0 apply:in_progress run=now!; delete a-apply; is in_progress",
	},
	{
		name: "the package is removed from the spec: its entry stays, as do its files",
		node: "a@1.0 config:complete", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "the package is removed while it works: its pod goes, then the permit",
		node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "delete a-apply; is complete",
	},
	{
		name: "an edit while the node is held: what no longer fits is stopped, nothing starts",
		spec: "a@1.0#2", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "paused",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; wait Paused; is paused",
	},
}
