package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

var gateTables = []group{
	{"dependencies", dependencies},
	{"holds and permits", gated},
	{"a dependency leaves", dependencyLeaves},
	{"held nodes", heldNodes},
}

// dependencies: what dependsOn names has to be complete on the node first.
var dependencies = []row{
	when("the dependency comes first",
		spec(pkg(a), pkg(b).needs(a)),
		want(apply.inProgress(a).anew(), apply.start(a), wait(b, waitingForDependency), is(inProgress))),
	when("the dependency becomes complete: its dependent starts in the same pass",
		spec(pkg(a), pkg(b).needs(a)), node(config.inProgress(a)), pods(config.done(a)),
		want(config.complete(a).run("r1"), apply.inProgress(b).anew(), config.delete(a), apply.start(b),
			is(inProgress))),
	when("the dependency becomes complete after its dependent was looked at: next pass",
		spec(pkg(a).needs(b), pkg(b)), node(config.inProgress(b)), pods(config.done(b)),
		want(config.complete(b).run("r1"), config.delete(b), wait(a, waitingForDependency), tell(waitingForDependency),
			is(inProgress))),
	when("the dependency was complete in another version",
		spec(pkg("a@2.0"), pkg(b).needs("a@2.0")), node(config.complete(a)),
		want(upgrade.inProgress("a@2.0").anew(), upgrade.start("a@2.0"), wait(b, waitingForDependency), is(inProgress))),
	when("all of several dependencies are needed",
		spec(pkg(a), pkg(b), pkg(c).needs(a, b)), node(config.complete(a), config.inProgress(b)),
		pods(config.running(b)),
		want(wait(c, waitingForDependency), is(inProgress))),
	when("a dependent of a finished root does not wait for the other roots",
		spec(pkg(a), pkg(b), pkg(c).needs(a)), node(config.complete(a), apply.inProgress(b)), pods(apply.running(b)),
		want(apply.inProgress(c).anew(), apply.start(c), is(inProgress))),
	when("a chain",
		spec(pkg(a), pkg(b).needs(a), pkg(c).needs(b)), node(config.complete(a)),
		want(apply.inProgress(b).anew(), apply.start(b), wait(c, waitingForDependency), is(inProgress))),
	when("a dependency that the spec does not have",
		spec(pkg(b).needs(a)),
		want(wait(b, dependencyMissing), tell(dependencyMissing), is(blocked), returned)),
	when("a dependency on another version than the spec has",
		spec(pkg(a), pkg(b).needs("a@2.0")), node(config.complete(a)),
		want(wait(b, dependencyMissing), tell(dependencyMissing), is(blocked), returned)),
	when("a dependency on the same version, spelled otherwise",
		spec(pkg("a@1.0.0"), pkg(b).needs("a@v1.0")), node(config.complete("a@1.0.0")),
		want(apply.inProgress(b).anew(), apply.start(b), is(inProgress))),
	when("of several dependencies the one that only another spec ends is told first",
		spec(pkg(a), pkg(c).needs(a, "z@1.0")), node(apply.inProgress(a)), pods(apply.running(a)),
		want(wait(c, dependencyMissing), is(inProgress))),
	when("a dependency cannot start: what depends on it, and on a missing one, holds no permit",
		spec(pkg(a).needs("y@1.0"), pkg(c).needs(a, "z@1.0")),
		want(wait(a, dependencyMissing), wait(c, dependencyMissing), tell(dependencyMissing), is(blocked), returned)),
	when("a dependency waits for its ConfigMap, another is to be uninstalled: the permit stays for the first",
		spec(pkg(a).config("k=v"), pkg(c).needs(a, "z@1.0"), pkg("z@1.0").uninstall(on, asked)), noConfigMap,
		want(wait(a, waitingForConfigMap), wait(c, dependencyUninstalled), tell(waitingForConfigMap), is(inProgress))),
	when("a cycle waits and says so",
		spec(pkg(a).needs(b), pkg(b).needs(a)),
		want(wait(a, waitingForDependency), wait(b, waitingForDependency), tell(waitingForDependency), is(inProgress))),
	when("the dependency's config changed: the dependent's next stage waits for it",
		spec(pkg(a).config("k=2"), pkg(b).needs(a)), node(config.complete(a).config("k=1"), apply.inProgress(b)),
		pods(apply.done(b)),
		want(config.inProgress(a).anew().changed("k"), apply.complete(b).run("r1"), apply.delete(b), config.start(a),
			wait(b, waitingForDependency), is(inProgress))),
	when("a complete dependent stays complete while its dependency works again",
		spec(pkg(a).config("k=2"), pkg(b).needs(a)), node(config.complete(a).config("k=1"), config.complete(b)),
		want(config.inProgress(a).anew().changed("k"), config.start(a), is(inProgress))),
}

