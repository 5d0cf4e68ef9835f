package lifecycle_test

var cordonTables = []group{
	{"cordon", cordons},
	{"drain", drains},
}

// cordons: nothing that disturbs a node starts before its cordon is read back, and only what we cordoned is
// uncordoned.
var cordons = []row{
	{
		name: "it is written, but not read back yet",
		spec: "a@1.0 interrupt=reboot", gate: "lifted",
		want: "cordon; wait a Cordoning; tell Cordoning; is in_progress",
	},
	{
		name: "a package without an interrupt needs none",
		spec: "a@1.0",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "a package without an interrupt does not wait for the cordon of another",
		spec: "a@1.0 interrupt=reboot; b@1.0",
		want: "b@1.0 apply:in_progress run=now; own cordon; cordon; start b apply; wait a Cordoning; is in_progress",
	},
	{
		name: "paused later: the cordon stays",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 apply:complete", gate: "paused ours",
		want: "wait Paused; tell Paused; is paused",
	},
	{
		name: "disabled: the cordon is lifted with the permit",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 apply:complete", gate: "disabled ours",
		want: "disown cordon; uncordon; wait Disabled; tell Disabled; is disabled; returned",
	},
	{
		name: "a cordon that stood before is used, but not taken for ours",
		spec: "a@1.0 interrupt=reboot", gate: "admins clear",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "a cordon that stood before is not taken while the drain waits, either",
		spec: "a@1.0 interrupt=reboot", gate: "admins left=Evicting",
		want: "wait a Evicting; tell Evicting; evict; again 5s; is in_progress",
	},
	{
		name: "a cordon that stood before stays on completion",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 post-interrupt:in_progress", pods: "a@1.0 post-interrupt done",
		gate: "admins",
		want: "a@1.0 post-interrupt:complete run=r1; delete a-post-interrupt; is complete; returned",
	},
	{
		name: "a cordon that stood before is lifted by its owner while we need it: we make our own",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "clear",
		want: "own cordon; cordon; wait a Cordoning; tell Cordoning; is in_progress",
	},
	{
		name: "another Skyhook's cordon: we hold it, too",
		spec: "a@1.0 interrupt=reboot", gate: "others left=Evicting",
		want: "own cordon; wait a Evicting; tell Evicting; evict; again 5s; is in_progress",
	},
	{
		name: "another Skyhook's cordon of the same pass: it is waited for, too, even when a look says that all pods have " +
			"left",
		spec: "a@1.0 interrupt=reboot", gate: "others unread clear",
		want: "own cordon; wait a Cordoning; tell Cordoning; is in_progress",
	},
	{
		name: "another Skyhook's cordon of the same pass, before the interrupt",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours others unread clear",
		want: "wait a Cordoning; tell Cordoning; is in_progress",
	},
	{
		name: "another Skyhook still holds it on completion: it is left to that one",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 post-interrupt:in_progress", pods: "a@1.0 post-interrupt done",
		gate: "ours others",
		want: "a@1.0 post-interrupt:complete run=r1; disown cordon; delete a-post-interrupt; is complete; returned",
	},
	{
		name: "somebody lifted ours while a stage runs: it is made again",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "lifted",
		want: "cordon; is in_progress",
	},
	{
		name: "somebody lifted ours before the interrupt: the node is drained anew",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "lifted clear",
		want: "cordon; wait a Cordoning; tell Cordoning; is in_progress",
	},
	{
		name: "somebody lifted ours, and we are done: it stays lifted",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 post-interrupt:complete", gate: "lifted",
		want: "disown cordon; uncordon; is complete; returned",
	},
	{
		name: "the cordon stays until every package is complete",
		spec: "a@1.0 interrupt=reboot; b@1.0", node: "a@1.0 post-interrupt:in_progress; b@1.0 config:in_progress",
		pods: "a@1.0 post-interrupt done; b@1.0 config running", gate: "ours",
		want: "a@1.0 post-interrupt:complete run=r1; delete a-post-interrupt; is in_progress",
	},
	{
		name: "the cordon stays while a pod ends",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 post-interrupt:complete", pods: "b@1.0 apply running terminating",
		gate: "ours",
		want: "is complete",
	},
	{
		name: "complete, but nobody lifted the cordon: an operator stopped in between",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 post-interrupt:complete", gate: "ours acknowledged",
		want: "disown cordon; uncordon; is complete",
	},
	{
		name: "the interrupt was taken out of the spec: the cordon continues completion",
		spec: "a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config done", gate: "ours",
		want: "a@1.0 config:complete run=r1; disown cordon; uncordon; delete a-config; is complete; returned",
	},
}

