package lifecycle_test

var applyTables = []group{
	{"life", life},
	{"versions", versions},
	{"upgrades", upgrades},
	{"downgrades", downgrades},
}

// life is a package without anything in its way.
var life = []row{
	{
		name: "nothing wanted, nothing there",
		want: "is complete; returned",
	},
	{
		name: "absent: apply",
		spec: "a@1.0",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "apply runs",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "is in_progress",
	},
	{
		name: "apply done: config starts in the same pass, after its pod is gone",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "apply done, seen by an operator that stopped before it started config",
		spec: "a@1.0", node: "a@1.0 apply:complete",
		want: "a@1.0 config:in_progress run=now; start a config; is in_progress",
	},
	{
		name: "config runs",
		spec: "a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config running",
		want: "is in_progress",
	},
	{
		name: "config done: complete, and the permit is given back",
		spec: "a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1; delete a-config; is complete; returned",
	},
	{
		name: "complete: nothing to do, whatever happens again",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "complete, with a permit nobody needs",
		spec: "a@1.0", node: "a@1.0 config:complete",
		want: "is complete; returned",
	},
	{
		name: "complete, but its pod is still there: the permit waits for it",
		spec: "a@1.0", node: "a@1.0 config:complete", pods: "a@1.0 config done",
		want: "delete a-config; is complete",
	},
	{
		name: "restarts of a stage stay known after it is done",
		spec: "a@1.0", node: "a@1.0 config:erroring restarts=2 reason=StepFailed", pods: "a@1.0 config done restarts=3",
		want: "a@1.0 config:complete run=r1 restarts=3; delete a-config; is complete; returned",
	},
	{
		name: "two independent packages start together",
		spec: "a@1.0; b@2.0",
		want: "a@1.0 apply:in_progress run=now; b@2.0 apply:in_progress run=now; start a apply; start b apply; " +
			"is in_progress",
	},
	{
		name: "two independent packages continue by themselves",
		spec: "a@1.0; b@2.0", node: "a@1.0 config:in_progress; b@2.0 apply:in_progress",
		pods: "a@1.0 config done; b@2.0 apply running",
		want: "a@1.0 config:complete run=r1; delete a-config; is in_progress",
	},
	{
		name: "one complete, one absent",
		spec: "a@1.0; b@2.0", node: "a@1.0 config:complete",
		want: "b@2.0 apply:in_progress run=now; start b apply; is in_progress",
	},
	{
		name: "a state that nobody writes any more runs config again",
		spec: "a@1.0", node: "a@1.0 config:unknown",
		want: "a@1.0 config:in_progress run=now; start a config; is in_progress",
	},
	{
		name: "such a state says nothing of what is installed",
		spec: "a@1.0", node: "a@1.0 apply:unknown",
		want: "a@1.0 apply:in_progress run=r1; start a apply; is in_progress",
	},
}

// versions: another version is in the spec than on the node.
var versions = []row{
	{
		name: "higher than what is complete: upgrade",
		spec: "a@1.1", node: "a@1.0 config:complete",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "higher than what is in its config: upgrade, once its pod is gone",
		spec: "a@1.1", node: "a@1.0 config:in_progress", pods: "a@1.0 config running",
		want: "delete a-config; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "higher than what is in its config: upgrade",
		spec: "a@1.1", node: "a@1.0 config:in_progress",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "higher than what is applied but not configured: upgrade",
		spec: "a@1.1", node: "a@1.0 apply:complete",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "higher than what never got through apply: apply",
		spec: "a@1.1", node: "a@1.0 apply:erroring restarts=3 reason=StepFailed",
		want: "a@1.1 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "higher than an upgrade under way: upgrade",
		spec: "a@1.2", node: "a@1.0 config:complete; a@1.1 upgrade:in_progress",
		want: "a@1.2 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "lower: apply, the old entry stays",
		spec: "a@1.0", node: "a@1.1 config:complete",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "upgrade done: all other versions are removed, config starts",
		spec: "a@1.2", node: "a@1.0 config:complete; a@1.1 apply:complete; a@1.2 upgrade:in_progress",
		pods: "a@1.2 upgrade done",
		want: "a@1.2 upgrade:complete; a@1.2 config:in_progress run=now; remove a@1.0; remove a@1.1; delete a-upgrade; " +
			"start a config; is in_progress",
	},
	{
		name: "upgrade done: other packages keep their entries",
		spec: "a@1.2", node: "a@1.0 config:complete; b@1.0 config:complete; a@1.2 upgrade:in_progress",
		pods: "a@1.2 upgrade done",
		want: "a@1.2 upgrade:complete; a@1.2 config:in_progress run=now; remove a@1.0; delete a-upgrade; start a config; " +
			"is in_progress",
	},
	{
		name: "apply done: all other versions are removed",
		spec: "a@1.2",
		node: "a@1.1 apply:erroring restarts=2 reason=StepFailed; a@1.3 config:complete; a@1.2 apply:in_progress",
		pods: "a@1.2 apply done",
		want: "a@1.2 apply:complete; a@1.2 config:in_progress run=now; remove a@1.1; supersede a@1.3; delete a-apply; " +
			"start a config; is in_progress",
	},
	{
		name: "another package's older version means nothing",
		spec: "a@1.1", node: "b@1.0 config:complete",
		want: "a@1.1 apply:in_progress run=now; start a apply; is in_progress",
	},
}