// gated: permits, and what holds a node.
var gated = []row{
	when("no permit: nothing starts", spec(pkg(a)), noPermit, want(wait(a, waitingForPermit), is(waiting))),
	when("no permit: complete is complete", spec(pkg(a)), node(config.complete(a)), noPermit, want(is(complete))),
	when("no permit, but something runs: it is judged, its successor waits",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.done(a)), noPermit,
		want(apply.complete(a).run("r1"), apply.delete(a), wait(a, waitingForPermit), is(waiting))),
	when("a permit that is asked back: what failed does not keep it",
		spec(pkg(a)), node(apply.erroring(a).attempts(3).restarts(3).reason(stepFailed)), pods(apply.failing(a).restarts(3).reason(stepFailed)),
		revokedPermit,
		want(is(erroring), returned)),
	when("a permit that is asked back: what is tried again keeps it",
		spec(pkg(a)), node(apply.erroring(a).reason(stepFailed)), pods(apply.failing(a).reason(stepFailed)),
		revokedPermit,
		want(is(erroring))),
	when("a permit that is asked back: whose turn it is not any more keeps its place, and starts nothing",
		spec(pkg(a)), node(apply.inProgress(a)), revokedPermit,
		want(wait(a, waitingForPermit), tell(waitingForPermit), is(waiting))),
	when("a permit that is suspended: what runs keeps it",
		spec(pkg(a), pkg(b)), node(apply.erroring(a).reason(stepFailed), apply.inProgress(b)),
		pods(apply.failing(a).reason(stepFailed), apply.running(b)), revokedPermit,
		want(is(erroring))),
	when("a permit that is suspended: what is ended just now keeps it",
		spec(pkg(a).timeout(5*minute)), node(apply.inProgress(a)), pods(apply.running(a)), revokedPermit,
		want(apply.erroring(a).run("r1").reason(stageTimeout), apply.delete(a), is(erroring))),
	when("a permit that is suspended: what was ended keeps it for its grace period",
		spec(pkg(a)), node(apply.erroring(a).reason(stageTimeout)), pods(apply.running(a).ends(10*second)),
		revokedPermit,
		want(wait(a, waitingForPodToEnd), again(40*second), is(erroring))),
	when("a permit that is suspended: what does not end does not keep it for ever",
		spec(pkg(a)), node(apply.erroring(a).reason(stageTimeout)), pods(apply.running(a).ends(-minute)), revokedPermit,
		want(wait(a, waitingForPodToEnd), tell(waitingForPodToEnd), is(erroring), returned)),
	when("a permit that was given back is none",
		spec(pkg(a)), acknowledged,
		want(wait(a, waitingForPermit), is(waiting))),
	when("the permit before was given back, this one is good",
		spec(pkg(a)), returnedOneBefore,
		want(apply.inProgress(a).anew(), apply.start(a), is(inProgress))),
	when("paused: nothing starts, the permit stays",
		spec(pkg(a)), pausedNode,
		want(nodeWait(reasonPaused), tell(reasonPaused), is(paused))),
	when("paused: a node that is complete shows it, and gives its permit back",
		spec(pkg(a)), node(config.complete(a)), pausedNode,
		want(is(paused), returned)),
	when("disabled: nothing starts, the permit is given back",
		spec(pkg(a)), disabledNode,
		want(nodeWait(reasonDisabled), tell(reasonDisabled), is(disabled), returned)),
	when("disabled and complete is complete",
		spec(pkg(a)), node(config.complete(a)), disabledNode,
		want(is(complete), returned)),
	when("blocked: nothing starts, the permit is given back",
		spec(pkg(a)), node(apply.complete(a)), taintedNode,
		want(nodeWait("Taint"), tell("Taint"), is(blocked), returned)),
	when("waiting for an earlier Skyhook: the permit is given back",
		spec(pkg(a)), earlierSkyhook,
		want(nodeWait(waitingForSkyhook), tell(waitingForSkyhook), is(waiting), returned)),
	when("invalid spec: nothing starts, the permit stays",
		spec(pkg(a)), invalidSpec,
		want(nodeWait(specInvalid), tell(specInvalid), is(blocked))),
	when("the ConfigMap is not there yet",
		spec(pkg(a).config("k=v"), pkg(b)), noConfigMap,
		want(apply.inProgress(b).anew(), apply.start(b), wait(a, waitingForConfigMap), is(inProgress))),
	when("the ConfigMap is not there yet for a pod that is to be made again",
		spec(pkg(a).config("k=v")), node(apply.inProgress(a)), noConfigMap,
		want(wait(a, waitingForConfigMap), tell(waitingForConfigMap), is(inProgress))),
}

