package lifecycle_test

var runTables = []group{
	{"failures", failures},
	{"pods", strayPods},
	{"edits", edits},
	{"losses", losses},
	{"slow starts", slowStarts},
	{"paused", heldPods("paused", "Paused", "paused", "")},
	{"disabled", heldPods("disabled", "Disabled", "disabled", "; returned")},
	{"ignored", heldPods("ignored", "NodeIgnored", "blocked", "; returned")},
}

// failures: a stage fails, or its image cannot be pulled.
var failures = []row{
	{
		name: "a step fails for the first time",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply failing restarts=1 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=1 reason=StepFailed; is erroring",
	},
	{
		name: "it fails again: since when stays",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=StepFailed; is erroring",
	},
	{
		name: "it fails for another reason",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=1 reason=OOMKilled",
		want: "a@1.0 apply:erroring run=r1 restarts=1 since=-1h0m0s reason=OOMKilled; is erroring",
	},
	{
		name: "nothing new: nothing is written",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "is erroring",
	},
	{
		name: "the count of attempts never goes down",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=3 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "is erroring",
	},
	{
		name: "one package fails, the other works",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed; b@1.0 apply:in_progress",
		pods: "a@1.0 apply failing restarts=2 reason=StepFailed; b@1.0 apply done",
		want: "b@1.0 apply:complete; b@1.0 config:in_progress run=now; delete b-apply; start b config; is erroring",
	},
	{
		name: "it recovers: the step is through, the check runs",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed", pods: "a@1.0 apply running restarts=2",
		want: "a@1.0 apply:in_progress run=r1 restarts=2; is in_progress",
	},
	{
		name: "a container cannot be started: one minute of patience",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply stuck created=-59s reason=ImagePullBackOff",
		want: "wait a PodCannotStart; again 1s; is in_progress",
	},
	{
		name: "a container cannot be started for a minute: an error",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply stuck created=-60s reason=ImagePullBackOff",
		want: "a@1.0 apply:erroring run=r1 reason=ImagePullBackOff; is erroring",
	},
	{
		name: "its cause is told already, and the kubelet says only that it tries again: nothing is written",
		spec: "a@1.0", node: "a@1.0 apply:erroring reason=ImagePullBackOff",
		pods: "a@1.0 apply stuck repeats=ImagePullBackOff",
		want: "is erroring",
	},
	{
		name: "nobody told the cause so far: that it is retried is all there is",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply stuck repeats=ImagePullBackOff",
		want: "a@1.0 apply:erroring run=r1 reason=ImagePullBackOff; is erroring",
	},
	{
		name: "another failure was told: that the image cannot be pulled is news",
		spec: "a@1.0", node: "a@1.0 apply:erroring reason=CreateContainerConfigError",
		pods: "a@1.0 apply stuck repeats=ImagePullBackOff",
		want: "a@1.0 apply:erroring run=r1 since=-1h0m0s reason=ImagePullBackOff; is erroring",
	},
	{
		name: "two containers cannot be started: the earlier time to look again wins",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:in_progress; b@1.0 apply:in_progress",
		pods: "a@1.0 apply stuck created=-20s reason=ErrImagePull; b@1.0 apply stuck created=-50s reason=ErrImagePull",
		want: "wait a PodCannotStart; wait b PodCannotStart; again 10s; is in_progress",
	},
	{
		name: "the pod is lost: it is deleted, the error is told",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply lost reason=Evicted",
		want: "a@1.0 apply:erroring run=now restarts=1 reason=Evicted; delete a-apply; is erroring",
	},
	{
		name: "lost again: each loss counts and starts the backoff anew",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=Evicted", pods: "a@1.0 apply lost reason=Evicted",
		want: "a@1.0 apply:erroring run=now restarts=2 reason=Evicted; delete a-apply; is erroring",
	},
	{
		name: "lost and ending: it is not counted twice",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=0s reason=Evicted",
		pods: "a@1.0 apply lost terminating reason=Evicted",
		want: "wait a WaitingForPodToEnd; is erroring",
	},
	{
		name: "after a loss: 10 s",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=-3s reason=Evicted",
		want: "wait a BackingOff; tell BackingOff; again 7s; is erroring",
	},
	{
		name: "after a loss: the 10 s are over",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=-10s reason=Evicted",
		want: "a@1.0 apply:in_progress run=r1 restarts=1; start a apply; is in_progress",
	},
	{
		name: "after two losses: 20 s",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=2 since=-10s reason=Evicted",
		want: "wait a BackingOff; tell BackingOff; again 10s; is erroring",
	},
	{
		name: "after six losses: not more than 5 min",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=6 since=-10s reason=Evicted",
		want: "wait a BackingOff; tell BackingOff; again 4m50s; is erroring",
	},
	{
		name: "after a great many losses: 5 min",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1000 since=-5m reason=Evicted",
		want: "a@1.0 apply:in_progress run=r1 restarts=1000; start a apply; is in_progress",
	},
	{
		name: "a permit is needed for the pod after a loss, too",
		spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 since=-1m reason=Evicted", gate: "no-permit",
		want: "wait a WaitingForPermit; tell WaitingForPermit; is erroring",
	},
}

