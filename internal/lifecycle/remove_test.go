package lifecycle_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

func TestRemove(t *testing.T) {
	token := permit.Token()
	for _, c := range []struct {
		row
		permit bool
		delete []string
		clear  bool
		done   string
		cordon []words
	}{
		{row: when("nothing there"), clear: true},
		{row: when("complete", node(config.complete(a))), clear: true},
		{
			row:    when("a permit is out: acknowledged with the record", node(config.complete(a))),
			permit: true, clear: true, done: token,
		},
		{
			row:    when("a pod runs: it is deleted first", node(apply.inProgress(a)), pods(apply.running(a))),
			permit: true, delete: []string{"a-apply"}, done: token,
		},
		{row: when("a pod ends: it is waited for", node(apply.inProgress(a)), pods(apply.running(a).terminating()))},
		{
			row: when("several pods, of whatever run",
				pods(apply.done(a).run("r9"), config.failing(b), apply.lost(c).terminating())),
			delete: []string{"a-apply", "b-config"},
		},
		{
			row:   when("our cordon is removed with the record", node(config.complete(a)), ourCordon),
			clear: true, cordon: []words{disown, uncordon},
		},
		{
			row:    when("our cordon stays while a pod runs", node(apply.inProgress(a)), pods(apply.running(a)), ourCordon),
			delete: []string{"a-apply"},
		},
		{row: when("a cordon that stood before stays", node(config.complete(a)), foreignCordon), clear: true},
		{
			row:   when("a cordon that another Skyhook holds is left to it", ourCordon, othersCordon),
			clear: true, cordon: []words{disown},
		},
		{row: when("another Skyhook's cordon alone", othersCordon), clear: true},
		{
			row: when("an interrupt runs: its pod is deleted first",
				node(interrupt.inProgress(a).by(reboot)), pods(interrupt.running(a)), ourCordon),
			delete: []string{"a-interrupt"},
		},
		{
			row:   when("a boot id and a reason to wait go, too", lastBoot("b1"), told(evicting, -minute)),
			clear: true, cordon: []words{acceptBoot("")},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := lifecycle.Observation{Pods: livePods(c.pods...), Now: now, Record: c.record()}
			o.Record.FinishedPermit, o.Record.Status = "5/1", inProgress
			if c.permit {
				o.Permit = new(permit)
			}
			for _, g := range c.gates {
				g(&o)
			}
			d := lifecycle.Remove(o)
			if diff := cmp.Diff(c.cordon, describeNode(o, d)); diff != "" {
				t.Errorf("the node, -want +got\n%s", diff)
			}
			if d.Record.Wait != nil {
				t.Errorf("the node still waits: %+v", d.Record.Wait)
			}
			if !d.Removing || d.Clear != c.clear || len(d.Start) > 0 {
				t.Errorf("got leaving %t, clear %t, start %v; want true, %t, none", d.Removing, d.Clear, d.Start, c.clear)
			}
			if d.Record.FinishedPermit != c.done {
				t.Errorf("acknowledged %q, want %q", d.Record.FinishedPermit, c.done)
			}
			var deleted []string
			for _, p := range d.Delete {
				deleted = append(deleted, p.Name)
			}
			if diff := cmp.Diff(c.delete, deleted); diff != "" {
				t.Errorf("deleted pods, -want +got\n%s", diff)
			}
			if diff := cmp.Diff(o.Record.Packages, d.Record.Packages); diff != "" {
				t.Errorf("package states changed, -before +after\n%s", diff)
			}
		})
	}
}

