package lifecycle_test

// configInterrupts: the interrupt follows from what changed on this node.
var configInterrupts = []row{
	{
		name: "its key changed: cordon first",
		spec: "a@1.0{k=2}?k:service(x)", node: "a@1.0 config:complete config{k=1}",
		want: "own cordon; cordon; wait a Cordoning; is in_progress",
	},
	{
		name: "its key changed: config",
		spec: "a@1.0{k=2}?k:service(x)", node: "a@1.0 config:complete config{k=1}", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "its key changed: config done, its interrupt",
		spec: "a@1.0{k=2}?k:service(x)", node: "a@1.0 config:in_progress changed=k", pods: "a@1.0 config done", gate: "ours clear",
		want: "a@1.0 config:complete; a@1.0 interrupt:in_progress run=now changed=k by service(x) boot=b1; delete a-config; start a interrupt service(x); is in_progress",
	},
	{
		name: "its key changed: interrupt done, post-interrupt",
		spec: "a@1.0{k=2}?k:service(x)", node: "a@1.0 interrupt:in_progress changed=k interrupt=service(x) boot=b1", pods: "a@1.0 interrupt done", gate: "ours",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now changed=k; delete a-interrupt; start a post-interrupt; is in_progress",
	},
	{
		name: "its key changed: complete",
		spec: "a@1.0{k=2}?k:service(x)", node: "a@1.0 post-interrupt:in_progress changed=k", pods: "a@1.0 post-interrupt done", gate: "ours",
		want: "a@1.0 post-interrupt:complete run=r1 changed=k; disown cordon; uncordon; delete a-post-interrupt; is complete; returned",
	},
	{
		name: "its glob matches the key that changed",
		spec: "a@1.0{a.sh=2,k=1}?*.sh:service(x)", node: "a@1.0 config:complete changed=a.sh", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now changed=a.sh by service(x) boot=b1; start a interrupt service(x); is in_progress",
	},
	{
		name: "its glob does not match the key that changed: complete without an interrupt",
		spec: "a@1.0{a.sh=1,k=2}?*.sh:service(x)", node: "a@1.0 config:in_progress changed=k", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=k; delete a-config; is complete; returned",
	},
	{
		name: "a key without a star is no pattern",
		spec: "a@1.0{ab=2}?a[b]:service(x)", node: "a@1.0 config:in_progress changed=ab", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=ab; delete a-config; is complete; returned",
	},
	{
		name: "a glob that is none matches nothing",
		spec: "a@1.0{ab=2}?a[*:service(x)", node: "a@1.0 config:in_progress changed=ab", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=ab; delete a-config; is complete; returned",
	},
	{
		name: "a star does not match a slash",
		spec: "a@1.0{b=2}?*:service(x)", node: "a@1.0 config:in_progress changed=a/b", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=a/b; delete a-config; is complete; returned",
	},
	{
		name: "a removed key is a change",
		spec: "a@1.0{l=1}?k:reboot", node: "a@1.0 config:complete config{k=1,l=1}", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "a removed key matches a glob",
		spec: "a@1.0{l=1}?*.sh:reboot", node: "a@1.0 config:complete config{l=1} changed=a.sh", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now changed=a.sh by reboot boot=b1; start a interrupt reboot; is in_progress",
	},
	{
		name: "key and glob: the higher rank",
		spec: "a@1.0{a.sh=2}?a.sh:service(x)?*.sh:reboot", node: "a@1.0 config:complete changed=a.sh", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now changed=a.sh by reboot boot=b1; start a interrupt reboot; is in_progress",
	},
	{
		name: "a change is no install: the package's own interrupt is not run",
		spec: "a@1.0{k=2}!reboot", node: "a@1.0 config:in_progress changed=k", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1 changed=k; delete a-config; is complete; returned",
	},
	{
		name: "11.2#11 an install runs the package's own interrupt, whatever configInterrupts say",
		spec: "a@1.0{k=2}!reboot?k:noop", node: "a@1.0 config:complete", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; is in_progress",
	},
	{
		name: "11.2#11 a node that joins after a change installs: its apply needs the cordon of the reboot",
		spec: "a@1.0{k=2}!reboot?k:noop",
		want: "own cordon; cordon; wait a Cordoning; is in_progress",
	},
	{
		name: "an install without an interrupt of its own runs none",
		spec: "a@1.0{k=2}?k:reboot", node: "a@1.0 config:in_progress", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1; delete a-config; is complete; returned",
	},
	{
		name: "11.2#11 changed while apply runs: still an install",
		spec: "a@1.0{k=2}!reboot?k:noop", node: "a@1.0 apply:in_progress config{k=1}", pods: "a@1.0 apply done", gate: "ours clear",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "changed while config of an install runs: config anew, still an install",
		spec: "a@1.0#2{k=2}!reboot?k:noop", node: "a@1.0 config:in_progress config{k=1}", pods: "a@1.0 config running", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now; delete a-config; is in_progress",
	},
	{
		name: "changed when config of an install is done: config again, and then the package's own interrupt",
		spec: "a@1.0{k=2}!reboot?k:noop", node: "a@1.0 config:complete config{k=1}", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now; start a config; is in_progress",
	},
	{
		name: "changed while config of a change runs: both changes count",
		spec: "a@1.0#2{k=2,l=2}?k:noop?l:service(x)", node: "a@1.0 config:in_progress config{k=2,l=1} changed=k", pods: "a@1.0 config running", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k,l; delete a-config; is in_progress",
	},
	{
		name: "changed while config of a change runs, by a key with an interrupt: its node is cordoned before the interrupt",
		spec: "a@1.0{k=2,l=2}?l:service(x)", node: "a@1.0 config:complete changed=k,l",
		want: "own cordon; cordon; wait a Cordoning; is in_progress",
	},
	{
		name: "changed while an interrupt is owed: both changes count",
		spec: "a@1.0{k=2,l=2}?k:service(x)", node: "a@1.0 config:complete config{k=2,l=1} changed=k", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k,l; start a config; is in_progress",
	},
	{
		name: "changed back while an interrupt is owed: the interrupt is owed nevertheless",
		spec: "a@1.0{k=1}?k:service(x)", node: "a@1.0 config:complete config{k=2} changed=k", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "11.2#15 changed without an interrupt, after a change with one: nothing is left of the earlier one",
		spec: "a@1.0{k=2,l=2}!reboot?k:service(x)", node: "a@1.0 post-interrupt:complete config{k=2,l=1} changed=k",
		want: "a@1.0 config:in_progress run=now changed=l; start a config; is in_progress",
	},
	{
		name: "changed while the interrupt runs: the interrupt runs to its end, then config",
		spec: "a@1.0#2{k=2,l=2}?k:service(x)", node: "a@1.0 interrupt:in_progress config{k=2,l=1} changed=k interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 config:in_progress run=now changed=l; delete a-interrupt; start a config; is in_progress",
	},
	{
		name: "changed by a key with an interrupt while the interrupt runs: config, and the interrupt once more",
		spec: "a@1.0#2{k=3}?k:service(x)", node: "a@1.0 interrupt:in_progress config{k=2} changed=k interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 config:in_progress run=now changed=k; delete a-interrupt; start a config; is in_progress",
	},
	{
		name: "changed during post-interrupt: back to config, for the new change",
		spec: "a@1.0#2{k=2,l=2}?k:service(x)", node: "a@1.0 post-interrupt:in_progress config{k=2,l=1} changed=k",
		pods: "a@1.0 post-interrupt running", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=l; delete a-post-interrupt; is in_progress",
	},
	{
		name: "fixed after post-interrupt failed, no interrupt owed for the key: config is done, post-interrupt runs again",
		spec: "a@1.0{k=3}!reboot", node: "a@1.0 config:in_progress changed=k interrupt=reboot boot=b0", pods: "a@1.0 config done", gate: "ours clear",
		want: "a@1.0 config:complete; a@1.0 post-interrupt:in_progress run=now changed=k; delete a-config; start a post-interrupt; is in_progress",
	},
	{
		name: "the same without an interrupt that ran: config is the end",
		spec: "a@1.0{k=3}!reboot", node: "a@1.0 config:in_progress changed=k", pods: "a@1.0 config done", gate: "ours clear",
		want: "a@1.0 config:complete run=r1 changed=k; disown cordon; uncordon; delete a-config; is complete; returned",
	},
	{
		name: "after post-interrupt succeeded nothing of the interrupt is left: the next change ends with config",
		spec: "a@1.0{k=3}!reboot", node: "a@1.0 post-interrupt:complete config{k=2}", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "changed after post-interrupt failed: back to config",
		spec: "a@1.0#2{k=3}?k:service(x)", node: "a@1.0 post-interrupt:erroring config{k=2} changed=k reason=StepFailed restarts=3",
		pods: "a@1.0 post-interrupt failing restarts=3 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now changed=k; delete a-post-interrupt; is in_progress",
	},
	{
		name: "11.2#10 changed after apply failed: apply anew, never past it",
		spec: "a@1.0#2{k=2}!reboot?k:noop", node: "a@1.0 apply:erroring config{k=1} reason=StepFailed restarts=3",
		pods: "a@1.0 apply failing restarts=3 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; is in_progress",
	},
	{
		name: "11.2#10 changed after apply failed, and the pod is gone: apply anew",
		spec: "a@1.0#2{k=2}", node: "a@1.0 apply:erroring config{k=1} reason=StepFailed restarts=1",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "11.2#10 changed on a node that was never applied: apply",
		spec: "a@1.0#2{k=2}",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "11.2#10 changed after config failed: config anew",
		spec: "a@1.0#2{k=2}!reboot?k:noop", node: "a@1.0 config:erroring config{k=1} reason=StepFailed restarts=3",
		pods: "a@1.0 config failing restarts=3 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 config:in_progress run=now; delete a-config; is in_progress",
	},
	{
		name: "configInterrupts edited when all is complete: nothing runs",
		spec: "a@1.0{k=2}?k:reboot", node: "a@1.0 config:complete", gate: "acknowledged status=complete",
		want: "is complete",
	},
	{
		name: "an interrupt is added to a package that was installed without: it is owed, as by a fresh install",
		spec: "a@1.0!noop", node: "a@1.0 config:complete", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by noop boot=b1; start a interrupt noop; is in_progress",
	},
	{
		name: "an interrupt is added to a package whose config changed since: it is not owed",
		spec: "a@1.0!noop", node: "a@1.0 config:complete changed=k", gate: "acknowledged",
		want: "is complete",
	},
}