// closed is a gate, named by its row, how it comes to be closed for package a, and the reason that is told then.
type closed struct {
	row
	reason string
	// mark is how package a comes to be closed; the row is what is beside it.
	mark func(definition) definition
}

// inOrder are the gates in the order in which they are asked.
var inOrder = []closed{
	{row: when("malformed record"), reason: nodeStateMalformed},
	{row: when("hold (deleted or disabled, paused, all stopped, invalid spec, excluded node, taint, earlier Skyhook, "+
		"interrupt of another Skyhook)", pausedNode), reason: reasonPaused},
	{
		row: when("interrupt in flight",
			spec(pkg(b).interrupt(noop)), node(interrupt.inProgress(b).by(noop)), pods(interrupt.running(b))),
		reason: waitingForInterrupt,
	},
	{when("image allowed"), imageNotAllowed, func(d definition) definition { return d.refused("evil") }},
	{
		when("dependencies", spec(pkg("d@1.0")), node(apply.inProgress("d@1.0")), pods(apply.running("d@1.0"))),
		waitingForDependency, func(d definition) definition { return d.needs("d@1.0") },
	},
	{row: when("permit", noPermit), reason: waitingForPermit},
	{
		row:    when("serial turn", spec(pkg(c)), node(apply.inProgress(c)), pods(apply.running(c)), serial),
		reason: waitingForSerial,
	},
	{row: when("config map in place", noConfigMap), reason: waitingForConfigMap},
	{row: when("earlier pod gone", pods(config.running(a).run("r0").terminating())), reason: waitingForPodToEnd},
	{when("drained"), cordoning, func(d definition) definition { return d.interrupt(noop) }},
}

// TestGatesInOrder: of any two gates that are closed, the reason of the earlier one is told.
func TestGatesInOrder(t *testing.T) {
	var names []string
	for i, earlier := range inOrder {
		names = append(names, earlier.name)
		for _, later := range inOrder[i+1:] {
			t.Run(earlier.reason+" before "+later.reason, func(t *testing.T) { demandFirst(t, see(), earlier, later) })
		}
	}
	if diff := cmp.Diff(lifecycle.Gates(), names); diff != "" {
		t.Errorf("the gates, -want +got\n%s", diff)
	}
}

