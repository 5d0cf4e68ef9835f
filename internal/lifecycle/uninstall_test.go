package lifecycle_test

var uninstallTables = []group{
	{"life", uninstallLife},
	{"from any stage", uninstallFrom},
	{"never installed", neverInstalled},
	{"failures", uninstallFailures},
	{"cancel", cancels},
	{"edits", uninstallEdits},
	{"gates", uninstallGates},
	{"order", uninstallOrder},
	{"interrupt", uninstallInterrupts},
	{"reboot", uninstallReboots},
	{"merge", uninstallMerges},
}

// uninstallLife is an uninstall without anything in its way, from the edit of the spec to the last entry.
var uninstallLife = []row{
	{
		name: "complete: uninstall",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "it runs",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running",
		want: "is in_progress",
	},
	{
		name: "done: the entry is removed, the node is complete, and the permit is given back",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; delete a-uninstall; is complete; returned",
	},
	{
		name: "done, seen by an operator that stopped before it forgot the entry",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:complete",
		want: "Uninstalled a@1.0; remove a@1.0; is complete; returned",
	},
	{
		name: "uninstalled: nothing to do, whatever happens again",
		spec: "a@1.0 uninstall=on,apply", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "the other packages continue",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on; c@1.0",
		node: "a@1.0 config:complete; b@1.0 config:complete; c@1.0 apply:in_progress",
		pods: "c@1.0 apply done",
		want: "a@1.0 uninstall:in_progress run=now; c@1.0 apply:complete; c@1.0 config:in_progress run=now; " +
			"delete c-apply; start a uninstall; start c config; is in_progress",
	},
	{
		name: "apply without enabled means nothing: it stays",
		spec: "a@1.0 uninstall=apply", node: "a@1.0 config:complete",
		want: "is complete; returned",
	},
	{
		name: "with an interrupt: the node is cordoned before anything starts",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 post-interrupt:complete",
		want: "own cordon; cordon; wait a Cordoning; tell Cordoning; is in_progress",
	},
	{
		name: "with an interrupt: what has to leave the node?",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 post-interrupt:complete", gate: "ours",
		want: "look-drain; is in_progress",
	},
	{
		name: "with an interrupt: the node is drained",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 post-interrupt:complete",
		gate: "ours left=ProtectedPod",
		want: "wait a ProtectedPod; tell ProtectedPod; evict; again 5s; is in_progress",
	},
	{
		name: "with an interrupt: uninstall",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 post-interrupt:complete interrupt=reboot boot=b0",
		gate: "ours clear",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "done: the interrupt, in the same pass",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		gate: "ours clear",
		want: "a@1.0 uninstall:complete; a@1.0 uninstall-interrupt:in_progress run=now by reboot boot=b1; " +
			"delete a-uninstall; start a uninstall-interrupt reboot; is in_progress",
	},
	{
		name: "done, and nobody looked at the node again",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		gate: "ours",
		want: "a@1.0 uninstall:complete run=r1; delete a-uninstall; look-drain; is in_progress",
	},
	{
		name: "done, and other pods came: they leave first",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		gate: "ours left=Evicting",
		want: "a@1.0 uninstall:complete run=r1; delete a-uninstall; wait a Evicting; tell Evicting; evict; again 5s; " +
			"is in_progress",
	},
	{
		name: "done, seen by an operator that stopped before the interrupt",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", node: "a@1.0 uninstall:complete", gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:in_progress run=now by reboot boot=b1; start a uninstall-interrupt reboot; " +
			"is in_progress",
	},
	{
		name: "the interrupt is done: the entry is removed, the cordon is lifted, the permit is given back",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt done", gate: "ours",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; remove a@1.0; disown cordon; uncordon; " +
			"delete a-uninstall-interrupt; is complete; returned",
	},
	{
		name: "the interrupt is done, and its pod is still there: cordon and permit wait for it",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)", pods: "a@1.0 uninstall-interrupt done terminating",
		gate: "ours",
		want: "is complete",
	},
	{
		name: "another operator left it at its end",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)", node: "a@1.0 uninstall-interrupt:complete config=unknown run=",
		gate: "ours",
		want: "Uninstalled a@1.0; remove a@1.0; disown cordon; uncordon; is complete; returned",
	},
	{
		name: "installed by a change of its config: nothing of that is kept, its own interrupt is pending",
		spec: "a@1.0 config{k=v} uninstall=on,apply on:k=reboot interrupt=noop", node: "a@1.0 config:complete changed=k",
		gate: "ours clear",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
}

