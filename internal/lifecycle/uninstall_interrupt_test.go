package lifecycle_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

var uninstallReboot = uninstallInterrupt.inProgress(a).run(nowRun).by(reboot)

// uninstallInterrupts: the interrupt after an uninstall goes the ways of any other.
var uninstallInterrupts = []row{
	when("it runs",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x"))),
		node(uninstallInterrupt.inProgress(a).by(service("x"))), pods(uninstallInterrupt.running(a)), ourCordon,
		want(is(inProgress))),
	when("it fails",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x"))),
		node(uninstallInterrupt.inProgress(a).by(service("x"))),
		pods(uninstallInterrupt.failing(a).restarts(1).reason(stepFailed).exit(1)), ourCordon,
		want(uninstallInterrupt.erroring(a).run("r1").restarts(1).reason(stepFailed).by(service("x")), is(erroring))),
	when("maxRetries 0: permanently failed",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x")).retries(0)),
		node(uninstallInterrupt.inProgress(a).by(service("x"))),
		pods(uninstallInterrupt.failing(a).reason(stepFailed).exit(1)), ourCordon,
		want(uninstallInterrupt.erroring(a).run("r1").reason(retriesExhausted).by(service("x")),
			uninstallInterrupt.delete(a), wait(a, retriesExhausted), is(erroring))),
	when("maxRetries 0: an edit tries again",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x")).retries(0)),
		node(uninstallInterrupt.erroring(a).reason(retriesExhausted).by(service("x"))), ourCordon, drained,
		specGeneration(8),
		want(uninstallInterrupt.inProgress(a).anew().by(service("x")).gen(8), uninstallInterrupt.start(a, service("x")),
			is(inProgress))),
	when("it fails, and leaves the spec: uninstalled without it",
		spec(pkg(a).uninstall(on, asked)),
		node(uninstallInterrupt.erroring(a).restarts(1).reason(stepFailed).by(service("x"))),
		pods(uninstallInterrupt.failing(a).restarts(1).reason(stepFailed).exit(1)), ourCordon, specGeneration(8),
		want(uninstall.complete(a), uninstalled(a), remove(a), uninstallInterrupt.delete(a), is(complete))),
	when("it fails, and another is asked for: when the pod is gone that one runs",
		spec(pkg(a).uninstall(on, asked).interrupt(service("y"))),
		node(uninstallInterrupt.erroring(a).restarts(1).reason(stepFailed).by(service("x"))), ourCordon, drained,
		specGeneration(8),
		want(uninstall.complete(a), uninstallInterrupt.inProgress(a).anew().by(service("y")).gen(8),
			uninstallInterrupt.start(a, service("y")), is(inProgress))),
	when("it fails, and the spec changed in something else: it continues",
		spec(pkg(a).hash("2").uninstall(on, asked).interrupt(service("x"))),
		node(uninstallInterrupt.erroring(a).restarts(1).reason(stepFailed).by(service("x"))),
		pods(uninstallInterrupt.failing(a).restarts(1).reason(stepFailed).exit(1)), ourCordon, specGeneration(8),
		want(uninstall.complete(a).run("r1").gen(8), uninstallInterrupt.delete(a), wait(a, waitingForOtherPods),
			is(inProgress))),
	when("its pod is lost",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x"))),
		node(uninstallInterrupt.inProgress(a).by(service("x"))), pods(uninstallInterrupt.lost(a).reason("Evicted")),
		ourCordon,
		want(uninstallInterrupt.erroring(a).anew().restarts(1).reason("Evicted").by(service("x")),
			uninstallInterrupt.delete(a), is(erroring))),
	when("its pod ends, because somebody deleted it",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x"))),
		node(uninstallInterrupt.inProgress(a).by(service("x"))), pods(uninstallInterrupt.running(a).terminating()),
		ourCordon,
		want(wait(a, waitingForPodToEnd), is(inProgress))),
	when("what runs is not replaced when the spec changes",
		spec(pkg(a).hash("2").uninstall(on, asked).interrupt(service("z"))),
		node(uninstallInterrupt.inProgress(a).by(service("x"))), pods(uninstallInterrupt.running(a)), ourCordon,
		want(is(inProgress))),
	when("it waits for another package's stage",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot), pkg(b)), node(uninstall.complete(a), apply.inProgress(b)),
		pods(apply.running(b)), ourCordon, drained,
		want(wait(a, waitingForInterrupt), is(inProgress))),
	when("it waits for another package's uninstall",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot), pkg(b).uninstall(on, asked)),
		node(uninstall.complete(a), uninstall.erroring(b).restarts(1).reason(stepFailed)),
		pods(uninstall.failing(b).restarts(1).reason(stepFailed)), ourCordon, drained,
		want(wait(a, waitingForInterrupt), is(erroring))),
	when("it waits for the pods of other Skyhooks",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstall.complete(a)), ourCordon, drained,
		otherPods(1),
		want(wait(a, waitingForOtherPods), tell(waitingForOtherPods), is(inProgress))),
	when("nothing starts while it runs",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x")), pkg(b), pkg(c).uninstall(on, asked)),
		node(uninstallInterrupt.inProgress(a).by(service("x")), config.complete(c)),
		pods(uninstallInterrupt.running(a)), ourCordon,
		want(wait(c, waitingForInterrupt), wait(b, waitingForInterrupt), is(inProgress))),
	when("it ends: what waited for it starts in the same pass",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x")), pkg(b), pkg(c).uninstall(on, asked)),
		node(uninstallInterrupt.inProgress(a).by(service("x")), config.complete(c)), pods(uninstallInterrupt.done(a)),
		ourCordon,
		want(uninstallInterrupt.complete(a), uninstalled(a), uninstall.inProgress(c).anew(), apply.inProgress(b).anew(),
			remove(a), uninstallInterrupt.delete(a), uninstall.start(c), apply.start(b), is(inProgress))),
}

