package lifecycle_test

// uninstallEdits are edits of the definition while a package is being uninstalled.
var uninstallEdits = []row{
	{
		name: "env or image: its pod is replaced, and only now the new definition is the one that ran",
		spec: "a@1.0 hash=2 def=new uninstall=on,apply", node: "a@1.0 uninstall:in_progress def=old hash=2",
		want: "rename a@1.0; start a uninstall; is in_progress",
	},
	{
		name: "of an install: its pod is deleted first",
		spec: "a@1.0 hash=2 def=new uninstall=on,auto", node: "a@1.0 apply:in_progress def=old", pods: "a@1.0 apply running",
		want: "a@1.0 apply:in_progress run=now def=old; delete a-apply; is in_progress",
	},
	{
		name: "of an install, and then the package leaves the spec: what ran last is uninstalled",
		kept: "old=a@1.0 uninstall=on,auto; new=a@1.0 hash=2 uninstall=on,auto",
		node: "a@1.0 apply:in_progress def=old hash=2",
		want: "a@1.0 uninstall:in_progress run=now def=old; start a uninstall as old; is in_progress",
	},
	{
		name: "env or image, and no pod is there: a new run",
		spec: "a@1.0 hash=2 def=new uninstall=on,apply", kept: "old=a@1.0 uninstall=on",
		node: "a@1.0 uninstall:erroring reason=Evicted restarts=1 def=old",
		want: "a@1.0 uninstall:in_progress run=now def=new; start a uninstall; is in_progress",
	},
	{
		name: "configMap: a new run, and no change is noted: an uninstall needs only its own interrupt",
		spec: "a@1.0 hash=2 config{k=2} def=new uninstall=on,apply on:k=reboot", kept: "old=a@1.0 config{k=1} uninstall=on",
		node: "a@1.0 uninstall:in_progress def=old", pods: "a@1.0 uninstall running",
		want: "a@1.0 uninstall:in_progress run=now def=old; delete a-uninstall; is in_progress",
	},
	{
		name: "configMap: its ConfigMap is waited for",
		spec: "a@1.0 hash=2 config{k=2} def=new uninstall=on,apply", kept: "old=a@1.0 config{k=1} uninstall=on",
		node: "a@1.0 uninstall:in_progress def=old", gate: "no-config-of-a",
		want: "wait a WaitingForConfigMap; tell WaitingForConfigMap; is in_progress",
	},
	{
		name: "the interrupt is taken away while uninstall runs: none follows",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done", gate: "ours",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; disown cordon; uncordon; delete a-uninstall; " +
			"is complete; returned",
	},
	{
		name: "an interrupt is added while uninstall runs: it follows, on a drained node",
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		want: "a@1.0 uninstall:complete run=r1; own cordon; cordon; delete a-uninstall; wait a Cordoning; tell Cordoning; " +
			"is in_progress",
	},
	{
		name: "the interrupt is taken away while it runs: it runs to its end",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 uninstall-interrupt running", gate: "ours clear",
		want: "is in_progress",
	},
	{
		name: "the interrupt is taken away while its pod is missing: that is made again",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall-interrupt:in_progress interrupt=service(x) boot=b1",
		gate: "ours clear",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; disown cordon; uncordon; is complete; returned",
	},
	{
		name: "the interrupt is taken away, and another operator left the pod missing: what ran is known to nobody, and " +
			"nothing is pending",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall-interrupt:in_progress config=unknown run=",
		gate: "ours clear",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; disown cordon; uncordon; is complete; returned",
	},
	{
		name: "another operator left its pod missing: the package's own is run anew",
		spec: "a@1.0 uninstall=on,apply interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress config=unknown run=", gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:skipped; a@1.0 uninstall-interrupt:in_progress run=now by service(x) boot=b1; " +
			"start a uninstall-interrupt service(x); is in_progress",
	},
	{
		name: "skipped, the owner is gone, and the interrupt is taken away: what it was merged into runs",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall-interrupt:skipped interrupt=service(x) boot=b1",
		gate: "ours clear",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; disown cordon; uncordon; is complete; returned",
	},
	{
		name: "the version is raised: the installed one continues being uninstalled, as it was installed",
		spec: "a@1.1 hash=2 uninstall=on,apply", kept: "old=a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress def=old",
		pods: "a@1.0 uninstall running", gate: "gen=8",
		want: "is in_progress",
	},
	{
		name: "the version is raised: its pod is made again, as it was installed",
		spec: "a@1.1 hash=2 uninstall=on,apply", kept: "old=a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress def=old",
		gate: "gen=8",
		want: "start a uninstall as old; is in_progress",
	},
	{
		name: "the version is raised: uninstalled, and the new one is not installed",
		spec: "a@1.1 uninstall=on,apply", kept: "old=a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress def=old",
		pods: "a@1.0 uninstall done",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; delete a-uninstall; is complete; returned",
	},
	{
		name: "the version is raised and apply is set back: what is half uninstalled is not upgraded from",
		spec: "a@1.1 uninstall=on", kept: "old=a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress def=old",
		want: "a@1.1 apply:in_progress run=now; UninstallStopped a@1.0; start a apply; is in_progress",
	},
	{
		name: "the version is raised, and the interrupt of the old one runs: it is the old one's",
		spec: "a@1.1 interrupt=reboot uninstall=on,apply", kept: "old=a@1.0 interrupt=service(x) uninstall=on",
		node: "a@1.0 uninstall:in_progress def=old", pods: "a@1.0 uninstall done", gate: "ours clear",
		want: "a@1.0 uninstall:complete; a@1.0 uninstall-interrupt:in_progress run=now by service(x) boot=b1 def=old; " +
			"delete a-uninstall; start a uninstall-interrupt service(x) as old; is in_progress",
	},
	{
		name: "the same version, spelled otherwise: the spec's definition",
		spec: "a@v1.0.0 def=new uninstall=on,apply", kept: "old=a@1.0 uninstall=on", node: "a@1.0 config:complete def=old",
		want: "a@1.0 uninstall:in_progress run=now def=new; start a uninstall; is in_progress",
	},
}

