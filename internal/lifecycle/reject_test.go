package lifecycle_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// TestReject: a pod that the API server refuses is an error at once, and is retried after a pause that grows.
func TestReject(t *testing.T) {
	minutes := 5 * time.Minute
	spec := packages(pkg(a))
	o := lifecycle.Observation{
		Wanted: situation.Wanted{Packages: spec, Generation: generation}, Permit: new(permit), ConfigReady: map[string]bool{"a": true},
		Now:    now,
		Node:   lifecycle.Node{Ready: true, BootID: "b1"},
		Record: record.Node{Packages: entries(situation.Wanted{Packages: spec}, apply.inProgress(a))},
	}
	start := lifecycle.Start{Package: "a", Version: "1.0", Stage: "apply", Run: "r1"}
	var since metav1.Time
	for i, pause := range []time.Duration{
		10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, minutes, minutes, minutes,
	} {
		before := o.Record.Packages["a|1.0"]
		n, change := lifecycle.Reject(o.Record, start, "exceeded quota", o.Now)
		e := n.Packages["a|1.0"]
		if e.Rejected != int32(i+1) || e.Reason != v1alpha1.ReasonPodRejected || e.Message != "exceeded quota" ||
			n.Status != "erroring" || e.Run != "r1" {
			t.Errorf("refusal %d: status %s, entry %+v", i, n.Status, e)
		}
		if i == 0 {
			since = e.Since
		}
		if !e.Since.Equal(&since) || e.RejectedAt.Before(&since) || i > 0 && !e.RejectedAt.After(before.RejectedAt.Time) {
			t.Errorf("refusal %d: since %s, first %s, last attempt %s after %s", i, e.Since, since, e.RejectedAt,
				before.RejectedAt)
		}
		if i > 5 {
			if change != nil {
				t.Errorf("refusal %d is told again: %+v", i, change)
			}
		} else if change.Package != "a" || change.State != "erroring" || change.Message != "exceeded quota" {
			t.Errorf("refusal %d: change %+v", i, change)
		}
		if after := o.Record.Packages["a|1.0"]; after.Restarts != before.Restarts {
			t.Error("the record that was given is changed")
		}
		o.Record = n
		if d := lifecycle.Next(o); len(d.Start) > 0 || d.After != pause {
			t.Errorf("refusal %d: starts %v, looks again after %s, want %s", i, d.Start, d.After, pause)
		}
		o.Now = o.Now.Add(pause)
		if d := lifecycle.Next(o); len(d.Start) != 1 || d.Start[0].Run != "r1" {
			t.Errorf("refusal %d: starts %v after the pause, want the same run", i, d.Start)
		}
	}
}

// TestRejectedThenCreated: with a pod the refusals are over, whatever becomes of it.
func TestRejectedThenCreated(t *testing.T) {
	for _, r := range []row{
		when("it runs", spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a))),
		when("it fails",
			spec(pkg(a)), node(apply.inProgress(a)), pods(apply.failing(a).restarts(1).reason(stepFailed))),
		when("it is lost", spec(pkg(a)), node(apply.inProgress(a)), pods(apply.lost(a).reason("Evicted"))),
		when("an interrupt runs",
			spec(pkg(a).interrupt(service("x"))), node(interrupt.inProgress(a).by(service("x"))),
			pods(interrupt.running(a))),
		when("an interrupt is lost",
			spec(pkg(a).interrupt(service("x"))), node(interrupt.inProgress(a).by(service("x"))),
			pods(interrupt.lost(a).reason("Evicted"))),
		when("a reboot runs",
			spec(pkg(a).interrupt(reboot)), node(interrupt.inProgress(a).by(reboot)),
			pods(interrupt.running(a).created(-minute))),
		when("an interrupt was suspended and begins anew",
			spec(pkg(a).interrupt(service("x"))), node(interrupt.skipped(a).by(service("x")))),
	} {
		o := observation(see(spec(r.packages...), node(r.entries...), ourCordon, drained))
		before := o.Record.Packages["a|1.0"]
		o.Record, _ = lifecycle.Reject(o.Record,
			lifecycle.Start{Package: "a", Version: "1.0", Stage: before.Stage, Run: "r1"}, "exceeded quota",
			now.Add(-time.Minute))
		if before.State == v1alpha1.StateSkipped {
			e := o.Record.Packages["a|1.0"]
			e.State = before.State
			o.Record.Packages["a|1.0"] = e
		}
		o.Pods = livePods(r.pods...)
		if e := lifecycle.Next(o).Record.Packages["a|1.0"]; e.Rejected != 0 || !e.RejectedAt.IsZero() {
			t.Errorf("%s: entry %+v", r.name, e)
		}
	}
}

// TestRejectedByAClockThatWasAhead: the pause ends all the same.
func TestRejectedByAClockThatWasAhead(t *testing.T) {
	o := observation(see(spec(pkg(a)), node(apply.inProgress(a))))
	start := lifecycle.Start{Package: "a", Version: "1.0", Stage: "apply", Run: "r1"}
	for _, ahead := range []time.Duration{0, time.Hour} {
		o.Record, _ = lifecycle.Reject(o.Record, start, "exceeded quota", now.Add(ahead))
	}
	if d := lifecycle.Next(o); d.After == 0 || d.After > time.Minute {
		t.Errorf("looks again after %s", d.After)
	}
}
