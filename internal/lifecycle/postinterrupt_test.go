package lifecycle_test

var postInterruptTables = []group{
	{"edits", postInterrupts},
}

// postInterrupts: what follows an interrupt runs until it succeeds, whatever is edited meanwhile.
var postInterrupts = []row{
	{
		name: "changed during post-interrupt: back to config, for the new change",
		spec: "a@1.0 hash=2 config{k=2,l=2} on:k=service(x)",
		node: "a@1.0 post-interrupt:in_progress config{k=2,l=1} changed=k",
		pods: "a@1.0 post-interrupt running", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=l; delete a-post-interrupt; is in_progress",
	},
	{
		name: "fixed after post-interrupt failed, no interrupt pending for the key: config is done, post-interrupt runs " +
			"again",
		spec: "a@1.0 config{k=3} interrupt=reboot", node: "a@1.0 config:in_progress changed=k interrupt=reboot boot=b0",
		pods: "a@1.0 config done", gate: "ours clear",
		want: "a@1.0 config:complete; a@1.0 post-interrupt:in_progress run=now changed=k; delete a-config; " +
			"start a post-interrupt; is in_progress",
	},
	{
		name: "the same without an interrupt that ran: config is the end",
		spec: "a@1.0 config{k=3} interrupt=reboot", node: "a@1.0 config:in_progress changed=k", pods: "a@1.0 config done",
		gate: "ours clear",
		want: "a@1.0 config:complete run=r1 changed=k; disown cordon; uncordon; delete a-config; is complete; returned",
	},
	{
		name: "after post-interrupt succeeded nothing of the interrupt is left: the next change ends with config",
		spec: "a@1.0 config{k=3} interrupt=reboot", node: "a@1.0 post-interrupt:complete config{k=2}", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "changed after post-interrupt failed: back to config",
		spec: "a@1.0 hash=2 config{k=3} on:k=service(x)",
		node: "a@1.0 post-interrupt:erroring config{k=2} changed=k reason=StepFailed restarts=3",
		pods: "a@1.0 post-interrupt failing restarts=3 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k; delete a-post-interrupt; is in_progress",
	},
}
