package lifecycle_test

var serialTables = []group{
	{"install", serials},
	{"uninstall", uninstallSerial},
}

// serials: one package at a time.
var serials = []row{
	{
		name: "the first by name starts alone",
		spec: "a@1.0; b@1.0", gate: "serial",
		want: "a@1.0 apply:in_progress run=now; start a apply; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "it runs, the other waits",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "serial",
		want: "wait b WaitingForSerial; is in_progress",
	},
	{
		name: "it goes through all its stages first",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done", gate: "serial",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; " +
			"wait b WaitingForSerial; is in_progress",
	},
	{
		name: "it is complete: the next, in the same pass",
		spec: "a@1.0; b@1.0", node: "a@1.0 config:in_progress", pods: "a@1.0 config done", gate: "serial",
		want: "a@1.0 config:complete run=r1; b@1.0 apply:in_progress run=now; delete a-config; start b apply; is in_progress",
	},
	{
		name: "one that has begun continues before an earlier name begins",
		spec: "a@1.0; b@1.0", node: "b@1.0 apply:complete", gate: "serial",
		want: "b@1.0 config:in_progress run=now; start b config; wait a WaitingForSerial; is in_progress",
	},
	{
		name: "dependencies come before names",
		spec: "a@1.0 needs=c@1.0; b@1.0; c@1.0", gate: "serial",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a WaitingForDependency; wait c WaitingForSerial; " +
			"is in_progress",
	},
	{
		name: "one that has begun continues when nobody else can",
		spec: "a@1.0 uninstall=on,apply; b@1.0 interrupt=service(x) needs=a@1.0", node: "b@1.0 config:complete",
		gate: "serial ours clear",
		want: "b@1.0 interrupt:in_progress run=now by service(x) boot=b1; start b interrupt service(x); is in_progress",
	},
	{
		name: "one that has begun says what it waits for when nobody else can continue",
		spec: "a@1.0 uninstall=on,apply; b@1.0 interrupt=service(x) needs=a@1.0",
		node: "b@1.0 interrupt:complete interrupt=service(x) boot=b1", gate: "serial",
		want: "wait b DependencyUninstalled; tell DependencyUninstalled; is blocked; returned",
	},
	{
		name: "a failing one keeps its turn",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:erroring reason=StepFailed restarts=2",
		pods: "a@1.0 apply failing reason=StepFailed restarts=2", gate: "serial",
		want: "wait b WaitingForSerial; is erroring",
	},
	{
		name: "an interrupt belongs to the turn",
		spec: "a@1.0 interrupt=service(x); b@1.0", node: "a@1.0 config:complete", gate: "serial ours clear",
		want: "a@1.0 interrupt:in_progress run=now by service(x) boot=b1; start a interrupt service(x); " +
			"wait b WaitingForSerial; is in_progress",
	},
	{
		name: "an interrupt is not merged with that of one whose turn has not come",
		spec: "a@1.0 interrupt=service(x); b@1.0 interrupt=service(y)",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1", pods: "a@1.0 interrupt done",
		gate: "serial ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; " +
			"start a post-interrupt; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "a lost interrupt pod is made again in its turn",
		spec: "a@1.0 interrupt=service(x); b@1.0", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		gate: "serial ours clear",
		want: "start a interrupt service(x); wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "a config change takes its turn",
		spec: "a@1.0 config{k=2}; b@1.0 config{k=2}",
		node: "a@1.0 config:complete config{k=1}; b@1.0 config:complete config{k=1}", gate: "serial",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "one that has begun lets its dependency go first when that has work again",
		spec: "a@1.0 config{k=2}; b@1.0 needs=a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 apply:complete",
		gate: "serial",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "one that has begun lets its dependency go first, when its pod has ended",
		spec: "a@1.0 config{k=2}; b@1.0 needs=a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 apply:in_progress",
		pods: "b@1.0 apply running", gate: "serial",
		want: "wait a WaitingForSerial; is in_progress",
	},
	{
		name: "one whose pod was lost lets its dependency go first",
		spec: "a@1.0 config{k=2}; b@1.0 needs=a@1.0", node: "a@1.0 config:complete config{k=1}; b@1.0 apply:in_progress",
		gate: "serial",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; wait b WaitingForDependency; is in_progress",
	},
	{
		name: "a lost interrupt pod is made again, although an earlier name has work",
		spec: "a@1.0 interrupt=noop; d@1.0 interrupt=noop",
		node: "a@1.0 interrupt:skipped interrupt=noop boot=b1; d@1.0 interrupt:in_progress interrupt=noop boot=b1",
		gate: "serial ours clear",
		want: "start d interrupt noop; is in_progress",
	},
	{
		name: "of two that need an interrupt, the one whose dependencies are complete goes first, alone",
		spec: "a@1.0 interrupt=noop needs=b@1.0; b@1.0 interrupt=service(x)",
		node: "a@1.0 config:complete; b@1.0 config:complete", gate: "serial ours clear",
		want: "b@1.0 interrupt:in_progress run=now by service(x) boot=b1; start b interrupt service(x); is in_progress",
	},
}

