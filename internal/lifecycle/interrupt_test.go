package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

var interruptTables = []group{
	{"noop", pathOf("noop")},
	{"service", pathOf("service(x,y)")},
	{"restartAllServices", pathOf("restartAllServices")},
	{"reboot", pathOf("reboot")},
	{"whose pod decides", serviceInterrupts},
	{"whose boot id decides", reboots},
	{"bound to a boot and a run", boundInterrupts},
}

// pathOf is the whole life of a package with an interrupt of the given kind.
func pathOf(kind string) []row {
	end, wait := "", "again 30m0s; "
	if kind == "reboot" {
		end, wait = " boot=b2", "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; "
	}
	rows := []row{
		{
			name: "absent: the node is cordoned before anything starts",
			spec: "a@1.0 interrupt=KIND",
			want: "own cordon; cordon; wait a Cordoning; tell Cordoning; is in_progress",
		},
		{
			name: "the cordon is read back: what has to leave the node?",
			spec: "a@1.0 interrupt=KIND", gate: "ours",
			want: "look-drain; is in_progress",
		},
		{
			name: "the node is drained",
			spec: "a@1.0 interrupt=KIND", gate: "ours left=Evicting",
			want: "wait a Evicting; tell Evicting; evict; again 5s; is in_progress",
		},
		{
			name: "the node is drained: apply",
			spec: "a@1.0 interrupt=KIND", gate: "ours clear",
			want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
		},
		{
			name: "apply runs",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "ours",
			want: "is in_progress",
		},
		{
			name: "apply done: config",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply done", gate: "ours clear",
			want: "a@1.0 apply:complete; a@1.0 config:in_progress run=now; delete a-apply; start a config; is in_progress",
		},
		{
			name: "config runs",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 config:in_progress", pods: "a@1.0 config running", gate: "ours",
			want: "is in_progress",
		},
		{
			name: "config done, nobody looked at the node again",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 config:in_progress", pods: "a@1.0 config done", gate: "ours",
			want: "a@1.0 config:complete run=r1; delete a-config; look-drain; is in_progress",
		},
		{
			name: "config done: the interrupt, in the same pass",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 config:in_progress", pods: "a@1.0 config done", gate: "ours clear",
			want: "a@1.0 config:complete; a@1.0 interrupt:in_progress run=now by KIND boot=b1; delete a-config; " +
				"start a interrupt KIND; is in_progress",
		},
		{
			name: "config done, seen by an operator that stopped before the interrupt",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 config:complete", gate: "ours clear",
			want: "a@1.0 interrupt:in_progress run=now by KIND boot=b1; start a interrupt KIND; is in_progress",
		},
		{
			name: "the interrupt runs",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 interrupt:in_progress run=now interrupt=KIND boot=b1",
			pods: "a@1.0 interrupt running run=now", gate: "ours",
			want: "WAITis in_progress",
		},
		{
			name: "its pod was deleted: it is made again, for the same run and generation",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 interrupt:in_progress interrupt=KIND boot=b1 gen=5", gate: "ours clear",
			want: "start a interrupt KIND; is in_progress",
		},
		{
			name: "its pod was deleted, and other pods came: they leave first",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 interrupt:in_progress interrupt=KIND boot=b1", gate: "ours left=Evicting",
			want: "wait a Evicting; tell Evicting; evict; again 5s; is in_progress",
		},
		{
			name: "the interrupt is done: post-interrupt, in the same pass",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 interrupt:in_progress interrupt=KIND boot=b1",
			pods: "a@1.0 interrupt done", gate: "oursEND",
			want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; " +
				"start a post-interrupt; is in_progress",
		},
		{
			name: "the interrupt is done, seen by an operator that stopped before post-interrupt",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 interrupt:complete interrupt=KIND boot=b1", gate: "oursEND",
			want: "a@1.0 post-interrupt:in_progress run=now; start a post-interrupt; is in_progress",
		},
		{
			name: "post-interrupt runs: the cordon stays",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 post-interrupt:in_progress", pods: "a@1.0 post-interrupt running",
			gate: "oursEND",
			want: "is in_progress",
		},
		{
			name: "post-interrupt fails: the cordon stays",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 post-interrupt:in_progress",
			pods: "a@1.0 post-interrupt failing restarts=1 reason=StepFailed", gate: "oursEND",
			want: "a@1.0 post-interrupt:erroring run=r1 restarts=1 reason=StepFailed; is erroring",
		},
		{
			name: "post-interrupt done: complete, the cordon is lifted, the permit is given back",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 post-interrupt:in_progress", pods: "a@1.0 post-interrupt done",
			gate: "oursEND",
			want: "a@1.0 post-interrupt:complete run=r1; disown cordon; uncordon; delete a-post-interrupt; is complete; " +
				"returned",
		},
		{
			name: "complete: nothing to do, whatever happens again",
			spec: "a@1.0 interrupt=KIND", node: "a@1.0 post-interrupt:complete interrupt=KIND boot=b0", gate: "acknowledged",
			want: "is complete",
		},
	}
	r := strings.NewReplacer("KIND", kind, "END", end, "WAIT", wait)
	for i := range rows {
		rows[i].spec, rows[i].node = r.Replace(rows[i].spec), r.Replace(rows[i].node)
		rows[i].gate, rows[i].want = r.Replace(rows[i].gate), r.Replace(rows[i].want)
	}
	return rows
}

