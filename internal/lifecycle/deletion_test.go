package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestDeletion(t *testing.T) {
	checkRows(t, []group{{"deletion", deletions}, {"order", uninstallOrder}, {"serial", uninstallSerial}, {"abandoned", abandoned}})
}

// deletions: the Skyhook is being deleted; specification 5.7.
var deletions = []row{
	{
		name: "nothing is installed: complete",
		spec: "a@1.0^on", gate: "deleting",
		want: "is complete; returned",
	},
	{
		name: "enabled: undone, without being asked",
		spec: "a@1.0^on", node: "a@1.0 config:complete", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "enabled: done",
		spec: "a@1.0^on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done", gate: "deleting",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; forget a@1.0; delete a-uninstall; is complete; returned",
	},
	{
		name: "not enabled: its entry stays",
		spec: "a@1.0; b@1.0^on", node: "a@1.0 config:complete; b@1.0 uninstall:complete", gate: "deleting",
		want: "Uninstalled b@1.0; forget b@1.0; is complete; returned",
	},
	{
		name: "not enabled: its pod goes, whatever it does",
		spec: "a@1.0; b@1.0^on", node: "a@1.0 apply:in_progress; b@1.0 uninstall:in_progress", pods: "a@1.0 apply done; b@1.0 uninstall running", gate: "deleting",
		want: "delete a-apply; is in_progress",
	},
	{
		name: "not enabled: what failed does not matter any more",
		spec: "a@1.0; b@1.0^on", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed; b@1.0 uninstall:in_progress", pods: "b@1.0 uninstall running", gate: "deleting",
		want: "is in_progress",
	},
	{
		name: "not enabled: its interrupt is not begun any more",
		spec: "a@1.0!reboot; b@1.0^on", node: "a@1.0 config:complete; b@1.0 config:complete", gate: "deleting ours clear",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; is in_progress",
	},
	{
		name: "not enabled: its interrupt that runs ends first",
		spec: "a@1.0!service(x); b@1.0^on", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1; b@1.0 config:complete",
		pods: "a@1.0 interrupt running", gate: "deleting ours clear",
		want: "wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "not enabled: after its interrupt nothing of it follows",
		spec: "a@1.0!service(x); b@1.0^on", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1; b@1.0 config:complete",
		pods: "a@1.0 interrupt done", gate: "deleting ours clear",
		want: "a@1.0 interrupt:complete run=r1; b@1.0 uninstall:in_progress run=now; delete a-interrupt; start b uninstall; is in_progress",
	},
	{
		name: "not installed yet: it is not installed any more",
		spec: "a@1.0^on; b@1.0^on", node: "a@1.0 config:complete", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "11.4#1 half installed and failing: its pod goes",
		spec: "a@1.0^on", node: "a@1.0 apply:erroring restarts=3 reason=StepFailed", pods: "a@1.0 apply failing restarts=3 reason=StepFailed", gate: "deleting",
		want: "delete a-apply; wait a WaitingForPodToEnd; is erroring",
	},
	{
		name: "11.4#1 half installed and failing: undone",
		spec: "a@1.0^on", node: "a@1.0 apply:erroring restarts=3 reason=StepFailed", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "11.4#1 given up: undone",
		spec: "a@1.0^on~retries=0", node: "a@1.0 config:erroring reason=RetriesExhausted", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "its uninstall was given up: the deletion tries again, as it is a change",
		spec: "a@1.0^on,apply~retries=0", node: "a@1.0 uninstall:erroring reason=RetriesExhausted", gate: "deleting gen=8",
		want: "a@1.0 uninstall:in_progress run=now gen=8; start a uninstall; is in_progress",
	},
	{
		name: "another version is installed: that one, as it was installed",
		spec: "a@1.1^on", kept: "old=a@1.0", node: "a@1.0 config:complete def=old", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now def=old; start a uninstall as old; is in_progress",
	},
	{
		name: "it left the spec before, Refuse: undone now",
		kept: "old=a@1.0^on", node: "a@1.0 config:complete def=old", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now def=old; start a uninstall as old; is in_progress",
	},
	{
		name: "it left the spec before, not enabled: its entry stays",
		kept: "old=a@1.0", node: "a@1.0 config:complete def=old", gate: "deleting",
		want: "is complete; returned",
	},
	{
		name: "nobody kept how another version was installed: the node says so",
		spec: "a@1.1^on", node: "a@1.0 config:complete", gate: "deleting",
		want: "wait a DefinitionMissing; tell DefinitionMissing; is blocked; returned",
	},
	{
		name: "with an interrupt",
		spec: "a@1.0^on!service(x)", node: "a@1.0 uninstall:complete", gate: "deleting ours clear",
		want: "a@1.0 uninstall-interrupt:in_progress run=now by service(x) boot=b1; start a uninstall-interrupt service(x); is in_progress",
	},
	{
		name: "cancelled before the deletion, and not installed again yet: undone once more",
		spec: "a@1.0^on", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "deleting",
		want: "delete a-apply; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "no permit",
		spec: "a@1.0^on", node: "a@1.0 config:complete", gate: "deleting no-permit",
		want: "wait a WaitingForPermit; is waiting",
	},
	{
		name: "paused",
		spec: "a@1.0^on", node: "a@1.0 config:complete", gate: "deleting paused",
		want: "wait Paused; is paused",
	},
	{
		name: "disabled",
		spec: "a@1.0^on", node: "a@1.0 config:complete", gate: "deleting disabled",
		want: "wait Disabled; is disabled; returned",
	},
	{
		name: "reapply: nothing is applied again, so nothing is forgotten",
		spec: "a@1.0; b@1.0^on", node: "a@1.0 config:complete; b@1.0 uninstall:in_progress", pods: "b@1.0 uninstall running", gate: "deleting reapply last-boot=b0",
		want: "boot b1; is in_progress",
	},
}

