package lifecycle_test

import (
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

var limitTables = []group{
	{"limits", limits},
	{"exhausted interrupts", exhaustedInterrupts},
	{"from the pod", podLimits},
	{"without a limit", longRuns},
}

// limits: stageTimeout and maxRetries.
var limits = []row{
	{
		name: "stageTimeout: another look when it is over",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:in_progress run=now", pods: "a@1.0 apply running run=now created=0s",
		want: "again 5m0s; is in_progress",
	},
	{
		name: "stageTimeout: over",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
		want: "a@1.0 apply:erroring run=r1 reason=StageTimeout; delete a-apply; is erroring",
	},
	{
		name: "stageTimeout: over while it fails, the cause is told",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=StageTimeout; delete a-apply; is erroring",
	},
	{
		name: "stageTimeout: over, but it is done",
		spec: "a@1.0 timeout=5m", node: "a@1.0 config:in_progress", pods: "a@1.0 config done",
		want: "a@1.0 config:complete run=r1; delete a-config; is complete; returned",
	},
	{
		name: "stageTimeout: permanently failed until the spec changes",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:erroring reason=StageTimeout",
		want: "wait a StageTimeout; tell StageTimeout; is erroring",
	},
	{
		name: "stageTimeout: permanently failed, the others continue",
		spec: "a@1.0 timeout=5m; b@1.0", node: "a@1.0 apply:erroring reason=StageTimeout; b@1.0 apply:in_progress",
		pods: "b@1.0 apply done",
		want: "b@1.0 apply:complete; b@1.0 config:in_progress run=now; delete b-apply; start b config; " +
			"wait a StageTimeout; is erroring",
	},
	{
		name: "stageTimeout: a change of the limit tries again",
		spec: "a@1.0 timeout=2h", node: "a@1.0 apply:erroring reason=StageTimeout", gate: "gen=8",
		want: "a@1.0 apply:in_progress run=now gen=8; start a apply; is in_progress",
	},
	{
		name: "stageTimeout: of a service interrupt",
		spec: "a@1.0 interrupt=service(x) timeout=5m", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt running", gate: "ours",
		want: "a@1.0 interrupt:erroring run=r1 reason=StageTimeout by service(x) boot=b1; delete a-interrupt; " +
			"wait a StageTimeout; is erroring",
	},
	{
		name: "stageTimeout: of a service interrupt, permanently failed",
		spec: "a@1.0 interrupt=service(x) timeout=5m",
		node: "a@1.0 interrupt:erroring reason=StageTimeout interrupt=service(x) boot=b1", gate: "ours clear",
		want: "wait a StageTimeout; tell StageTimeout; is erroring",
	},
	{
		name: "stageTimeout: of a service interrupt, retried after an edit",
		spec: "a@1.0 interrupt=service(x) timeout=2h",
		node: "a@1.0 interrupt:erroring reason=StageTimeout restarts=1 interrupt=service(x) boot=b1",
		gate: "ours clear gen=8",
		want: "a@1.0 interrupt:in_progress run=now by service(x) boot=b1 gen=8; start a interrupt service(x); is in_progress",
	},
	{
		name: "maxRetries 0: the first failure is the last",
		spec: "a@1.0 retries=0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply failing reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 reason=RetriesExhausted; delete a-apply; is erroring",
	},
	{
		name: "maxRetries 2: one retry so far",
		spec: "a@1.0 retries=2", node: "a@1.0 apply:erroring reason=StepFailed",
		pods: "a@1.0 apply failing restarts=1 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=1 since=-1h0m0s reason=StepFailed; is erroring",
	},
	{
		name: "maxRetries 2: the second retry still runs",
		spec: "a@1.0 retries=2", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=2 reason=StepFailed retrying",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=StepFailed; is erroring",
	},
	{
		name: "maxRetries 2: the second retry failed",
		spec: "a@1.0 retries=2", node: "a@1.0 apply:erroring restarts=2 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=2 reason=StepFailed",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=RetriesExhausted; delete a-apply; is erroring",
	},
	{
		name: "maxRetries: permanently failed until the spec changes",
		spec: "a@1.0 retries=2", node: "a@1.0 apply:erroring restarts=2 reason=RetriesExhausted",
		want: "wait a RetriesExhausted; tell RetriesExhausted; is erroring",
	},
	{
		name: "maxRetries: an edit tries again",
		spec: "a@1.0 retries=5", node: "a@1.0 apply:erroring restarts=2 reason=RetriesExhausted", gate: "gen=8",
		want: "a@1.0 apply:in_progress run=now gen=8; start a apply; is in_progress",
	},
	{
		name: "maxRetries 2: lost pods count, too",
		spec: "a@1.0 retries=2", node: "a@1.0 apply:erroring restarts=2 reason=Evicted",
		pods: "a@1.0 apply lost reason=Evicted",
		want: "a@1.0 apply:erroring run=r1 restarts=2 since=-1h0m0s reason=RetriesExhausted; delete a-apply; is erroring",
	},
	{
		name: "maxRetries 0: a container that cannot be started is no failed attempt",
		spec: "a@1.0 retries=0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply stuck reason=ImagePullBackOff",
		want: "a@1.0 apply:erroring run=r1 reason=ImagePullBackOff; is erroring",
	},
	{
		name: "maxRetries 0: of a service interrupt",
		spec: "a@1.0 interrupt=service(x) retries=0", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing reason=StepFailed", gate: "ours",
		want: "a@1.0 interrupt:erroring run=r1 reason=RetriesExhausted by service(x) boot=b1; delete a-interrupt; " +
			"wait a RetriesExhausted; is erroring",
	},
	{
		name: "three runs within a second differ from each other",
		spec: "a@1.0 hash=3", node: "a@1.0 apply:in_progress run=now!", pods: "a@1.0 apply running run=now! hash=2",
		want: "a@1.0 apply:in_progress run=now!!; delete a-apply; is in_progress",
	},
	{
		name: "a run that another operator named: its limit counts from its state's beginning",
		spec: "a@1.0 timeout=2h", node: "a@1.0 apply:in_progress run=by-hand",
		pods: "a@1.0 apply running run=by-hand created=-1h",
		want: "again 1h0m0s; is in_progress",
	},
}

// exhaustedInterrupts are released, so that they keep nobody else off the node.
var exhaustedInterrupts = []row{
	{
		name: "its last retry failed: its pod is deleted first",
		spec: "a@1.0 interrupt=service(x) retries=1",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear",
		want: "a@1.0 interrupt:erroring run=r1 restarts=1 since=-1h0m0s reason=RetriesExhausted by service(x) boot=b1; " +
			"delete a-interrupt; wait a RetriesExhausted; is erroring",
		also: "in flight service(x) of a|1.0 boot=b1 run=r1",
	},
	{
		name: "its pod ends: still in flight",
		spec: "a@1.0 interrupt=service(x) retries=1",
		node: "a@1.0 interrupt:erroring restarts=1 reason=RetriesExhausted interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing terminating restarts=1 reason=StepFailed", gate: "ours clear flight=service(x)/b1/r1",
		want: "wait a RetriesExhausted; is erroring",
		also: "in flight service(x) of a|1.0 boot=b1 run=r1",
	},
	{
		name: "its pod is gone: released",
		spec: "a@1.0 interrupt=service(x) retries=1",
		node: "a@1.0 interrupt:erroring restarts=1 reason=RetriesExhausted interrupt=service(x) boot=b1",
		gate: "ours clear flight=service(x)/b1/r1",
		want: "wait a RetriesExhausted; tell RetriesExhausted; is erroring",
		also: "nothing in flight",
	},
	{
		name: "its pod is gone: the other packages continue",
		spec: "a@1.0 interrupt=service(x) retries=1; b@1.0",
		node: "a@1.0 interrupt:erroring restarts=1 reason=RetriesExhausted interrupt=service(x) boot=b1",
		gate: "ours clear flight=service(x)/b1/r1",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a RetriesExhausted; is erroring",
		also: "nothing in flight",
	},
	{
		name: "one that was merged into it begins its own",
		spec: "a@1.0 interrupt=service(x) retries=1; b@1.0 interrupt=service(y)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=RetriesExhausted interrupt=service(x,y) boot=b1; " +
			"b@1.0 interrupt:skipped interrupt=service(x,y) boot=b1",
		gate: "ours clear flight=service(x,y)/b1/r1",
		want: "b@1.0 interrupt:in_progress run=now by service(y) boot=b1; start b interrupt service(y); " +
			"wait a RetriesExhausted; is erroring",
		also: "in flight service(y) of b|1.0 boot=b1 run=now; bound to boot=b1 run=now",
	},
}

// podLimits count from the pod: while none can be created nothing runs.
var podLimits = []row{
	{
		name: "stageTimeout counts from the pod, and not from when the stage was due",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running created=-1m",
		want: "again 4m0s; is in_progress",
	},
	{
		name: "while no pod can be created, nothing counts",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:in_progress", gate: "no-permit",
		want: "wait a WaitingForPermit; tell WaitingForPermit; is in_progress",
	},
	{
		name: "nor while pods are refused",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:erroring reason=PodRejected restarts=1 since=-3s",
		want: "wait a BackingOff; tell BackingOff; again 7s; is erroring",
	},
	{
		name: "the API server's clock is behind: not before the run began",
		spec: "a@1.0 timeout=5m", node: "a@1.0 apply:in_progress run=now", pods: "a@1.0 apply running run=now created=-1h",
		want: "again 5m0s; is in_progress",
	},
	{
		name: "a reboot's limit counts from its pod, too",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt running created=-1m", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 19m0s; is in_progress",
	},
}

// longRuns: people are told of a stage without a limit, whose script may hang. It is no failure.
var longRuns = []row{
	{
		name: "it runs: another look half an hour after its pod",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running created=-1m",
		want: "again 29m0s; is in_progress",
	},
	{
		name: "it runs for long",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running created=-30m",
		want: "wait a StageRunsLong; tell StageRunsLong; is in_progress",
	},
	{
		name: "it runs for a day: since when it is told stays",
		spec: "a@1.0", node: "a@1.0 apply:in_progress since=-24h", pods: "a@1.0 apply running created=-24h",
		gate: "told=StageRunsLong/-23h",
		want: "wait a StageRunsLong; tell StageRunsLong since=-23h0m0s; is in_progress",
	},
	{
		name: "so does an interrupt",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt running created=-30m", gate: "ours",
		want: "wait a StageRunsLong; tell StageRunsLong; is in_progress",
	},
	{
		name: "it has a limit of its own",
		spec: "a@1.0 timeout=2h", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running created=-1h",
		want: "again 1h0m0s; is in_progress",
	},
	{
		name: "another one ends",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:in_progress; b@1.0 config:in_progress",
		pods: "a@1.0 apply running created=-1h; b@1.0 config done",
		want: "b@1.0 config:complete run=r1; delete b-config; wait a StageRunsLong; tell StageRunsLong; is in_progress",
	},
	{
		name: "a pod that does not end is told first",
		spec: "a@1.0; b@1.0", node: "a@1.0 apply:in_progress; b@1.0 config:in_progress",
		pods: "a@1.0 apply running created=-1h; b@1.0 config running ends=-5m",
		want: "wait a StageRunsLong; wait b WaitingForPodToEnd; tell WaitingForPodToEnd; is in_progress",
	},
}

// TestLongRunsSay: since when, where to look, and what limits it.
func TestLongRunsSay(t *testing.T) {
	since := now.Add(-time.Hour).UTC().Format(time.RFC3339)
	for _, c := range []struct{ name, spec, kept, node, container, want string }{
		{
			name: "a package of the spec", spec: "a@1.0", node: "a@1.0 apply:in_progress", container: "a-apply",
			want: "stage apply of package a has been running since " + since +
				" without a time limit; kubectl logs -n skyhook a-apply -c a-apply; set spec.packages.a.stageTimeout to limit it",
		},
		{
			name: "no container runs at the moment", spec: "a@1.0", node: "a@1.0 apply:in_progress",
			want: "stage apply of package a has been running since " + since +
				" without a time limit; kubectl logs -n skyhook a-apply; set spec.packages.a.stageTimeout to limit it",
		},
		{
			name: "the spec has it no more", kept: "old=a@1.0 uninstall=on,auto", node: "a@1.0 uninstall:in_progress def=old",
			container: "a-uninstall",
			want: "stage uninstall of package a has been running since " + since +
				" without a time limit; kubectl logs -n skyhook a-uninstall -c a-uninstall",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(t, row{spec: c.spec, kept: c.kept, node: c.node})
			stage := o.Record.Packages["a|1.0"].Stage
			o.Pods = pods(t, "a@1.0 "+string(stage)+" running created=-1h")
			o.Pods[0].Container = c.container
			d := lifecycle.Next(o)
			if w := d.Record.Wait; w == nil || w.Message != c.want {
				t.Errorf("\ngot  %+v\nwant %s", w, c.want)
			}
			f := lifecycle.FactsOf("", o.Wanted, d.Record, nil, true)
			if f.FailedRun || f.NeedsAuthor || !f.InProgress || d.Erroring {
				t.Errorf("it counts as more than work: %+v, erroring %t", f, d.Erroring)
			}
		})
	}
}
