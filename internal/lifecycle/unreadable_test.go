package lifecycle_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

func malformed(message string) situation.Hold {
	return situation.Hold{Status: v1alpha1.StatusUnknown, Wait: record.Wait{Reason: "NodeStateMalformed", Message: message, Frees: "administrator"}}
}

// TestUnreadable: nothing starts on a node whose record nobody can read, and it holds up nobody else.
func TestUnreadable(t *testing.T) {
	for _, r := range []row{
		when("nothing runs: the permit is given back",
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown), returned),
			also(nothingInFlight)),
		when("without a permit",
			noPermit,
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown)), also(nothingInFlight)),
		when("since when stays",
			acknowledged, told(nodeStateMalformed, -5*minute),
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed).since(-5*minute), is(statusUnknown), returned),
			also(nothingInFlight)),
		when("it waited for something else before",
			acknowledged, told(waitingForPermit, -5*minute),
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown), returned),
			also(nothingInFlight)),
		when("a pod runs: it comes to its end, and the permit stays until then",
			pods(apply.running(a)),
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown)), also(nothingInFlight)),
		when("a pod fails: it is not retried",
			pods(apply.failing(a).restarts(1).reason(stepFailed)),
			want(apply.delete(a), nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown)),
			also(nothingInFlight)),
		when("a retry runs already: it comes to its end",
			pods(apply.failing(a).retrying().restarts(1).reason(stepFailed)),
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown)), also(nothingInFlight)),
		when("a container cannot be started: its pod is deleted",
			pods(apply.stuck(a).reason("ImagePullBackOff")),
			want(apply.delete(a), nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown)),
			also(nothingInFlight)),
		when("pods that have ended go",
			pods(apply.done(a), config.lost(b).reason("Evicted")),
			want(apply.delete(a), config.delete(b), nodeWait(nodeStateMalformed), tell(nodeStateMalformed),
				is(statusUnknown), returned), also(nothingInFlight)),
		when("a pod ends: the permit stays until it has",
			pods(apply.failing(a).terminating()),
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown)), also(nothingInFlight)),
		when("its interrupt runs: it stays in flight",
			pods(interrupt.running(a)), flight(reboot, "b1", "r1"),
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown)),
			also(inFlight(reboot, "b1", "r1", a))),
		when("its interrupt fails: it stays in flight, as the kubelet may restart the pod until it has ended",
			pods(interrupt.failing(a).restarts(3).reason(stepFailed).exit(1)), flight(reboot, "b1", "r1"),
			want(interrupt.delete(a), nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown)),
			also(inFlight(reboot, "b1", "r1", a))),
		when("no pod is left of its interrupt: it is released",
			flight(reboot, "b1", "r1"),
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown), returned),
			also(nothingInFlight)),
		when("a pod of something else is left: its interrupt is released",
			pods(apply.running(b)), flight(reboot, "b1", "r1"),
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown)), also(nothingInFlight)),
		when("another Skyhook's interrupt is in flight: it stays",
			flightOfAnother(reboot, "b1"),
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown), returned),
			also(anothersInFlight)),
		when("the cordon stays: nobody knows what it is for",
			ourCordon,
			want(nodeWait(nodeStateMalformed), tell(nodeStateMalformed), is(statusUnknown), returned),
			also(nothingInFlight)),
	} {
		t.Run(r.name, func(t *testing.T) {
			o := observation(r)
			o.Record.Unreadable = true
			o.Record.FinishedPermit = ""
			d := lifecycle.Unreadable(o, malformed(message("garbage")))
			demandWords(t, r, describe(t, o, d), describeInterrupts(d))
			if !d.Record.Unreadable || d.Record.Wait.Frees != "administrator" || d.Record.Wait.Message != message("garbage") {
				t.Errorf("the record is %+v, it waits for %+v", d.Record, d.Record.Wait)
			}
		})
	}
}
