package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

var gateTables = []group{
	{"dependencies", dependencies},
	{"holds and permits", gated},
	{"a dependency leaves", dependencyLeaves},
	{"held nodes", heldNodes},
}

// dependencies: what dependsOn names has to be complete on the node first.
var dependencies = []row{
	{
		name: "the dependency comes first",
		spec: "a@1.0; b@1.0 needs=a@1.0",
		want: "a@1.0 apply:in_progress run=now; start a apply; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "the dependency becomes complete: its dependent starts in the same pass",
		spec: "a@1.0; b@1.0 needs=a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1; b@1.0 apply:in_progress run=now; delete a-config; start b apply; is in_progress",
	},
	{
		name: "the dependency becomes complete after its dependent was looked at: next pass",
		spec: "a@1.0 needs=b@1.0; b@1.0", node: "b@1.0 config:in_progress", pods: "b@1.0 config done",
		want: "b@1.0 config:complete run=r1; delete b-config; wait a WaitingForDependency; tell WaitingForDependency; " +
			"is in_progress",
	},
	{
		name: "the dependency was complete in another version",
		spec: "a@2.0; b@1.0 needs=a@2.0", node: "a@1.0 config:complete",
		want: "a@2.0 upgrade:in_progress run=now; start a upgrade; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "all of several dependencies are needed",
		spec: "a@1.0; b@1.0; c@1.0 needs=a@1.0 needs=b@1.0", node: "a@1.0 config:complete; b@1.0 config:in_progress",
		pods: "b@1.0 config running",
		want: "wait c WaitingForDependency; is in_progress",
	},
	{
		name: "a dependent of a finished root does not wait for the other roots",
		spec: "a@1.0; b@1.0; c@1.0 needs=a@1.0", node: "a@1.0 config:complete; b@1.0 apply:in_progress",
		pods: "b@1.0 apply running",
		want: "c@1.0 apply:in_progress run=now; start c apply; is in_progress",
	},
	{
		name: "a chain",
		spec: "a@1.0; b@1.0 needs=a@1.0; c@1.0 needs=b@1.0", node: "a@1.0 config:complete",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait c WaitingForDependency; is in_progress",
	},
	{
		name: "a dependency that the spec does not have",
		spec: "b@1.0 needs=a@1.0",
		want: "wait b DependencyMissing; tell DependencyMissing; is blocked; returned",
	},
	{
		name: "a dependency on another version than the spec has",
		spec: "a@1.0; b@1.0 needs=a@2.0", node: "a@1.0 config:complete",
		want: "wait b DependencyMissing; tell DependencyMissing; is blocked; returned",
	},
	{
		name: "a dependency on the same version, spelled otherwise",
		spec: "a@1.0.0; b@1.0 needs=a@v1.0", node: "a@1.0.0 config:complete",
		want: "b@1.0 apply:in_progress run=now; start b apply; is in_progress",
	},
	{
		name: "of several dependencies the one that only another spec ends is told first",
		spec: "a@1.0; c@1.0 needs=a@1.0 needs=z@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "wait c DependencyMissing; is in_progress",
	},
	{
		name: "a dependency cannot start: what depends on it, and on a missing one, holds no permit",
		spec: "a@1.0 needs=y@1.0; c@1.0 needs=a@1.0 needs=z@1.0",
		want: "wait a DependencyMissing; wait c DependencyMissing; tell DependencyMissing; is blocked; returned",
	},
	{
		name: "a dependency waits for its ConfigMap, another is to be uninstalled: the permit stays for the first",
		spec: "a@1.0 config{k=v}; c@1.0 needs=a@1.0 needs=z@1.0; z@1.0 uninstall=on,apply", gate: "no-config-of-a",
		want: "wait a WaitingForConfigMap; wait c DependencyUninstalled; tell WaitingForConfigMap; is in_progress",
	},
	{
		name: "a cycle waits and says so",
		spec: "a@1.0 needs=b@1.0; b@1.0 needs=a@1.0",
		want: "wait a WaitingForDependency; wait b WaitingForDependency; tell WaitingForDependency; is in_progress",
	},
	{
		name: "the dependency's config changed: the dependent's next stage waits for it",
		spec: "a@1.0 config{k=2}; b@1.0 needs=a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 apply:in_progress",
		pods: "b@1.0 apply done",
		want: "a@1.0 config:in_progress run=now changed=k; b@1.0 apply:complete run=r1; delete b-apply; start a config; " +
			"wait b WaitingForDependency; is in_progress",
	},
	{
		name: "a complete dependent stays complete while its dependency works again",
		spec: "a@1.0 config{k=2}; b@1.0 needs=a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 config:complete",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
}

// gated: permits, and what holds a node.
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
		name: "a permit that is suspended: what fails does not keep it",
		spec: "a@1.0", node: "a@1.0 apply:erroring reason=StepFailed", pods: "a@1.0 apply failing reason=StepFailed",
		gate: "revoked",
		want: "is erroring; returned",
	},
	{
		name: "a permit that is suspended: what runs keeps it",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:erroring reason=StepFailed; b@1.0 apply:in_progress",
		pods: "a@1.0 apply failing reason=StepFailed; b@1.0 apply running", gate: "revoked",
		want: "is erroring",
	},
	{
		name: "a permit that is suspended: what is ended just now keeps it",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "revoked",
		want: "a@1.0 apply:erroring run=r1 reason=StageTimeout; delete a-apply; is erroring",
	},
	{
		name: "a permit that is suspended: what was ended keeps it for its grace period",
		spec: "a@1.0", node: "a@1.0 apply:erroring reason=StageTimeout", pods: "a@1.0 apply running ends=10s",
		gate: "revoked",
		want: "wait a WaitingForPodToEnd; again 40s; is erroring",
	},
	{
		name: "a permit that is suspended: what does not end does not keep it for ever",
		spec: "a@1.0", node: "a@1.0 apply:erroring reason=StageTimeout", pods: "a@1.0 apply running ends=-1m",
		gate: "revoked",
		want: "wait a WaitingForPodToEnd; tell WaitingForPodToEnd; is erroring; returned",
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
		name: "paused: nothing starts, the permit stays",
		spec: "a@1.0", gate: "paused",
		want: "wait Paused; tell Paused; is paused",
	},
	{
		name: "paused: a node that is complete shows it, and gives its permit back",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "paused",
		want: "is paused; returned",
	},
	{
		name: "disabled: nothing starts, the permit is given back",
		spec: "a@1.0", gate: "disabled",
		want: "wait Disabled; tell Disabled; is disabled; returned",
	},
	{
		name: "disabled and complete is complete",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "disabled",
		want: "is complete; returned",
	},
	{
		name: "blocked: nothing starts, the permit is given back",
		spec: "a@1.0", node: "a@1.0 apply:complete", gate: "blocked",
		want: "wait Taint; tell Taint; is blocked; returned",
	},
	{
		name: "waiting for an earlier Skyhook: the permit is given back",
		spec: "a@1.0", gate: "turn",
		want: "wait WaitingForSkyhook; tell WaitingForSkyhook; is waiting; returned",
	},
	{
		name: "invalid spec: nothing starts, the permit stays",
		spec: "a@1.0", gate: "invalid",
		want: "wait SpecInvalid; tell SpecInvalid; is blocked",
	},
	{
		name: "the ConfigMap is not there yet",
		spec: "a@1.0 config{k=v}; b@1.0", gate: "no-config-of-a",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a WaitingForConfigMap; is in_progress",
	},
	{
		name: "the ConfigMap is not there yet for a pod that is to be made again",
		spec: "a@1.0 config{k=v}", node: "a@1.0 apply:in_progress", gate: "no-config-of-a",
		want: "wait a WaitingForConfigMap; tell WaitingForConfigMap; is in_progress",
	},
}

