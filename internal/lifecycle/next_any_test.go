package lifecycle_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// TestNextOfAnything: whatever is observed, also what cannot come about, Next decides without a panic, starts no second
// pod of a package, starts nothing beside an interrupt, and comes to rest when nothing new happens.
func TestNextOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyObservation(t)
		d := lifecycle.Next(o)
		demandOnePodEach(t, o, d)
		demandNothingBesideInterrupts(t, o, d)
		demandSameAgain(t, o, d)
		demandRest(t, o)
	})
}

// demandOnePodEach: a pod starts only where none of its package is left. One that is done is deleted without grace.
func demandOnePodEach(t *rapid.T, o lifecycle.Observation, d lifecycle.Decision) {
	for i, s := range d.Start {
		for _, other := range d.Start[:i] {
			if other.Package == s.Package {
				t.Fatalf("two pods start for package %s: %+v", s.Package, d.Start)
			}
		}
		for _, p := range left(o, d) {
			if p.Package == s.Package {
				t.Fatalf("%+v starts beside %+v", s, p)
			}
		}
	}
}

// left are the pods that are still there when the decision's pods start.
func left(o lifecycle.Observation, d lifecycle.Decision) []lifecycle.Pod {
	gone := map[string]bool{}
	for _, p := range d.Delete {
		gone[p.Name] = p.Outcome == lifecycle.Done
	}
	return slices.DeleteFunc(slices.Clone(o.Pods), func(p lifecycle.Pod) bool { return gone[p.Name] })
}

func demandNothingBesideInterrupts(t *rapid.T, o lifecycle.Observation, d lifecycle.Decision) {
	if o.InFlight != nil && o.InFlight.Skyhook != o.Skyhook {
		if len(d.Start) > 0 || !reflect.DeepEqual(o.InFlight, d.InFlight) {
			t.Fatalf("another Skyhook's interrupt is in flight: starts %+v, in flight then %+v", d.Start, d.InFlight)
		}
		return
	}
	for _, s := range d.Start {
		switch {
		case record.IsInterrupt(s.Stage) && (len(left(o, d)) > 0 || len(d.Start) > 1 || o.Node.OtherPods > 0):
			t.Fatalf("%+v starts beside %+v, %+v and %d pods of others", s, left(o, d), d.Start, o.Node.OtherPods)
		case record.IsInterrupt(s.Stage) && !d.InFlight.OwnedBy(o.Skyhook):
			t.Fatalf("%+v starts, but in flight is %+v", s, d.InFlight)
		case !record.IsInterrupt(s.Stage) && d.InFlight != nil:
			t.Fatalf("%+v starts beside %+v", s, d.InFlight)
		case !record.IsInterrupt(s.Stage) &&
			slices.ContainsFunc(left(o, d), func(p lifecycle.Pod) bool { return record.IsInterrupt(p.Stage) }):
			t.Fatalf("%+v starts beside a pod of an interrupt: %+v", s, left(o, d))
		}
	}
	for _, p := range left(o, d) {
		lost := p.Outcome == lifecycle.Lost
		if record.IsInterrupt(p.Stage) && o.InFlight != nil && d.InFlight == nil && !lost {
			t.Fatalf("the interrupt is released, but %+v is left of it", p)
		}
	}
}

// demandSameAgain: an operator that stops after it wrote the record starts the same pods in its next life, or says why
// not, or does not want them any more; but it never starts other ones instead.
func demandSameAgain(t *rapid.T, o lifecycle.Observation, d lifecycle.Decision) {
	if o.Reapply.Reboots && d.Record.BootID != o.Node.BootID {
		return // everything starts over once the boot can be accepted
	}
	again := lifecycle.Next(written(o, d))
	for _, s := range d.Start {
		same := func(other lifecycle.Start) bool { return other.Package == s.Package }
		i := slices.IndexFunc(again.Start, same)
		told := slices.ContainsFunc(again.Waits,
			func(w record.Wait) bool { return w.Package == s.Package || w.Package == "" })
		switch {
		case i >= 0 && !reflect.DeepEqual(s, again.Start[i]):
			t.Fatalf("first %+v is to start, then %+v\nrecord %s", s, again.Start[i], described(d.Record.Packages))
		case i < 0 && !told && again.Record.Packages[record.Key(s.Package, s.Version)].Active():
			t.Fatalf("%+v is forgotten; then %v\nrecord %s", s, describeBriefly(again), described(d.Record.Packages))
		}
	}
}