// uninstallOrder: what was built on a package goes before it.
var uninstallOrder = []row{
	{
		name: "the dependent goes first",
		spec: "a@1.0^on,apply; b@1.0^on,apply<a@1.0", node: "a@1.0 config:complete; b@1.0 config:complete",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "the dependent runs",
		spec: "a@1.0^on,apply; b@1.0^on,apply<a@1.0", node: "a@1.0 config:complete; b@1.0 uninstall:in_progress", pods: "b@1.0 uninstall running",
		want: "wait a WaitingForDependent; is in_progress",
	},
	{
		name: "the dependent fails",
		spec: "a@1.0^on,apply; b@1.0^on,apply<a@1.0", node: "a@1.0 config:complete; b@1.0 uninstall:erroring restarts=1 reason=StepFailed",
		pods: "b@1.0 uninstall failing restarts=1 reason=StepFailed",
		want: "wait a WaitingForDependent; is erroring",
	},
	{
		name: "the dependent is undone after the other was looked at: next pass",
		spec: "a@1.0^on,apply; b@1.0^on,apply<a@1.0", node: "a@1.0 config:complete; b@1.0 uninstall:in_progress", pods: "b@1.0 uninstall done",
		want: "b@1.0 uninstall:complete; Uninstalled b@1.0; forget b@1.0; delete b-uninstall; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "the dependent is undone: in the same pass, when it was looked at before",
		spec: "a@1.0^on,apply<b@1.0; b@1.0^on,apply", node: "a@1.0 uninstall:in_progress; b@1.0 config:complete", pods: "a@1.0 uninstall done",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; b@1.0 uninstall:in_progress run=now; forget a@1.0; delete a-uninstall; start b uninstall; is in_progress",
	},
	{
		name: "the dependent is undone but for its interrupt: that can be one with the other's",
		spec: "a@1.0^on,apply!noop; b@1.0^on,apply!noop<a@1.0", node: "a@1.0 config:complete; b@1.0 uninstall:complete", gate: "ours clear",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "through others",
		spec: "a@1.0^on,apply; b@1.0^on,apply<a@1.0; c@1.0^on,apply<b@1.0", node: "a@1.0 config:complete; b@1.0 config:complete; c@1.0 config:complete",
		want: "c@1.0 uninstall:in_progress run=now; start c uninstall; wait a WaitingForDependent; wait b WaitingForDependent; is in_progress",
	},
	{
		name: "through others that stay",
		spec: "a@1.0^on; b@1.0<a@1.0; c@1.0^on<b@1.0", node: "a@1.0 config:complete; b@1.0 config:complete; c@1.0 config:complete", gate: "deleting",
		want: "c@1.0 uninstall:in_progress run=now; start c uninstall; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "a dependent that stays is no reason to wait",
		spec: "a@1.0^on,apply; b@1.0<a@1.0", node: "a@1.0 config:complete; b@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "independent ones go together",
		spec: "a@1.0^on,apply; b@1.0^on,apply", node: "a@1.0 config:complete; b@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; b@1.0 uninstall:in_progress run=now; start a uninstall; start b uninstall; is in_progress",
	},
	{
		name: "by what they were installed with",
		kept: "a=a@1.0^on,auto; b=b@1.0^on,auto<a@1.0", node: "a@1.0 config:complete def=a; b@1.0 config:complete def=b",
		want: "b@1.0 uninstall:in_progress run=now def=b; start b uninstall as b; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "a cycle: together",
		spec: "a@1.0^on,apply<b@1.0; b@1.0^on,apply<a@1.0", node: "a@1.0 config:complete; b@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; b@1.0 uninstall:in_progress run=now; start a uninstall; start b uninstall; is in_progress",
	},
	{
		name: "a cycle of three, and what is built on it goes first",
		spec: "a@1.0^on,apply<c@1.0; b@1.0^on,apply<a@1.0; c@1.0^on,apply<b@1.0; d@1.0^on,apply<b@1.0",
		node: "a@1.0 config:complete; b@1.0 config:complete; c@1.0 config:complete; d@1.0 config:complete",
		want: "d@1.0 uninstall:in_progress run=now; start d uninstall; wait a WaitingForDependent; wait b WaitingForDependent; wait c WaitingForDependent; is in_progress",
	},
	{
		name: "one that depends on itself",
		spec: "a@1.0^on,apply<a@1.0", node: "a@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "its pod is lost, and what is built on it is to go as well by now: that goes first",
		spec: "a@1.0^on,apply; b@1.0^on,apply<a@1.0", node: "a@1.0 uninstall:in_progress; b@1.0 config:complete",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "what goes and what comes do not wait for each other",
		spec: "a@1.0^on,apply; b@1.0", node: "a@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; b@1.0 apply:in_progress run=now; start a uninstall; start b apply; is in_progress",
	},
}

