package lifecycle_test

var configTables = []group{
	{"changes", configs},
	{"interrupts", configInterrupts},
}

// configs: what a configMap change does is the difference between node and spec.
var configs = []row{
	{
		name: "a value changed",
		spec: "a@1.0 config{k=2}", node: "a@1.0 config:complete config{k=1}",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "a key was added",
		spec: "a@1.0 config{k=1,l=1}", node: "a@1.0 config:complete config{k=1}",
		want: "a@1.0 config:in_progress run=now changed=l; start a config; is in_progress",
	},
	{
		name: "a key was removed",
		spec: "a@1.0 config{k=1}", node: "a@1.0 config:complete config{k=1,l=1}",
		want: "a@1.0 config:in_progress run=now changed=l; start a config; is in_progress",
	},
	{
		name: "all keys were removed",
		spec: "a@1.0", node: "a@1.0 config:complete config{k=1}",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "nothing changed",
		spec: "a@1.0 config{k=1,l=2}", node: "a@1.0 config:complete config{l=2,k=1}", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "a change takes a permit",
		spec: "a@1.0 config{k=2}", node: "a@1.0 config:complete config{k=1}", gate: "acknowledged",
		want: "wait a WaitingForPermit; is waiting",
	},
	{
		name: "an operator that kept no hashes: taken as current",
		spec: "a@1.0 config{k=2}", node: "a@1.0 config:complete config=unknown", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "changed and changed back before anything started",
		spec: "a@1.0 config{k=1}", node: "a@1.0 config:complete config{k=1}",
		want: "is complete; returned",
	},
	{
		name: "it changes while apply runs: apply is done with the old, config takes the new",
		spec: "a@1.0 config{k=2}", node: "a@1.0 apply:in_progress config{k=1}", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "it changes while config is done with the old: config once more",
		spec: "a@1.0 hash=2 config{k=2}", node: "a@1.0 config:in_progress config{k=1}", pods: "a@1.0 config done",
		want: "a@1.0 config:complete; a@1.0 config:in_progress run=now changed=k; delete a-config; start a config; " +
			"is in_progress",
	},
	{
		name: "it changes while the pod is missing: the run begins anew with the new",
		spec: "a@1.0 config{k=2}", node: "a@1.0 config:in_progress config{k=1}",
		want: "a@1.0 config:in_progress run=now; start a config; is in_progress",
	},
}

