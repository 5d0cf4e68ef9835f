package lifecycle_test

var reapplyTables = []group{
	{"install", reapplied},
	{"uninstall", reappliedUninstalls},
	{"reboots of others", sharedReboots},
	{"clocks", clocks},
}

// reapplied: packages are applied again after a reboot, where the operator is set to do so.
var reapplied = []row{
	{
		name: "the boot id is noted first",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "reapply acknowledged",
		want: "boot b1; is complete",
	},
	{
		name: "no reboot",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "reapply last-boot=b1 acknowledged",
		want: "is complete",
	},
	{
		name: "a reboot: all packages start over",
		spec: "a@1.0; b@1.0", node: "a@1.0 config:complete; b@1.0 config:complete", gate: "reapply last-boot=b0",
		want: "ReapplyAfterReboot; a@1.0 apply:in_progress run=now; b@1.0 apply:in_progress run=now; boot b1; " +
			"start a apply; start b apply; is in_progress",
	},
	{
		name: "a reboot: starting over takes a permit",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "reapply last-boot=b0 acknowledged",
		want: "ReapplyAfterReboot; remove a@1.0; boot b1; wait a WaitingForPermit; is waiting",
	},
	{
		name: "a reboot while a stage runs: its pod is deleted first",
		spec: "a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config running", gate: "reapply last-boot=b0",
		want: "ReapplyAfterReboot; remove a@1.0; boot b1; delete a-config; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "a reboot, but the node is not Ready yet",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "reapply last-boot=b0 not-ready acknowledged",
		want: "is complete",
	},
	{
		name: "a boot id that is not known is none",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "reapply last-boot=b1 boot= acknowledged",
		want: "is complete",
	},
	{
		name: "our own reboot is none",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1",
		gate: "ours reapply last-boot=b1 boot=b2",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; boot b2; start a post-interrupt; " +
			"is in_progress",
	},
	{
		name: "a reboot during another interrupt: that runs to its end",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt running", gate: "ours reapply last-boot=b1 boot=b2",
		want: "is in_progress",
	},
	{
		name: "a reboot during another interrupt: once that is done, all packages start over",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours reapply last-boot=b1 boot=b2",
		want: "a@1.0 interrupt:complete gen=0; ReapplyAfterReboot; remove a@1.0; boot b2; delete a-interrupt; look-drain; " +
			"is in_progress",
	},
	{
		name: "not set: a reboot changes nothing",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "last-boot=b0 acknowledged",
		want: "is complete",
	},
}

// reappliedUninstalls: what is to leave, or may stay, is not applied again.
var reappliedUninstalls = []row{
	{
		name: "reapply: what is to be uninstalled is still on the host",
		spec: "a@1.0 uninstall=on,apply; b@1.0", node: "a@1.0 config:complete; b@1.0 config:complete",
		gate: "reapply last-boot=b0",
		want: "ReapplyAfterReboot; a@1.0 uninstall:in_progress run=now; b@1.0 apply:in_progress run=now; boot b1; " +
			"start a uninstall; start b apply; is in_progress",
	},
	{
		name: "reapply: so is what was abandoned",
		spec: "a@1.0 uninstall=on,apply; b@1.0", node: "a@1.0 config:complete; b@1.0 config:complete",
		gate: "reapply last-boot=b0 abandoned",
		want: "ReapplyAfterReboot; b@1.0 apply:in_progress run=now; boot b1; start b apply; is in_progress",
	},
	{
		name: "reapply: what left the spec is still on the host",
		spec: "b@1.0", kept: "old=a@1.0 uninstall=on,auto; kept=z@1.0 uninstall=on",
		node: "a@1.0 config:complete def=old; b@1.0 config:complete; z@1.0 config:complete def=kept",
		gate: "reapply last-boot=b0",
		want: "ReapplyAfterReboot; a@1.0 uninstall:in_progress run=now def=old; b@1.0 apply:in_progress run=now; boot b1; " +
			"start a uninstall as old; start b apply; is in_progress",
	},
	{
		name: "reapply: a version that has to be uninstalled by hand is still on the host",
		spec: "a@1.0 uninstall=on", kept: "old=a@1.1 uninstall=on", node: "a@1.1 config:complete def=old",
		gate: "reapply last-boot=b0",
		want: "ReapplyAfterReboot; boot b1; wait a UninstallRequired; tell UninstallRequired; is blocked; returned",
	},
	{
		name: "reapply: our own reboot is none",
		spec: "a@1.0 uninstall=on,apply interrupt=reboot; b@1.0",
		node: "a@1.0 uninstall-interrupt:in_progress interrupt=reboot boot=b1; b@1.0 config:complete",
		gate: "ours reapply last-boot=b1 boot=b2",
		want: "a@1.0 uninstall-interrupt:complete; Uninstalled a@1.0; remove a@1.0; disown cordon; uncordon; boot b2; " +
			"is complete; returned",
	},
}

