package lifecycle_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

const uninstallReboot = "a@1.0 uninstall-interrupt:in_progress run=now interrupt=reboot boot=b1"

// uninstallInterrupts: the interrupt after an uninstall goes the ways of any other.
var uninstallInterrupts = []row{
	{
		name: "it runs",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 uninstall-interrupt running",
		gate: "ours",
		want: "is in_progress",
	},
	{
		name: "it fails",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt failing restarts=1 reason=StepFailed exit=1", gate: "ours",
		want: "a@1.0 uninstall-interrupt:erroring run=r1 restarts=1 reason=StepFailed by service(x) boot=b1; is erroring",
	},
	{
		name: "maxRetries 0: permanently failed",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x) retries=0",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt failing reason=StepFailed exit=1", gate: "ours",
		want: "a@1.0 uninstall-interrupt:erroring run=r1 reason=RetriesExhausted by service(x) boot=b1; " +
			"delete a-uninstall-interrupt; wait a RetriesExhausted; is erroring",
	},
	{
		name: "maxRetries 0: an edit tries again",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x) retries=0",
		node: "a@1.0 uninstall-interrupt:erroring reason=RetriesExhausted interrupt=service(x) boot=b1",
		gate: "ours clear gen=8",
		want: "a@1.0 uninstall-interrupt:in_progress run=now by service(x) boot=b1 gen=8; " +
			"start a uninstall-interrupt service(x); is in_progress",
	},
	{
		name: "it fails, and leaves the spec: uninstalled without it",
		spec: "a@1.0 uninstall=on,apply",
		node: "a@1.0 uninstall-interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt failing restarts=1 reason=StepFailed exit=1", gate: "ours gen=8",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; delete a-uninstall-interrupt; is complete",
	},
	{
		name: "it fails, and another is asked for: when the pod is gone that one runs",
		spec: "a@1.0 uninstall=on,apply interrupt=service(y)",
		node: "a@1.0 uninstall-interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		gate: "ours clear gen=8",
		want: "a@1.0 uninstall:complete; a@1.0 uninstall-interrupt:in_progress run=now by service(y) boot=b1 gen=8; " +
			"start a uninstall-interrupt service(y); is in_progress",
	},
	{
		name: "it fails, and the spec changed in something else: it continues",
		spec: "a@1.0 hash=2 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt failing restarts=1 reason=StepFailed exit=1", gate: "ours gen=8",
		want: "a@1.0 uninstall:complete run=r1 gen=8; delete a-uninstall-interrupt; wait a WaitingForOtherPods; " +
			"is in_progress",
	},
	{
		name: "its pod is lost",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt lost reason=Evicted", gate: "ours",
		want: "a@1.0 uninstall-interrupt:erroring run=now restarts=1 reason=Evicted by service(x) boot=b1; " +
			"delete a-uninstall-interrupt; is erroring",
	},
	{
		name: "its pod ends, because somebody deleted it",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt running terminating", gate: "ours",
		want: "wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "what runs is not replaced when the spec changes",
		spec: "a@1.0 hash=2 uninstall=on,apply interrupt=service(z)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 uninstall-interrupt running",
		gate: "ours",
		want: "is in_progress",
	},
	{
		name: "it waits for another package's stage",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot; b@1.0", node: "a@1.0 uninstall:complete; b@1.0 apply:in_progress",
		pods: "b@1.0 apply running", gate: "ours clear",
		want: "wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "it waits for another package's uninstall",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot; b@1.0 uninstall=on,apply",
		node: "a@1.0 uninstall:complete; b@1.0 uninstall:erroring restarts=1 reason=StepFailed",
		pods: "b@1.0 uninstall failing restarts=1 reason=StepFailed", gate: "ours clear",
		want: "wait a WaitingForInterrupt; is erroring",
	},
	{
		name: "it waits for the pods of other Skyhooks",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 uninstall:complete", gate: "ours clear other-pods=1",
		want: "wait a WaitingForOtherPods; tell WaitingForOtherPods; is in_progress",
	},
	{
		name: "nothing starts while it runs",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x); b@1.0; c@1.0 uninstall=on,apply",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1; c@1.0 config:complete",
		pods: "a@1.0 uninstall-interrupt running", gate: "ours",
		want: "wait c WaitingForInterrupt; wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "it ends: what waited for it starts in the same pass",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x); b@1.0; c@1.0 uninstall=on,apply",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1; c@1.0 config:complete",
		pods: "a@1.0 uninstall-interrupt done", gate: "ours",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; c@1.0 uninstall:in_progress run=now; " +
			"b@1.0 apply:in_progress run=now; " +
			"remove a@1.0; delete a-uninstall-interrupt; start c uninstall; start b apply; is in_progress",
	},
}

