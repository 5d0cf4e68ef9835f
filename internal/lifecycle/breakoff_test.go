package lifecycle_test

var breakOffTables = []group{
	{"not wanted any more", brokenOff},
	{"uninstall asked for", uninstallFromInterrupt},
	{"uninstall cancelled", cancelInterrupts},
	{"fixed while it fails", fixedInterrupts},
}

// brokenOff are interrupts whose owner left, was replaced, or is to run something else: one that runs comes to its end
// first, one that fails or has no pod does not.
var brokenOff = []row{
	{
		name: "it fails, and another is asked for: when the pod is gone that one runs",
		spec: "a@1.0 interrupt=service(y)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1", gate: "ours clear gen=8",
		want: "a@1.0 config:complete; a@1.0 interrupt:in_progress run=now by service(y) boot=b1 gen=8; " +
			"start a interrupt service(y); is in_progress",
	},
	{
		name: "it fails, and leaves the spec: complete without it",
		spec: "a@1.0", node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed exit=1", gate: "ours gen=8",
		want: "a@1.0 config:complete run=r1 gen=8; delete a-interrupt; is complete",
	},
	{
		name: "it fails, and the spec changed in something else: it continues",
		spec: "a@1.0 interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed exit=1", gate: "ours gen=8",
		want: "is erroring",
	},
	{
		name: "what runs is not replaced when the spec changes",
		spec: "a@1.0 hash=2 interrupt=service(z)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt running", gate: "ours",
		want: "is in_progress",
	},
	{
		name: "the package left the spec: its interrupt runs to its end",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt running", gate: "ours",
		want: "is complete",
	},
	{
		name: "the package left the spec, and its interrupt is done",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt done", gate: "ours",
		want: "a@1.0 interrupt:complete run=r1; disown cordon; uncordon; delete a-interrupt; is complete; returned",
	},
	{
		name: "the package left the spec, and its pod is gone",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", gate: "ours clear",
		want: "a@1.0 interrupt:skipped run=r1 since=-1h0m0s by service(x) boot=b1; disown cordon; uncordon; is complete; " +
			"returned",
	},
	{
		name: "higher, while an interrupt runs: the interrupt runs to its end",
		spec: "a@1.1", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt running",
		gate: "ours",
		want: "wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "higher, while an interrupt runs and its pod is gone: it is broken off, upgrade",
		spec: "a@1.1", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", gate: "ours",
		want: "a@1.0 interrupt:skipped run=r1 since=-1h0m0s by service(x) boot=b1; a@1.1 upgrade:in_progress run=now; " +
			"start a upgrade; is in_progress",
	},
	{
		name: "the owner leaves the spec while its pod runs: it runs to its end, for all",
		spec: "b@1.0 interrupt=service(y)",
		node: "a@1.0 interrupt:in_progress interrupt=service(x,y) boot=b1; " +
			"b@1.0 interrupt:skipped interrupt=service(x,y) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours",
		want: "a@1.0 interrupt:complete run=r1; b@1.0 interrupt:complete; b@1.0 post-interrupt:in_progress run=now; " +
			"delete a-interrupt; start b post-interrupt; is in_progress",
	},
	{
		name: "the owner is to be another version: another owner takes it over, the new version comes after it",
		spec: "a@1.1 interrupt=reboot; b@1.0 interrupt=reboot",
		node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1; b@1.0 interrupt:skipped interrupt=reboot boot=b1",
		gate: "ours",
		want: "a@1.0 interrupt:skipped run=r1 since=-1h0m0s by reboot boot=b1; look-drain; is in_progress",
	},
}