// configInterrupts: the interrupt follows from what changed on this node.
var configInterrupts = []row{
	{
		name: "its key changed: cordon first",
		spec: "a@1.0 config{k=2} on:k=service(x)", node: "a@1.0 config:complete config{k=1}",
		want: "own cordon; cordon; wait a Cordoning; tell Cordoning; is in_progress",
	},
	{
		name: "its key changed: config done, its interrupt",
		spec: "a@1.0 config{k=2} on:k=service(x)", node: "a@1.0 config:in_progress changed=k", pods: "a@1.0 config done",
		gate: "ours clear",
		want: "a@1.0 config:complete; a@1.0 interrupt:in_progress run=now changed=k by service(x) boot=b1; " +
			"delete a-config; start a interrupt service(x); is in_progress",
	},
	{
		name: "its key changed: interrupt done, post-interrupt",
		spec: "a@1.0 config{k=2} on:k=service(x)", node: "a@1.0 interrupt:in_progress changed=k interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now changed=k; delete a-interrupt; " +
			"start a post-interrupt; is in_progress",
	},
	{
		name: "its glob matches the key that changed",
		spec: "a@1.0 config{a.sh=2,k=1} on:*.sh=service(x)", node: "a@1.0 config:complete changed=a.sh", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now changed=a.sh by service(x) boot=b1; start a interrupt service(x); " +
			"is in_progress",
	},
	{
		name: "its glob does not match the key that changed: complete without an interrupt",
		spec: "a@1.0 config{a.sh=1,k=2} on:*.sh=service(x)", node: "a@1.0 config:in_progress changed=k",
		pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=k; delete a-config; is complete; returned",
	},
	{
		name: "a key without a star is no pattern",
		spec: "a@1.0 config{ab=2} on:a[b]=service(x)", node: "a@1.0 config:in_progress changed=ab", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=ab; delete a-config; is complete; returned",
	},
	{
		name: "a glob that is none matches nothing",
		spec: "a@1.0 config{ab=2} on:a[*=service(x)", node: "a@1.0 config:in_progress changed=ab", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=ab; delete a-config; is complete; returned",
	},
	{
		name: "a star does not match a slash",
		spec: "a@1.0 config{b=2} on:*=service(x)", node: "a@1.0 config:in_progress changed=a/b", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=a/b; delete a-config; is complete; returned",
	},
	{
		name: "a removed key is a change",
		spec: "a@1.0 config{l=1} on:k=reboot", node: "a@1.0 config:complete config{k=1,l=1}", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "key and glob: the higher rank",
		spec: "a@1.0 config{a.sh=2} on:a.sh=service(x) on:*.sh=reboot", node: "a@1.0 config:complete changed=a.sh",
		gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now changed=a.sh by reboot boot=b1; start a interrupt reboot; is in_progress",
	},
	{
		name: "a change is no install: the package's own interrupt is not run",
		spec: "a@1.0 config{k=2} interrupt=reboot", node: "a@1.0 config:in_progress changed=k", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=k; delete a-config; is complete; returned",
	},
	{
		name: "an install runs the package's own interrupt, whatever configInterrupts say",
		spec: "a@1.0 config{k=2} interrupt=reboot on:k=noop", node: "a@1.0 config:complete", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; is in_progress",
	},
	{
		name: "changed while apply runs: still an install",
		spec: "a@1.0 config{k=2} interrupt=reboot on:k=noop", node: "a@1.0 apply:in_progress config{k=1}",
		pods: "a@1.0 apply done", gate: "ours clear",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "changed while config of an install runs: config anew, still an install",
		spec: "a@1.0 hash=2 config{k=2} interrupt=reboot on:k=noop", node: "a@1.0 config:in_progress config{k=1}",
		pods: "a@1.0 config running", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now; delete a-config; is in_progress",
	},
	{
		name: "changed while config of a change runs: both changes count",
		spec: "a@1.0 hash=2 config{k=2,l=2} on:k=noop on:l=service(x)",
		node: "a@1.0 config:in_progress config{k=2,l=1} changed=k", pods: "a@1.0 config running", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k,l; delete a-config; is in_progress",
	},
	{
		name: "changed while config of a change runs, by a key with an interrupt: its node is cordoned before the interrupt",
		spec: "a@1.0 config{k=2,l=2} on:l=service(x)", node: "a@1.0 config:complete changed=k,l",
		want: "own cordon; cordon; wait a Cordoning; tell Cordoning; is in_progress",
	},
	{
		name: "changed while an interrupt is pending: both changes count",
		spec: "a@1.0 config{k=2,l=2} on:k=service(x)", node: "a@1.0 config:complete config{k=2,l=1} changed=k",
		gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k,l; start a config; is in_progress",
	},
	{
		name: "changed back while an interrupt is pending: the interrupt is pending nevertheless",
		spec: "a@1.0 config{k=1} on:k=service(x)", node: "a@1.0 config:complete config{k=2} changed=k", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "changed without an interrupt, after a change with one: nothing is left of the earlier one",
		spec: "a@1.0 config{k=2,l=2} interrupt=reboot on:k=service(x)",
		node: "a@1.0 post-interrupt:complete config{k=2,l=1} changed=k",
		want: "a@1.0 config:in_progress run=now changed=l; start a config; is in_progress",
	},
	{
		name: "changed while the interrupt runs: the interrupt runs to its end, then config",
		spec: "a@1.0 hash=2 config{k=2,l=2} on:k=service(x)",
		node: "a@1.0 interrupt:in_progress config{k=2,l=1} changed=k interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 config:in_progress run=now changed=l; delete a-interrupt; start a config; " +
			"is in_progress",
	},
	{
		name: "changed by a key with an interrupt while the interrupt runs: config, and the interrupt once more",
		spec: "a@1.0 hash=2 config{k=3} on:k=service(x)",
		node: "a@1.0 interrupt:in_progress config{k=2} changed=k interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 config:in_progress run=now changed=k; delete a-interrupt; start a config; " +
			"is in_progress",
	},
	{
		name: "changed after config failed: config anew",
		spec: "a@1.0 hash=2 config{k=2} interrupt=reboot on:k=noop",
		node: "a@1.0 config:erroring config{k=1} reason=StepFailed restarts=3",
		pods: "a@1.0 config failing restarts=3 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now; delete a-config; is in_progress",
	},
	{
		name: "configInterrupts edited when all is complete: nothing runs",
		spec: "a@1.0 config{k=2} on:k=reboot", node: "a@1.0 config:complete", gate: "acknowledged status=complete",
		want: "is complete",
	},
	{
		name: "an interrupt is added to a package that was installed without: it is pending, as by a fresh install",
		spec: "a@1.0 interrupt=noop", node: "a@1.0 config:complete", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by noop boot=b1; start a interrupt noop; is in_progress",
	},
	{
		name: "an interrupt is added to a package whose config changed since: it is not needed",
		spec: "a@1.0 interrupt=noop", node: "a@1.0 config:complete changed=k", gate: "acknowledged",
		want: "is complete",
	},
}