// uninstallReboots: only the boot id tells that a reboot is over.
var uninstallReboots = []row{
	{
		name: "its pod is done, the node is still up",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: uninstallReboot,
		pods: "a@1.0 uninstall-interrupt done run=now",
		gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "killed as the node goes down: no failure",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: uninstallReboot,
		pods: "a@1.0 uninstall-interrupt failing run=now exit=143", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the node is up, but not Ready",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: uninstallReboot, gate: "ours boot=b2 not-ready",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the node is back: uninstalled; cordon and permit wait for the pod",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: uninstallReboot,
		pods: "a@1.0 uninstall-interrupt running run=now", gate: "ours boot=b2",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; remove a@1.0; delete a-uninstall-interrupt; " +
			"is complete",
	},
	{
		name: "the node is back, and its pod is gone: uninstalled",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: uninstallReboot, gate: "ours boot=b2",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; remove a@1.0; disown cordon; uncordon; is complete; " +
			"returned",
	},
	{
		name: "no reboot for 20 minutes",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=reboot boot=b1", pods: "a@1.0 uninstall-interrupt done",
		gate: "ours",
		want: "a@1.0 uninstall-interrupt:erroring run=r1 reason=RebootTimeout by reboot boot=b1; is erroring",
	},
	{
		name: "stageTimeout of the retained definition is its limit",
		kept: "old=a@1.0 uninstall=on,auto interrupt=reboot timeout=45m", node: uninstallReboot + " def=old",
		pods: "a@1.0 uninstall-interrupt running run=now", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 45m0s; is in_progress",
	},
}