// upgrades with an interrupt, downgrades, and changes of mind.
var upgrades = []row{
	{
		name: "upgrade done: config, as of an install",
		spec: "a@1.1 interrupt=reboot", node: "a@1.0 post-interrupt:complete since=-2h; a@1.1 upgrade:in_progress",
		pods: "a@1.1 upgrade done", gate: "ours clear",
		want: "a@1.1 upgrade:complete; a@1.1 config:in_progress run=now; remove a@1.0; delete a-upgrade; start a config; " +
			"is in_progress",
	},
	{
		name: "lower and back, while apply of the lower one ran: the host is mixed, apply anew",
		spec: "a@1.1", node: "a@1.1 config:complete since=-2h; a@1.0 apply:in_progress since=-1m",
		want: "a@1.1 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "lower and back, after config of the lower one began: upgrade",
		spec: "a@1.1", node: "a@1.1 config:complete since=-2h; a@1.0 config:in_progress since=-1m",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "lower and back, within the same second",
		spec: "a@1.1", node: "a@1.1 config:complete since=0s; a@1.0 apply:in_progress since=0s run=now",
		want: "a@1.1 apply:in_progress run=nox since=--1s; start a apply; is in_progress",
	},
	{
		name: "a failed upgrade is reverted: apply of the version before, as the host is mixed",
		spec: "a@1.0", node: "a@1.0 config:complete since=-2h; a@1.1 upgrade:erroring reason=StepFailed restarts=2 since=-1m",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "a failed upgrade is reverted: its pod is deleted first",
		spec: "a@1.0", node: "a@1.0 config:complete since=-2h; a@1.1 upgrade:erroring reason=StepFailed restarts=2 since=-1m",
		pods: "a@1.1 upgrade failing reason=StepFailed restarts=2",
		want: "delete a-upgrade; wait a WaitingForPodToEnd; is in_progress",
	},
}

// downgrades of what cannot be uninstalled: files of the newer version may still be on the host, so both entries stay.
var downgrades = []row{
	{
		name: "lower, and it cannot be uninstalled: its files may still be there, so its entry stays",
		spec: "a@1.0", node: "a@1.1 config:complete since=-2h; a@1.0 apply:in_progress", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; supersede a@1.1; delete a-apply; start a config; " +
			"is in_progress",
	},
	{
		name: "lower, and it was failing: nobody ends that",
		spec: "a@1.0", node: "a@1.1 config:erroring restarts=1 reason=StepFailed since=-2h; a@1.0 apply:in_progress",
		pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; rename a@1.1; supersede a@1.1; delete a-apply; " +
			"start a config; is in_progress",
	},
	{
		name: "lower and back: upgrade",
		spec: "a@1.1", node: "a@1.1 config:complete superseded since=-2h; a@1.0 config:complete",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "lower and back, by an operator that kept no times: upgrade",
		spec: "a@1.1", node: "a@1.1 config:complete superseded since=never; a@1.0 config:complete since=never",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "lower and still lower: both stay",
		spec: "a@1.0",
		node: "a@1.2 config:complete superseded since=-3h; a@1.1 config:complete since=-2h; a@1.0 apply:in_progress",
		pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; supersede a@1.1; delete a-apply; start a config; " +
			"is in_progress",
	},
	{
		name: "lower and uninstalled: both are removed",
		spec: "a@1.0 uninstall=on,apply", node: "a@1.1 config:complete superseded since=-2h; a@1.0 uninstall:in_progress",
		pods: "a@1.0 uninstall done",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; remove a@1.0; remove a@1.1; delete a-uninstall; is complete; " +
			"returned",
	},
}
