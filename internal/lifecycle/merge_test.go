package lifecycle_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

var mergeTables = []group{
	{"merge", merges},
	{"waits", interruptWaits},
}

// merges: several packages of a node need an interrupt, and get one for all.
var merges = []row{
	{
		name: "reboot wins over all, and the first that needs it owns it",
		spec: "a@1.0 interrupt=service(x); b@1.0 interrupt=reboot; c@1.0 interrupt=reboot; d@1.0 interrupt=noop",
		node: "a@1.0 config:complete; b@1.0 config:complete; c@1.0 config:complete; d@1.0 config:complete",
		gate: "ours clear",
		want: "a@1.0 interrupt:skipped run=now by reboot boot=b1; b@1.0 interrupt:in_progress run=now by reboot boot=b1; " +
			"c@1.0 interrupt:skipped run=now by reboot boot=b1; d@1.0 interrupt:skipped run=now by reboot boot=b1; " +
			"start b interrupt reboot; is in_progress",
	},
	{
		name: "restartAllServices wins over service",
		spec: "a@1.0 interrupt=service(x); b@1.0 interrupt=restartAllServices",
		node: "a@1.0 config:complete; b@1.0 config:complete", gate: "ours clear",
		want: "a@1.0 interrupt:skipped run=now by restartAllServices boot=b1; " +
			"b@1.0 interrupt:in_progress run=now by restartAllServices boot=b1; " +
			"start b interrupt restartAllServices; is in_progress",
	},
	{
		name: "service wins over noop",
		spec: "a@1.0 interrupt=noop; b@1.0 interrupt=service(x)", node: "a@1.0 config:complete; b@1.0 config:complete",
		gate: "ours clear",
		want: "a@1.0 interrupt:skipped run=now by service(x) boot=b1; " +
			"b@1.0 interrupt:in_progress run=now by service(x) boot=b1; " +
			"start b interrupt service(x); is in_progress",
	},
	{
		name: "services are joined, sorted, each once",
		spec: "a@1.0 interrupt=service(z,x); b@1.0 interrupt=service(y,x)",
		node: "a@1.0 config:complete; b@1.0 config:complete", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by service(x,y,z) boot=b1; " +
			"b@1.0 interrupt:skipped run=now by service(x,y,z) boot=b1; " +
			"start a interrupt service(x,y,z); is in_progress",
	},
	{
		name: "services of one are sorted, too",
		spec: "a@1.0 interrupt=service(z,x)", node: "a@1.0 config:complete", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by service(x,z) boot=b1; start a interrupt service(x,z); is in_progress",
	},
	{
		name: "what needs nothing is left out",
		spec: "a@1.0 interrupt=reboot; b@1.0; c@1.0 interrupt=reboot",
		node: "a@1.0 config:complete; b@1.0 config:complete; c@1.0 post-interrupt:complete", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; is in_progress",
	},
	{
		name: "several config interrupts of one package are merged",
		spec: "a@1.0 config{k=2,l=2} on:k=service(x) on:l=service(y)", node: "a@1.0 config:complete changed=k,l",
		gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now changed=k,l by service(x,y) boot=b1; start a interrupt service(x,y); " +
			"is in_progress",
	},
	{
		name: "done: all that were merged continue together",
		spec: "a@1.0 interrupt=service(x); b@1.0 interrupt=service(y)",
		node: "a@1.0 interrupt:in_progress interrupt=service(x,y) boot=b1; " +
			"b@1.0 interrupt:skipped interrupt=service(x,y) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours",
		want: "a@1.0 interrupt:complete; b@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; " +
			"b@1.0 post-interrupt:in_progress run=now; " +
			"delete a-interrupt; start a post-interrupt; start b post-interrupt; is in_progress",
	},
	{
		name: "skipped ones wait while the owner's interrupt runs",
		spec: "a@1.0 interrupt=service(x); b@1.0 interrupt=service(y)",
		node: "a@1.0 interrupt:in_progress interrupt=service(x,y) boot=b1; " +
			"b@1.0 interrupt:skipped interrupt=service(x,y) boot=b1",
		pods: "a@1.0 interrupt running", gate: "ours",
		want: "is in_progress",
	},
	{
		name: "skipped by an earlier interrupt that never ended: not done by this one",
		spec: "a@1.0 interrupt=noop; b@1.0 interrupt=service(y)",
		node: "a@1.0 interrupt:in_progress interrupt=noop boot=b1; b@1.0 interrupt:skipped interrupt=service(y) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; " +
			"start a post-interrupt; wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "skipped by the same interrupt once, but another version came since: what was before stays so",
		spec: "a@1.0 interrupt=noop; b@1.1 interrupt=noop",
		node: "a@1.0 interrupt:in_progress interrupt=noop boot=b1; " +
			"b@1.0 interrupt:skipped interrupt=noop boot=b1 since=-2h; b@1.1 post-interrupt:complete",
		pods: "a@1.0 interrupt done", gate: "ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; " +
			"start a post-interrupt; is in_progress",
	},
	{
		name: "skipped without an owner, after the reboot: it counts for them",
		spec: "b@1.0 interrupt=reboot", node: "b@1.0 interrupt:skipped interrupt=reboot boot=b1", gate: "ours boot=b2",
		want: "b@1.0 interrupt:complete; b@1.0 post-interrupt:in_progress run=now; start b post-interrupt; is in_progress",
	},
	{
		name: "skipped without an owner, after the reboot, but another version came since: the host is mixed, apply anew",
		spec: "b@1.0 interrupt=reboot",
		node: "b@1.0 interrupt:skipped interrupt=reboot boot=b1 since=-2h; b@1.1 upgrade:in_progress since=-1m",
		gate: "ours clear boot=b2",
		want: "b@1.0 apply:in_progress run=now; start b apply; is in_progress",
	},
	{
		name: "skipped without an owner, while the node reboots: wait and see",
		spec: "b@1.0 interrupt=reboot", node: "b@1.0 interrupt:skipped interrupt=reboot boot=b1",
		gate: "ours clear boot=b2 not-ready",
		want: "wait b WaitingForReboot; tell WaitingForReboot; is in_progress",
	},
	{
		name: "skipped without an owner, and no reboot: they reboot by themselves",
		spec: "b@1.0 interrupt=reboot; c@1.0 interrupt=reboot",
		node: "b@1.0 interrupt:skipped interrupt=reboot boot=b1; c@1.0 interrupt:skipped interrupt=reboot boot=b1",
		gate: "ours clear",
		want: "b@1.0 interrupt:in_progress run=now by reboot boot=b1; c@1.0 interrupt:skipped run=now by reboot boot=b1; " +
			"start b interrupt reboot; is in_progress",
	},
	{
		name: "skipped without an owner, and the spec asks for no interrupt any more: what they were merged into runs",
		spec: "b@1.0", node: "b@1.0 interrupt:skipped interrupt=reboot boot=b1", gate: "ours clear",
		want: "b@1.0 config:complete run=r1; disown cordon; uncordon; is complete; returned",
	},
	{
		name: "skipped by another operator, and the spec asks for no interrupt any more: done",
		spec: "b@1.0", node: "b@1.0 interrupt:skipped run=", gate: "ours clear",
		want: "b@1.0 interrupt:complete; is in_progress",
	},
}