// serviceInterrupts are interrupts whose pod decides.
var serviceInterrupts = []row{
	{
		name: "it fails",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed exit=1", gate: "ours",
		want: "a@1.0 interrupt:erroring run=r1 restarts=1 reason=StepFailed by service(x) boot=b1; is erroring",
	},
	{
		name: "it fails, those merged into it wait",
		spec: "a@1.0 interrupt=service(x); b@1.0 interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1; " +
			"b@1.0 interrupt:skipped interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed exit=1", gate: "ours",
		want: "is erroring",
	},
	{
		name: "it is done after errors",
		spec: "a@1.0 interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt done restarts=1", gate: "ours",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; " +
			"start a post-interrupt; is in_progress",
	},
	{
		name: "its pod was lost: the pause",
		spec: "a@1.0 interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 since=-3s reason=Evicted interrupt=service(x) boot=b1", gate: "ours clear",
		want: "wait a BackingOff; tell BackingOff; again 7s; is erroring",
	},
	{
		name: "its pod is being deleted",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt running terminating", gate: "ours",
		want: "wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "its image cannot be pulled",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt stuck reason=ImagePullBackOff", gate: "ours",
		want: "a@1.0 interrupt:erroring run=r1 reason=ImagePullBackOff by service(x) boot=b1; is erroring",
	},
	{
		name: "its image cannot be pulled, but the next pod pulls from elsewhere",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt stuck reason=ImagePullBackOff elsewhere", gate: "ours",
		want: "delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the node rebooted meanwhile: that is no verdict on it",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt running", gate: "ours boot=b2",
		want: "is in_progress",
	},
	{
		name: "the pod of an earlier run proves nothing",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress run=r2 interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours clear",
		want: "delete a-interrupt; wait a WaitingForOtherPods; is in_progress",
	},
}

const rebooting = "a@1.0 interrupt:in_progress run=now interrupt=reboot boot=b1"