// closed is a gate, how it comes to be closed for package a, and the reason that is told then.
type closed struct {
	name string
	// mark is added to package a, and the rest to the row.
	mark, spec, node, pods, gate string
	reason                       string
}

// inOrder are the gates in the order in which they are asked.
var inOrder = []closed{
	{name: "malformed record", reason: "NodeStateMalformed"},
	{
		name: "hold (deleted or disabled, paused, all stopped, invalid spec, excluded node, taint, earlier Skyhook, interrupt of " +
			"another Skyhook)",
		gate: "paused", reason: "Paused",
	},
	{
		name: "interrupt in flight", spec: "b@1.0 interrupt=noop", node: "b@1.0 interrupt:in_progress interrupt=noop boot=b1",
		pods:   "b@1.0 interrupt running",
		reason: "WaitingForInterrupt",
	},
	{name: "image allowed", mark: " refused=evil", reason: "ImageNotAllowed"},
	{
		name: "dependencies", mark: " needs=d@1.0", spec: "d@1.0", node: "d@1.0 apply:in_progress",
		pods: "d@1.0 apply running", reason: "WaitingForDependency",
	},
	{name: "permit", gate: "no-permit", reason: "WaitingForPermit"},
	{
		name: "serial turn", spec: "c@1.0", node: "c@1.0 apply:in_progress", pods: "c@1.0 apply running", gate: "serial",
		reason: "WaitingForSerial",
	},
	{name: "config map in place", gate: "no-config-of-a", reason: "WaitingForConfigMap"},
	{name: "earlier pod gone", pods: "a@1.0 config running run=r0 terminating", reason: "WaitingForPodToEnd"},
	{name: "drained", mark: " interrupt=noop", reason: "Cordoning"},
}