// TestGatesInOrderOfALostPod: a stage that has begun and lost its pod says what it lacks before it says that it is not
// its turn: it is given its turn for that.
func TestGatesInOrderOfALostPod(t *testing.T) {
	begun := inOrder[1 : len(inOrder)-1] // it is asked for a drain before it begins, and not again
	turns := []string{reasonPaused, imageNotAllowed, waitingForPermit, waitingForSerial}
	isTurn := func(c closed) bool { return slices.Contains(turns, c.reason) }
	order := append(slices.DeleteFunc(slices.Clone(begun), isTurn),
		slices.DeleteFunc(slices.Clone(begun), func(c closed) bool { return !isTurn(c) })...)
	for i, earlier := range order {
		for _, later := range order[i+1:] {
			t.Run(earlier.reason+" before "+later.reason,
				func(t *testing.T) { demandFirst(t, see(node(apply.inProgress(a))), earlier, later) })
		}
	}
}

func demandFirst(t *testing.T, of row, earlier, later closed) {
	t.Helper()
	marked := pkg(a)
	for _, c := range []closed{earlier, later} {
		if c.mark != nil {
			marked = c.mark(marked)
		}
	}
	o := observation(see(spec(marked), like(of), like(earlier.row), like(later.row)))
	d := lifecycle.Next(o)
	if earlier.reason == v1alpha1.ReasonNodeStateMalformed {
		d = lifecycle.Unreadable(o, malformed("-"))
	}
	for _, s := range d.Start {
		if s.Package == "a" {
			t.Errorf("starts %+v", s)
		}
	}
	var told []string
	for _, w := range d.Waits {
		if w.Package == "a" || w.Package == "" {
			told = append(told, w.Reason)
		}
	}
	if len(told) == 0 || told[0] != earlier.reason {
		t.Errorf("told %v, want %s", told, earlier.reason)
	}
}

// dependencyLeaves: a package in the middle of a stage depends on one that leaves. It does not take its turn only to
// say so.
var dependencyLeaves = []row{
	when("it lost its pod, and its dependency is to be uninstalled: only another spec helps",
		spec(pkg(a).needs(b), pkg(b).uninstall(on, asked)), node(apply.inProgress(a), config.complete(b)),
		want(uninstall.inProgress(b).anew(), uninstall.start(b), wait(a, dependencyUninstalled), is(inProgress))),
	when("its dependency is uninstalled: before anything began, the permit is given back",
		spec(pkg(a).needs(b), pkg(b).uninstall(on, asked)),
		want(wait(a, dependencyUninstalled), tell(dependencyUninstalled), is(blocked), returned)),
	when("its dependency is uninstalled: what has begun holds its place",
		spec(pkg(a).needs(b), pkg(b).uninstall(on, asked)), node(apply.inProgress(a)),
		want(wait(a, dependencyUninstalled), tell(dependencyUninstalled), is(blocked))),
	when("without a permit it says the same, and does not ask for one",
		spec(pkg(a).needs(b), pkg(b).uninstall(on, asked)), node(apply.inProgress(a)), noPermit,
		want(wait(a, dependencyUninstalled), tell(dependencyUninstalled), is(blocked))),
	when("its pod runs: it comes to its end",
		spec(pkg(a).needs(b), pkg(b).uninstall(on, asked)), node(apply.inProgress(a)), pods(apply.running(a)),
		want(is(inProgress))),
	when("its pod is done: the next stage does not begin",
		spec(pkg(a).needs(b), pkg(b).uninstall(on, asked)), node(apply.inProgress(a)), pods(apply.done(a)),
		want(apply.complete(a).run("r1"), apply.delete(a), wait(a, dependencyUninstalled), tell(dependencyUninstalled),
			is(blocked), returned)),
	when("the dependency is to stay after all: it continues",
		spec(pkg(a).needs(b), pkg(b).uninstall(on)), node(apply.inProgress(a), config.complete(b)),
		want(apply.start(a), is(inProgress))),
}

