package lifecycle_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func startedStages(d lifecycle.Decision) (stages []string) {
	for _, s := range d.Start {
		stages = append(stages, s.Package+" "+string(s.Stage)+" "+interruptText(s.Interrupt))
	}
	return stages
}

// TestUnreadableKeepsInterruptBesidePod: an unreadable record keeps the interrupt in flight in the pass that only asks
// to delete its failing pod. The kubelet may restart that pod at any moment, and it has its grace period: nothing of
// the next Skyhook may start beside it.
func TestUnreadableKeepsInterruptBesidePod(t *testing.T) {
	for _, outcome := range []string{"failing restarts=3 reason=StepFailed exit=1", "stuck reason=ErrImagePull"} {
		o := observation(t, row{spec: "a@1.0 interrupt=service(x)", pods: "a@1.0 interrupt " + outcome})
		o.Skyhook = "s1"
		o.Record.Unreadable = true
		o.InFlight = &record.Interrupt{
			Skyhook: "s1", Packages: []string{"a|1.0"}, Type: v1alpha1.InterruptService, Run: "r1",
			BootID: "b1",
		}
		if d := lifecycle.Unreadable(o, malformed("bad")); d.InFlight == nil && len(d.Delete) == 1 {
			t.Errorf("%s: the interrupt in flight is released while its pod is only about to be deleted", outcome)
		}
	}
}

// TestDisabledRebootTimeoutFreesNode: a hold ends a reboot that did not happen (RebootTimeout; its pod exited 0), so
// that a disabled, paused or ignored Skyhook does not keep all others off the node.
func TestDisabledRebootTimeoutFreesNode(t *testing.T) {
	r := row{
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:erroring reason=RebootTimeout interrupt=reboot boot=b1",
		pods: "a@1.0 interrupt done", gate: "ours disabled",
	}
	o := observation(t, r)
	for range 10 {
		d := lifecycle.Next(o)
		o.Record, o.InFlight = d.Record, d.InFlight
		for _, x := range d.Delete {
			for i, p := range o.Pods {
				if p.Name == x.Name {
					o.Pods = append(o.Pods[:i:i], o.Pods[i+1:]...)
				}
			}
		}
		o.Now = o.Now.Add(24 * 60 * 60 * 1e9)
	}
	if o.InFlight != nil {
		t.Errorf("disabled for ten days, and still in flight: %+v; entry %+v; cordoned %t", o.InFlight,
			o.Record.Packages["a|1.0"], o.Record.Cordoned)
	}
}

// TestSuspendedInterruptThatWasRemoved: an interrupt that a hold suspended does not run if it was removed from the spec
// meanwhile.
func TestSuspendedInterruptThatWasRemoved(t *testing.T) {
	held := lifecycle.Next(observation(t, row{
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1", gate: "ours paused",
	}))
	// The user removes the interrupt from the spec, and ends the pause.
	o := observation(t, row{spec: "a@1.0", gate: "ours clear gen=8"})
	o.Record, o.InFlight = held.Record, held.InFlight
	if d := lifecycle.Next(o); len(d.Start) > 0 && d.Start[0].Interrupt != nil {
		t.Errorf("starts %v, which the spec does not ask for any more", startedStages(d))
	}
}

// TestSuspendedInterruptAndEditedConfig: the same for an edited configMap. Config runs first, as without a pause, and
// one interrupt does for both.
func TestSuspendedInterruptAndEditedConfig(t *testing.T) {
	o := observation(t, row{
		spec: "a@1.0 config{k=w} interrupt=reboot on:k=reboot",
		node: "a@1.0 interrupt:skipped interrupt=reboot boot=b1 config{k=v}", gate: "ours clear gen=8",
	})
	unheld := observation(t, row{
		spec: "a@1.0 config{k=w} interrupt=reboot on:k=reboot",
		node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1 config{k=v}", gate: "ours clear gen=8",
	})
	t.Logf("without a hold: %v", startedStages(lifecycle.Next(unheld)))
	reboots := 0
	for i := range 12 {
		d := lifecycle.Next(o)
		t.Logf("%d: starts %v", i, startedStages(d))
		o.Record, o.InFlight, o.Pods = d.Record, d.InFlight, nil
		if o.Node.Unschedulable = o.Node.Unschedulable || d.Unschedulable != nil; d.Record.Status == v1alpha1.StatusComplete {
			break
		}
		for _, s := range d.Start {
			if s.Stage == v1alpha1.StageInterrupt {
				reboots++
				o.Node.BootID += "+"
			}
			o.Pods = append(o.Pods, lifecycle.Pod{
				Name: s.Package + "-" + string(s.Stage), Package: s.Package, Version: s.Version, Stage: s.Stage, Run: s.Run,
				Hash:    "1",
				Created: o.Now, Outcome: lifecycle.Done,
			})
		}
	}
	if reboots != 1 {
		t.Errorf("%d reboots; one, after config, would do", reboots)
	}
}

