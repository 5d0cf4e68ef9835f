package lifecycle_test

// deletions: the Skyhook is being deleted.
var deletions = []row{
	{
		name: "nothing is installed: complete",
		spec: "a@1.0 uninstall=on", gate: "deleting",
		want: "is complete; returned",
	},
	{
		name: "enabled: uninstalled, without being asked",
		spec: "a@1.0 uninstall=on", node: "a@1.0 config:complete", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "enabled: done",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done", gate: "deleting",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; delete a-uninstall; is complete; returned",
	},
	{
		name: "not enabled: its entry stays",
		spec: "a@1.0; b@1.0 uninstall=on", node: "a@1.0 config:complete; b@1.0 uninstall:complete", gate: "deleting",
		want: "Uninstalled b@1.0; remove b@1.0; is complete; returned",
	},
	{
		name: "not enabled: its pod is deleted, whatever it does",
		spec: "a@1.0; b@1.0 uninstall=on", node: "a@1.0 apply:in_progress; b@1.0 uninstall:in_progress",
		pods: "a@1.0 apply done; b@1.0 uninstall running", gate: "deleting",
		want: "delete a-apply; is in_progress",
	},
	{
		name: "not enabled: what failed does not matter any more",
		spec: "a@1.0; b@1.0 uninstall=on",
		node: "a@1.0 apply:erroring restarts=1 reason=StepFailed; b@1.0 uninstall:in_progress",
		pods: "b@1.0 uninstall running", gate: "deleting",
		want: "is in_progress",
	},
	{
		name: "not enabled: its interrupt is not begun any more",
		spec: "a@1.0 interrupt=reboot; b@1.0 uninstall=on", node: "a@1.0 config:complete; b@1.0 config:complete",
		gate: "deleting ours clear",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; is in_progress",
	},
	{
		name: "not enabled: its interrupt that runs ends first",
		spec: "a@1.0 interrupt=service(x); b@1.0 uninstall=on",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1; b@1.0 config:complete",
		pods: "a@1.0 interrupt running", gate: "deleting ours clear",
		want: "wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "not enabled: after its interrupt nothing of it follows",
		spec: "a@1.0 interrupt=service(x); b@1.0 uninstall=on",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1; b@1.0 config:complete",
		pods: "a@1.0 interrupt done", gate: "deleting ours clear",
		want: "a@1.0 interrupt:complete run=r1; b@1.0 uninstall:in_progress run=now; delete a-interrupt; " +
			"start b uninstall; is in_progress",
	},
	{
		name: "not installed yet: it is not installed any more",
		spec: "a@1.0 uninstall=on; b@1.0 uninstall=on", node: "a@1.0 config:complete", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "half installed and failing: uninstalled",
		spec: "a@1.0 uninstall=on", node: "a@1.0 apply:erroring restarts=3 reason=StepFailed", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "its uninstall failed permanently: the deletion tries again, as it is a change",
		spec: "a@1.0 uninstall=on,apply retries=0", node: "a@1.0 uninstall:erroring reason=RetriesExhausted",
		gate: "deleting gen=8",
		want: "a@1.0 uninstall:in_progress run=now gen=8; start a uninstall; is in_progress",
	},
	{
		name: "another version is installed: that one, as it was installed",
		spec: "a@1.1 uninstall=on", kept: "old=a@1.0", node: "a@1.0 config:complete def=old", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now def=old; start a uninstall as old; is in_progress",
	},
	{
		name: "it left the spec before, Refuse: uninstalled now",
		kept: "old=a@1.0 uninstall=on", node: "a@1.0 config:complete def=old", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now def=old; start a uninstall as old; is in_progress",
	},
	{
		name: "nobody kept how another version was installed: the node says so",
		spec: "a@1.1 uninstall=on", node: "a@1.0 config:complete", gate: "deleting",
		want: "wait a DefinitionMissing; tell DefinitionMissing; is blocked; returned",
	},
	{
		name: "with an interrupt",
		spec: "a@1.0 uninstall=on interrupt=service(x)", node: "a@1.0 uninstall:complete", gate: "deleting ours clear",
		want: "a@1.0 uninstall-interrupt:in_progress run=now by service(x) boot=b1; " +
			"start a uninstall-interrupt service(x); is in_progress",
	},
	{
		name: "cancelled before the deletion, and not installed again yet: uninstalled once more",
		spec: "a@1.0 uninstall=on", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "deleting",
		want: "delete a-apply; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "paused",
		spec: "a@1.0 uninstall=on", node: "a@1.0 config:complete", gate: "deleting paused",
		want: "wait Paused; tell Paused; is paused",
	},
	{
		name: "reapply: nothing is applied again, so nothing is forgotten",
		spec: "a@1.0; b@1.0 uninstall=on", node: "a@1.0 config:complete; b@1.0 uninstall:in_progress",
		pods: "b@1.0 uninstall running", gate: "deleting reapply last-boot=b0",
		want: "boot b1; is in_progress",
	},
}

// abandoned: the user abandoned the uninstall on the node; nothing is uninstalled there any more.
var abandoned = []row{
	{
		name: "it was asked for: nothing happens, and the node is complete",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 config:complete", gate: "abandoned",
		want: "is complete; returned",
	},
	{
		name: "it runs: its pod is deleted, and the entry tells how far it got",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running",
		gate: "abandoned",
		want: "delete a-uninstall; is complete",
	},
	{
		name: "an interrupt of its install is pending: it does not run",
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 config:complete", gate: "abandoned ours clear",
		want: "disown cordon; uncordon; is complete; returned",
	},
	{
		name: "its interrupt runs: to its end",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 uninstall-interrupt running",
		gate: "abandoned ours",
		want: "is complete",
	},
	{
		name: "nobody knows how to uninstall it: the node is complete",
		spec: "a@1.1 uninstall=on,apply", node: "a@1.0 config:complete", gate: "abandoned",
		want: "is complete; returned",
	},
	{
		name: "the Skyhook is being deleted: complete",
		spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:erroring restarts=9 reason=StepFailed", gate: "abandoned deleting",
		want: "is complete; returned",
	},
	{
		name: "other packages are installed",
		spec: "a@1.0 uninstall=on,apply; b@1.0", node: "a@1.0 config:complete", gate: "abandoned",
		want: "b@1.0 apply:in_progress run=now; start b apply; is in_progress",
	},
}