// uninstallSerial: one package at a time, those that go before those that come.
var uninstallSerial = []row{
	{
		name: "what goes, goes first",
		spec: "a@1.0; b@1.0^on,apply", node: "b@1.0 config:complete", gate: "serial",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a WaitingForSerial; is in_progress",
	},
	{
		name: "one by one",
		spec: "a@1.0^on,apply; b@1.0^on,apply", node: "a@1.0 config:complete; b@1.0 config:complete", gate: "serial",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "dependents first",
		spec: "a@1.0^on,apply; b@1.0^on,apply<a@1.0", node: "a@1.0 config:complete; b@1.0 config:complete", gate: "serial",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a WaitingForSerial; is in_progress",
	},
	{
		name: "one that has begun comes before the first by name",
		spec: "a@1.0^on,apply; b@1.0^on,apply", node: "a@1.0 config:complete; b@1.0 uninstall:in_progress", pods: "b@1.0 uninstall running", gate: "serial",
		want: "wait a WaitingForSerial; is in_progress",
	},
	{
		name: "one that has begun ends with its interrupt",
		spec: "a@1.0^on,apply!noop; b@1.0^on,apply!noop", node: "a@1.0 config:complete; b@1.0 uninstall:complete", gate: "serial ours clear",
		want: "b@1.0 uninstall-interrupt:in_progress run=now by noop boot=b1; start b uninstall-interrupt noop; wait a WaitingForSerial; is in_progress",
	},
	{
		name: "one that is done makes room in the same pass",
		spec: "a@1.0^on,apply; b@1.0", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done", gate: "serial",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; b@1.0 apply:in_progress run=now; forget a@1.0; delete a-uninstall; start b apply; is in_progress",
	},
	{
		name: "one that has begun, and whose pod is lost, lets what is built on it go first",
		spec: "a@1.0^on,apply; b@1.0^on,apply<a@1.0", node: "a@1.0 uninstall:in_progress; b@1.0 config:complete", gate: "serial",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "one that nobody knows how to undo has no turn",
		spec: "a@1.0^on,auto; b@1.0", node: "a@1.1 config:complete", gate: "serial",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a DefinitionMissing; wait a WaitingForUninstall; tell DefinitionMissing; is in_progress",
	},
	{
		name: "one that is cancelled has begun: it is installed again before others",
		spec: "a@1.0; b@1.0^on", node: "b@1.0 uninstall:in_progress", gate: "serial",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a WaitingForSerial; is in_progress",
	},
	{
		name: "a deletion, one by one",
		spec: "a@1.0^on; b@1.0; c@1.0^on", node: "a@1.0 config:complete; b@1.0 apply:in_progress; c@1.0 config:complete", gate: "serial deleting",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; wait c WaitingForSerial; is in_progress",
	},
}

