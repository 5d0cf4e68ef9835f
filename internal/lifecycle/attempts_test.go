package lifecycle_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// TestFailedWhilePaused: the only attempt of maxRetries 0 fails while the Skyhook is paused.
func TestFailedWhilePaused(t *testing.T) {
	for _, retries := range []int32{0, 1} {
		o := observation(see(spec(pkg(a).retries(retries)), node(apply.inProgress(a)), pods(apply.failing(a).restarts(retries).reason(stepFailed))))
		o.Hold = &situation.Hold{Status: v1alpha1.StatusPaused, Wait: record.Wait{Reason: v1alpha1.ReasonPaused, Message: "paused", Frees: record.FreesAdministrator}}
		d := lifecycle.Next(o)
		o.Record, o.Pods, o.Hold = d.Record, nil, nil
		o.Now = now.Add(1000 * second)
		d = lifecycle.Next(o)
		if len(d.Start) > 0 {
			t.Errorf("maxRetries %d: after the pause it is tried again: attempt %d", retries, retries+2)
		}
	}
}

// TestInterruptAcrossPods: an interrupt fails twice, its pod is evicted, and it fails once more.
func TestInterruptAcrossPods(t *testing.T) {
	o := observation(see(spec(pkg(a).interrupt(service("x"))), node(interrupt.inProgress(a).by(service("x"))), ourCordon, drained,
		pods(interrupt.failing(a).restarts(1).reason(stepFailed))))
	step := func(pods ...pod) lifecycle.Decision {
		o.Pods = livePods(pods...)
		d := lifecycle.Next(o)
		o.Record, o.InFlight = d.Record, d.InFlight
		return d
	}
	step(interrupt.failing(a).restarts(1).reason(stepFailed)) // two attempts
	step(interrupt.lost(a).restarts(1).reason("Evicted"))
	run := o.Record.Packages["a|1.0"].Run
	o.Now = now.Add(1000 * second)
	step()
	step(interrupt.failing(a).run(run).reason(stepFailed)) // the third
	if e := o.Record.Packages["a|1.0"]; !o.FailedForGood(e) {
		t.Errorf("three attempts failed in a row, counted %d", e.Attempts)
	}
}

// The same of a step, which is right.
func TestStepAcrossPods(t *testing.T) {
	o := observation(see(spec(pkg(a)), node(apply.inProgress(a))))
	step := func(pods ...pod) lifecycle.Decision {
		o.Pods = livePods(pods...)
		d := lifecycle.Next(o)
		o.Record, o.InFlight = d.Record, d.InFlight
		return d
	}
	step(apply.failing(a).restarts(1).reason(stepFailed))
	step(apply.lost(a).restarts(1).reason("Evicted"))
	run := o.Record.Packages["a|1.0"].Run
	o.Now = now.Add(1000 * second)
	step()
	step(apply.failing(a).run(run).reason(stepFailed))
	if e := o.Record.Packages["a|1.0"]; !o.FailedForGood(e) {
		t.Errorf("three attempts failed in a row, counted %d", e.Attempts)
	}
}

// Nobody watched (no operator) as a pod failed twice before it was evicted.
func TestUnseenAttemptsOfALostPod(t *testing.T) {
	o := observation(see(spec(pkg(a).retries(1)), node(apply.inProgress(a)), pods(apply.lost(a).restarts(2).reason("Evicted"))))
	d := lifecycle.Next(o)
	e := d.Record.Packages["a|1.0"]
	if e.Attempts != 2 {
		t.Errorf("two attempts failed before the loss; counted %d", e.Attempts)
	}
}

// Pause and resume between the attempts of an interrupt with maxRetries 1.
func TestPauseGivesInterruptNewRetries(t *testing.T) {
	o := observation(see(spec(pkg(a).interrupt(service("x")).retries(1)), node(interrupt.inProgress(a).by(service("x"))), ourCordon, drained,
		pods(interrupt.failing(a).reason(stepFailed))))
	d := lifecycle.Next(o)
	o.Record, o.InFlight = d.Record, d.InFlight
	o.Hold = &situation.Hold{Status: v1alpha1.StatusPaused, Wait: record.Wait{Reason: v1alpha1.ReasonPaused, Message: "paused", Frees: record.FreesAdministrator}}
	d = lifecycle.Next(o)
	o.Record, o.InFlight, o.Pods = d.Record, d.InFlight, nil
	d = lifecycle.Next(o)
	o.Record, o.InFlight = d.Record, d.InFlight
	o.Hold = nil
	d = lifecycle.Next(o)
	o.Record, o.InFlight = d.Record, d.InFlight
	e := d.Record.Packages["a|1.0"]
	o.Pods = livePods(interrupt.failing(a).run(e.Run).reason(stepFailed))
	d = lifecycle.Next(o)
	e = d.Record.Packages["a|1.0"]
	if e.Reason != v1alpha1.ReasonRetriesExhausted {
		t.Errorf("the second attempt failed with maxRetries 1: %s", e.Reason)
	}
}