// others are records of another operator, which kept no hashes.
var others = []row{
	{
		name: "complete: no interrupt is owed, its config is taken as current",
		spec: "a@1.0{k=2}!reboot", node: "a@1.0 config:complete config=unknown run= hash= gen=0", gate: "status=complete acknowledged",
		want: "rename a@1.0; is complete",
	},
	{
		name: "complete after an interrupt",
		spec: "a@1.0{k=2}!reboot", node: "a@1.0 post-interrupt:complete config=unknown run=", gate: "status=complete acknowledged",
		want: "rename a@1.0; is complete",
	},
	{
		name: "the node was not complete, and the package waits for its interrupt",
		spec: "a@1.0!reboot", node: "a@1.0 config:complete config=unknown run=", gate: "status=in_progress ours clear",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; is in_progress",
	},
	{
		name: "an interrupt runs, and its pod is there: it decides",
		spec: "a@1.0!service(x)", node: "a@1.0 interrupt:in_progress config=unknown run= hash=", pods: "a@1.0 interrupt done run= #", gate: "status=in_progress ours",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; start a post-interrupt; is in_progress",
	},
	{
		name: "an interrupt was to run, and its pod is gone: it is run anew",
		spec: "a@1.0!service(x)", node: "a@1.0 interrupt:in_progress config=unknown run= hash=", gate: "status=in_progress ours clear",
		want: "a@1.0 interrupt:skipped; a@1.0 interrupt:in_progress run=now by service(x) boot=b1; start a interrupt service(x); is in_progress",
	},
	{
		name: "skipped, while nothing runs: run anew",
		spec: "a@1.0!service(x)", node: "a@1.0 interrupt:skipped config=unknown run= hash=", gate: "status=in_progress ours clear",
		want: "a@1.0 interrupt:in_progress run=now by service(x) boot=b1; start a interrupt service(x); is in_progress",
	},
	{
		name: "interrupted: post-interrupt",
		spec: "a@1.0!service(x)", node: "a@1.0 interrupt:complete config=unknown run= hash=", gate: "status=in_progress ours",
		want: "a@1.0 post-interrupt:in_progress run=now; start a post-interrupt; is in_progress",
	},
	{
		name: "an older version, complete: upgrade",
		spec: "a@1.1", node: "a@1.0 config:complete config=unknown run=", gate: "status=complete",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "on its way out: it is installed anew",
		spec: "a@1.0", node: "a@1.0 uninstall:in_progress config=unknown run=", gate: "status=in_progress",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "on its way out, with an interrupt: it is installed anew",
		spec: "a@1.0", node: "a@1.0 uninstall-interrupt:in_progress config=unknown run=", gate: "status=in_progress",
		want: "a@1.0 uninstall-interrupt:skipped; a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
}

// upgrades with an interrupt, downgrades, and changes of mind.
var upgrades = []row{
	{
		name: "with an interrupt: drained, then upgrade",
		spec: "a@1.1!reboot", node: "a@1.0 post-interrupt:complete interrupt=reboot boot=b0", gate: "ours clear",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "upgrade done: config, as of an install",
		spec: "a@1.1!reboot", node: "a@1.0 post-interrupt:complete since=-2h; a@1.1 upgrade:in_progress", pods: "a@1.1 upgrade done", gate: "ours clear",
		want: "a@1.1 upgrade:complete; a@1.1 config:in_progress run=now; forget a@1.0; delete a-upgrade; start a config; is in_progress",
	},
	{
		name: "upgraded and configured: the package's own interrupt, though the config changed, too",
		spec: "a@1.1{k=2}!reboot?k:noop", node: "a@1.1 config:in_progress", pods: "a@1.1 config done", gate: "ours clear",
		want: "a@1.1 config:complete; a@1.1 interrupt:in_progress run=now by reboot boot=b1; delete a-config; start a interrupt reboot; is in_progress",
	},
	{
		name: "higher, while an interrupt runs: the interrupt runs to its end",
		spec: "a@1.1", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt running", gate: "ours",
		want: "wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "higher, while an interrupt runs and its pod is gone: it is given up, upgrade",
		spec: "a@1.1", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", gate: "ours",
		want: "a@1.0 interrupt:skipped run=r1 since=-1h0m0s by service(x) boot=b1; a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "higher, while another is to be interrupted: upgrade",
		spec: "a@1.1", node: "a@1.0 config:complete", gate: "ours",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "11.2#23 lower: apply of the lower one forgets the higher",
		spec: "a@1.0", node: "a@1.1 config:complete since=-2h; a@1.0 apply:in_progress", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; forget a@1.1; delete a-apply; start a config; is in_progress",
	},
	{
		name: "11.2#23 lower and back, before anything started: still complete",
		spec: "a@1.1", node: "a@1.1 config:complete", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "11.2#23 lower and back, while apply of the lower one ran: the host is mixed, apply anew",
		spec: "a@1.1", node: "a@1.1 config:complete since=-2h; a@1.0 apply:in_progress since=-1m",
		want: "a@1.1 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "11.2#23 lower and back, after config of the lower one began: upgrade",
		spec: "a@1.1", node: "a@1.1 config:complete since=-2h; a@1.0 config:in_progress since=-1m",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "11.2#23 lower and back, within the same second",
		spec: "a@1.1", node: "a@1.1 config:complete since=0s; a@1.0 apply:in_progress since=0s run=now",
		want: "a@1.1 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "a failed upgrade is reverted: apply of the version before, as the host is mixed",
		spec: "a@1.0", node: "a@1.0 config:complete since=-2h; a@1.1 upgrade:erroring reason=StepFailed restarts=2 since=-1m",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "a failed upgrade is reverted: its pod goes first",
		spec: "a@1.0", node: "a@1.0 config:complete since=-2h; a@1.1 upgrade:erroring reason=StepFailed restarts=2 since=-1m",
		pods: "a@1.1 upgrade failing reason=StepFailed restarts=2",
		want: "delete a-upgrade; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "11.2#23 equal versions are one, with an interrupt: nothing is owed",
		spec: "a@v1.2!reboot", node: "a@1.2.0 post-interrupt:complete", gate: "acknowledged",
		want: "rename a@v1.2; forget a@1.2.0; is complete",
	},
}