// uninstallSerial: one package at a time, those that go before those that come.
var uninstallSerial = []row{
	{
		name: "what is removed comes first",
		spec: "a@1.0; b@1.0 uninstall=on,apply", node: "b@1.0 config:complete", gate: "serial",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a WaitingForSerial; is in_progress",
	},
	{
		name: "one by one",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply", node: "a@1.0 config:complete; b@1.0 config:complete",
		gate: "serial",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; wait b WaitingForSerial; is in_progress",
	},
	{
		name: "dependents first",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply needs=a@1.0",
		node: "a@1.0 config:complete; b@1.0 config:complete", gate: "serial",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "one that has begun comes before the first by name",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply",
		node: "a@1.0 config:complete; b@1.0 uninstall:in_progress", pods: "b@1.0 uninstall running", gate: "serial",
		want: "wait a WaitingForSerial; is in_progress",
	},
	{
		name: "one that has begun ends with its interrupt",
		spec: "a@1.0 uninstall=on,apply interrupt=noop; b@1.0 uninstall=on,apply interrupt=noop",
		node: "a@1.0 config:complete; b@1.0 uninstall:complete", gate: "serial ours clear",
		want: "b@1.0 uninstall-interrupt:in_progress run=now by noop boot=b1; start b uninstall-interrupt noop; " +
			"wait a WaitingForSerial; is in_progress",
	},
	{
		name: "one that is done makes room in the same pass",
		spec: "a@1.0 uninstall=on,apply; b@1.0", node: "a@1.0 uninstall:in_progress", pods: "a@1.0 uninstall done",
		gate: "serial",
		want: "a@1.0 uninstall:complete; Uninstalled a@1.0; b@1.0 apply:in_progress run=now; remove a@1.0; " +
			"delete a-uninstall; start b apply; is in_progress",
	},
	{
		name: "one that has begun, and whose pod is lost, lets what is built on it go first",
		spec: "a@1.0 uninstall=on,apply; b@1.0 uninstall=on,apply needs=a@1.0",
		node: "a@1.0 uninstall:in_progress; b@1.0 config:complete", gate: "serial",
		want: "b@1.0 uninstall:in_progress run=now; start b uninstall; wait a WaitingForDependent; is in_progress",
	},
	{
		name: "one that nobody knows how to uninstall has no turn",
		spec: "a@1.0 uninstall=on,auto; b@1.0", node: "a@1.1 config:complete", gate: "serial",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a DefinitionMissing; wait a WaitingForUninstall; " +
			"is in_progress",
	},
	{
		name: "one that is cancelled has begun: it is installed again before others",
		spec: "a@1.0; b@1.0 uninstall=on", node: "b@1.0 uninstall:in_progress", gate: "serial",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a WaitingForSerial; is in_progress",
	},
	{
		name: "a deletion, one by one",
		spec: "a@1.0 uninstall=on; b@1.0; c@1.0 uninstall=on",
		node: "a@1.0 config:complete; b@1.0 apply:in_progress; c@1.0 config:complete", gate: "serial deleting",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; wait c WaitingForSerial; is in_progress",
	},
}
