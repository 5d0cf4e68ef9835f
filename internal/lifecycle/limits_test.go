package lifecycle_test

// serials: one package at a time.
var serials = []row{
	{
		name: "11.2#1 the first by name starts alone",
		spec: "a@1.0; b@1.0", gate: "serial",
		want: "a@1.0 apply:in_progress run=now; start a apply; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 it runs, the other waits",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "serial",
		want: "wait b WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 it goes through all its stages first",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done", gate: "serial",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 it is complete: the next, in the same pass",
		spec: "a@1.0; b@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config done", gate: "serial",
		want: "a@1.0 config:complete run=r1; b@1.0 apply:in_progress run=now; delete a-config; start b apply; is in_progress",
	},
	{
		name: "11.2#1 one that has begun goes on before an earlier name begins",
		spec: "a@1.0; b@1.0", node: "b@1.0 apply:complete", gate: "serial",
		want: "b@1.0 config:in_progress run=now; start b config; wait a WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 dependencies come before names",
		spec: "a@1.0<c@1.0; b@1.0; c@1.0", gate: "serial",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a WaitingForSerial; wait c WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 a failing one keeps its turn",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:erroring reason=StepFailed restarts=2", pods: "a@1.0 apply failing reason=StepFailed restarts=2", gate: "serial",
		want: "wait b WaitingForSerial; is erroring",
	},
	{
		name: "11.2#1 an interrupt belongs to the turn",
		spec: "a@1.0!service(x); b@1.0", node: "a@1.0 config:complete", gate: "serial ours clear",
		want: "a@1.0 interrupt:in_progress run=now by service(x) boot=b1; start a interrupt service(x); wait b WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 an interrupt is not merged with that of one whose turn has not come",
		spec: "a@1.0!service(x); b@1.0!service(y)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt done", gate: "serial ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; start a post-interrupt; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 a lost interrupt pod is made again in its turn",
		spec: "a@1.0!service(x); b@1.0", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", gate: "serial ours clear",
		want: "start a interrupt service(x); wait b WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 a config change takes its turn",
		spec: "a@1.0{k=2}; b@1.0{k=2}", node: "a@1.0 config:complete config{k=1}; b@1.0 config:complete config{k=1}", gate: "serial",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 one that has begun lets its dependency go first when that has work again",
		spec: "a@1.0{k=2}; b@1.0<a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 apply:complete", gate: "serial",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 one that has begun lets its dependency go first, when its pod has ended",
		spec: "a@1.0{k=2}; b@1.0<a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 apply:in_progress", pods: "b@1.0 apply running", gate: "serial",
		want: "wait a WaitingForSerial; is in_progress",
	},
	{
		name: "11.2#1 one whose pod was lost lets its dependency go first",
		spec: "a@1.0{k=2}; b@1.0<a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 apply:in_progress", gate: "serial",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "11.2#1 a lost interrupt pod is made again, although an earlier name has work",
		spec: "a@1.0!noop; d@1.0!noop", node: "a@1.0 interrupt:skipped interrupt=noop boot=b1; d@1.0 interrupt:in_progress interrupt=noop boot=b1", gate: "serial ours clear",
		want: "start d interrupt noop; is in_progress",
	},
	{
		name: "11.2#1 of two that owe an interrupt, the one whose dependencies are complete goes first, alone",
		spec: "a@1.0!noop<b@1.0; b@1.0!service(x)", node: "a@1.0 config:complete; b@1.0 config:complete", gate: "serial ours clear",
		want: "b@1.0 interrupt:in_progress run=now by service(x) boot=b1; start b interrupt service(x); is in_progress",
	},
	{
		name: "11.2#1 nothing to do",
		spec: "a@1.0; b@1.0", node: "a@1.0 config:complete; b@1.0 config:complete", gate: "serial acknowledged",
		want: "is complete",
	},
}