// uninstallFromInterrupt: an interrupt is not broken off, unless it keeps failing.
var uninstallFromInterrupt = []row{
	{
		name: "it runs: it is waited for",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt running", gate: "ours",
		want: "is in_progress",
	},
	{
		name: "it is done: uninstall in the same pass, and no post-interrupt",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt done", gate: "ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 uninstall:in_progress run=now; delete a-interrupt; start a uninstall; " +
			"is in_progress",
	},
	{
		name: "it fails: it is broken off, and its pod is deleted",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 interrupt:skipped run=r1 restarts=1 reason=StepFailed by service(x) boot=b1; delete a-interrupt; " +
			"wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "it starts to fail now: the next pass breaks it off",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 interrupt:erroring run=r1 restarts=1 reason=StepFailed by service(x) boot=b1; is erroring",
	},
	{
		name: "its pod is gone: it is made again, as somebody may wait for it",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", gate: "ours clear",
		want: "start a interrupt service(x); is in_progress",
	},
	{
		name: "merged into another's, which runs: that is waited for",
		spec: "a@1.0 interrupt=service(x); b@1.0 uninstall=on,apply interrupt=service(y)",
		node: "a@1.0 interrupt:in_progress interrupt=service(x,y) boot=b1; " +
			"b@1.0 interrupt:skipped interrupt=service(x,y) boot=b1",
		pods: "a@1.0 interrupt running", gate: "ours clear",
		want: "wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "merged into another's that never ran: uninstall",
		spec: "a@1.0; b@1.0 uninstall=on,apply interrupt=service(y)",
		node: "a@1.0 config:complete; b@1.0 interrupt:skipped interrupt=service(x,y) boot=b1", gate: "ours clear",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; is in_progress",
	},
	{
		name: "a reboot is under way: it is waited for",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt running run=now",
		gate: "ours not-ready",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the node is back: uninstall",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: rebooting, gate: "ours clear boot=b2",
		want: "a@1.0 interrupt:complete; a@1.0 uninstall:in_progress run=now!; start a uninstall; is in_progress",
	},
	{
		name: "the reboot never came: it is broken off",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot",
		node: "a@1.0 interrupt:erroring reason=RebootTimeout interrupt=reboot boot=b1", gate: "ours clear",
		want: "a@1.0 interrupt:skipped; a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
}

// cancelInterrupts: uninstall.apply is set back to false when the interrupt of the uninstall is pending or runs.
var cancelInterrupts = []row{
	{
		name: "it runs: to its end",
		spec: "a@1.0 uninstall=on interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 uninstall-interrupt running",
		gate: "ours",
		want: "wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "it runs, and its pod is gone: it is made again, as the agent may have begun",
		spec: "a@1.0 uninstall=on interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1", gate: "ours clear",
		want: "start a uninstall-interrupt service(x); wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "a reboot is under way: waited for",
		spec: "a@1.0 uninstall=on interrupt=reboot", node: uninstallReboot, gate: "ours not-ready boot=b2",
		want: "wait a WaitingForReboot; wait a WaitingForInterrupt; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the node is back: its pod is deleted, then apply",
		spec: "a@1.0 uninstall=on interrupt=reboot", node: uninstallReboot, pods: "a@1.0 uninstall-interrupt running run=now",
		gate: "ours boot=b2 clear",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; remove a@1.0; delete a-uninstall-interrupt; " +
			"wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "it fails: it is broken off, and its pod is deleted",
		spec: "a@1.0 uninstall=on interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt failing restarts=1 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:skipped run=r1 restarts=1 reason=StepFailed by service(x) boot=b1; " +
			"delete a-uninstall-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "it failed, and its pod is gone: apply",
		spec: "a@1.0 uninstall=on interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:skipped; a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "merged into another's, which runs: that is waited for",
		spec: "a@1.0 uninstall=on interrupt=service(x); b@1.0 interrupt=service(y)",
		node: "a@1.0 uninstall-interrupt:skipped interrupt=service(x,y) boot=b1; " +
			"b@1.0 interrupt:in_progress interrupt=service(x,y) boot=b1",
		pods: "b@1.0 interrupt running", gate: "ours",
		want: "wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "merged into another's, which never ran: apply",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall-interrupt:skipped interrupt=service(x,y) boot=b1",
		gate: "ours clear",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "the version is raised, too: the interrupt runs to its end, then the new one is applied",
		spec: "a@1.1 uninstall=on", kept: "old=a@1.0 uninstall=on interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress def=old interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt done", gate: "ours",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; a@1.1 apply:in_progress run=now; remove a@1.0; " +
			"delete a-uninstall-interrupt; start a apply; is in_progress",
	},
}

// fixedInterrupts fail, and then something is done about it: each way out of a failing interrupt. It is in flight until
// its pod is gone.
var fixedInterrupts = []row{
	{
		name: "it was held, and leaves the spec meanwhile: it does not run",
		spec: "a@1.0", node: "a@1.0 interrupt:skipped interrupt=reboot boot=b1", gate: "ours clear gen=8",
		want: "a@1.0 config:complete run=r1 gen=8; disown cordon; uncordon; is complete; returned",
		also: "nothing in flight",
	},
	{
		name: "its configMap is edited, but its reboot is under way by now: it comes to its end, or the node reboots twice",
		spec: "a@1.0 config{k=w} interrupt=reboot",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=reboot boot=b1 config{k=v}",
		pods: "a@1.0 interrupt done restarts=1", gate: "ours clear gen=8",
		want: "a@1.0 interrupt:erroring run=r1 restarts=1 since=-1h0m0s reason=RebootTimeout by reboot boot=b1; " +
			"is erroring",
		also: "in flight reboot of a|1.0 boot=b1 run=r1",
	},
	{
		name: "its configMap is fixed: it is broken off, and its pod is deleted",
		spec: "a@1.0 hash=2 config{k=2} interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed config{k=1} interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear gen=8",
		want: "a@1.0 config:complete run=r1 gen=8; delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
		also: "in flight service(x) of a|1.0 boot=b1 run=r1",
	},
	{
		name: "its configMap is fixed, and its pod is gone: config, and then the interrupt",
		spec: "a@1.0 hash=2 config{k=2} interrupt=service(x)", node: "a@1.0 config:complete config{k=1}",
		gate: "ours clear gen=8 flight=service(x)/b1/r1",
		want: "a@1.0 config:in_progress run=now gen=8; start a config; is in_progress",
		also: "nothing in flight",
	},
	{
		name: "its configMap is fixed after its retries were exhausted: the same",
		spec: "a@1.0 hash=2 config{k=2} interrupt=service(x) retries=1",
		node: "a@1.0 interrupt:erroring restarts=1 reason=RetriesExhausted config{k=1} interrupt=service(x) boot=b1",
		gate: "ours clear gen=8",
		want: "a@1.0 config:complete; a@1.0 config:in_progress run=now gen=8; start a config; is in_progress",
		also: "nothing in flight",
	},
	{
		name: "its env or image is fixed: it is broken off, and its pod is deleted",
		spec: "a@1.0 hash=2 interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear gen=8",
		want: "a@1.0 config:complete run=r1 gen=8; delete a-interrupt; wait a WaitingForOtherPods; is in_progress",
		also: "in flight service(x) of a|1.0 boot=b1 run=r1",
	},
	{
		name: "its env or image is fixed, and its pod is gone: it runs again, as another one",
		spec: "a@1.0 hash=2 interrupt=service(x)", node: "a@1.0 config:complete",
		gate: "ours clear gen=8 flight=service(x)/b1/r1",
		want: "a@1.0 interrupt:in_progress run=now by service(x) boot=b1; start a interrupt service(x); is in_progress",
		also: "in flight service(x) of a|1.0 boot=b1 run=now; bound to boot=b1 run=now",
	},
	{
		name: "its version is raised: it is broken off, and its pod is deleted",
		spec: "a@1.1 interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear gen=8",
		want: "a@1.0 interrupt:skipped run=r1 restarts=1 since=-1h0m0s reason=StepFailed by service(x) boot=b1; " +
			"delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
		also: "in flight service(x) of a|1.0 boot=b1 run=r1",
	},
	{
		name: "its version is raised, and its pod is gone: upgrade",
		spec: "a@1.1 interrupt=service(x)", node: "a@1.0 interrupt:skipped interrupt=service(x) boot=b1",
		gate: "ours clear gen=8 flight=service(x)/b1/r1",
		want: "a@1.1 upgrade:in_progress run=now gen=8; start a upgrade; is in_progress",
		also: "nothing in flight",
	},
	{
		name: "it leaves the spec: it is broken off, and its pod is deleted",
		spec: "b@1.0 interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1; " +
			"b@1.0 interrupt:skipped interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear gen=8",
		want: "a@1.0 interrupt:skipped run=r1 restarts=1 since=-1h0m0s reason=StepFailed by service(x) boot=b1; " +
			"delete a-interrupt; is in_progress",
		also: "in flight service(x) of a|1.0,b|1.0 boot=b1 run=r1",
	},
	{
		name: "it left the spec, and its pod is gone: one that was merged into it takes over",
		spec: "b@1.0 interrupt=service(x)",
		node: "a@1.0 interrupt:skipped interrupt=service(x) boot=b1; b@1.0 interrupt:skipped interrupt=service(x) boot=b1",
		gate: "ours clear gen=8 flight=service(x)/b1/r1",
		want: "b@1.0 interrupt:in_progress run=now by service(x) boot=b1; start b interrupt service(x); is in_progress",
		also: "in flight service(x) of a|1.0,b|1.0 boot=b1 run=now; bound to boot=b1 run=now",
	},
	{
		name: "the Skyhook is deleted, and a sibling has to leave: it is broken off, and its pod is deleted",
		spec: "a@1.0 interrupt=service(x); b@1.0 uninstall=on",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1; b@1.0 config:complete",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear gen=8 deleting",
		want: "a@1.0 interrupt:skipped run=r1 restarts=1 since=-1h0m0s reason=StepFailed by service(x) boot=b1; " +
			"delete a-interrupt; wait b WaitingForPodToEnd; is in_progress",
		also: "in flight service(x) of a|1.0 boot=b1 run=r1",
	},
	{
		name: "the Skyhook is deleted, its pod is gone: the sibling is uninstalled",
		spec: "a@1.0 interrupt=service(x); b@1.0 uninstall=on",
		node: "a@1.0 interrupt:skipped interrupt=service(x) boot=b1; b@1.0 config:complete",
		gate: "ours clear gen=8 deleting flight=service(x)/b1/r1",
		want: "b@1.0 uninstall:in_progress run=now gen=8; start b uninstall; is in_progress",
		also: "nothing in flight",
	},
	{
		name: "the Skyhook is deleted, and the package itself has to leave: it is broken off, and its pod is deleted",
		spec: "a@1.0 uninstall=on interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear gen=8 deleting",
		want: "a@1.0 interrupt:skipped run=r1 restarts=1 reason=StepFailed by service(x) boot=b1; delete a-interrupt; " +
			"wait a WaitingForPodToEnd; is in_progress",
		also: "in flight service(x) of a|1.0 boot=b1 run=r1",
	},
	{
		name: "its configMap is edited while it runs: it runs to its end",
		spec: "a@1.0 hash=2 config{k=2} interrupt=service(x)",
		node: "a@1.0 interrupt:in_progress config{k=1} interrupt=service(x) boot=b1", pods: "a@1.0 interrupt running",
		gate: "ours clear gen=8",
		want: "is in_progress",
		also: "in flight service(x) of a|1.0 boot=b1 run=r1",
	},
}