// reboots: nothing but the boot id, with the node Ready, tells that a reboot is done.
var reboots = []row{
	{
		name: "the pod is done, but the node has not rebooted",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt done run=now", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the pod is killed as the node goes down: no error",
		spec: "a@1.0 interrupt=reboot", node: rebooting,
		pods: "a@1.0 interrupt failing run=now exit=137 reason=StepFailed restarts=1", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the pod is terminated as the node goes down: no error",
		spec: "a@1.0 interrupt=reboot", node: rebooting,
		pods: "a@1.0 interrupt failing run=now exit=143 reason=StepFailed restarts=1", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the pod fails otherwise",
		spec: "a@1.0 interrupt=reboot", node: rebooting,
		pods: "a@1.0 interrupt failing run=now exit=1 reason=StepFailed restarts=1", gate: "ours",
		want: "a@1.0 interrupt:erroring run=now restarts=1 reason=StepFailed by reboot boot=b1; again 20m0s; is erroring",
	},
	{
		name: "the pod failed, and has got over it",
		spec: "a@1.0 interrupt=reboot",
		node: "a@1.0 interrupt:erroring run=now restarts=1 reason=StepFailed interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt done run=now restarts=1", gate: "ours",
		want: "a@1.0 interrupt:in_progress run=now restarts=1 by reboot boot=b1; wait a WaitingForReboot; " +
			"tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the node is down",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt failing run=now exit=1 reason=StepFailed",
		gate: "ours not-ready told=WaitingForReboot/-3m",
		want: "wait a WaitingForReboot; tell WaitingForReboot since=-3m0s; again 20m0s; is in_progress",
	},
	{
		name: "the node is up, but not Ready",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt running run=now",
		gate: "ours boot=b2 not-ready",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the node is up, but not Ready, and the pod is gone: it is not made again",
		spec: "a@1.0 interrupt=reboot", node: rebooting, gate: "ours clear boot=b2 not-ready",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the node is back: done, whatever the pod did",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt failing run=now exit=1 reason=StepFailed",
		gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete run=now; delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the node is back: the pod may still run",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt running run=now", gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete run=now; delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the node is back: the pod may be lost",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt lost run=now reason=NodeLost",
		gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete run=now; delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the node is back: the pod may be gone",
		spec: "a@1.0 interrupt=reboot", node: rebooting, gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now!; start a post-interrupt; is in_progress",
	},
	{
		name: "the node is back, without a permit: done, post-interrupt waits",
		spec: "a@1.0 interrupt=reboot", node: rebooting, gate: "ours boot=b2 no-permit",
		want: "a@1.0 interrupt:complete run=now; wait a WaitingForPermit; tell WaitingForPermit; is waiting",
	},
	{
		name: "the node is back and reports no boot id: not done yet",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt running run=now", gate: "ours boot=",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the pod is lost before the reboot: made again after a pause",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt lost run=now reason=Evicted", gate: "ours",
		want: "a@1.0 interrupt:erroring run=now! restarts=1 reason=Evicted by reboot boot=b1; delete a-interrupt; " +
			"again 20m0s; is erroring",
	},
	{
		name: "the pod is being deleted",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt running run=now terminating", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "it takes longer than 20 minutes",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours",
		want: "a@1.0 interrupt:erroring run=r1 reason=RebootTimeout by reboot boot=b1; is erroring",
	},
	{
		name: "it takes longer than 20 minutes: told once",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:erroring reason=RebootTimeout interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours not-ready",
		want: "a@1.0 interrupt:erroring run=r1 since=-1h0m0s reason=RebootTimeout by reboot boot=b1; is erroring",
	},
	{
		name: "it took longer than 20 minutes, but came: done",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:erroring reason=RebootTimeout interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; " +
			"start a post-interrupt; is in_progress",
	},
	{
		name: "stageTimeout is its limit",
		spec: "a@1.0 interrupt=reboot timeout=45m", node: rebooting, pods: "a@1.0 interrupt running run=now", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 45m0s; is in_progress",
	},
	{
		name: "the owner left the spec, and the node is back",
		spec: "b@1.0 interrupt=noop", node: rebooting + "; b@1.0 interrupt:skipped interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt running run=now", gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete run=now; b@1.0 interrupt:complete run=r1; delete a-interrupt; " +
			"wait b WaitingForPodToEnd; is in_progress",
	},
}