// strayPods are pods that are not what the record expects.
var strayPods = []row{
	{
		name: "somebody deleted the pod: it is made again, for the same run",
		spec: "a@1.0", node: "a@1.0 apply:in_progress",
		want: "start a apply; is in_progress",
	},
	{
		name: "somebody is deleting the pod: its replacement waits",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running terminating",
		want: "wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "somebody is deleting the pod, but it was done",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done terminating",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "the result of an earlier run proves nothing",
		spec: "a@1.0", node: "a@1.0 config:in_progress run=r2", pods: "a@1.0 config done run=r1",
		want: "delete a-config; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the pod of the stage before ends",
		spec: "a@1.0", node: "a@1.0 config:in_progress run=r2", pods: "a@1.0 apply done run=r1 terminating",
		want: "wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the pod of another version proves nothing",
		spec: "a@1.1", node: "a@1.1 apply:in_progress", pods: "a@1.0 apply done",
		want: "delete a-apply; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "a pod without an entry is deleted before the package starts",
		spec: "a@1.0", pods: "a@1.0 apply done",
		want: "delete a-apply; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "a pod of a package that left the spec",
		spec: "a@1.0", node: "a@1.0 config:complete; b@1.0 apply:in_progress", pods: "b@1.0 apply running",
		want: "delete b-apply; is complete",
	},
	{
		name: "a pod of a package that left the spec ends: the node is in progress until it has",
		spec: "a@1.0", node: "a@1.0 config:complete; b@1.0 apply:in_progress", pods: "b@1.0 apply running terminating",
		want: "is complete",
	},
	{
		name: "a pod of one package does not hold back another",
		spec: "a@1.0; b@1.0", node: "b@1.0 apply:in_progress", pods: "b@1.0 apply running terminating",
		want: "a@1.0 apply:in_progress run=now; start a apply; wait b WaitingForPodToEnd; is in_progress",
	},
	{
		name: "an entry without a run, of another operator, begins anew",
		spec: "a@1.0", node: "a@1.0 apply:in_progress run=",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "an entry without a run, of another operator, whose pod is still there",
		spec: "a@1.0", node: "a@1.0 apply:in_progress run=", pods: "a@1.0 apply running run= hash=",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; is in_progress",
	},
	{
		name: "its pod was made for this spec: it runs to its end",
		spec: "a@1.0", node: "a@1.0 apply:in_progress run=", pods: "a@1.0 apply running run= hash= gen=7",
		want: "is in_progress",
	},
	{
		name: "its pod was made for this spec, and fails",
		spec: "a@1.0", node: "a@1.0 apply:in_progress run=", pods: "a@1.0 apply failing run= hash= gen=7 restarts=1 reason=Boom",
		want: "a@1.0 apply:erroring restarts=1 reason=Boom; is erroring",
	},
	{
		name: "its pod was made for an earlier spec",
		spec: "a@1.0", node: "a@1.0 apply:in_progress run=", pods: "a@1.0 apply running run= hash= gen=6",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; is in_progress",
	},
}