// interruptWaits: what an interrupt waits for before it begins.
var interruptWaits = []row{
	{
		name: "for another package's stage",
		spec: "a@1.0 interrupt=reboot; b@1.0", node: "a@1.0 config:complete; b@1.0 apply:in_progress",
		pods: "b@1.0 apply running", gate: "ours clear",
		want: "wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "for another package's stage that fails",
		spec: "a@1.0 interrupt=reboot; b@1.0",
		node: "a@1.0 config:complete; b@1.0 apply:erroring reason=StepFailed restarts=1",
		pods: "b@1.0 apply failing restarts=1 reason=StepFailed", gate: "ours clear",
		want: "wait a WaitingForInterrupt; is erroring",
	},
	{
		name: "for another package's stage that begins in this pass",
		spec: "a@1.0 interrupt=reboot; b@1.0", node: "a@1.0 config:complete", gate: "ours clear",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a WaitingForInterrupt; is in_progress",
	},
	{
		name: "not for a stage of a version that the spec no longer has",
		spec: "a@1.0 interrupt=reboot; b@1.1", node: "a@1.0 config:complete; b@1.0 apply:in_progress",
		gate: "ours clear serial",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; wait b WaitingForSerial; " +
			"is in_progress",
	},
	{
		name: "not for a package that has lost its pod and depends on this one",
		spec: "a@1.0 interrupt=reboot; b@1.0 needs=a@1.0", node: "a@1.0 config:complete; b@1.0 apply:in_progress",
		gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; " +
			"wait b WaitingForDependency; is in_progress",
	},
	{
		name: "not for a package that has lost its pod and waits for its turn",
		spec: "a@1.0 interrupt=reboot; b@1.0", node: "a@1.0 config:complete; b@1.0 apply:in_progress",
		gate: "ours clear serial",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; wait b WaitingForSerial; " +
			"is in_progress",
	},
	{
		name: "not for a package that failed permanently",
		spec: "a@1.0 interrupt=reboot; b@1.0 retries=0",
		node: "a@1.0 config:complete; b@1.0 apply:erroring reason=RetriesExhausted", gate: "ours clear",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; wait b RetriesExhausted; " +
			"is erroring",
	},
	{
		name: "for a pod that nobody wants to be gone",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete; b@1.0 apply:in_progress", pods: "b@1.0 apply running",
		gate: "ours clear",
		want: "delete b-apply; wait a WaitingForOtherPods; is in_progress",
	},
	{
		name: "for its own pod of the config stage to be gone",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", pods: "a@1.0 config done terminating",
		gate: "ours clear",
		want: "wait a WaitingForOtherPods; is in_progress",
	},
	{
		name: "for the pods of other Skyhooks",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours clear other-pods=2",
		want: "wait a WaitingForOtherPods; tell WaitingForOtherPods; is in_progress",
	},
	{
		name: "for the pods of other Skyhooks, when its own pod is to be made again",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress run=now interrupt=reboot boot=b1",
		gate: "ours clear other-pods=1",
		want: "wait a WaitingForOtherPods; tell WaitingForOtherPods; is in_progress",
	},
	{
		name: "for a boot id",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours clear boot=",
		want: "wait a WaitingForReboot; tell WaitingForReboot; is in_progress",
	},
	{
		name: "for a boot id, also when it is no reboot: a reboot may be merged into it later",
		spec: "a@1.0 interrupt=noop", node: "a@1.0 config:complete", gate: "ours clear boot=",
		want: "wait a WaitingForReboot; tell WaitingForReboot; is in_progress",
	},
	{
		name: "for a permit",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours clear no-permit",
		want: "wait a WaitingForPermit; tell WaitingForPermit; is waiting",
	},
	{
		name: "while the node is paused",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours clear paused",
		want: "wait Paused; tell Paused; is paused",
	},
	{
		name: "and its pod, while the node is paused, is not made again",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		gate: "ours clear paused",
		want: "a@1.0 interrupt:skipped run=r1 by service(x) boot=b1; wait Paused; tell Paused; is paused",
	},
	{
		name: "nothing starts while an interrupt runs",
		spec: "a@1.0 interrupt=service(x); b@1.0", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt running", gate: "ours clear",
		want: "wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "no lost pod is replaced while an interrupt runs",
		spec: "a@1.0 interrupt=service(x); b@1.0",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1; b@1.0 config:in_progress",
		pods: "a@1.0 interrupt running", gate: "ours clear",
		want: "wait b WaitingForInterrupt; is in_progress",
	},
	{
		name: "the interrupt ends: what waited for it starts in the same pass",
		spec: "a@1.0 interrupt=service(x); b@1.0", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours clear",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; b@1.0 apply:in_progress run=now; " +
			"delete a-interrupt; start a post-interrupt; start b apply; is in_progress",
	},
	{
		name: "a second interrupt waits for the first",
		spec: "a@1.0 interrupt=service(x); b@1.0 interrupt=reboot",
		node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1; b@1.0 config:complete",
		pods: "a@1.0 interrupt running", gate: "ours clear",
		want: "is in_progress",
	},
	{
		name: "a dependent waits for post-interrupt of its dependency",
		spec: "a@1.0 interrupt=noop; b@1.0 needs=a@1.0", node: "a@1.0 post-interrupt:in_progress",
		pods: "a@1.0 post-interrupt running", gate: "ours",
		want: "wait b WaitingForDependency; is in_progress",
	},
}