// uninstallReboots: only the boot id tells that a reboot is over.
var uninstallReboots = []row{
	when("its pod is done, the node is still up",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstallReboot),
		pods(uninstallInterrupt.done(a).run(nowRun)), ourCordon,
		want(wait(a, waitingForReboot), tell(waitingForReboot), again(20*minute), is(inProgress))),
	when("killed as the node goes down: no failure",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstallReboot),
		pods(uninstallInterrupt.failing(a).run(nowRun).exit(143)), ourCordon,
		want(wait(a, waitingForReboot), tell(waitingForReboot), again(20*minute), is(inProgress))),
	when("the node is up, but not Ready",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstallReboot), ourCordon, booted("b2"), notReady,
		want(wait(a, waitingForReboot), tell(waitingForReboot), again(20*minute), is(inProgress))),
	when("the node is back: uninstalled; cordon and permit wait for the pod",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstallReboot),
		pods(uninstallInterrupt.running(a).run(nowRun)), ourCordon, booted("b2"),
		want(uninstallInterrupt.complete(a), uninstalled(a), remove(a), uninstallInterrupt.delete(a), is(complete))),
	when("the node is back, and its pod is gone: uninstalled",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstallReboot), ourCordon, booted("b2"),
		want(uninstallInterrupt.complete(a), uninstalled(a), remove(a), disown, uncordon, is(complete), returned)),
	when("no reboot for 20 minutes",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstallInterrupt.inProgress(a).by(reboot)),
		pods(uninstallInterrupt.done(a)), ourCordon,
		want(uninstallInterrupt.erroring(a).run("r1").reason(rebootTimeout).by(reboot), is(erroring))),
	when("stageTimeout of the retained definition is its limit",
		kept(pkg(a).def("old").uninstall(on, auto).interrupt(reboot).timeout(45*minute)),
		node(uninstallReboot.def("old")), pods(uninstallInterrupt.running(a).run(nowRun)), ourCordon,
		want(wait(a, waitingForReboot), tell(waitingForReboot), again(45*minute), is(inProgress))),
}