// boundInterrupts: a reboot belongs to the boot that it is meant to end, however often its pod is made.
var boundInterrupts = []row{
	{
		name: "its pod is lost: a new run of the stage, but no other reboot",
		spec: "a@1.0 interrupt=reboot", node: rebooting, pods: "a@1.0 interrupt lost run=now reason=Evicted created=-1s",
		gate: "ours clear",
		want: "a@1.0 interrupt:erroring run=now! restarts=1 reason=Evicted by reboot boot=b1; delete a-interrupt; " +
			"again 20m0s; is erroring",
		also: "in flight reboot of a|1.0 boot=b1 run=now",
	},
	{
		name: "after the pause: made again for the same boot and run",
		spec: "a@1.0 interrupt=reboot",
		node: "a@1.0 interrupt:erroring run=now! restarts=1 since=-10s reason=Evicted interrupt=reboot boot=b1",
		gate: "ours clear flight=reboot/b1/now",
		want: "start a interrupt reboot; is erroring",
		also: "in flight reboot of a|1.0 boot=b1 run=now; bound to boot=b1 run=now",
	},
	{
		name: "somebody deleted its pod: made again for the same boot and run",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress run=r2 interrupt=reboot boot=b1",
		gate: "ours clear flight=reboot/b1/r1",
		want: "start a interrupt reboot; is in_progress",
		also: "in flight reboot of a|1.0 boot=b1 run=r1; bound to boot=b1 run=r1",
	},
	{
		name: "lost once more: still the same boot and run",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress run=now! restarts=1 interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt lost run=now! reason=Evicted created=-1s", gate: "ours clear flight=reboot/b1/now",
		want: "a@1.0 interrupt:erroring run=now!! restarts=2 reason=Evicted by reboot boot=b1; delete a-interrupt; " +
			"again 20m0s; is erroring",
		also: "in flight reboot of a|1.0 boot=b1 run=now",
	},
	{
		name: "the node's shutdown ends its pod: no failure",
		spec: "a@1.0 interrupt=reboot", node: rebooting,
		pods: "a@1.0 interrupt lost shutdown run=now reason=Terminated created=-1s", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
		also: "in flight reboot of a|1.0 boot=b1 run=now",
	},
	{
		name: "nobody saw how its pod ended: no failure",
		spec: "a@1.0 interrupt=reboot", node: rebooting,
		pods: "a@1.0 interrupt failing exit=255 restarts=1 run=now reason=StepFailed created=-1s", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
		also: "in flight reboot of a|1.0 boot=b1 run=now",
	},
	{
		name: "its pod is seen before the node, which has rebooted: no failure",
		spec: "a@1.0 interrupt=reboot", node: rebooting,
		pods: "a@1.0 interrupt failing exit=1 run=now reason=StepFailed created=-1s", gate: "ours boot=b2 not-ready",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
		also: "in flight reboot of a|1.0 boot=b1 run=now",
	},
	{
		name: "the node is back, and its pod was ended by the shutdown: done",
		spec: "a@1.0 interrupt=reboot", node: rebooting,
		pods: "a@1.0 interrupt lost shutdown run=now reason=Terminated created=-1s", gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete run=now; delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
		also: "nothing in flight",
	},
	{
		name: "the node's shutdown ends the pod of another interrupt: that is lost",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt lost shutdown reason=Terminated", gate: "ours",
		want: "a@1.0 interrupt:erroring run=now restarts=1 reason=Terminated by service(x) boot=b1; delete a-interrupt; " +
			"is erroring",
		also: "in flight service(x) of a|1.0 boot=b1 run=r1",
	},
}

// TestRebootWaitsSay: how far the reboot has come, whether or not its pod is still listed.
func TestRebootWaitsSay(t *testing.T) {
	for _, c := range []struct{ name, gate, want string }{
		{"it has not begun", "", "its boot id has not changed yet"},
		{"it is away", "not-ready", "its boot id has not changed yet"},
		{"it has rebooted", "not-ready boot=b2", "the node has rebooted and is not Ready yet"},
		{"it tells nothing", "boot=", "does not report its boot id"},
	} {
		for _, pods := range []string{
			"", "a@1.0 interrupt running run=now",
			"a@1.0 interrupt lost shutdown run=now reason=Terminated created=-1s",
		} {
			if pods == "" && !strings.Contains(c.gate, "boot=") {
				continue // it is created again
			}
			d := lifecycle.Next(observation(t,
				row{spec: "a@1.0 interrupt=reboot", node: rebooting, pods: pods, gate: "ours " + c.gate}))
			if w := d.Record.Wait; w == nil || w.Reason != "WaitingForReboot" || !strings.Contains(w.Message, c.want) {
				t.Errorf("%s, pods %q: got %+v, want %q", c.name, pods, w, c.want)
			}
		}
	}
}