// uninstallFrom: from every stage and state at once, without regard to what failed there. Only
// its pods are waited for, so that there are never two of one package.
var uninstallFrom = func() []row {
	const spec = "a@1.0 uninstall=on,apply"
	var rows []row
	for _, stage := range []string{"apply", "upgrade", "config", "post-interrupt"} {
		for _, state := range []string{"in_progress", "erroring", "complete", "skipped", "unknown"} {
			node, pod := "a@1.0 "+stage+":"+state, "a@1.0 "+stage
			rows = append(rows,
				row{
					name: stage + ":" + state, spec: spec, node: node,
					want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
				},
				row{
					name: stage + ":" + state + ", its pod ends", spec: spec, node: node, pods: pod + " running terminating",
					want: "wait a WaitingForPodToEnd; is " + statusWhile(state),
				})
			for _, outcome := range []string{"running", "done", "failing", "stuck", "lost"} {
				rows = append(rows, row{
					name: stage + ":" + state + ", its pod is " + outcome + ": it goes first", spec: spec, node: node,
					pods: pod + " " + outcome,
					want: "delete a-" + stage + "; wait a WaitingForPodToEnd; is " + statusWhile(state),
				})
			}
		}
	}
	return rows
}()

// statusWhile is the node's status while an entry is in a state and the node has a permit.
func statusWhile(state string) string {
	if state == "erroring" {
		return state
	}
	return "in_progress"
}

// neverInstalled: there is nothing of the package to uninstall, or another version of it.
var neverInstalled = []row{
	{
		name: "nothing happens, and the node is complete",
		spec: "a@1.0 uninstall=on,apply",
		want: "is complete; returned",
	},
	{
		name: "with an interrupt: no cordon either",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot", gate: "no-permit",
		want: "is complete",
	},
	{
		name: "apply is set back: it is installed",
		spec: "a@1.0 uninstall=on",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "the other packages continue",
		spec: "a@1.0 uninstall=on,apply; b@1.0",
		want: "b@1.0 apply:in_progress run=now; start b apply; is in_progress",
	},
	{
		name: "another version is installed: that one is uninstalled, as it was installed",
		spec: "a@1.1 uninstall=on,apply", kept: "old=a@1.0 uninstall=on", node: "a@1.0 config:complete def=old",
		want: "a@1.0 uninstall:in_progress run=now def=old; start a uninstall as old; is in_progress",
	},
	{
		name: "what depends on it waits, and says for what",
		spec: "a@1.0 uninstall=on,apply; b@1.0 needs=a@1.0",
		want: "wait b DependencyUninstalled; tell DependencyUninstalled; is blocked; returned",
	},
	{
		name: "what depends on it and is complete stays so",
		spec: "a@1.0 uninstall=on,apply; b@1.0 needs=a@1.0", node: "b@1.0 config:complete",
		want: "is complete; returned",
	},
}