// edits change what a running pod should be.
var edits = []row{
	{
		name: "while a step runs: the pod is replaced when it is gone",
		spec: "a@1.0 hash=2", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; is in_progress",
	},
	{
		name: "while a step fails: a fresh start, the errors are forgotten",
		spec: "a@1.0 hash=2", node: "a@1.0 apply:erroring restarts=4 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=4 reason=StepFailed",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; is in_progress",
	},
	{
		name: "when a step is done already, it counts",
		spec: "a@1.0 hash=2", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done",
		want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
	},
	{
		name: "the package is removed from the spec: its entry stays, as do its files",
		node: "a@1.0 config:complete", gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "the package is removed while it works: its pod is deleted, then the permit",
		node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "delete a-apply; is complete",
	},
	{
		name: "an edit while the node is held: what no longer fits is stopped, nothing starts",
		spec: "a@1.0 hash=2", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "paused",
		want: "a@1.0 apply:in_progress run=now; delete a-apply; wait Paused; is paused",
	},
}

// losses count once each.
var losses = []row{
	{
		name: "lost: that run is over",
		spec: "a@1.0 retries=3", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply lost reason=Evicted",
		want: "a@1.0 apply:erroring run=now restarts=1 reason=Evicted; delete a-apply; is erroring",
	},
	{
		name: "seen again: it is not counted again",
		spec: "a@1.0 retries=3", node: "a@1.0 apply:erroring run=now restarts=1 since=0s reason=Evicted",
		pods: "a@1.0 apply lost reason=Evicted",
		want: "delete a-apply; wait a BackingOff; again 10s; is erroring",
	},
	{
		name: "seen again while it ends",
		spec: "a@1.0 retries=3", node: "a@1.0 apply:erroring run=now restarts=1 since=0s reason=Evicted",
		pods: "a@1.0 apply lost terminating reason=Evicted",
		want: "wait a BackingOff; again 10s; is erroring",
	},
	{
		name: "seen again after the pause: its replacement waits for it",
		spec: "a@1.0 retries=3", node: "a@1.0 apply:erroring run=now restarts=1 since=-10s reason=Evicted",
		pods: "a@1.0 apply lost terminating reason=Evicted",
		want: "wait a WaitingForPodToEnd; is erroring",
	},
	{
		name: "its replacement is lost: that counts",
		spec: "a@1.0 retries=3", node: "a@1.0 apply:in_progress run=now restarts=1",
		pods: "a@1.0 apply lost run=now reason=Evicted",
		want: "a@1.0 apply:erroring run=now! restarts=2 reason=Evicted; delete a-apply; is erroring",
	},
	{
		name: "as often as maxRetries allows: exhausted",
		spec: "a@1.0 retries=1", node: "a@1.0 apply:in_progress run=now restarts=1",
		pods: "a@1.0 apply lost run=now reason=Evicted",
		want: "a@1.0 apply:erroring run=now restarts=1 reason=RetriesExhausted; delete a-apply; is erroring",
	},
	{
		name: "of an interrupt, seen again: it is not counted again",
		spec: "a@1.0 interrupt=service(x) retries=3",
		node: "a@1.0 interrupt:erroring run=now restarts=1 since=0s reason=Evicted interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt lost reason=Evicted", gate: "ours clear",
		want: "delete a-interrupt; wait a BackingOff; again 10s; is erroring",
	},
	{
		name: "the node's shutdown is a loss to any stage",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply lost shutdown reason=Terminated",
		want: "a@1.0 apply:erroring run=now restarts=1 reason=Terminated; delete a-apply; is erroring",
	},
}

// slowStarts: nothing refuses the pod, and nothing of it runs either.
var slowStarts = []row{
	{
		name: "no container has started yet: one minute of patience",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running created=-10s reason=ContainerCreating",
		want: "again 50s; is in_progress",
	},
	{
		name: "no container has started for a minute: it is told, and is no failure",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running created=-1m reason=ContainerCreating",
		want: "wait a PodCannotStart; tell PodCannotStart; is in_progress",
	},
	{
		name: "no container has started for a minute: since when stays",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running created=-5m reason=ContainerCreating",
		gate: "told=PodCannotStart/-4m",
		want: "wait a PodCannotStart; tell PodCannotStart since=-4m0s; is in_progress",
	},
	{
		name: "of an interrupt",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt running created=-1m reason=PodInitializing", gate: "ours",
		want: "wait a PodCannotStart; tell PodCannotStart; is in_progress",
	},
	{
		name: "while the node is paused",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running created=-1m reason=ContainerCreating",
		gate: "paused",
		want: "wait a PodCannotStart; wait Paused; tell PodCannotStart; is paused",
	},
}