// abandoned: the user gave the node up; nothing is undone there any more.
var abandoned = []row{
	{
		name: "it was asked for: nothing happens, and the node is complete",
		spec: "a@1.0^on,apply", node: "a@1.0 config:complete", gate: "abandoned",
		want: "is complete; returned",
	},
	{
		name: "it runs: its pod goes, and the entry tells how far it got",
		spec: "a@1.0^on,apply", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running", gate: "abandoned",
		want: "delete a-uninstall; is complete",
	},
	{
		name: "its interrupt is owed: it does not run",
		spec: "a@1.0^on,apply!noop", node: "a@1.0 uninstall:complete", gate: "abandoned ours clear",
		want: "disown cordon; uncordon; is complete; returned",
	},
	{
		name: "an interrupt of its install is owed: it does not run",
		spec: "a@1.0^on,apply!noop", node: "a@1.0 config:complete", gate: "abandoned ours clear",
		want: "disown cordon; uncordon; is complete; returned",
	},
	{
		name: "its interrupt runs: to its end",
		spec: "a@1.0^on,apply!service(x)", node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 uninstall-interrupt running", gate: "abandoned ours",
		want: "is complete",
	},
	{
		name: "it left the spec: its entry stays",
		kept: "old=a@1.0^on,auto", node: "a@1.0 config:complete def=old", gate: "abandoned",
		want: "is complete; returned",
	},
	{
		name: "nobody knows how to undo it: the node is complete",
		spec: "a@1.1^on,apply", node: "a@1.0 config:complete", gate: "abandoned",
		want: "is complete; returned",
	},
	{
		name: "the Skyhook is being deleted: complete",
		spec: "a@1.0^on", node: "a@1.0 uninstall:erroring restarts=9 reason=StepFailed", gate: "abandoned deleting",
		want: "is complete; returned",
	},
	{
		name: "other packages are installed",
		spec: "a@1.0^on,apply; b@1.0", node: "a@1.0 config:complete", gate: "abandoned",
		want: "b@1.0 apply:in_progress run=now; start b apply; is in_progress",
	},
}