// heldNodes: who is held keeps nobody else waiting.
var heldNodes = []row{
	when("an earlier Skyhook has work, before anything began: the permit is given back",
		spec(pkg(a)), earlierSkyhook,
		want(nodeWait(waitingForSkyhook), tell(waitingForSkyhook), is(waiting), returned)),
	when("an earlier Skyhook has work, and the pod is gone: what has begun holds its place",
		spec(pkg(a)), node(apply.erroring(a).restarts(1).reason(stepFailed)), earlierSkyhook,
		want(nodeWait(waitingForSkyhook), tell(waitingForSkyhook), is(erroring))),
	when("another Skyhook's interrupt waits: a pod that fails is deleted",
		spec(pkg(a)), node(apply.erroring(a).restarts(1).reason(stepFailed)),
		pods(apply.failing(a).restarts(1).reason(stepFailed)), interruptedByOther, flightOfAnother(reboot, "b1"),
		want(apply.delete(a), wait(a, waitingForPodToEnd), nodeWait(waitingForInterrupt), is(erroring)),
		also(anothersInFlight)),
	when("another Skyhook's interrupt waits: so does a pod that is done",
		spec(pkg(a)), node(config.inProgress(a)), pods(config.done(a)), interruptedByOther,
		flightOfAnother(reboot, "b1"),
		want(config.complete(a).run("r1"), config.delete(a), is(complete), returned), also(anothersInFlight)),
	when("another Skyhook's interrupt waits: one that runs comes to its end",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a)), interruptedByOther,
		flightOfAnother(reboot, "b1"),
		want(nodeWait(waitingForInterrupt), is(waiting)), also(anothersInFlight)),
	when("disabled, and its pod is gone: released, with cordon and permit",
		spec(pkg(a).interrupt(service("x"))), node(interrupt.skipped(a).by(service("x"))), ourCordon, drained,
		disabledNode, flight(service("x"), "b1", "r1"),
		want(disown, uncordon, nodeWait(reasonDisabled), tell(reasonDisabled), is(disabled), returned),
		also(nothingInFlight)),
	when("disabled after its retries were exhausted: released",
		spec(pkg(a).interrupt(service("x")).retries(1)),
		node(interrupt.erroring(a).restarts(1).reason(retriesExhausted).by(service("x"))), ourCordon, drained,
		disabledNode, flight(service("x"), "b1", "r1"),
		want(disown, uncordon, wait(a, retriesExhausted), nodeWait(reasonDisabled), tell(retriesExhausted),
			is(disabled), returned), also(nothingInFlight)),
	when("disabled after its reboot did not happen: it is broken off, so that it keeps no other off the node",
		spec(pkg(a).interrupt(reboot)), node(interrupt.erroring(a).reason(rebootTimeout).by(reboot)),
		pods(interrupt.done(a)), ourCordon, disabledNode,
		want(interrupt.skipped(a).run("r1").reason(rebootTimeout).by(reboot), interrupt.delete(a),
			wait(a, waitingForPodToEnd), nodeWait(reasonDisabled), is(disabled)), also(inFlight(reboot, "b1", "r1", a))),
	when("enabled again: the interrupt is pending",
		spec(pkg(a).interrupt(service("x"))), node(interrupt.skipped(a).by(service("x"))), ourCordon, drained,
		want(interrupt.inProgress(a).anew().by(service("x")), interrupt.start(a, service("x")), is(inProgress)),
		also(inFlight(service("x"), "b1", nowRun, a), bound("b1", nowRun))),
	when("disabled while its reboot is under way: it comes to its end",
		spec(pkg(a).interrupt(reboot)), node(rebooting), ourCordon, drained, disabledNode, notReady,
		want(nodeWait(reasonDisabled), tell(reasonDisabled), is(disabled)), also(inFlight(reboot, "b1", nowRun, a))),
}