// drains: the node is cordoned, and pods of others have to leave it.
var drains = []row{
	{
		name: "the others of the node continue meanwhile",
		spec: "a@1.0 interrupt=reboot; b@1.0", gate: "ours left=EvictionRefused",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a EvictionRefused; tell EvictionRefused; evict; " +
			"again 5s; is in_progress",
	},
	{
		name: "evicted pods are waited for until they are gone",
		spec: "a@1.0 interrupt=reboot", gate: "ours left=PodTerminating told=Evicting/-10s",
		want: "wait a PodTerminating; tell PodTerminating since=-10s; evict; again 5s; is in_progress",
	},
	{
		name: "a protected pod holds it, since when stays",
		spec: "a@1.0 interrupt=reboot", gate: "ours left=ProtectedPod told=ProtectedPod/-2h",
		want: "wait a ProtectedPod; tell ProtectedPod since=-2h0m0s; evict; again 5s; is in_progress",
	},
	{
		name: "the protected pod is gone: the drain begins now",
		spec: "a@1.0 interrupt=reboot", gate: "ours left=Evicting told=ProtectedPod/-2h",
		want: "wait a Evicting; tell Evicting; evict; again 5s; is in_progress",
	},
	{
		name: "a protected pod appears while it continues",
		spec: "a@1.0 interrupt=reboot", gate: "ours left=ProtectedPod told=Evicting/-1m",
		want: "wait a ProtectedPod; tell ProtectedPod; evict; again 5s; is in_progress",
	},
	{
		name: "it takes too long: erroring, and it continues",
		spec: "a@1.0 interrupt=reboot", gate: "ours late=EvictionRefused told=EvictionRefused/-10m",
		want: "wait a DrainTimeout; tell DrainTimeout since=-10m0s; evict; again 5s; is erroring",
	},
	{
		name: "a drain that lasts too long keeps its permit under the cordon of somebody else, too",
		spec: "a@1.0 interrupt=reboot", gate: "admins revoked late=EvictionRefused told=DrainTimeout/-10m",
		want: "wait a DrainTimeout; tell DrainTimeout since=-10m0s; evict; again 5s; is erroring",
	},
	{
		name: "nothing is drained with a permit that is revoked before",
		spec: "a@1.0 interrupt=reboot", gate: "admins revoked",
		want: "wait a WaitingForPermit; tell WaitingForPermit; is waiting; returned",
	},
	{
		name: "it still takes too long: its time does not start over",
		spec: "a@1.0 interrupt=reboot", gate: "ours late=EvictionRefused told=DrainTimeout/-10m",
		want: "wait a DrainTimeout; tell DrainTimeout since=-10m0s; evict; again 5s; is erroring",
	},
	{
		name: "two packages wait: the node tells one reason",
		spec: "a@1.0 interrupt=reboot; b@1.0 interrupt=noop", gate: "ours left=Evicting",
		want: "wait a Evicting; wait b Evicting; tell Evicting; evict; again 5s; is in_progress",
	},
	{
		name: "pods came between apply and config: they leave first",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done", gate: "ours left=Evicting",
		want: "a@1.0 apply:complete run=r1; delete a-apply; wait a Evicting; tell Evicting; evict; again 5s; is in_progress",
	},
	{
		name: "pods came before the interrupt: they leave first",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours left=ProtectedPod",
		want: "wait a ProtectedPod; tell ProtectedPod; evict; again 5s; is in_progress",
	},
	{
		name: "after the interrupt nothing has to leave",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:complete interrupt=reboot boot=b0", gate: "ours left=Evicting",
		want: "a@1.0 post-interrupt:in_progress run=now; start a post-interrupt; is in_progress",
	},
	{
		name: "a config change with an interrupt needs it, too",
		spec: "a@1.0 config{k=2} on:k=service(x)", node: "a@1.0 config:complete config{k=1}", gate: "ours left=Evicting",
		want: "wait a Evicting; tell Evicting; evict; again 5s; is in_progress",
	},
	{
		name: "a config change without an interrupt does not",
		spec: "a@1.0 interrupt=reboot config{k=2} on:l=service(x)", node: "a@1.0 post-interrupt:complete config{k=1}",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
}