// TestRemoveTellsOfAPodThatDoesNotEnd: nothing else is told of a node that a Skyhook leaves.
func TestRemoveTellsOfAPodThatDoesNotEnd(t *testing.T) {
	for _, c := range []struct {
		row
		want words
	}{
		{row: when("none is left")},
		{row: when("one runs", pods(apply.running(a)))},
		{row: when("one ends, nobody knows when", pods(apply.running(a).terminating()))},
		{
			row:  when("one has time to end", pods(apply.running(a).ends(-10*second), apply.running(b).ends(30*second))),
			want: again(20 * second),
		},
		{
			row:  when("one does not end", pods(apply.running(b).ends(minute), apply.running(a).ends(-30*second))),
			want: tell(waitingForPodToEnd),
		},
		{
			row: when("it does not end, since when stays",
				pods(apply.lost(a).ends(-5*minute)), told(waitingForPodToEnd, -4*minute)),
			want: tell(waitingForPodToEnd).since(-4 * minute),
		},
		{row: when("what was told before is over", pods(apply.running(a)), told(evicting, -4*minute))},
		{
			row:  when("a node that failed permanently", pods(apply.running(a).ends(-5*minute)), abandoned, deleting),
			want: tell(waitingForPodToEnd),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(see(spec(pkg(a), pkg(b)), node(apply.inProgress(a)), like(c.row)))
			d := lifecycle.Remove(o)
			var got words
			if w := d.Record.Wait; w != nil {
				got = tell(w.Reason).since(w.Since.Sub(now))
				if len(d.Waits) != 1 || d.Waits[0] != *w {
					t.Errorf("waits for %+v, and the record tells %+v", d.Waits, w)
				}
				if !strings.HasSuffix(w.Message, "`kubectl get pod -n skyhook a-apply -o yaml`") || w.Frees == "" {
					t.Errorf("told %+v", w)
				}
			}
			if d.After > 0 {
				got += again(d.After)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestRemoveAwaitsAReboot: until a reboot that may be under way is over, the cordon, the interrupt, the permit and the pod
// stay.
func TestRemoveAwaitsAReboot(t *testing.T) {
	for _, c := range []struct {
		row
		waits bool
	}{
		{when("its pod runs", pods(interrupt.running(a).run(nowRun))), true},
		{when("its pod has ended", pods(interrupt.done(a).run(nowRun))), true},
		{
			when("its pod has not begun", pods(interrupt.running(a).run(nowRun).reason(podCannotStart))),
			false,
		},
		{when("its pod does not start", pods(interrupt.stuck(a).run(nowRun))), false},
		{when("the node is down", notReady), true},
		{when("it has come up, and is not Ready", pods(interrupt.done(a).run(nowRun)), booted("b2"), notReady), true},
		{when("it has rebooted", pods(interrupt.done(a).run(nowRun)), booted("b2")), false},
		{when("it takes too long", node(interrupt.inProgress(a).by(reboot)), pods(interrupt.done(a).created(-hour))), false},
		{when("it was abandoned", pods(interrupt.done(a).run(nowRun)), abandoned, deleting), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(see(node(rebooting), ourCordon, like(c.row)))
			o.Permit = new(permit)
			d := lifecycle.Remove(o)
			waits := d.Record.Wait != nil && d.Record.Wait.Reason == v1alpha1.ReasonWaitingForReboot
			if waits != c.waits || c.waits && (d.Clear || d.After <= 0 || len(d.Delete) > 0 || d.Record.FinishedPermit != "" || !d.Record.Cordoned || d.InFlight == nil) {
				t.Errorf("waits %+v, clear %t, again %s, deletes %v, permit %q", d.Record.Wait, d.Clear, d.After, d.Delete, d.Record.FinishedPermit)
			}
		})
	}
}

// TestRemoveDuringARebootBlamesNoPod: one whose end nobody reports waits for the kubelet.
func TestRemoveDuringARebootBlamesNoPod(t *testing.T) {
	for _, ends := range []time.Duration{-2 * minute, 20 * second} {
		pod := interrupt.running(a).run(nowRun).created(0).ends(ends)
		o := observation(see(node(rebooting), pods(pod), ourCordon, notReady))
		d := lifecycle.Remove(o)
		if w := d.Record.Wait; w == nil || w.Reason != v1alpha1.ReasonWaitingForReboot || d.After <= 0 {
			t.Errorf("%s: told %+v, again in %s", ends, w, d.After)
		}
	}
}

// TestRemoveAfterAClockThatWasAhead: of the decision only the wait is written, so that the record stays ahead.
func TestRemoveAfterAClockThatWasAhead(t *testing.T) {
	ahead := now.Add(10 * time.Hour)
	run := strconv.FormatInt(ahead.Unix(), 36)
	o := observation(see(
		node(interrupt.inProgress(a).run(run).since(10*hour).by(reboot)), ourCordon, notReady,
		flight(reboot, "b1", run)))
	o.InFlight.Since = metav1.NewTime(ahead)
	for range 4 {
		d := lifecycle.Remove(o)
		if d.Clear {
			return
		}
		o.Record.Wait, o.Now = d.Record.Wait, o.Now.Add(d.After)
	}
	t.Errorf("still waits %s after the removal began", o.Now.Sub(now))
}

// TestCommandOfAPodThatDoesNotEndIsWhole: whatever its names, the record has room for it.
func TestCommandOfAPodThatDoesNotEndIsWhole(t *testing.T) {
	o := observation(see(node(apply.inProgress(a)), pods(apply.running(a).ends(-5*minute))))
	o.Pods[0].Namespace, o.Pods[0].Name = strings.Repeat("n", 63), strings.Repeat("p", 63)
	want := "finalizers: `kubectl get pod -n " + o.Pods[0].Namespace + " " + o.Pods[0].Name + " -o yaml`"
	if w := lifecycle.Remove(o).Record.Wait; w == nil || !strings.HasSuffix(w.Message, want) {
		t.Errorf("told %+v", w)
	}
}

// TestRemoveByForce: on a node for which the uninstall was abandoned nothing is waited for, not even for pods to end;
// package states stay.
func TestRemoveByForce(t *testing.T) {
	o := lifecycle.Observation{
		Wanted: situation.Wanted{Packages: packages(pkg(a).uninstall(on)), Deleting: true, Abandoned: true}, Now: now,
		Pods: livePods(uninstall.running(a), apply.running(b).terminating()),
		Record: record.Node{
			Status:   v1alpha1.StatusErroring,
			Packages: entries(situation.Wanted{}, uninstall.erroring(a)),
		},
	}
	d := lifecycle.Remove(o)
	if !d.Removing || !d.Force || d.Clear || len(d.Delete) != 2 {
		t.Errorf("with pods: leaving %t, by force %t, clear %t, deletes %v", d.Removing, d.Force, d.Clear, d.Delete)
	}
	o.Pods = nil
	if d = lifecycle.Remove(o); !d.Clear || len(d.Record.Packages) != 1 {
		t.Errorf("without pods: clear %t, package states %v", d.Clear, d.Record.Packages)
	}
	o.Abandoned = false
	if d = lifecycle.Remove(o); d.Force {
		t.Error("by force, though nobody abandoned the uninstall there")
	}
}

// TestRemoveKeepsInterruptInFlight: while a pod of it is there, the interrupt of a Skyhook that is removed stays in
// flight, so that nothing starts beside it.
func TestRemoveKeepsInterruptInFlight(t *testing.T) {
	for _, r := range []row{
		when("its pod runs",
			node(rebooting), pods(interrupt.running(a).run(nowRun)),
			also(inFlight(reboot, "b1", nowRun, a))),
		when("its pod ends",
			node(rebooting), pods(interrupt.running(a).run(nowRun).terminating()),
			also(inFlight(reboot, "b1", nowRun, a))),
		when("its pod was of an earlier run",
			node(rebooting), pods(interrupt.running(a)),
			also(inFlight(reboot, "b1", nowRun, a))),
		when("another pod of the Skyhook is there",
			node(rebooting), pods(apply.running(b)),
			also(inFlight(reboot, "b1", nowRun, a))),
		when("no pod is left", node(rebooting), also(nothingInFlight)),
		when("no pod is left, and only the annotation tells of it", flight(reboot, "b1", nowRun), also(nothingInFlight)),
		when("its retries were exhausted",
			node(interrupt.erroring(a).reason(retriesExhausted).by(noop)), flight(noop, "b1", "r1"),
			also(nothingInFlight)),
		when("another Skyhook's", node(config.complete(a)), flightOfAnother(reboot, "b1"), also(anothersInFlight)),
		when("another Skyhook's, while a pod ends",
			node(config.complete(a)), pods(config.running(a).terminating()), flightOfAnother(reboot, "b1"),
			also(anothersInFlight)),
	} {
		t.Run(r.name, func(t *testing.T) {
			o := observation(r)
			before := o.InFlight.Clone()
			demandWords(t, r, nil, describeInterrupts(lifecycle.Remove(o)))
			if diff := cmp.Diff(before, o.InFlight); diff != "" {
				t.Errorf("Leave changed what it was given:\n%s", diff)
			}
		})
	}
}