// uninstallMerges: interrupts of what goes and of what comes are one.
var uninstallMerges = []row{
	{
		name: "one that comes owns it",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x); b@1.0 interrupt=service(y)",
		node: "a@1.0 uninstall:complete; b@1.0 config:complete", gate: "ours clear",
		want: "b@1.0 interrupt:in_progress run=now by service(x,y) boot=b1; " +
			"a@1.0 uninstall-interrupt:skipped run=now by service(x,y) boot=b1; " +
			"start b interrupt service(x,y); is in_progress",
	},
	{
		name: "the higher rank owns it, though it goes",
		spec: "a@1.0 interrupt=service(x); b@1.0 uninstall=on,apply interrupt=reboot",
		node: "a@1.0 config:complete; b@1.0 uninstall:complete", gate: "ours clear",
		want: "a@1.0 interrupt:skipped run=now by reboot boot=b1; " +
			"b@1.0 uninstall-interrupt:in_progress run=now by reboot boot=b1; " +
			"start b uninstall-interrupt reboot; is in_progress",
	},
	{
		name: "two that go",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x); b@1.0 uninstall=on,apply interrupt=service(y)",
		node: "a@1.0 uninstall:complete; b@1.0 uninstall:complete", gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:in_progress run=now by service(x,y) boot=b1; " +
			"b@1.0 uninstall-interrupt:skipped run=now by service(x,y) boot=b1; " +
			"start a uninstall-interrupt service(x,y); is in_progress",
	},
	{
		name: "done: what goes is gone, what comes continues",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x); b@1.0 interrupt=service(y)",
		node: "a@1.0 uninstall-interrupt:skipped interrupt=service(x,y) boot=b1; " +
			"b@1.0 interrupt:in_progress interrupt=service(x,y) boot=b1",
		pods: "b@1.0 interrupt done", gate: "ours",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; b@1.0 interrupt:complete; " +
			"b@1.0 post-interrupt:in_progress run=now; " +
			"remove a@1.0; delete b-interrupt; start b post-interrupt; is in_progress",
	},
	{
		name: "the node is back from the reboot of another that left the spec: what goes is gone",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 uninstall-interrupt:skipped interrupt=reboot boot=b1",
		gate: "ours boot=b2",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; remove a@1.0; disown cordon; uncordon; is complete; " +
			"returned",
	},
	{
		name: "skipped without an owner, while the node reboots: wait and see",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 uninstall-interrupt:skipped interrupt=reboot boot=b1",
		gate: "ours clear boot=b2 not-ready",
		want: "wait a WaitingForReboot; tell WaitingForReboot; is in_progress",
	},
	{
		name: "skipped without an owner, and no reboot: it reboots by itself",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 uninstall-interrupt:skipped interrupt=reboot boot=b1",
		gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:in_progress run=now by reboot boot=b1; start a uninstall-interrupt reboot; " +
			"is in_progress",
	},
	{
		name: "the owner's own uninstall is cancelled: the interrupt runs to its end, for all",
		spec: "a@1.0 uninstall=on interrupt=service(x); b@1.0 uninstall=on,apply interrupt=service(y)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x,y) boot=b1; " +
			"b@1.0 uninstall-interrupt:skipped interrupt=service(x,y) boot=b1",
		pods: "a@1.0 uninstall-interrupt done", gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; b@1.0 uninstall-interrupt:complete; " +
			"Uninstalled b@1.0; a@1.0 apply:in_progress run=now; " +
			"remove b@1.0; delete a-uninstall-interrupt; start a apply; is in_progress",
	},
	{
		name: "what comes owned it and failed, and is to go now: the one that goes runs its own",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x); b@1.0 uninstall=on,apply interrupt=service(y)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x,y) boot=b1; " +
			"b@1.0 uninstall-interrupt:skipped interrupt=service(x,y) boot=b1",
		gate: "ours clear",
		want: "a@1.0 interrupt:skipped; a@1.0 uninstall:in_progress run=now; start a uninstall; " +
			"wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "of what goes and comes back in another version: the version that goes first",
		spec: "a@1.0 uninstall=on,auto interrupt=service(x)", kept: "old=a@1.1 uninstall=on,auto interrupt=service(y)",
		node: "a@1.1 uninstall:complete def=old", gate: "ours clear",
		want: "a@1.1 uninstall-interrupt:in_progress run=now by service(y) boot=b1 def=old; " +
			"start a uninstall-interrupt service(y) as old; " +
			"wait a WaitingForUninstall; is in_progress",
	},
}

// TestUninstallInterruptAfterAnEdit: an edit between an uninstall and its interrupt is no reason to break that off once
// it fails; it would begin again and again, and never run out of retries.
func TestUninstallInterruptAfterAnEdit(t *testing.T) {
	o := observation(t, row{
		spec: "a@1.0 uninstall=on,apply config{k=2} interrupt=service(x)",
		node: "a@1.0 uninstall:complete config{k=1}", gate: "ours clear",
	})
	d := lifecycle.Next(o)
	o.Record, o.InFlight = d.Record, d.InFlight
	o.Pods = pods(t, "a@1.0 uninstall-interrupt failing run=now restarts=1 reason=StepFailed")
	for range 3 {
		d = lifecycle.Next(o)
		if e := d.Record.Packages["a|1.0"]; len(d.Delete)+len(d.Start) > 0 || e.State != "erroring" || e.Run != nowRun ||
			e.Restarts != 1 {
			t.Fatalf("deletes %v, starts %v, records %+v", d.Delete, d.Start, e)
		}
		o.Record, o.InFlight = d.Record, d.InFlight
	}
}