// sharedReboots: a reboot that some Skyhook asked for is no reason for another to start over.
var sharedReboots = []row{
	{
		name: "another Skyhook asked for the reboot: it is accepted",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "reapply last-boot=b1 boot=b2 own-reboot acknowledged",
		want: "boot b2; is complete",
	},
	{
		name: "another Skyhook's reboot is in flight, for the boot before: it is accepted",
		spec: "a@1.0", node: "a@1.0 config:complete",
		gate: "reapply last-boot=b1 boot=b2 interrupted flight-of-another=reboot/b1 acknowledged",
		want: "boot b2; is complete",
	},
	{
		name: "another Skyhook's reboot is in flight, but for this boot: nobody asked for the one before",
		spec: "a@1.0", node: "a@1.0 config:complete",
		gate: "reapply last-boot=b1 boot=b2 interrupted flight-of-another=reboot/b2 acknowledged",
		want: "ReapplyAfterReboot; remove a@1.0; boot b2; wait WaitingForInterrupt; is waiting",
	},
	{
		name: "another Skyhook's interrupt is in flight that is no reboot: nobody asked for this one",
		spec: "a@1.0", node: "a@1.0 config:complete",
		gate: "reapply last-boot=b1 boot=b2 interrupted flight-of-another=service(x)/b1 acknowledged",
		want: "ReapplyAfterReboot; remove a@1.0; boot b2; wait WaitingForInterrupt; is waiting",
	},
	{
		name: "with a reboot of its own to come: its own is not done by that of another",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete",
		gate: "reapply last-boot=b1 boot=b2 own-reboot ours clear",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b2; boot b2; start a interrupt reboot; is in_progress",
		also: "in flight reboot of a|1.0 boot=b2 run=now; bound to boot=b2 run=now",
	},
}

// clocks step back, or differ between two operators. Times that are recorded never go back.
var clocks = []row{
	{
		name: "the clock is 30 s behind: times continue from the newest",
		spec: "a@1.1", node: "a@1.0 config:complete since=30s",
		want: "a@1.1 upgrade:in_progress run=npr since=--31s; start a upgrade; is in_progress",
	},
	{
		name: "the clock is 30 s behind: what runs is not superseded",
		spec: "a@1.1", node: "a@1.0 config:complete since=30s; a@1.1 upgrade:in_progress since=31s",
		pods: "a@1.1 upgrade running",
		want: "is in_progress",
	},
	{
		name: "the clock is 30 s behind: it is done",
		spec: "a@1.1", node: "a@1.0 config:complete since=30s; a@1.1 upgrade:in_progress since=31s",
		pods: "a@1.1 upgrade done",
		want: "a@1.1 upgrade:complete; a@1.1 config:in_progress run=nps since=--32s; remove a@1.0; delete a-upgrade; " +
			"start a config; is in_progress",
	},
	{
		name: "the clock was an hour ahead: the record is moved back as a whole",
		spec: "a@1.1", node: "a@1.0 config:complete since=1h",
		want: "a@1.1 upgrade:in_progress run=nox since=--1s; rename a@1.0; start a upgrade; is in_progress",
	},
	{
		name: "the clock was an hour ahead: what runs is not superseded",
		spec: "a@1.1", node: "a@1.0 config:complete since=59m; a@1.1 upgrade:in_progress since=1h",
		pods: "a@1.1 upgrade running created=0s",
		want: "rename a@1.0; rename a@1.1; again 30m0s; is in_progress",
	},
	{
		name: "the clock was an hour ahead: the pause after a loss does not last an hour",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=1h reason=Evicted",
		want: "rename a@1.0; wait a BackingOff; tell BackingOff since=--1s; again 10s; is erroring",
	},
	{
		name: "up to a minute ahead nothing is moved",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=1m reason=Evicted",
		want: "wait a BackingOff; tell BackingOff since=--1m1s; again 1m10s; is erroring",
	},
	// Run 2icw is one that began a day after now.
	{
		name: "the clock was a day ahead: stageTimeout counts from the pod",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:in_progress since=24h run=2icw", pods: "a@1.0 apply running run=2icw",
		want: "a@1.0 apply:erroring run=2icw since=--1s reason=StageTimeout; delete a-apply; is erroring",
	},
	{
		name: "the clock was a day ahead: stageTimeout is not over yet",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:in_progress since=-2m run=2icw",
		pods: "a@1.0 apply running run=2icw created=-2m",
		want: "again 3m0s; is in_progress",
	},
	{
		name: "the clock was a day ahead: a reboot that does not come",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1 since=24h run=2icw",
		pods: "a@1.0 interrupt done run=2icw", gate: "ours",
		want: "a@1.0 interrupt:erroring run=2icw since=--1s reason=RebootTimeout by reboot boot=b1; is erroring",
	},
	{
		name: "the clock was a day ahead: a node that does not come back",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1 since=-1h run=2icw",
		gate: "ours boot=b2 not-ready",
		want: "a@1.0 interrupt:erroring run=2icw reason=RebootTimeout by reboot boot=b1; is erroring",
	},
	{
		name: "the clock was a day ahead: the drain's time limit counts",
		spec: "a@1.0 interrupt=reboot", gate: "ours left=EvictionRefused told=EvictionRefused/24h",
		want: "wait a EvictionRefused; tell EvictionRefused; evict; again 5s; is in_progress",
	},
}