// limits: stageTimeout and maxRetries.
var limits = []row{
	{
		name: "stageTimeout: another look when it is over",
		spec: "a@1.0~timeout=5m", node: "a@1.0 apply:in_progress run=now", pods: "a@1.0 apply running run=now",
		want: "again 5m0s; is in_progress",
	},
	{
		name: "stageTimeout: over",
		spec: "a@1.0~timeout=5m", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "a@1.0 apply:erroring run=r1 reason=StageTimeout; delete a-apply; is erroring",
	},
	{
		name: "stageTimeout: over while it fails, the cause is told",
		spec: "a@1.0~timeout=5m", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed", pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=StageTimeout; delete a-apply; is erroring",
	},
	{
		name: "stageTimeout: over, but it is done",
		spec: "a@1.0~timeout=5m", node: "a@1.0 config:in_progress", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1; delete a-config; is complete; returned",
	},
	{
		name: "stageTimeout: given up until the spec changes",
		spec: "a@1.0~timeout=5m", node: "a@1.0 apply:erroring reason=StageTimeout",
		want: "wait a StageTimeout; is erroring",
	},
	{
		name: "stageTimeout: given up, the others go on",
		spec: "a@1.0~timeout=5m; b@1.0", node: "a@1.0 apply:erroring reason=StageTimeout; b@1.0 apply:in_progress", pods: "b@1.0 apply done",
		want: "b@1.0 apply:complete; b@1.0 config:in_progress run=now; delete b-apply; start b config; wait a StageTimeout; is erroring",
	},
	{
		name: "stageTimeout: a change of the package tries again",
		spec: "a@1.0#2~timeout=5m", node: "a@1.0 apply:erroring reason=StageTimeout", gate: "gen=8",
		want: "a@1.0 apply:in_progress run=now gen=8; start a apply; is in_progress",
	},
	{
		name: "stageTimeout: a change of the limit tries again",
		spec: "a@1.0~timeout=2h", node: "a@1.0 apply:erroring reason=StageTimeout", gate: "gen=8",
		want: "a@1.0 apply:in_progress run=now gen=8; start a apply; is in_progress",
	},
	{
		name: "stageTimeout: trying again takes a permit",
		spec: "a@1.0~timeout=2h", node: "a@1.0 apply:erroring reason=StageTimeout", gate: "gen=8 no-permit",
		want: "wait a WaitingForPermit; tell WaitingForPermit; is erroring",
	},
	{
		name: "stageTimeout: of a service interrupt",
		spec: "a@1.0!service(x)~timeout=5m", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt running", gate: "ours",
		want: "a@1.0 interrupt:erroring run=r1 reason=StageTimeout by service(x) boot=b1; delete a-interrupt; is erroring",
	},
	{
		name: "stageTimeout: of a service interrupt, given up",
		spec: "a@1.0!service(x)~timeout=5m", node: "a@1.0 interrupt:erroring reason=StageTimeout interrupt=service(x) boot=b1", gate: "ours clear",
		want: "wait a StageTimeout; is erroring",
	},
	{
		name: "stageTimeout: of a service interrupt, tried again after an edit",
		spec: "a@1.0!service(x)~timeout=2h", node: "a@1.0 interrupt:erroring reason=StageTimeout restarts=1 interrupt=service(x) boot=b1", gate: "ours clear gen=8",
		want: "a@1.0 interrupt:in_progress run=now by service(x) boot=b1 gen=8; start a interrupt service(x); is in_progress",
	},
	{
		name: "maxRetries 0: the first failure is the last",
		spec: "a@1.0~retries=0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply failing reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 reason=RetriesExhausted; delete a-apply; is erroring",
	},
	{
		name: "maxRetries 2: one retry so far",
		spec: "a@1.0~retries=2", node: "a@1.0 apply:erroring reason=StepFailed", pods: "a@1.0 apply failing restarts=1 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=1 since=-1h0m0s reason=StepFailed; is erroring",
	},
	{
		name: "maxRetries 2: the second retry still runs",
		spec: "a@1.0~retries=2", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed", pods: "a@1.0 apply failing restarts=2 reason=StepFailed retrying",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=StepFailed; is erroring",
	},
	{
		name: "maxRetries 2: the second retry failed",
		spec: "a@1.0~retries=2", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed", pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=RetriesExhausted; delete a-apply; is erroring",
	},
	{
		name: "maxRetries: given up while its pod ends",
		spec: "a@1.0~retries=2", node: "a@1.0 apply:erroring restarts=2 reason=RetriesExhausted", pods: "a@1.0 apply failing restarts=2 reason=StepFailed terminating",
		want: "wait a WaitingForPodToEnd; is erroring",
	},
	{
		name: "maxRetries: given up until the spec changes",
		spec: "a@1.0~retries=2", node: "a@1.0 apply:erroring restarts=2 reason=RetriesExhausted",
		want: "wait a RetriesExhausted; is erroring",
	},
	{
		name: "maxRetries: an edit tries again",
		spec: "a@1.0~retries=5", node: "a@1.0 apply:erroring restarts=2 reason=RetriesExhausted", gate: "gen=8",
		want: "a@1.0 apply:in_progress run=now gen=8; start a apply; is in_progress",
	},
	{
		name: "maxRetries 2: lost pods count, too",
		spec: "a@1.0~retries=2", node: "a@1.0 apply:erroring restarts=2 reason=Evicted", pods: "a@1.0 apply lost reason=Evicted",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=RetriesExhausted; delete a-apply; is erroring",
	},
	{
		name: "maxRetries 0: a container that cannot be started is no failed attempt",
		spec: "a@1.0~retries=0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply stuck reason=ImagePullBackOff",
		want: "a@1.0 apply:erroring run=r1 reason=ImagePullBackOff; is erroring",
	},
	{
		name: "maxRetries 0: of a service interrupt",
		spec: "a@1.0!service(x)~retries=0", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt failing reason=StepFailed", gate: "ours",
		want: "a@1.0 interrupt:erroring run=r1 reason=RetriesExhausted by service(x) boot=b1; delete a-interrupt; is erroring",
	},
	{
		name: "three runs within a second differ from each other",
		spec: "a@1.0#3", node: "a@1.0 apply:in_progress run=now!", pods: "a@1.0 apply running run=now! #2",
		want: "a@1.0 apply:in_progress run=now!!; delete a-apply; is in_progress",
	},
	{
		name: "a run that another operator named: its limit counts from its state's beginning",
		spec: "a@1.0~timeout=2h", node: "a@1.0 apply:in_progress run=by-hand", pods: "a@1.0 apply running run=by-hand",
		want: "again 1h0m0s; is in_progress",
	},
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
		want: "ReapplyAfterReboot; a@1.0 apply:in_progress run=now; b@1.0 apply:in_progress run=now; boot b1; start a apply; start b apply; is in_progress",
	},
	{
		name: "a reboot: starting over takes a permit",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "reapply last-boot=b0 acknowledged",
		want: "ReapplyAfterReboot; forget a@1.0; boot b1; wait a WaitingForPermit; is waiting",
	},
	{
		name: "a reboot while a stage runs: its pod goes first",
		spec: "a@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config running", gate: "reapply last-boot=b0",
		want: "ReapplyAfterReboot; forget a@1.0; boot b1; delete a-config; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "a reboot, but the node is not Ready yet",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "reapply last-boot=b0 not-ready acknowledged",
		want: "is complete",
	},
	{
		name: "11.2#22 a boot id that is not known is none",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "reapply last-boot=b1 boot= acknowledged",
		want: "is complete",
	},
	{
		name: "our own reboot is none",
		spec: "a@1.0!reboot", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1", gate: "ours reapply last-boot=b1 boot=b2",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; boot b2; start a post-interrupt; is in_progress",
	},
	{
		name: "a reboot during another interrupt: that runs to its end",
		spec: "a@1.0!service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt running", gate: "ours reapply last-boot=b1 boot=b2",
		want: "is in_progress",
	},
	{
		name: "a reboot during another interrupt is not forgotten at its end",
		spec: "a@1.0!service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt done", gate: "ours reapply last-boot=b1 boot=b2",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; start a post-interrupt; is in_progress",
	},
	{
		name: "not set: a reboot changes nothing",
		spec: "a@1.0", node: "a@1.0 config:complete", gate: "last-boot=b0 acknowledged",
		want: "is complete",
	},
}