// TestUndoing: what is told about packages that go.
func TestUndoing(t *testing.T) {
	for _, c := range []struct {
		name           string
		spec, node     string
		gate           string
		undoing        []string
		failure        string
		interrupting   bool
		packageOfAOver bool
	}{
		{name: "installed", spec: "a@1.0^on", node: "a@1.0 config:complete", packageOfAOver: true},
		{name: "asked for, not begun", spec: "a@1.0^on,apply", node: "a@1.0 config:complete", packageOfAOver: true},
		{name: "it runs", spec: "a@1.0^on,apply", node: "a@1.0 uninstall:in_progress", undoing: []string{"a|1.0"}},
		{name: "it fails", spec: "a@1.0^on,apply", node: "a@1.0 uninstall:erroring", undoing: []string{"a|1.0"}, failure: "a|1.0"},
		{name: "its interrupt runs", spec: "a@1.0^on,apply", node: "a@1.0 uninstall-interrupt:in_progress", undoing: []string{"a|1.0"}, interrupting: true},
		{name: "it is cancelled", spec: "a@1.0^on", node: "a@1.0 uninstall:erroring"},
		{name: "it is cancelled, but its interrupt runs", spec: "a@1.0^on", node: "a@1.0 uninstall-interrupt:in_progress", undoing: []string{"a|1.0"}, interrupting: true},
		{name: "given up", spec: "a@1.0^on,apply", node: "a@1.0 uninstall:erroring", gate: "abandoned"},
		{name: "given up at deletion", spec: "a@1.0^on,apply", node: "a@1.0 uninstall:erroring", gate: "abandoned deleting"},
		{
			name: "deletion: only what goes", spec: "a@1.0; b@1.0^on; c@1.0^on", gate: "deleting",
			node: "a@1.0 apply:erroring; b@1.0 uninstall:in_progress; c@1.0 uninstall:erroring", undoing: []string{"b|1.0", "c|1.0"}, failure: "c|1.0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(t, row{spec: c.spec, node: c.node, gate: c.gate})
			var undoing []string
			for _, e := range lifecycle.Undoing(o.Wanted, o.Record) {
				undoing = append(undoing, e.Key())
			}
			if diff := cmp.Diff(c.undoing, undoing); diff != "" {
				t.Errorf("undoing, -want +got\n%s", diff)
			}
			failure, failed := lifecycle.FirstFailure(o.Wanted, o.Record)
			if failed != (c.failure != "") || failed && failure.Key() != c.failure {
				t.Errorf("failure %t %s, want %q", failed, failure.Key(), c.failure)
			}
			if got := lifecycle.Interrupting(o.Record); got != c.interrupting {
				t.Errorf("interrupting %t", got)
			}
			if got := o.PackageComplete(o.Record, "a"); got != c.packageOfAOver {
				t.Errorf("a is complete: %t", got)
			}
		})
	}
}

// TestLeaveByForce: on a node that the user gave up nothing is waited for, not even for pods to end; package states stay.
func TestLeaveByForce(t *testing.T) {
	o := lifecycle.Observation{
		Wanted: lifecycle.Wanted{Packages: packages(t, "a@1.0^on"), Deleting: true, Abandoned: true}, Now: now,
		Pods:   pods(t, "a@1.0 uninstall running; b@1.0 apply running terminating"),
		Record: record.Node{Status: v1alpha1.StatusErroring, Packages: entries(t, "a@1.0 uninstall:erroring", lifecycle.Wanted{})},
	}
	d := lifecycle.Leave(o)
	if !d.Leaving || !d.Force || d.Clear || len(d.Delete) != 2 {
		t.Errorf("with pods: leaving %t, by force %t, clear %t, deletes %v", d.Leaving, d.Force, d.Clear, d.Delete)
	}
	o.Pods = nil
	if d = lifecycle.Leave(o); !d.Clear || len(d.Record.Packages) != 1 {
		t.Errorf("without pods: clear %t, package states %v", d.Clear, d.Record.Packages)
	}
	o.Abandoned = false
	if d = lifecycle.Leave(o); d.Force {
		t.Error("by force, though nobody gave the node up")
	}
}