// demandRest: pods are created and deleted as asked, and nothing else happens. Then there is soon nothing left to do.
func demandRest(t *rapid.T, o lifecycle.Observation) {
	const bound = 12
	var trace []string
	for range bound {
		d := lifecycle.Next(o)
		trace = append(trace, fmt.Sprintf("%v\n   %s", describeBriefly(d), described(d.Record.Packages)))
		next := written(o, d)
		next.Pods = carriedOut(o, d)
		if reflect.DeepEqual(next, o) {
			return
		}
		o = next
	}
	t.Fatalf("after %d passes there is still something to do:\n%s", bound, strings.Join(trace, "\n"))
}

// written is what is observed after the decision's record was written, and nothing else happened.
func written(o lifecycle.Observation, d lifecycle.Decision) lifecycle.Observation {
	o.Record, o.InFlight = d.Record, d.InFlight
	if d.Unschedulable != nil {
		o.Node.Unschedulable = *d.Unschedulable
	}
	return o
}

// carriedOut are the pods after those of the decision were deleted and created.
func carriedOut(o lifecycle.Observation, d lifecycle.Decision) []lifecycle.Pod {
	gone := map[string]bool{}
	for _, p := range d.Delete {
		gone[p.Name] = true
	}
	list := slices.DeleteFunc(slices.Clone(o.Pods), func(p lifecycle.Pod) bool { return gone[p.Name] })
	for _, s := range d.Start {
		definition := o.Packages[s.Package]
		if s.Retained != "" {
			definition = o.Retained[s.Retained]
		}
		list = append(list, lifecycle.Pod{
			Name: fmt.Sprintf("%s-%s-%d", s.Package, s.Stage, len(list)), Package: s.Package, Version: s.Version,
			Stage: s.Stage, Run: s.Run, Hash: definition.Hash, Created: o.Now,
		})
	}
	return list
}

func describeBriefly(d lifecycle.Decision) []string {
	var lines []string
	for _, c := range d.Changes {
		lines = append(lines, fmt.Sprintf("%s@%s %s:%s%s", c.Package, c.Version, c.Stage, c.State, c.Reason))
	}
	for _, p := range d.Delete {
		lines = append(lines, "delete "+p.Name)
	}
	for _, s := range d.Start {
		lines = append(lines, fmt.Sprintf("start %s %s %s", s.Package, s.Stage, s.Run))
	}
	for _, w := range d.Waits {
		lines = append(lines, "wait "+w.Package+" "+w.Reason)
	}
	return lines
}

func described(entries map[string]record.Entry) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		e := entries[key]
		lines = append(lines, fmt.Sprintf("%s %s:%s%s interrupt=%s", key, e.Stage, e.State, details(e),
			interruptText(e.Interrupt)))
	}
	return strings.Join(lines, "; ")
}

// anyObservation draws one. What the controllers see to is kept: while another Skyhook's interrupt is in flight there
// is a hold.
func anyObservation(t *rapid.T) lifecycle.Observation {
	flip := func(label string) bool { return rapid.Bool().Draw(t, label) }
	rare := func(label string) bool { return rapid.IntRange(0, 5).Draw(t, label) == 0 }
	names := []string{"a", "b", "c"}
	var spec []definition
	o := lifecycle.Observation{
		Skyhook: skyhookName, Now: now, ConfigReady: map[string]bool{},
		RetainedReady: map[string]bool{},
		Serial:        rare("serial"), Reapply: lifecycle.Reapply{Reboots: rare("reapply"), Hosts: flip("hosts")},
		Record: record.Node{
			Packages: map[string]record.Entry{}, Cordoned: flip("cordoned"),
			BootID: rapid.SampledFrom([]string{"", "b1", "b0"}).Draw(t, "last boot"),
			Host: rapid.SampledFrom([]record.Host{{}, {MachineID: "m1"}, {MachineID: "m0"}, {MachineID: "m0", BootID: "b0"}}).Draw(t,
				"last host"),
			Status: rapid.SampledFrom([]v1alpha1.Status{"", v1alpha1.StatusComplete, v1alpha1.StatusInProgress}).Draw(t,
				"status"),
		},
		Node: lifecycle.Node{
			Ready: !rare("not ready"), MachineID: rapid.SampledFrom([]string{"", "m1"}).Draw(t, "machine"), BootID: rapid.SampledFrom([]string{"b1", "b1", "b1", ""}).Draw(t, "boot"),
			Unschedulable:   flip("unschedulable"),
			CordonedByOther: rare("cordoned by another"), OtherPods: rapid.IntRange(-4, 1).Draw(t, "other pods"),
			OwnReboot: rare("own reboot"),
		},
	}
	o.Node.OtherPods = max(0, o.Node.OtherPods)
	for _, name := range names {
		if flip(name + " is in the spec") {
			spec = append(spec, anyPackage(t, name))
			o.ConfigReady[name] = !rare("no config")
		}
		for range rapid.IntRange(0, 2).Draw(t, "versions of "+name) {
			e := anyEntry(t, name)
			if record.IsInterrupt(e.Stage) && e.Active() && interrupting(o.Record) {
				e.State = v1alpha1.StateSkipped // one runs at most
			}
			o.Record.Packages[e.Key()] = e
		}
		if flip(name + " has a pod") {
			o.Pods = append(o.Pods, anyPod(t, name, o.Record.Packages))
		}
	}
	o.Wanted = situation.Wanted{
		Packages: packages(spec...), Generation: generation, Deleting: rare("deleting"), Abandoned: rare("abandoned"),
		Retained: retained(pkg(a).def("old").uninstall(on).config("k=1").interrupt(noop), pkg("b@1.1").def("new").uninstall(on, auto).interrupt(service("y"))),
	}
	o.RetainedReady["old"], o.RetainedReady["new"] = flip("old is ready"), flip("new is ready")
	if rare("failed") {
		o.Failed = "forbidden"
	}
	if !rare("no permit") {
		o.Permit = new(permit)
		o.Permit.Revoked = rare("revoked")
	}
	if flip("drain") {
		o.Drain = &lifecycle.Drain{Clear: !rare("not clear"), Reason: "Evicting", Message: "-"}
	}
	o.Hold = anyHold(t)
	putInFlight(t, &o)
	return o
}

