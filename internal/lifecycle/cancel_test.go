package lifecycle_test

import "testing"

func TestCancel(t *testing.T) {
	checkRows(t, []group{{"cancel", cancels}, {"cancel interrupt", cancelInterrupts}})
}

// cancels: specification 5.3, row 24, and 11.4, 5. What has not started does not start, a running pod goes before anything
// else of the package runs, and the package is installed again.
var cancels = []row{
	{
		name: "11.4#5 nothing had started: it stays installed",
		spec: "a@1.0^on", node: "a@1.0 config:complete", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "11.4#5 a running pod goes first",
		spec: "a@1.0^on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running",
		want: "delete a-uninstall; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "11.4#5 a failing pod goes first",
		spec: "a@1.0^on", node: "a@1.0 uninstall:erroring restarts=3 reason=StepFailed", pods: "a@1.0 uninstall failing restarts=3 reason=StepFailed",
		want: "delete a-uninstall; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "11.4#5 a pod that is done nobody noticed: it goes, and the package is installed again",
		spec: "a@1.0^on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		want: "delete a-uninstall; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "11.4#5 its pod ends: waited for",
		spec: "a@1.0^on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running terminating",
		want: "wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "11.4#5 its pod is gone: apply, and never config alone",
		spec: "a@1.0^on", node: "a@1.0 uninstall:in_progress",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "11.4#5 its pod is gone, and it was given up: apply",
		spec: "a@1.0^on~retries=1", node: "a@1.0 uninstall:erroring restarts=1 reason=RetriesExhausted",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "11.4#5 with an interrupt to come: the node is drained for the install",
		spec: "a@1.0^on!reboot", node: "a@1.0 uninstall:in_progress", gate: "ours left=Evicting",
		want: "wait a Evicting; tell Evicting; evict; again 5s; is in_progress",
	},
	{
		name: "11.4#5 the interrupt was owed: it does not run, apply",
		spec: "a@1.0^on!reboot", node: "a@1.0 uninstall:complete", gate: "ours clear",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "11.4#5 applied again: config follows, as of an install",
		spec: "a@1.0^on{k=1}?k:noop", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "11.4#5 without a permit: its pod goes, the install waits for its turn",
		spec: "a@1.0^on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running", gate: "no-permit",
		want: "delete a-uninstall; wait a WaitingForPermit; is waiting",
	},
	{
		name: "11.4#5 without a permit: what failed is no failure any more",
		spec: "a@1.0^on", node: "a@1.0 uninstall:erroring restarts=3 reason=StepFailed", gate: "no-permit",
		want: "wait a WaitingForPermit; is waiting",
	},
	{
		name: "11.4#5 paused: its pod goes",
		spec: "a@1.0^on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running", gate: "paused",
		want: "delete a-uninstall; wait Paused; is paused",
	},
	{
		name: "enabled is taken away: the same as cancelled",
		spec: "a@1.0^apply", node: "a@1.0 uninstall:in_progress",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "another operator left it undone: it is wanted, so it is installed",
		spec: "a@1.0^on", node: "a@1.0 uninstall:complete config=unknown run=", gate: "status=complete",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "11.4#7 another operator left it undone, and nobody wants it: it is forgotten, and no pod runs",
		spec: "a@1.0^on,apply", node: "a@1.0 uninstall:complete config=unknown run=",
		want: "Uninstalled a@1.0; forget a@1.0; is complete; returned",
	},
	{
		name: "what depends on it waits until it is installed again",
		spec: "a@1.0^on; b@1.0<a@1.0", node: "a@1.0 uninstall:in_progress",
		want: "a@1.0 apply:in_progress run=now; start a apply; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "cancelled, then asked for again while it is being installed: its pod goes first",
		spec: "a@1.0^on,apply", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "delete a-apply; wait a WaitingForPodToEnd; is in_progress",
	},
}

// cancelInterrupts: specification 5.3, row 25.
var cancelInterrupts = []row{
	{
		name: "11.4#5 it runs: to its end",
		spec: "a@1.0^on!service(x)", node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 uninstall-interrupt running", gate: "ours",
		want: "wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "11.4#5 it runs, and its pod is gone: it is made again, as the agent may have begun",
		spec: "a@1.0^on!service(x)", node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1", gate: "ours clear",
		want: "start a uninstall-interrupt service(x); wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "11.4#5 it ends: apply in the same pass",
		spec: "a@1.0^on!service(x)", node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 uninstall-interrupt done", gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; a@1.0 apply:in_progress run=now; delete a-uninstall-interrupt; start a apply; is in_progress",
	},
	{
		name: "11.4#5 a reboot is under way: waited for",
		spec: "a@1.0^on!reboot", node: undoReboot, gate: "ours not-ready boot=b2",
		want: "wait a WaitingForReboot; wait a WaitingForInterrupt; tell WaitingForReboot; is in_progress",
	},
	{
		name: "11.4#5 the node is back: its pod goes, then apply",
		spec: "a@1.0^on!reboot", node: undoReboot, pods: "a@1.0 uninstall-interrupt running run=now", gate: "ours boot=b2 clear",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; forget a@1.0; delete a-uninstall-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "11.4#5 it fails: it is given up, and its pod goes",
		spec: "a@1.0^on!service(x)", node: "a@1.0 uninstall-interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt failing restarts=1 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:skipped run=r1 restarts=1 reason=StepFailed by service(x) boot=b1; delete a-uninstall-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "11.4#5 it failed, and its pod is gone: apply",
		spec: "a@1.0^on!service(x)", node: "a@1.0 uninstall-interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1", gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:skipped; a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "11.4#5 merged into another's, which runs: that is waited for",
		spec: "a@1.0^on!service(x); b@1.0!service(y)",
		node: "a@1.0 uninstall-interrupt:skipped interrupt=service(x,y) boot=b1; b@1.0 interrupt:in_progress interrupt=service(x,y) boot=b1",
		pods: "b@1.0 interrupt running", gate: "ours",
		want: "wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "11.4#5 merged into another's, which never ran: apply",
		spec: "a@1.0^on", node: "a@1.0 uninstall-interrupt:skipped interrupt=service(x,y) boot=b1", gate: "ours clear",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "11.4#5 the version is raised, too: the interrupt runs to its end, then the new one is applied",
		spec: "a@1.1^on", kept: "old=a@1.0^on!service(x)", node: "a@1.0 uninstall-interrupt:in_progress def=old interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt done", gate: "ours",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; a@1.1 apply:in_progress run=now; forget a@1.0; delete a-uninstall-interrupt; start a apply; is in_progress",
	},
}
