package lifecycle_test

const rebooting = "a@1.0 interrupt:in_progress run=now interrupt=reboot boot=b1"

// reboots: design 4, invariant 6. Nothing but the boot id, with the node Ready, tells that a reboot is done.
var reboots = []row{
	{
		name: "the pod is done, but the node has not rebooted",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt done run=now", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the pod is killed as the node goes down: no error",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt failing run=now exit=137 reason=StepFailed restarts=1", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the pod is terminated as the node goes down: no error",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt failing run=now exit=143 reason=StepFailed restarts=1", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the pod fails otherwise",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt failing run=now exit=1 reason=StepFailed restarts=1", gate: "ours",
		want: "a@1.0 interrupt:erroring run=now restarts=1 reason=StepFailed by reboot boot=b1; again 20m0s; is erroring",
	},
	{
		name: "the pod failed, and has got over it",
		spec: "a@1.0!reboot", node: "a@1.0 interrupt:erroring run=now restarts=1 reason=StepFailed interrupt=reboot boot=b1", pods: "a@1.0 interrupt done run=now restarts=1", gate: "ours",
		want: "a@1.0 interrupt:in_progress run=now restarts=1 by reboot boot=b1; wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the node is down",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt failing run=now exit=1 reason=StepFailed", gate: "ours not-ready told=WaitingForReboot/-3m",
		want: "wait a WaitingForReboot; tell WaitingForReboot since=-3m0s; again 20m0s; is in_progress",
	},
	{
		name: "the node is up, but not Ready",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt running run=now", gate: "ours boot=b2 not-ready",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the node is up, but not Ready, and the pod is gone: it is not made again",
		spec: "a@1.0!reboot", node: rebooting, gate: "ours clear boot=b2 not-ready",
		want: "wait a WaitingForReboot; tell WaitingForReboot; is in_progress",
	},
	{
		name: "the node is back: done, whatever the pod did",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt failing run=now exit=1 reason=StepFailed", gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete run=now; delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the node is back: the pod may still run",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt running run=now", gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete run=now; delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the node is back: the pod may be lost",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt lost run=now reason=NodeLost", gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete run=now; delete a-interrupt; wait a WaitingForPodToEnd; is in_progress",
	},
	{
		name: "the node is back: the pod may be gone",
		spec: "a@1.0!reboot", node: rebooting, gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now!; start a post-interrupt; is in_progress",
	},
	{
		name: "the node is back, without a permit: done, post-interrupt waits",
		spec: "a@1.0!reboot", node: rebooting, gate: "ours boot=b2 no-permit",
		want: "a@1.0 interrupt:complete run=now; wait a WaitingForPermit; is waiting",
	},
	{
		name: "11.2#22 the node is back and reports no boot id: not done yet",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt running run=now", gate: "ours boot=",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "the pod is lost before the reboot: made again after a pause",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt lost run=now reason=Evicted", gate: "ours",
		want: "a@1.0 interrupt:erroring run=now restarts=1 reason=Evicted by reboot boot=b1; delete a-interrupt; again 20m0s; is erroring",
	},
	{
		name: "the pod is being deleted",
		spec: "a@1.0!reboot", node: rebooting, pods: "a@1.0 interrupt running run=now terminating", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 20m0s; is in_progress",
	},
	{
		name: "it takes longer than 20 minutes",
		spec: "a@1.0!reboot", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1", pods: "a@1.0 interrupt done", gate: "ours",
		want: "a@1.0 interrupt:erroring run=r1 reason=RebootTimeout by reboot boot=b1; is erroring",
	},
	{
		name: "it takes longer than 20 minutes: told once",
		spec: "a@1.0!reboot", node: "a@1.0 interrupt:erroring reason=RebootTimeout interrupt=reboot boot=b1", pods: "a@1.0 interrupt done", gate: "ours not-ready",
		want: "a@1.0 interrupt:erroring run=r1 since=-1h0m0s reason=RebootTimeout by reboot boot=b1; is erroring",
	},
	{
		name: "it took longer than 20 minutes, but came: done",
		spec: "a@1.0!reboot", node: "a@1.0 interrupt:erroring reason=RebootTimeout interrupt=reboot boot=b1", pods: "a@1.0 interrupt done", gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; start a post-interrupt; is in_progress",
	},
	{
		name: "stageTimeout is its limit",
		spec: "a@1.0!reboot~timeout=45m", node: rebooting, pods: "a@1.0 interrupt running run=now", gate: "ours",
		want: "wait a WaitingForReboot; tell WaitingForReboot; again 45m0s; is in_progress",
	},
	{
		name: "the owner left the spec, and the node is back",
		spec: "b@1.0!noop", node: rebooting + "; b@1.0 interrupt:skipped interrupt=reboot boot=b1", pods: "a@1.0 interrupt running run=now", gate: "ours boot=b2",
		want: "a@1.0 interrupt:complete run=now; b@1.0 interrupt:complete run=r1; delete a-interrupt; wait b WaitingForPodToEnd; is in_progress",
	},
}