// putInFlight draws the interrupt in flight.
func putInFlight(t *rapid.T, o *lifecycle.Observation) {
	switch rapid.IntRange(0, 3).Draw(t, "in flight") {
	case 0, 1:
		o.InFlight = lifecycle.InFlightOf(skyhookName, o.Record)
	case 2:
		o.InFlight = &record.Interrupt{
			Skyhook: skyhookName, Packages: []string{"a|1.0"}, Type: v1alpha1.InterruptReboot,
			BootID: "b1", Run: "r1",
		}
	case 3:
		o.InFlight = &record.Interrupt{
			Skyhook: "another", Packages: []string{"x|1.0"}, Type: v1alpha1.InterruptReboot,
			BootID: "b1", Run: "r1",
		}
		if o.Hold == nil {
			o.Hold = &situation.Hold{Status: v1alpha1.StatusWaiting, ReturnsPermit: true, Wait: record.Wait{
				Reason: v1alpha1.ReasonWaitingForInterrupt, Message: "-", Frees: record.FreesOther,
			}}
		}
	}
}

func anyHold(t *rapid.T) *situation.Hold {
	holds := []part{pausedNode, disabledNode, taintedNode, invalidSpec, earlierSkyhook}
	n := rapid.IntRange(-3, len(holds)-1).Draw(t, "hold")
	if n < 0 {
		return nil
	}
	return observation(see(holds[n])).Hold
}

// anyPod draws a pod that may be that of an entry.
func anyPod(t *rapid.T, name string, entries map[string]record.Entry) lifecycle.Pod {
	e := anyEntry(t, name)
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if recorded := entries[key]; recorded.Name == name && rapid.Bool().Draw(t, "its pod") {
			e = recorded
		}
	}
	p := lifecycle.Pod{
		Name: name + "-pod", UID: types.UID(name), Package: name, Version: e.Version, Stage: e.Stage, Run: e.Run,
		Hash:        rapid.SampledFrom([]string{"", "1", "1", "2"}).Draw(t, "hash of the pod"),
		Created:     now.Add(-time.Duration(rapid.IntRange(0, 4000).Draw(t, "age")) * time.Second),
		Terminating: rapid.IntRange(0, 4).Draw(t, "terminating") == 0,
		Outcome: rapid.SampledFrom(
			[]lifecycle.Outcome{lifecycle.Running, lifecycle.Done, lifecycle.Failing, lifecycle.Stuck, lifecycle.Lost}).Draw(t,
			"outcome"),
		Restarts: int32(rapid.IntRange(0, 3).Draw(t, "restarts of the pod")),
		ExitCode: rapid.SampledFrom([]int32{0, 1, 137, 255}).Draw(t, "exit code"),
	}
	p.Retrying = p.Outcome == lifecycle.Failing && rapid.Bool().Draw(t, "retrying")
	p.Shutdown = p.Outcome == lifecycle.Lost && rapid.Bool().Draw(t, "shutdown")
	if p.Outcome != lifecycle.Done {
		p.Reason, p.Message = rapid.SampledFrom([]string{"", "StepFailed"}).Draw(t, "reason of the pod"), "-"
	}
	return p
}
