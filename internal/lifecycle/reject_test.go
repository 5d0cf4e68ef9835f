package lifecycle_test

import (
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestReject: a pod that the API server refuses is an error at once, and is tried again after a pause that grows.
func TestReject(t *testing.T) {
	minutes := 5 * time.Minute
	spec := packages(t, "a@1.0")
	o := lifecycle.Observation{
		Wanted: lifecycle.Wanted{Packages: spec}, Permit: new(permit), ConfigReady: map[string]bool{"a": true}, Generation: generation, Now: now,
		Node: lifecycle.Node{Ready: true, BootID: "b1"}, Record: record.Node{Packages: entries(t, "a@1.0 apply:in_progress", lifecycle.Wanted{Packages: spec})},
	}
	start := lifecycle.Start{Package: "a", Version: "1.0", Stage: "apply", Run: "r1"}
	for i, pause := range []time.Duration{
		10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, minutes, minutes, minutes,
	} {
		before := o.Record.Packages["a|1.0"]
		n, change := lifecycle.Reject(o.Record, start, "exceeded quota", o.Now)
		e := n.Packages["a|1.0"]
		if e.Rejected != int32(i+1) || e.Reason != v1alpha1.ReasonPodRejected || e.Message != "exceeded quota" || n.Status != "erroring" || e.Run != "r1" {
			t.Errorf("refusal %d: status %s, entry %+v", i, n.Status, e)
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
