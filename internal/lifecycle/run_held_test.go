package lifecycle_test

import "strings"

// heldPods: on a node that is held what runs comes to its end, and nothing is retried.
func heldPods(gate, reason, status, back string) []row {
	uncordon := ""
	if back != "" {
		uncordon = "disown cordon; uncordon; "
	}
	rows := []row{
		{
			name: "a step fails: it is not retried",
			spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply failing restarts=1 reason=StepFailed",
			gate: "GATE",
			want: "a@1.0 apply:erroring run=r1 restarts=1 reason=StepFailed; delete a-apply; wait a WaitingForPodToEnd; " +
				"wait REASON; is STATUS",
		},
		{
			name: "a step failed before: it is not retried",
			spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed",
			pods: "a@1.0 apply failing restarts=1 reason=StepFailed", gate: "GATE",
			want: "delete a-apply; wait a WaitingForPodToEnd; wait REASON; is STATUS",
		},
		{
			name: "its pod ends",
			spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed",
			pods: "a@1.0 apply failing terminating restarts=1 reason=StepFailed", gate: "GATE",
			want: "wait a WaitingForPodToEnd; wait REASON; is STATUS",
		},
		{
			name: "its pod is gone: the failure is remembered",
			spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed", gate: "GATE",
			want: "wait REASON; tell REASON; is STATUSBACK",
		},
		{
			name: "a container cannot be started: it is not retried",
			spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply stuck reason=ImagePullBackOff", gate: "GATE",
			want: "delete a-apply; wait a WaitingForPodToEnd; wait REASON; is STATUS",
		},
		{
			name: "a retry runs already: it comes to its end",
			spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed",
			pods: "a@1.0 apply failing retrying restarts=1 reason=StepFailed", gate: "GATE",
			want: "wait REASON; is STATUS",
		},
		{
			name: "a step runs: it comes to its end",
			spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "GATE",
			want: "wait REASON; is STATUS",
		},
		{
			name: "a step has got over its failure: it comes to its end",
			spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed", pods: "a@1.0 apply running restarts=1",
			gate: "GATE",
			want: "a@1.0 apply:in_progress run=r1 restarts=1; wait REASON; is STATUS",
		},
		{
			name: "a step is done",
			spec: "a@1.0", node: "a@1.0 apply:erroring restarts=1 reason=StepFailed", pods: "a@1.0 apply done restarts=1",
			gate: "GATE",
			want: "a@1.0 apply:complete run=r1 restarts=1; delete a-apply; wait REASON; tell REASON; is STATUSBACK",
		},
		{
			name: "a pod is lost: it is not made again",
			spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply lost reason=Evicted", gate: "GATE",
			want: "a@1.0 apply:erroring run=now restarts=1 reason=Evicted; delete a-apply; wait REASON; is STATUS",
		},
		{
			name: "an interrupt fails: it is not retried",
			spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
			pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours GATE",
			want: "a@1.0 interrupt:skipped run=r1 by service(x) boot=b1; delete a-interrupt; wait a WaitingForPodToEnd; " +
				"wait REASON; is STATUS",
			also: "in flight service(x) of a|1.0 boot=b1 run=r1",
		},
		{
			name: "an interrupt cannot be started: it is not retried",
			spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
			pods: "a@1.0 interrupt stuck reason=ImagePullBackOff", gate: "ours GATE",
			want: "a@1.0 interrupt:skipped run=r1 by service(x) boot=b1; delete a-interrupt; wait a WaitingForPodToEnd; " +
				"wait REASON; is STATUS",
			also: "in flight service(x) of a|1.0 boot=b1 run=r1",
		},
		{
			name: "a retry of an interrupt runs already: it comes to its end",
			spec: "a@1.0 interrupt=service(x)",
			node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
			pods: "a@1.0 interrupt failing retrying restarts=1 reason=StepFailed", gate: "ours GATE",
			want: "wait REASON; is STATUS",
			also: "in flight service(x) of a|1.0 boot=b1 run=r1",
		},
		{
			name: "an interrupt runs: it comes to its end",
			spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
			pods: "a@1.0 interrupt running", gate: "ours GATE",
			want: "wait REASON; is STATUS",
			also: "in flight service(x) of a|1.0 boot=b1 run=r1",
		},
		{
			name: "an interrupt is lost",
			spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress interrupt=service(x) boot=b1",
			pods: "a@1.0 interrupt lost reason=Evicted", gate: "ours GATE",
			want: "a@1.0 interrupt:skipped run=r1 by service(x) boot=b1; delete a-interrupt; wait a WaitingForPodToEnd; " +
				"wait REASON; is STATUS",
			also: "nothing in flight",
		},
		{
			name: "a reboot fails: it is not retried",
			spec: "a@1.0 interrupt=reboot", node: rebooting,
			pods: "a@1.0 interrupt failing run=now exit=1 restarts=1 reason=StepFailed", gate: "ours GATE",
			want: "a@1.0 interrupt:skipped run=now by reboot boot=b1; delete a-interrupt; wait a WaitingForPodToEnd; " +
				"wait REASON; is STATUS",
			also: "in flight reboot of a|1.0 boot=b1 run=now",
		},
		{
			name: "a reboot is under way: it comes to its end",
			spec: "a@1.0 interrupt=reboot", node: rebooting,
			pods: "a@1.0 interrupt failing run=now exit=137 restarts=1 reason=StepFailed", gate: "ours GATE",
			want: "wait a WaitingForReboot; wait REASON; tell WaitingForReboot; again 20m0s; is STATUS",
			also: "in flight reboot of a|1.0 boot=b1 run=now",
		},
		{
			name: "a reboot that was held comes late: it counts",
			spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:skipped interrupt=reboot boot=b1", gate: "ours boot=b2 GATE",
			want: "a@1.0 interrupt:complete run=r1; UNCORDONwait REASON; tell REASON; is STATUSBACK",
			also: "nothing in flight",
		},
		{
			name: "an uninstall fails: it is not retried",
			spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:erroring restarts=1 reason=StepFailed",
			pods: "a@1.0 uninstall failing restarts=1 reason=StepFailed", gate: "GATE",
			want: "delete a-uninstall; wait a WaitingForPodToEnd; wait REASON; is STATUS",
		},
	}
	r := strings.NewReplacer("GATE", gate, "REASON", reason, "STATUS", status, "BACK", back, "UNCORDON", uncordon)
	for i := range rows {
		rows[i].gate, rows[i].want = r.Replace(rows[i].gate), r.Replace(rows[i].want)
	}
	return rows
}