// TestGatesInOrder: of any two gates that are closed, the reason of the earlier one is told.
func TestGatesInOrder(t *testing.T) {
	var names []string
	for i, earlier := range inOrder {
		names = append(names, earlier.name)
		for _, later := range inOrder[i+1:] {
			t.Run(earlier.reason+" before "+later.reason, func(t *testing.T) { demandFirst(t, "", earlier, later) })
		}
	}
	if diff := cmp.Diff(lifecycle.Gates(), names); diff != "" {
		t.Errorf("the gates, -want +got\n%s", diff)
	}
}

// TestGatesInOrderOfALostPod: a stage that has begun and lost its pod says what it lacks before it says that it is not
// its turn: it is given its turn for that.
func TestGatesInOrderOfALostPod(t *testing.T) {
	begun := inOrder[1 : len(inOrder)-1] // it is asked for a drain before it begins, and not again
	turns := []string{"Paused", "ImageNotAllowed", "WaitingForPermit", "WaitingForSerial"}
	isTurn := func(c closed) bool { return slices.Contains(turns, c.reason) }
	order := append(slices.DeleteFunc(slices.Clone(begun), isTurn),
		slices.DeleteFunc(slices.Clone(begun), func(c closed) bool { return !isTurn(c) })...)
	for i, earlier := range order {
		for _, later := range order[i+1:] {
			t.Run(earlier.reason+" before "+later.reason,
				func(t *testing.T) { demandFirst(t, "a@1.0 apply:in_progress", earlier, later) })
		}
	}
}

func demandFirst(t *testing.T, node string, earlier, later closed) {
	t.Helper()
	join := func(sep string, parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
	}
	o := observation(t, row{
		spec: join("; ", "a@1.0"+earlier.mark+later.mark, earlier.spec, later.spec),
		node: join("; ", node, earlier.node, later.node),
		pods: join("; ", earlier.pods, later.pods), gate: join(" ", earlier.gate, later.gate),
	})
	d := lifecycle.Next(o)
	if earlier.reason == v1alpha1.ReasonNodeStateMalformed {
		d = lifecycle.Unreadable(o, malformed("-"))
	}
	for _, s := range d.Start {
		if s.Package == "a" {
			t.Errorf("starts %+v", s)
		}
	}
	var told []string
	for _, w := range d.Waits {
		if w.Package == "a" || w.Package == "" {
			told = append(told, w.Reason)
		}
	}
	if len(told) == 0 || told[0] != earlier.reason {
		t.Errorf("told %v, want %s", told, earlier.reason)
	}
}