// uninstallFailures: an uninstall that fails is retried, unless a limit ends it.
var uninstallFailures = []row{
	{
		name: "it fails for the first time",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress",
		pods: "a@1.0 uninstall failing restarts=1 reason=StepFailed",
		want: "a@1.0 uninstall:erroring run=r1 restarts=1 reason=StepFailed; is erroring",
	},
	{
		name: "its image cannot be pulled, yet",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress",
		pods: "a@1.0 uninstall stuck reason=ErrImagePull created=-20s",
		want: "wait a PodCannotStart; again 40s; is in_progress",
	},
	{
		name: "its image cannot be pulled",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress",
		pods: "a@1.0 uninstall stuck reason=ErrImagePull",
		want: "a@1.0 uninstall:erroring run=r1 reason=ErrImagePull; is erroring",
	},
	{
		name: "its pod is lost",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall lost reason=Evicted",
		want: "a@1.0 uninstall:erroring run=now restarts=1 reason=Evicted; delete a-uninstall; is erroring",
	},
	{
		name: "its pod was lost: the pause",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:erroring restarts=2 reason=Evicted since=-5s",
		want: "wait a BackingOff; tell BackingOff; again 15s; is erroring",
	},
	{
		name: "somebody deleted its pod: made again, for the same run",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress gen=5",
		want: "start a uninstall; is in_progress",
	},
	{
		name: "the pod of an earlier run proves nothing",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress run=r2", pods: "a@1.0 uninstall done",
		want: "delete a-uninstall; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "maxRetries 1: any edit tries again",
		spec: "a@1.0 uninstall=on,apply retries=1", node: "a@1.0 uninstall:erroring restarts=1 reason=RetriesExhausted",
		gate: "gen=8",
		want: "a@1.0 uninstall:in_progress run=now gen=8; start a uninstall; is in_progress",
	},
	{
		name: "stageTimeout: an edit that repairs the definition tries again with it",
		spec: "a@1.0 hash=2 config{k=2} def=new uninstall=on,apply timeout=5m", kept: "old=a@1.0 config{k=1} uninstall=on",
		node: "a@1.0 uninstall:erroring reason=StageTimeout def=old", gate: "gen=8",
		want: "a@1.0 uninstall:in_progress run=now gen=8 def=new; start a uninstall; is in_progress",
	},
	{
		name: "the limits of a retained definition apply, too",
		kept: "old=a@1.0 uninstall=on,auto retries=1", node: "a@1.0 uninstall:in_progress def=old",
		pods: "a@1.0 uninstall failing restarts=1 reason=StepFailed",
		want: "a@1.0 uninstall:erroring run=r1 restarts=1 reason=RetriesExhausted def=old; delete a-uninstall; is erroring",
	},
}

// cancels: uninstall.apply is set back to false. What has not started does not start, a running pod goes before
// anything else of the package runs, and the package is installed again.
var cancels = []row{
	{
		name: "a running pod goes first",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running",
		want: "delete a-uninstall; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "a failing pod goes first",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:erroring restarts=3 reason=StepFailed",
		pods: "a@1.0 uninstall failing restarts=3 reason=StepFailed",
		want: "delete a-uninstall; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "a pod that is done nobody noticed: it goes, and the package is installed again",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		want: "delete a-uninstall; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "its pod is gone: apply, and never config alone",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "with an interrupt to come: the node is drained for the install",
		spec: "a@1.0 uninstall=on interrupt=reboot", node: "a@1.0 uninstall:in_progress", gate: "ours left=Evicting",
		want: "wait a Evicting; tell Evicting; evict; again 5s; is in_progress",
	},
	{
		name: "applied again: config follows, as of an install",
		spec: "a@1.0 uninstall=on config{k=1} on:k=noop", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "without a permit: its pod is deleted, the install waits for its turn",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running", gate: "no-permit",
		want: "delete a-uninstall; wait a WaitingForPermit; is waiting",
	},
	{
		name: "without a permit: what failed is no failure any more",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:erroring restarts=3 reason=StepFailed", gate: "no-permit",
		want: "wait a WaitingForPermit; is waiting",
	},
	{
		name: "paused: its pod is deleted",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running", gate: "paused",
		want: "delete a-uninstall; wait Paused; is paused",
	},
	{
		name: "enabled is taken away: the same as cancelled",
		spec: "a@1.0 uninstall=apply", node: "a@1.0 uninstall:in_progress",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "what depends on it waits until it is installed again",
		spec: "a@1.0 uninstall=on; b@1.0 needs=a@1.0", node: "a@1.0 uninstall:in_progress",
		want: "a@1.0 apply:in_progress run=now; start a apply; wait b WaitingForDependency; is in_progress",
	},
}
