package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

var completeTables = []group{
	{"other operators", others},
}

// others are records of another operator, which kept no hashes.
var others = []row{
	when("complete: no interrupt is pending, its config is taken as current",
		spec(pkg(a).config("k=2").interrupt(reboot)), node(config.complete(a).configUnknown().run("").hash("").gen(0)),
		was(complete), acknowledged,
		want(rename(a), is(complete))),
	when("complete after an interrupt",
		spec(pkg(a).config("k=2").interrupt(reboot)), node(postInterrupt.complete(a).configUnknown().run("")),
		was(complete), acknowledged,
		want(rename(a), is(complete))),
	when("the node was not complete, and the package waits for its interrupt",
		spec(pkg(a).interrupt(reboot)), node(config.complete(a).configUnknown().run("")), was(inProgress), ourCordon,
		drained,
		want(interrupt.inProgress(a).anew().by(reboot), interrupt.start(a, reboot), is(inProgress))),
	when("complete with another config: what changed since then is applied",
		spec(pkg(a).config("k=2").interrupt(reboot)), node(postInterrupt.complete(a).configUnknown().run("")),
		was(complete), configuredWith("k=1"),
		want(config.inProgress(a).anew().changed("k"), config.start(a), is(inProgress))),
	when("complete with the config that the spec has",
		spec(pkg(a).config("k=2").interrupt(reboot)), node(postInterrupt.complete(a).configUnknown().run("")),
		was(complete), acknowledged, configuredWith("k=2"),
		want(rename(a), is(complete))),
	when("config is done with another config, and the interrupt of the install pends: that covers the change",
		spec(pkg(a).config("k=2").interrupt(reboot)), node(config.complete(a).configUnknown().run("")), was(inProgress),
		configuredWith("k=1"), ourCordon, drained,
		want(config.inProgress(a).anew(), config.start(a), is(inProgress))),
	when("complete when it was paused: no interrupt is pending",
		spec(pkg(a).config("k=2").interrupt(reboot)), node(config.complete(a).configUnknown().run("")), was(paused),
		finished, acknowledged,
		want(rename(a), is(complete))),
	when("complete when it was paused, and edited since",
		spec(pkg(a).config("k=2").interrupt(reboot)), node(config.complete(a).configUnknown().run("")), was(paused),
		finished, configuredWith("k=1"),
		want(config.inProgress(a).anew().changed("k"), config.start(a), is(inProgress))),
	when("paused before its interrupt",
		spec(pkg(a).config("k=2").interrupt(reboot)), node(config.complete(a).configUnknown().run("")), was(paused),
		ourCordon, drained,
		want(interrupt.inProgress(a).anew().by(reboot), interrupt.start(a, reboot), is(inProgress))),
	when("an interrupt runs, and its pod is there: it decides",
		spec(pkg(a).interrupt(service("x"))), node(interrupt.inProgress(a).configUnknown().run("").hash("")),
		pods(interrupt.done(a).run("").hash("")), was(inProgress), ourCordon,
		want(interrupt.complete(a), postInterrupt.inProgress(a).anew(), interrupt.delete(a), postInterrupt.start(a),
			is(inProgress))),
	when("an interrupt was to run, and its pod is gone: it is run anew",
		spec(pkg(a).interrupt(service("x"))), node(interrupt.inProgress(a).configUnknown().run("").hash("")),
		was(inProgress), ourCordon, drained,
		want(interrupt.skipped(a), interrupt.inProgress(a).anew().by(service("x")), interrupt.start(a, service("x")),
			is(inProgress))),
	when("skipped, while nothing runs: run anew",
		spec(pkg(a).interrupt(service("x"))), node(interrupt.skipped(a).configUnknown().run("").hash("")),
		was(inProgress), ourCordon, drained,
		want(interrupt.inProgress(a).anew().by(service("x")), interrupt.start(a, service("x")), is(inProgress))),
	when("on its way out, with an interrupt: it is installed anew",
		spec(pkg(a)), node(uninstallInterrupt.inProgress(a).configUnknown().run("")), was(inProgress),
		want(uninstallInterrupt.skipped(a), apply.inProgress(a).anew(), apply.start(a), is(inProgress))),
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		row
		want bool
	}{
		{when("no packages"), true},
		{when("absent", spec(pkg(a))), false},
		{when("applied", spec(pkg(a)), node(apply.complete(a))), false},
		{when("config runs", spec(pkg(a)), node(config.inProgress(a))), false},
		{when("configured", spec(pkg(a)), node(config.complete(a))), true},
		{when("interrupt pending", spec(pkg(a).interrupt(noop)), node(config.complete(a))), false},
		{when("interrupted", spec(pkg(a).interrupt(noop)), node(interrupt.complete(a))), false},
		{when("post-interrupt runs", spec(pkg(a).interrupt(noop)), node(postInterrupt.inProgress(a))), false},
		{when("post-interrupt complete", spec(pkg(a).interrupt(noop)), node(postInterrupt.complete(a))), true},
		{when("a change that needs no interrupt",
			spec(pkg(a).config("k=2").interrupt(noop)), node(config.complete(a).changed("k"))), true},
		{when("a change that needs an interrupt",
			spec(pkg(a).config("k=2").on("k", noop)), node(config.complete(a).changed("k"))), false},
		{when("superseded by later work",
			spec(pkg(a)), node(config.complete(a), upgrade.inProgress("a@1.1").since(-minute))), false},
		{when("another version", spec(pkg(a)), node(config.complete("a@1.1"))), false},
		{when("another spelling", spec(pkg(a)), node(config.complete("a@v1.0.0"))), true},
		{when("one of two", spec(pkg(a), pkg(b)), node(config.complete(a))), false},
		{
			when("other entries do not matter",
				spec(pkg(a)),
				node(config.complete(a), apply.erroring("a@0.9").since(-2*hour), apply.inProgress("z@1.0"))),
			true,
		},
		{when("old config", spec(pkg(a).config("k=2")), node(config.complete(a).config("k=1"))), false},
		{when("unknown config", spec(pkg(a).config("k=2")), node(config.complete(a).configUnknown())), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := situation.Complete(c.wanted(), c.record()); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

// TestFailureOfAnInterruptThatIsHeld: it is suspended when something holds the node, and is a failure that people hear
// of all the same, until it begins again.
func TestFailureOfAnInterruptThatIsHeld(t *testing.T) {
	o := observation(see(
		spec(pkg(a).interrupt(service("x"))),
		node(interrupt.erroring(a).restarts(1).reason(stepFailed).by(service("x"))),
		pods(interrupt.failing(a).restarts(1).reason(stepFailed)), ourCordon, drained, pausedNode))
	o.Record = lifecycle.Next(o).Record
	if e, failed := situation.FirstFailure(o.Wanted, o.Record); !failed || e.State != "skipped" ||
		e.Message != message("StepFailed") {
		t.Errorf("while it is held: %t, %+v", failed, e)
	}
	if f := situation.FactsOf("", o.Wanted, o.Record, nil, true); f.FailedRun {
		t.Errorf("it counts as a failed run: %+v", f)
	}
	o.Pods, o.Hold, o.InFlight = nil, nil, nil
	o.Record = lifecycle.Next(o).Record
	if e, failed := situation.FirstFailure(o.Wanted, o.Record); failed ||
		o.Record.Packages["a|1.0"].State != "in_progress" {
		t.Errorf("when it begins again: %t, %+v", failed, e)
	}
}

func TestFirstFailure(t *testing.T) {
	for _, c := range []struct {
		row
		want string
	}{
		{when("none", spec(pkg(a), pkg(b)), node(config.complete(a), apply.inProgress(b))), ""},
		{when("the first by name", spec(pkg(a), pkg(b), pkg(c)), node(apply.erroring(b), apply.erroring(c))), "b|1.0"},
		{
			when("only of the spec's versions", spec(pkg("a@1.1"), pkg(b)), node(apply.erroring(a), config.erroring(b))),
			"b|1.0",
		},
		{when("an interrupt that was suspended",
			spec(pkg(a).interrupt(reboot)), node(interrupt.skipped(a).by(reboot).reason(stepFailed))), "a|1.0"},
		{when("of one that is to be uninstalled now it is past",
			spec(pkg(a).interrupt(reboot).uninstall(on, asked)),
			node(interrupt.skipped(a).by(reboot).reason(stepFailed))), ""},
		{when("that of an uninstall",
			spec(pkg(a).interrupt(reboot).uninstall(on, asked)),
			node(uninstallInterrupt.skipped(a).by(reboot).reason(stepFailed))), "a|1.0"},
		{when("of one that is wanted again it is past",
			spec(pkg(a).interrupt(reboot).uninstall(on)),
			node(uninstallInterrupt.skipped(a).by(reboot).reason(stepFailed))), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, failed := situation.FirstFailure(c.wanted(), c.record())
			if got := map[bool]string{true: e.Key()}[failed]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestUninstalling: what is told about packages that go.
func TestUninstalling(t *testing.T) {
	for _, c := range []struct {
		row
		uninstalling   []string
		failure        string
		packageOfAOver bool
	}{
		{row: when("installed", spec(pkg(a).uninstall(on)), node(config.complete(a))), packageOfAOver: true},
		{
			row:            when("asked for, not begun", spec(pkg(a).uninstall(on, asked)), node(config.complete(a))),
			packageOfAOver: true,
		},
		{
			row:          when("it runs", spec(pkg(a).uninstall(on, asked)), node(uninstall.inProgress(a))),
			uninstalling: []string{"a|1.0"},
		},
		{
			row:          when("it fails", spec(pkg(a).uninstall(on, asked)), node(uninstall.erroring(a))),
			uninstalling: []string{"a|1.0"}, failure: "a|1.0",
		},
		{
			row:          when("its interrupt runs", spec(pkg(a).uninstall(on, asked)), node(uninstallInterrupt.inProgress(a))),
			uninstalling: []string{"a|1.0"},
		},
		{row: when("it is cancelled", spec(pkg(a).uninstall(on)), node(uninstall.erroring(a)))},
		{row: when("it is cancelled, but its interrupt runs",
			spec(pkg(a).uninstall(on)), node(uninstallInterrupt.inProgress(a))), uninstalling: []string{"a|1.0"}},
		{row: when("abandoned", spec(pkg(a).uninstall(on, asked)), node(uninstall.erroring(a)), abandoned)},
		{row: when("abandoned at deletion",
			spec(pkg(a).uninstall(on, asked)), node(uninstall.erroring(a)), abandoned, deleting)},
		{
			row: when("deletion: only what is removed",
				spec(pkg(a), pkg(b).uninstall(on), pkg(c).uninstall(on)),
				node(apply.erroring(a), uninstall.inProgress(b), uninstall.erroring(c)), deleting),
			uninstalling: []string{"b|1.0", "c|1.0"}, failure: "c|1.0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(c.row)
			var uninstalling []string
			for _, e := range situation.Uninstalling(o.Wanted, o.Record) {
				uninstalling = append(uninstalling, e.Key())
			}
			if diff := cmp.Diff(c.uninstalling, uninstalling); diff != "" {
				t.Errorf("uninstalling, -want +got\n%s", diff)
			}
			failure, failed := situation.FirstFailure(o.Wanted, o.Record)
			if failed != (c.failure != "") || failed && failure.Key() != c.failure {
				t.Errorf("failure %t %s, want %q", failed, failure.Key(), c.failure)
			}
			if got := o.PackageComplete(o.Record, "a"); got != c.packageOfAOver {
				t.Errorf("a is complete: %t", got)
			}
		})
	}
}