// dependencyLeaves: a package in the middle of a stage depends on one that leaves. It does not take its turn only to
// say so.
var dependencyLeaves = []row{
	{
		name: "it lost its pod, and its dependency is to be uninstalled: only another spec helps",
		spec: "a@1.0 needs=b@1.0; b@1.0 uninstall=on,apply", node: "a@1.0 apply:in_progress; b@1.0 config:complete",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a DependencyUninstalled; is in_progress",
	},
	{
		name: "its dependency is uninstalled: the permit is given back",
		spec: "a@1.0 needs=b@1.0; b@1.0 uninstall=on,apply", node: "a@1.0 apply:in_progress",
		want: "wait a DependencyUninstalled; tell DependencyUninstalled; is blocked; returned",
	},
	{
		name: "without a permit it says the same, and does not ask for one",
		spec: "a@1.0 needs=b@1.0; b@1.0 uninstall=on,apply", node: "a@1.0 apply:in_progress", gate: "no-permit",
		want: "wait a DependencyUninstalled; tell DependencyUninstalled; is blocked",
	},
	{
		name: "its pod runs: it comes to its end",
		spec: "a@1.0 needs=b@1.0; b@1.0 uninstall=on,apply", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "is in_progress",
	},
	{
		name: "its pod is done: the next stage does not begin",
		spec: "a@1.0 needs=b@1.0; b@1.0 uninstall=on,apply", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete run=r1; delete a-apply; wait a DependencyUninstalled; tell DependencyUninstalled; " +
			"is blocked; returned",
	},
	{
		name: "the dependency is to stay after all: it continues",
		spec: "a@1.0 needs=b@1.0; b@1.0 uninstall=on", node: "a@1.0 apply:in_progress; b@1.0 config:complete",
		want: "start a apply; is in_progress",
	},
}

// heldNodes: who is held keeps nobody else waiting.
var heldNodes = []row{
	{
		name: "an earlier Skyhook has work, and the pod is gone: the permit is given back",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed", gate: "turn",
		want: "wait WaitingForSkyhook; tell WaitingForSkyhook; is erroring; returned",
	},
	{
		name: "another Skyhook's interrupt waits: a pod that fails is deleted",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=1 reason=StepFailed", gate: "interrupted flight-of-another=reboot/b1",
		want: "delete a-apply; wait a WaitingForPodToEnd; wait WaitingForInterrupt; is erroring",
		also: "another's in flight",
	},
	{
		name: "another Skyhook's interrupt waits: so does a pod that is done",
		spec: "a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config done",
		gate: "interrupted flight-of-another=reboot/b1",
		want: "a@1.0 config:complete run=r1; delete a-config; is complete; returned",
		also: "another's in flight",
	},
	{
		name: "another Skyhook's interrupt waits: one that runs comes to its end",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		gate: "interrupted flight-of-another=reboot/b1",
		want: "wait WaitingForInterrupt; is waiting",
		also: "another's in flight",
	},
	{
		name: "disabled, and its pod is gone: released, with cordon and permit",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:skipped interrupt=service(x) boot=b1",
		gate: "ours clear disabled flight=service(x)/b1/r1",
		want: "disown cordon; uncordon; wait Disabled; tell Disabled; is disabled; returned",
		also: "nothing in flight",
	},
	{
		name: "disabled after its retries were exhausted: released",
		spec: "a@1.0 interrupt=service(x) retries=1",
		node: "a@1.0 interrupt:erroring restarts=1 reason=RetriesExhausted interrupt=service(x) boot=b1",
		gate: "ours clear disabled flight=service(x)/b1/r1",
		want: "disown cordon; uncordon; wait a RetriesExhausted; wait Disabled; tell RetriesExhausted; is disabled; returned",
		also: "nothing in flight",
	},
	{
		name: "disabled after its reboot did not happen: it is broken off, so that it keeps no other off the node",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:erroring reason=RebootTimeout interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours disabled",
		want: "a@1.0 interrupt:skipped run=r1 reason=RebootTimeout by reboot boot=b1; delete a-interrupt; " +
			"wait a WaitingForPodToEnd; wait Disabled; is disabled",
		also: "in flight reboot of a|1.0 boot=b1 run=r1",
	},
	{
		name: "enabled again: the interrupt is pending",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:skipped interrupt=service(x) boot=b1", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by service(x) boot=b1; start a interrupt service(x); is in_progress",
		also: "in flight service(x) of a|1.0 boot=b1 run=now; bound to boot=b1 run=now",
	},
	{
		name: "disabled while its reboot is under way: it comes to its end",
		spec: "a@1.0 interrupt=reboot", node: rebooting, gate: "ours clear disabled not-ready",
		want: "wait Disabled; tell Disabled; is disabled",
		also: "in flight reboot of a|1.0 boot=b1 run=now",
	},
}
