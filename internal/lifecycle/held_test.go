package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// TestSuspendedInterruptAndEditedConfig: an interrupt that a hold suspended sees the configMap that was edited
// meanwhile. Config runs first, as without a hold, and one interrupt does for both.
func TestSuspendedInterruptAndEditedConfig(t *testing.T) {
	for _, c := range []struct {
		kind v1alpha1.Interrupt
		spec definition
		want string
	}{
		{reboot, pkg(a).on("k", reboot), "a config nothing; a interrupt reboot; a post-interrupt nothing"},
		{service("x"), pkg(a), "a config nothing; a interrupt service(x); a post-interrupt nothing"},
	} {
		o := observation(see(
			spec(c.spec.config("k=w").interrupt(c.kind)), node(interrupt.skipped(a).by(c.kind).config("k=v")),
			ourCordon, drained, specGeneration(8)))
		if got := strings.Join(startedToTheEnd(o), "; "); got != c.want {
			t.Errorf("%s: starts %s; want %s", c.kind.Type, got, c.want)
		}
	}
}

// startedToTheEnd returns the stages that start until the Skyhook is complete, while every pod succeeds at once.
func startedToTheEnd(o lifecycle.Observation) (stages []string) {
	for range 12 {
		d := lifecycle.Next(o)
		o.Record, o.InFlight, o.Pods = d.Record, d.InFlight, nil
		if d.Record.Status == v1alpha1.StatusComplete {
			break
		}
		for _, s := range d.Start {
			stages = append(stages, s.Package+" "+string(s.Stage)+" "+interruptText(s.Interrupt))
			if s.Interrupt != nil && s.Interrupt.Type == v1alpha1.InterruptReboot {
				o.Node.BootID += "+"
			}
			o.Pods = append(o.Pods, lifecycle.Pod{
				Name: s.Package + "-" + string(s.Stage), Package: s.Package, Version: s.Version, Stage: s.Stage, Run: s.Run,
				Hash: "1", Created: o.Now, Outcome: lifecycle.Done,
			})
		}
	}
	return stages
}

// TestRebootNobodyWaitsFor: an entry of a reboot that is not waited for any more does not make every later boot one
// that was asked for.
func TestRebootNobodyWaitsFor(t *testing.T) {
	w := situation.Wanted{Packages: packages(pkg(a).interrupt(reboot))}
	n := record.Node{Packages: entries(w, interrupt.erroring(a).reason(retriesExhausted).restarts(2).by(reboot))}
	asked := record.Node{Packages: entries(w, rebooting)}
	if !lifecycle.AskedForReboot(asked, "b2") || lifecycle.AskedForReboot(asked, "b1") {
		t.Error("while it is waited for, the next boot is not the one that was asked for")
	}
	o := observation(see(spec(pkg(a).interrupt(reboot).retries(2)), ourCordon, booted("b2")))
	o.Record = n
	for _, boot := range []string{"b2", "b3", "b4"} {
		o.Node.BootID, o.Node.OwnReboot = boot, lifecycle.AskedForReboot(o.Record, boot)
		d := lifecycle.Next(o)
		if o.Record = d.Record; boot != "b2" && o.Node.OwnReboot {
			t.Errorf("boot %s still counts as a reboot that was asked for on b1", boot)
		}
	}
}