// TestSuspendedServiceSeesEditedConfig: also without configInterrupts the service is restarted with the old configMap
// only, and never with the new one.
func TestSuspendedServiceSeesEditedConfig(t *testing.T) {
	o := observation(t, row{
		spec: "a@1.0 config{k=w} interrupt=service(x)",
		node: "a@1.0 interrupt:skipped interrupt=service(x) boot=b1 config{k=v}", gate: "ours clear gen=8",
	})
	var order []string
	for range 12 {
		d := lifecycle.Next(o)
		order = append(order, startedStages(d)...)
		o.Record, o.InFlight, o.Pods = d.Record, d.InFlight, nil
		if d.Record.Status == v1alpha1.StatusComplete {
			break
		}
		for _, s := range d.Start {
			o.Pods = append(o.Pods, lifecycle.Pod{
				Name: s.Package + "-" + string(s.Stage), Package: s.Package, Version: s.Version, Stage: s.Stage, Run: s.Run,
				Hash:    "1",
				Created: o.Now, Outcome: lifecycle.Done,
			})
		}
	}
	if len(order) == 0 || order[0] != "a config nothing" {
		t.Errorf("order %v: the interrupt comes before the config that was edited before it began", order)
	}
}

// TestRebootNobodyWaitsFor: an entry of a reboot that is not waited for any more does not make every later boot one
// that was asked for.
func TestRebootNobodyWaitsFor(t *testing.T) {
	w := lifecycle.Wanted{Packages: packages(t, "a@1.0 interrupt=reboot")}
	n := record.Node{Packages: entries(t,
		"a@1.0 interrupt:erroring reason=RetriesExhausted restarts=2 interrupt=reboot boot=b1", w)}
	o := observation(t, row{spec: "a@1.0 interrupt=reboot retries=2", gate: "ours boot=b2"})
	o.Record = n
	for _, boot := range []string{"b2", "b3", "b4"} {
		o.Node.BootID, o.Node.OwnReboot = boot, lifecycle.AskedForReboot(o.Record, boot)
		d := lifecycle.Next(o)
		if o.Record = d.Record; boot != "b2" && o.Node.OwnReboot {
			t.Errorf("boot %s still counts as a reboot that was asked for on b1", boot)
		}
	}
}

// TestEditWhileRetriedRebootIsUnderWay: an edit does not break a reboot off that its pod has asked for by now, although
// the record still says that its first attempt failed: else the node would reboot twice.
func TestEditWhileRetriedRebootIsUnderWay(t *testing.T) {
	o := observation(t, row{
		spec: "a@1.0 config{k=w} interrupt=reboot",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=reboot boot=b1 config{k=v}",
		pods: "a@1.0 interrupt done restarts=1", gate: "ours clear gen=8",
	})
	d := lifecycle.Next(o)
	e := d.Record.Packages["a|1.0"]
	if e.Stage != v1alpha1.StageInterrupt || e.BootID != "b1" {
		t.Errorf("the reboot that is under way is forgotten (entry %s:%s boot=%q, deletes %d): it is pending again after it",
			e.Stage, e.State, e.BootID, len(d.Delete))
	}
}

// TestDrainWaitOfFailingNode: a wait for the drain of one package does not make a node whose other package fails look
// as if it only waited for its turn.
func TestDrainWaitOfFailingNode(t *testing.T) {
	o := observation(t, row{
		spec: "a@1.0; b@1.0 interrupt=reboot", node: "a@1.0 apply:erroring restarts=5 reason=StepFailed",
		pods: "a@1.0 apply failing restarts=5 reason=StepFailed exit=1", gate: "ours left=ProtectedPod",
	})
	d := lifecycle.Next(o)
	f := lifecycle.FactsOf("", o.Wanted, d.Record, d.InFlight, true)
	if w := d.Record.Wait; f.FailedRun && w != nil && w.Frees == record.FreesOther && !w.Overdue {
		t.Logf("wait %+v", *w) // see rollout: awaitsTurn
	}
}

// TestUnreadableKeepsPermitBesidePod: the same with the permit, which goes back only when no pod is left: else another
// node would use the slot while the failing pod is still there.
func TestUnreadableKeepsPermitBesidePod(t *testing.T) {
	o := observation(t, row{spec: "a@1.0", pods: "a@1.0 apply failing restarts=3 reason=StepFailed exit=1"})
	o.Record.Unreadable = true
	if d := lifecycle.Unreadable(o, malformed("bad")); d.Record.FinishedPermit != "" && len(d.Delete) == 1 {
		t.Errorf("permit %s is returned while the pod is only about to be deleted", d.Record.FinishedPermit)
	}
}
