package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

func malformed(message string) lifecycle.Hold {
	return lifecycle.Hold{Wait: lifecycle.Wait{Reason: "NodeStateMalformed", Message: message, Frees: "administrator"}}
}

// TestUnreadable: nothing starts on a node whose record nobody can read, and it holds up nobody else. What is told:
//
//	delete pod; is status; returned; tell Reason since=-5s
func TestUnreadable(t *testing.T) {
	for _, c := range []struct {
		name, pods, gate string
		want             string
		// flight is what becomes of the interrupt in flight.
		flight string
	}{
		{
			name: "nothing runs: the permit is given back",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown; returned", flight: "nothing in flight",
		},
		{
			name: "without a permit", gate: "no-permit",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown", flight: "nothing in flight",
		},
		{
			name: "since when stays", gate: "acknowledged told=NodeStateMalformed/-5m",
			want: "wait NodeStateMalformed; tell NodeStateMalformed since=-5m0s; is unknown; returned", flight: "nothing in flight",
		},
		{
			name: "it waited for something else before", gate: "acknowledged told=WaitingForPermit/-5m",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown; returned", flight: "nothing in flight",
		},
		{
			name: "a pod runs: it comes to its end, and the permit stays until then", pods: "a@1.0 apply running",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown", flight: "nothing in flight",
		},
		{
			name: "a pod fails: it is not retried", pods: "a@1.0 apply failing restarts=1 reason=StepFailed",
			want: "delete a-apply; wait NodeStateMalformed; tell NodeStateMalformed; is unknown", flight: "nothing in flight",
		},
		{
			name: "a retry runs already: it comes to its end", pods: "a@1.0 apply failing retrying restarts=1 reason=StepFailed",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown", flight: "nothing in flight",
		},
		{
			name: "a container cannot be started: its pod is deleted", pods: "a@1.0 apply stuck reason=ImagePullBackOff",
			want: "delete a-apply; wait NodeStateMalformed; tell NodeStateMalformed; is unknown", flight: "nothing in flight",
		},
		{
			name: "pods that have ended go", pods: "a@1.0 apply done; b@1.0 config lost reason=Evicted",
			want: "delete a-apply; delete b-config; wait NodeStateMalformed; tell NodeStateMalformed; is unknown; returned", flight: "nothing in flight",
		},
		{
			name: "a pod ends: the permit stays until it has", pods: "a@1.0 apply failing terminating",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown", flight: "nothing in flight",
		},
		{
			name: "its interrupt runs: it stays in flight", pods: "a@1.0 interrupt running", gate: "flight=reboot/b1/r1",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown", flight: "in flight reboot of a|1.0 boot=b1 run=r1",
		},
		{
			name: "its interrupt fails: it stays in flight, as the kubelet may restart the pod until it has ended",
			pods: "a@1.0 interrupt failing restarts=3 reason=StepFailed exit=1", gate: "flight=reboot/b1/r1",
			want: "delete a-interrupt; wait NodeStateMalformed; tell NodeStateMalformed; is unknown", flight: "in flight reboot of a|1.0 boot=b1 run=r1",
		},
		{
			name: "no pod is left of its interrupt: it is released", gate: "flight=reboot/b1/r1",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown; returned", flight: "nothing in flight",
		},
		{
			name: "a pod of something else is left: its interrupt is released", pods: "b@1.0 apply running",
			gate: "flight=reboot/b1/r1",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown", flight: "nothing in flight",
		},
		{
			name: "another Skyhook's interrupt is in flight: it stays", gate: "flight-of-another=reboot/b1",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown; returned", flight: "another's in flight",
		},
		{
			name: "the cordon stays: nobody knows what it is for", gate: "ours",
			want: "wait NodeStateMalformed; tell NodeStateMalformed; is unknown; returned", flight: "nothing in flight",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(t, row{pods: c.pods, gate: c.gate})
			o.Record.Unreadable = true
			o.Record.FinishedPermit = ""
			d := lifecycle.Unreadable(o, malformed(message("garbage")))
			if got := strings.Join(describe(t, o, d), "; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := describeInterrupts(d); got != c.flight {
				t.Errorf("got %s, want %s", got, c.flight)
			}
			if !d.Record.Unreadable || d.Record.Wait.Frees != "administrator" || d.Record.Wait.Message != message("garbage") {
				t.Errorf("the record is %+v, it waits for %+v", d.Record, d.Record.Wait)
			}
		})
	}
}