// uninstallMerges: interrupts of what goes and of what comes are one.
var uninstallMerges = []row{
	when("one that comes owns it",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x")), pkg(b).interrupt(service("y"))),
		node(uninstall.complete(a), config.complete(b)), ourCordon, drained,
		want(interrupt.inProgress(b).anew().by(service("x", "y")),
			uninstallInterrupt.skipped(a).anew().by(service("x", "y")), interrupt.start(b, service("x", "y")),
			is(inProgress))),
	when("the higher rank owns it, though it goes",
		spec(pkg(a).interrupt(service("x")), pkg(b).uninstall(on, asked).interrupt(reboot)),
		node(config.complete(a), uninstall.complete(b)), ourCordon, drained,
		want(interrupt.skipped(a).anew().by(reboot), uninstallInterrupt.inProgress(b).anew().by(reboot),
			uninstallInterrupt.start(b, reboot), is(inProgress))),
	when("two that go",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x")), pkg(b).uninstall(on, asked).interrupt(service("y"))),
		node(uninstall.complete(a), uninstall.complete(b)), ourCordon, drained,
		want(uninstallInterrupt.inProgress(a).anew().by(service("x", "y")),
			uninstallInterrupt.skipped(b).anew().by(service("x", "y")), uninstallInterrupt.start(a, service("x", "y")),
			is(inProgress))),
	when("done: what goes is gone, what comes continues",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x")), pkg(b).interrupt(service("y"))),
		node(uninstallInterrupt.skipped(a).by(service("x", "y")), interrupt.inProgress(b).by(service("x", "y"))),
		pods(interrupt.done(b)), ourCordon,
		want(uninstallInterrupt.complete(a), uninstalled(a), interrupt.complete(b), postInterrupt.inProgress(b).anew(),
			remove(a), interrupt.delete(b), postInterrupt.start(b), is(inProgress))),
	when("the node is back from the reboot of another that left the spec: what goes is gone",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstallInterrupt.skipped(a).by(reboot)), ourCordon,
		booted("b2"),
		want(uninstallInterrupt.complete(a), uninstalled(a), remove(a), disown, uncordon, is(complete), returned)),
	when("skipped without an owner, while the node reboots: wait and see",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstallInterrupt.skipped(a).by(reboot)), ourCordon,
		drained, booted("b2"), notReady,
		want(wait(a, waitingForReboot), tell(waitingForReboot), is(inProgress))),
	when("skipped without an owner, and no reboot: it reboots by itself",
		spec(pkg(a).uninstall(on, asked).interrupt(reboot)), node(uninstallInterrupt.skipped(a).by(reboot)), ourCordon,
		drained,
		want(uninstallInterrupt.inProgress(a).anew().by(reboot), uninstallInterrupt.start(a, reboot), is(inProgress))),
	when("the owner's own uninstall is cancelled: the interrupt runs to its end, for all",
		spec(pkg(a).uninstall(on).interrupt(service("x")), pkg(b).uninstall(on, asked).interrupt(service("y"))),
		node(uninstallInterrupt.inProgress(a).by(service("x", "y")),
			uninstallInterrupt.skipped(b).by(service("x", "y"))), pods(uninstallInterrupt.done(a)), ourCordon, drained,
		want(uninstallInterrupt.complete(a), uninstalled(a), uninstallInterrupt.complete(b), uninstalled(b),
			apply.inProgress(a).anew(), remove(b), uninstallInterrupt.delete(a), apply.start(a), is(inProgress))),
	when("what comes owned it and failed, and is to go now: the one that goes runs its own",
		spec(pkg(a).uninstall(on, asked).interrupt(service("x")), pkg(b).uninstall(on, asked).interrupt(service("y"))),
		node(interrupt.erroring(a).restarts(1).reason(stepFailed).by(service("x", "y")),
			uninstallInterrupt.skipped(b).by(service("x", "y"))), ourCordon, drained,
		want(interrupt.skipped(a), uninstall.inProgress(a).anew(), uninstall.start(a), wait(b, waitingForInterrupt),
			is(inProgress))),
	when("of what goes and comes back in another version: the version that goes first",
		spec(pkg(a).uninstall(on, auto).interrupt(service("x"))),
		kept(pkg("a@1.1").def("old").uninstall(on, auto).interrupt(service("y"))),
		node(uninstall.complete("a@1.1").def("old")), ourCordon, drained,
		want(uninstallInterrupt.inProgress("a@1.1").anew().by(service("y")).def("old"),
			uninstallInterrupt.start("a@1.1", service("y")).as("old"), wait(a, waitingForUninstall), is(inProgress))),
}

// TestUninstallInterruptAfterAnEdit: an edit between an uninstall and its interrupt is no reason to break that off once
// it fails; it would begin again and again, and never run out of retries.
func TestUninstallInterruptAfterAnEdit(t *testing.T) {
	o := observation(see(
		spec(pkg(a).uninstall(on, asked).config("k=2").interrupt(service("x"))),
		node(uninstall.complete(a).config("k=1")), ourCordon, drained))
	d := lifecycle.Next(o)
	o.Record, o.InFlight = d.Record, d.InFlight
	o.Pods = livePods(uninstallInterrupt.failing(a).run(nowRun).restarts(1).reason(stepFailed))
	for range 3 {
		d = lifecycle.Next(o)
		if e := d.Record.Packages["a|1.0"]; len(d.Delete)+len(d.Start) > 0 || e.State != "erroring" || e.Run != nowRun ||
			e.Restarts != 1 {
			t.Fatalf("deletes %v, starts %v, records %+v", d.Delete, d.Start, e)
		}
		o.Record, o.InFlight = d.Record, d.InFlight
	}
}
