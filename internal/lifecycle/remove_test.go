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
)

func TestRemove(t *testing.T) {
	token := permit.Token()
	for _, c := range []struct {
		name   string
		node   string
		pods   string
		permit bool
		gate   string
		delete []string
		clear  bool
		done   string
		cordon string
	}{
		{name: "nothing there", clear: true},
		{name: "complete", node: "a@1.0 config:complete", clear: true},
		{
			name: "a permit is out: acknowledged with the record", node: "a@1.0 config:complete", permit: true, clear: true,
			done: token,
		},
		{
			name: "a pod runs: it is deleted first", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", permit: true,
			delete: []string{"a-apply"}, done: token,
		},
		{name: "a pod ends: it is waited for", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running terminating"},
		{
			name:   "several pods, of whatever run",
			pods:   "a@1.0 apply done run=r9; b@1.0 config failing; c@1.0 apply lost terminating",
			delete: []string{"a-apply", "b-config"},
		},
		{
			name: "our cordon is removed with the record", node: "a@1.0 config:complete", gate: "ours", clear: true,
			cordon: "disown cordon; uncordon",
		},
		{
			name: "our cordon stays while a pod runs", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running",
			gate:   "ours",
			delete: []string{"a-apply"},
		},
		{name: "a cordon that stood before stays", node: "a@1.0 config:complete", gate: "admins", clear: true},
		{
			name: "a cordon that another Skyhook holds is left to it", gate: "ours others", clear: true, cordon: "disown cordon",
		},
		{name: "another Skyhook's cordon alone", gate: "others", clear: true},
		{
			name: "an interrupt runs: its pod is deleted first", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1",
			pods: "a@1.0 interrupt running", gate: "ours", delete: []string{"a-interrupt"},
		},
		{
			name: "a boot id and a reason to wait go, too", gate: "last-boot=b1 told=Evicting/-1m", clear: true, cordon: "boot ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := lifecycle.Observation{Pods: pods(t, c.pods), Now: now, Record: record.Node{
				Packages: entries(t, c.node, lifecycle.Wanted{}), FinishedPermit: "5/1", Status: "in_progress",
			}}
			if c.permit {
				o.Permit = new(permit)
			}
			for gate := range strings.FieldsSeq(c.gate) {
				passGate(t, &o, gate)
			}
			d := lifecycle.Remove(o)
			if diff := cmp.Diff(items(c.cordon), describeNode(o, d)); diff != "" {
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
		name, pods, gate string
		want             string
	}{
		{name: "none is left"},
		{name: "one runs", pods: "a@1.0 apply running"},
		{name: "one ends, nobody knows when", pods: "a@1.0 apply running terminating"},
		{name: "one has time to end", pods: "a@1.0 apply running ends=-10s; b@1.0 apply running ends=30s", want: "again 20s"},
		{
			name: "one does not end", pods: "b@1.0 apply running ends=1m; a@1.0 apply running ends=-30s",
			want: "tell WaitingForPodToEnd",
		},
		{
			name: "it does not end, since when stays", pods: "a@1.0 apply lost ends=-5m", gate: "told=WaitingForPodToEnd/-4m",
			want: "tell WaitingForPodToEnd since=-4m0s",
		},
		{name: "what was told before is over", pods: "a@1.0 apply running", gate: "told=Evicting/-4m"},
		{
			name: "a node that failed permanently", pods: "a@1.0 apply running ends=-5m", gate: "abandoned deleting",
			want: "tell WaitingForPodToEnd",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(t, row{spec: "a@1.0; b@1.0", node: "a@1.0 apply:in_progress", pods: c.pods, gate: c.gate})
			d := lifecycle.Remove(o)
			got := ""
			if w := d.Record.Wait; w != nil {
				got = "tell " + w.Reason + ago(w.Since)
				if len(d.Waits) != 1 || d.Waits[0] != *w {
					t.Errorf("waits for %+v, and the record tells %+v", d.Waits, w)
				}
				if !strings.HasSuffix(w.Message, "kubectl get pod -n skyhook a-apply -o yaml") || w.Frees == "" {
					t.Errorf("told %+v", w)
				}
			}
			if d.After > 0 {
				got += "again " + d.After.String()
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
		name, pods, gate string
		waits            bool
	}{
		{"its pod runs", "a@1.0 interrupt running run=now", "boot=b1", true},
		{"its pod has ended", "a@1.0 interrupt done run=now", "boot=b1", true},
		{"its pod has not begun", "a@1.0 interrupt running run=now reason=PodCannotStart", "boot=b1", false},
		{"its pod does not start", "a@1.0 interrupt stuck run=now", "boot=b1", false},
		{"the node is down", "", "boot=b1 not-ready", true},
		{"it has come up, and is not Ready", "a@1.0 interrupt done run=now", "boot=b2 not-ready", true},
		{"it has rebooted", "a@1.0 interrupt done run=now", "boot=b2", false},
		{"it takes too long", "a@1.0 interrupt done created=-1h", "boot=b1", false},
		{"it was abandoned", "a@1.0 interrupt done run=now", "boot=b1 abandoned deleting", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := rebooting
			if strings.Contains(c.pods, "created") {
				node = "a@1.0 interrupt:in_progress interrupt=reboot boot=b1"
			}
			o := observation(t, row{node: node, pods: c.pods, gate: "ours " + c.gate})
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
	for _, pod := range []string{"created=0s ends=-2m", "created=0s ends=20s"} {
		o := observation(t, row{node: rebooting, pods: "a@1.0 interrupt running run=now " + pod, gate: "ours boot=b1 not-ready"})
		d := lifecycle.Remove(o)
		if w := d.Record.Wait; w == nil || w.Reason != v1alpha1.ReasonWaitingForReboot || d.After <= 0 {
			t.Errorf("%s: told %+v, again in %s", pod, w, d.After)
		}
	}
}

// TestRemoveAfterAClockThatWasAhead: of the decision only the wait is written, so that the record stays ahead.
func TestRemoveAfterAClockThatWasAhead(t *testing.T) {
	ahead := now.Add(10 * time.Hour)
	run := strconv.FormatInt(ahead.Unix(), 36)
	o := observation(t, row{
		node: "a@1.0 interrupt:in_progress run=" + run + " since=10h interrupt=reboot boot=b1",
		gate: "ours boot=b1 not-ready flight=reboot/b1/" + run,
	})
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
	o := observation(t, row{node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running ends=-5m"})
	o.Pods[0].Namespace, o.Pods[0].Name = strings.Repeat("n", 63), strings.Repeat("p", 63)
	want := "finalizers: kubectl get pod -n " + o.Pods[0].Namespace + " " + o.Pods[0].Name + " -o yaml"
	if w := lifecycle.Remove(o).Record.Wait; w == nil || !strings.HasSuffix(w.Message, want) {
		t.Errorf("told %+v", w)
	}
}

// TestRemoveByForce: on a node for which the uninstall was abandoned nothing is waited for, not even for pods to end;
// package states stay.
func TestRemoveByForce(t *testing.T) {
	o := lifecycle.Observation{
		Wanted: lifecycle.Wanted{Packages: packages(t, "a@1.0 uninstall=on"), Deleting: true, Abandoned: true}, Now: now,
		Pods: pods(t, "a@1.0 uninstall running; b@1.0 apply running terminating"),
		Record: record.Node{
			Status:   v1alpha1.StatusErroring,
			Packages: entries(t, "a@1.0 uninstall:erroring", lifecycle.Wanted{}),
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
	for _, c := range []struct {
		name, node, pods, gate string
		want                   string
	}{
		{"its pod runs", rebooting, "a@1.0 interrupt running run=now", "", "in flight reboot of a|1.0 boot=b1 run=now"},
		{
			"its pod ends", rebooting, "a@1.0 interrupt running run=now terminating", "",
			"in flight reboot of a|1.0 boot=b1 run=now",
		},
		{
			"its pod was of an earlier run", rebooting, "a@1.0 interrupt running", "",
			"in flight reboot of a|1.0 boot=b1 run=now",
		},
		{
			"another pod of the Skyhook is there", rebooting, "b@1.0 apply running", "",
			"in flight reboot of a|1.0 boot=b1 run=now",
		},
		{"no pod is left", rebooting, "", "", "nothing in flight"},
		{"no pod is left, and only the annotation tells of it", "", "", "flight=reboot/b1/now", "nothing in flight"},
		{
			"its retries were exhausted", "a@1.0 interrupt:erroring reason=RetriesExhausted interrupt=noop boot=b1", "",
			"flight=noop/b1/r1", "nothing in flight",
		},
		{"another Skyhook's", "a@1.0 config:complete", "", "flight-of-another=reboot/b1", "another's in flight"},
		{
			"another Skyhook's, while a pod ends", "a@1.0 config:complete", "a@1.0 config running terminating",
			"flight-of-another=reboot/b1", "another's in flight",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(t, row{node: c.node, pods: c.pods, gate: c.gate})
			before := o.InFlight.Clone()
			if got := describeInterrupts(lifecycle.Remove(o)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if diff := cmp.Diff(before, o.InFlight); diff != "" {
				t.Errorf("Leave changed what it was given:\n%s", diff)
			}
		})
	}
}