// TestWaitsForPodsNameThem, and say where to look.
func TestWaitsForPodsNameThem(t *testing.T) {
	other := types.NamespacedName{Namespace: "skyhook", Name: "other-pod"}
	for _, c := range []struct {
		name string
		row
		count      int
		other      types.NamespacedName
		interrupts bool
		want       string
	}{
		{
			name: "one of another Skyhook",
			row:  row{spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours clear"}, count: 1, other: other,
			want: "the interrupt waits until package pod skyhook/other-pod has left the node; " +
				"kubectl describe pod -n skyhook other-pod",
		},
		{
			name: "two of others", row: row{spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours clear"},
			count: 2, other: other,
			want: "the interrupt waits until package pod skyhook/other-pod and 1 more have left the node; " +
				"kubectl describe pod -n skyhook other-pod",
		},
		{
			name: "one that starts in the same pass",
			row:  row{spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours clear"}, count: 1,
			want: "the interrupt waits until a package pod of another Skyhook, which starts now, has left the node",
		},
		{
			name: "its own come first",
			row: row{
				spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete",
				pods: "c@1.0 config running; b@1.0 config running", gate: "ours clear",
			},
			count: 1, other: other,
			want: "the interrupt waits until package pod skyhook/b-config and 2 more have left the node; " +
				"kubectl describe pod -n skyhook b-config",
		},
		{
			name: "one of an interrupt", row: row{spec: "a@1.0"}, count: 1, other: other, interrupts: true,
			want: "pod skyhook/other-pod of an interrupt of another Skyhook, or of a deleted one, is still on the node; " +
				"kubectl describe pod -n skyhook other-pod",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(t, c.row)
			o.Node.OtherPods, o.Node.OtherPod = c.count, c.other
			if c.interrupts {
				o.Node.InterruptPods, o.Node.InterruptPod = c.count, c.other
			}
			var got []string
			for _, w := range lifecycle.Next(o).Waits {
				got = append(got, w.Message)
			}
			if !slices.Contains(got, c.want) {
				t.Errorf("\ngot  %q\nwant %q", got, c.want)
			}
		})
	}
}