// uninstallGates: an uninstall is work like any other.
var uninstallGates = []row{
	{
		name: "no permit: nothing starts",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 config:complete", gate: "no-permit",
		want: "wait a WaitingForPermit; is waiting",
	},
	{
		name: "no permit, but it runs: it is judged",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		gate: "no-permit",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; delete a-uninstall; is complete",
	},
	{
		name: "no permit: its pod is not made again",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress", gate: "no-permit",
		want: "wait a WaitingForPermit; tell WaitingForPermit; is in_progress",
	},
	{
		name: "no permit: its interrupt is not begun",
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 uninstall:complete", gate: "no-permit ours clear",
		want: "wait a WaitingForPermit; tell WaitingForPermit; is waiting",
	},
	{
		name: "paused: nothing starts, the permit stays",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.0 config:complete", gate: "paused",
		want: "wait Paused; tell Paused; is paused",
	},
	{
		name: "paused: what runs continues, its interrupt waits",
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		gate: "paused ours clear",
		want: "a@1.0 uninstall:complete run=r1; delete a-uninstall; wait Paused; tell Paused; is paused",
	},
	{
		name: "disabled: the permit and the cordon stay while it runs",
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall running",
		gate: "disabled ours",
		want: "wait Disabled; is disabled",
	},
	{
		name: "disabled: the permit and the cordon stay while a reboot is under way",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=reboot boot=b1", gate: "disabled ours not-ready",
		want: "wait Disabled; tell Disabled; is disabled",
	},
	{
		name: "the ConfigMap is not there yet",
		spec: "a@1.0 config{k=1} uninstall=on,apply", node: "a@1.0 config:complete", gate: "no-config-of-a",
		want: "wait a WaitingForConfigMap; tell WaitingForConfigMap; is in_progress",
	},
	{
		name: "the ConfigMap of the retained definition is not there yet",
		spec: "a@1.1 config{k=1} uninstall=on,apply", kept: "old=a@1.0 config{k=1} uninstall=on",
		node: "a@1.0 config:complete def=old", gate: "no-config-of-old",
		want: "wait a WaitingForConfigMap; tell WaitingForConfigMap; is in_progress",
	},
	{
		name: "the ConfigMap of the retained definition is what counts, not the spec's",
		spec: "a@1.1 config{k=1} uninstall=on,apply", kept: "old=a@1.0 config{k=1} uninstall=on",
		node: "a@1.0 config:complete def=old", gate: "no-config-of-a",
		want: "a@1.0 uninstall:in_progress run=now def=old; start a uninstall as old; is in_progress",
	},
}

// uninstallOrder: what depends on a package is uninstalled before it.
var uninstallOrder = []row{
	{
		name: "the dependent is uninstalled first",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply needs=a@1.0",
		node: "a@1.0 config:complete; b@1.0 config:complete",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "the dependent runs",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply needs=a@1.0",
		node: "a@1.0 config:complete; b@1.0 uninstall:in_progress", pods: "b@1.0 uninstall running",
		want: "wait a WaitingForDependent; is in_progress",
	},
	{
		name: "the dependent fails",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply needs=a@1.0",
		node: "a@1.0 config:complete; b@1.0 uninstall:erroring restarts=1 reason=StepFailed",
		pods: "b@1.0 uninstall failing restarts=1 reason=StepFailed",
		want: "wait a WaitingForDependent; is erroring",
	},
	{
		name: "the dependent is uninstalled after the other was looked at: next pass",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply needs=a@1.0",
		node: "a@1.0 config:complete; b@1.0 uninstall:in_progress", pods: "b@1.0 uninstall done",
		want: "b@1.0 uninstall:complete; Uninstalled b@1.0; remove b@1.0; delete b-uninstall; wait a WaitingForDependent; " +
			"tell WaitingForDependent; is in_progress",
	},
	{
		name: "the dependent is uninstalled: in the same pass, when it was looked at before",
		spec: "a@1.0 uninstall=on,apply needs=b@1.0; b@1.0 uninstall=on,apply",
		node: "a@1.0 uninstall:in_progress; b@1.0 config:complete", pods: "a@1.0 uninstall done",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; b@1.0 uninstall:in_progress run=now; remove a@1.0; " +
			"delete a-uninstall; start b uninstall; is in_progress",
	},
	{
		name: "the dependent is uninstalled but for its interrupt: that can be one with the other's",
		spec: "a@1.0 uninstall=on,apply interrupt=noop; b@1.0 uninstall=on,apply interrupt=noop needs=a@1.0",
		node: "a@1.0 config:complete; b@1.0 uninstall:complete", gate: "ours clear",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "through others",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply needs=a@1.0; c@1.0 uninstall=on,apply needs=b@1.0",
		node: "a@1.0 config:complete; b@1.0 config:complete; c@1.0 config:complete",
		want: "c@1.0 uninstall:in_progress run=now; start c uninstall; wait a WaitingForDependent; " +
			"wait b WaitingForDependent; is in_progress",
	},
	{
		name: "through others that stay",
		spec: "a@1.0 uninstall=on; b@1.0 needs=a@1.0; c@1.0 uninstall=on needs=b@1.0",
		node: "a@1.0 config:complete; b@1.0 config:complete; c@1.0 config:complete", gate: "deleting",
		want: "c@1.0 uninstall:in_progress run=now; start c uninstall; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "a dependent that stays is no reason to wait",
		spec: "a@1.0 uninstall=on,apply; b@1.0 needs=a@1.0", node: "a@1.0 config:complete; b@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "independent ones go together",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply", node: "a@1.0 config:complete; b@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; b@1.0 uninstall:in_progress run=now; start a uninstall; " +
			"start b uninstall; is in_progress",
	},
	{
		name: "by what they were installed with",
		kept: "a=a@1.0 uninstall=on,auto; b=b@1.0 uninstall=on,auto needs=a@1.0",
		node: "a@1.0 config:complete def=a; b@1.0 config:complete def=b",
		want: "b@1.0 uninstall:in_progress run=now def=b; start b uninstall as b; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "a cycle: together",
		spec: "a@1.0 uninstall=on,apply needs=b@1.0; b@1.0 uninstall=on,apply needs=a@1.0",
		node: "a@1.0 config:complete; b@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; b@1.0 uninstall:in_progress run=now; start a uninstall; " +
			"start b uninstall; is in_progress",
	},
	{
		name: "a cycle of three, and what depends on it is uninstalled first",
		spec: "a@1.0 uninstall=on,apply needs=c@1.0; b@1.0 uninstall=on,apply needs=a@1.0; " +
			"c@1.0 uninstall=on,apply needs=b@1.0; d@1.0 uninstall=on,apply needs=b@1.0",
		node: "a@1.0 config:complete; b@1.0 config:complete; c@1.0 config:complete; d@1.0 config:complete",
		want: "d@1.0 uninstall:in_progress run=now; start d uninstall; wait a WaitingForDependent; " +
			"wait b WaitingForDependent; wait c WaitingForDependent; is in_progress",
	},
	{
		name: "one that depends on itself",
		spec: "a@1.0 uninstall=on,apply needs=a@1.0", node: "a@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "what goes and what comes do not wait for each other",
		spec: "a@1.0 uninstall=on,apply; b@1.0", node: "a@1.0 config:complete",
		want: "a@1.0 uninstall:in_progress run=now; b@1.0 apply:in_progress run=now; start a uninstall; start b apply; " +
			"is in_progress",
	},
}
