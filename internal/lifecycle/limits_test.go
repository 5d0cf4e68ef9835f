package lifecycle_test

import (
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

var limitTables = []group{
	{"limits", limits},
	{"exhausted interrupts", exhaustedInterrupts},
	{"from the pod", podLimits},
	{"without a limit", longRuns},
}

// limits: stageTimeout and maxRetries.
var limits = []row{
	when("stageTimeout: another look when it is over",
		spec(pkg(a).timeout(5*minute)), node(apply.inProgress(a).run(nowRun)),
		pods(apply.running(a).run(nowRun).created(0)),
		want(again(5*minute), is(inProgress))),
	when("stageTimeout: over",
		spec(pkg(a).timeout(5*minute)), node(apply.inProgress(a)), pods(apply.running(a)),
		want(apply.erroring(a).run("r1").reason(stageTimeout), apply.delete(a), is(erroring))),
	when("stageTimeout: over while it fails, the cause is told",
		spec(pkg(a).timeout(5*minute)), node(apply.erroring(a).restarts(2).reason(stepFailed)),
		pods(apply.failing(a).restarts(2).reason(stepFailed)),
		want(apply.erroring(a).run("r1").restarts(2).since(-hour).reason(stageTimeout), apply.delete(a), is(erroring))),
	when("stageTimeout: over, but it is done",
		spec(pkg(a).timeout(5*minute)), node(config.inProgress(a)), pods(config.done(a)),
		want(config.complete(a).run("r1"), config.delete(a), is(complete), returned)),
	when("stageTimeout: permanently failed until the spec changes",
		spec(pkg(a).timeout(5*minute)), node(apply.erroring(a).reason(stageTimeout)),
		want(wait(a, stageTimeout), tell(stageTimeout), is(erroring))),
	when("stageTimeout: permanently failed, the others continue",
		spec(pkg(a).timeout(5*minute), pkg(b)), node(apply.erroring(a).reason(stageTimeout), apply.inProgress(b)),
		pods(apply.done(b)),
		want(apply.complete(b), config.inProgress(b).anew(), apply.delete(b), config.start(b), wait(a, stageTimeout),
			is(erroring))),
	when("stageTimeout: a change of the limit tries again",
		spec(pkg(a).timeout(2*hour)), node(apply.erroring(a).reason(stageTimeout)), specGeneration(8),
		want(apply.inProgress(a).anew().gen(8), apply.start(a), is(inProgress))),
	when("stageTimeout: of a service interrupt",
		spec(pkg(a).interrupt(service("x")).timeout(5*minute)), node(interrupt.inProgress(a).by(service("x"))),
		pods(interrupt.running(a)), ourCordon,
		want(interrupt.erroring(a).run("r1").reason(stageTimeout).by(service("x")), interrupt.delete(a),
			wait(a, stageTimeout), is(erroring))),
	when("stageTimeout: of a service interrupt, permanently failed",
		spec(pkg(a).interrupt(service("x")).timeout(5*minute)),
		node(interrupt.erroring(a).reason(stageTimeout).by(service("x"))), ourCordon, drained,
		want(wait(a, stageTimeout), tell(stageTimeout), is(erroring))),
	when("stageTimeout: of a service interrupt, retried after an edit",
		spec(pkg(a).interrupt(service("x")).timeout(2*hour)),
		node(interrupt.erroring(a).reason(stageTimeout).restarts(1).by(service("x"))), ourCordon, drained,
		specGeneration(8),
		want(interrupt.inProgress(a).anew().by(service("x")).gen(8), interrupt.start(a, service("x")), is(inProgress))),
	when("maxRetries 0: the first failure is the last",
		spec(pkg(a).retries(0)), node(apply.inProgress(a)), pods(apply.failing(a).reason(stepFailed)),
		want(apply.erroring(a).run("r1").reason(retriesExhausted), apply.delete(a), is(erroring))),
	when("maxRetries 2: one retry so far",
		spec(pkg(a).retries(2)), node(apply.erroring(a).reason(stepFailed)),
		pods(apply.failing(a).restarts(1).reason(stepFailed)),
		want(apply.erroring(a).run("r1").restarts(1).since(-hour).reason(stepFailed), is(erroring))),
	when("maxRetries 2: the second retry still runs",
		spec(pkg(a).retries(2)), node(apply.erroring(a).restarts(1).reason(stepFailed)),
		pods(apply.failing(a).restarts(2).reason(stepFailed).retrying()),
		want(apply.erroring(a).run("r1").restarts(2).since(-hour).reason(stepFailed), is(erroring))),
	when("maxRetries 2: the second retry failed",
		spec(pkg(a).retries(2)), node(apply.erroring(a).restarts(2).reason(stepFailed)),
		pods(apply.failing(a).restarts(2).reason(stepFailed)),
		want(apply.erroring(a).run("r1").restarts(2).since(-hour).reason(retriesExhausted), apply.delete(a),
			is(erroring))),
	when("maxRetries: permanently failed until the spec changes",
		spec(pkg(a).retries(2)), node(apply.erroring(a).restarts(2).reason(retriesExhausted)),
		want(wait(a, retriesExhausted), tell(retriesExhausted), is(erroring))),
	when("maxRetries: an edit tries again",
		spec(pkg(a).retries(5)), node(apply.erroring(a).restarts(2).reason(retriesExhausted)), specGeneration(8),
		want(apply.inProgress(a).anew().gen(8), apply.start(a), is(inProgress))),
	when("maxRetries: at once, without the pause after a failure",
		spec(pkg(a).retries(5)), node(apply.erroring(a).since(-second).restarts(2).reason(retriesExhausted)), specGeneration(8),
		want(apply.inProgress(a).anew().gen(8), apply.start(a), is(inProgress))),
	when("maxRetries 2: lost pods do not count",
		spec(pkg(a).retries(2)), node(apply.erroring(a).restarts(2).reason("Evicted")),
		pods(apply.lost(a).reason("Evicted")),
		want(apply.erroring(a).anew().restarts(3).reason("Evicted"), apply.delete(a), is(erroring))),
	when("maxRetries 2: the attempts of a pod that was lost do",
		spec(pkg(a).retries(2)), node(apply.inProgress(a).restarts(3).attempts(2).attemptsBefore(2)),
		pods(apply.failing(a).reason(stepFailed)),
		want(apply.erroring(a).run("r1").restarts(3).reason(retriesExhausted), apply.delete(a), is(erroring))),
	when("maxRetries 0: a container that cannot be started is no failed attempt",
		spec(pkg(a).retries(0)), node(apply.inProgress(a)), pods(apply.stuck(a).reason("ImagePullBackOff")),
		want(apply.erroring(a).run("r1").reason("ImagePullBackOff"), is(erroring))),
	when("maxRetries 0: of a service interrupt",
		spec(pkg(a).interrupt(service("x")).retries(0)), node(interrupt.inProgress(a).by(service("x"))),
		pods(interrupt.failing(a).reason(stepFailed)), ourCordon,
		want(interrupt.erroring(a).run("r1").reason(retriesExhausted).by(service("x")), interrupt.delete(a),
			wait(a, retriesExhausted), is(erroring))),
	when("three runs within a second differ from each other",
		spec(pkg(a).hash("3")), node(apply.inProgress(a).run("now!")), pods(apply.running(a).run("now!").hash("2")),
		want(apply.inProgress(a).run("now!!"), apply.delete(a), is(inProgress))),
	when("a run that another operator named: its limit counts from its state's beginning",
		spec(pkg(a).timeout(2*hour)), node(apply.inProgress(a).run("by-hand")),
		pods(apply.running(a).run("by-hand").created(-hour)),
		want(again(hour), is(inProgress))),
}

// exhaustedInterrupts are released, so that they keep nobody else off the node.
var exhaustedInterrupts = []row{
	when("its last retry failed: its pod is deleted first",
		spec(pkg(a).interrupt(service("x")).retries(1)),
		node(interrupt.erroring(a).restarts(1).reason(stepFailed).by(service("x"))),
		pods(interrupt.failing(a).restarts(1).reason(stepFailed)), ourCordon, drained,
		want(interrupt.erroring(a).run("r1").restarts(1).since(-hour).reason(retriesExhausted).by(service("x")),
			interrupt.delete(a), wait(a, retriesExhausted), is(erroring)), also(inFlight(service("x"), "b1", "r1", a))),
	when("its pod ends: still in flight",
		spec(pkg(a).interrupt(service("x")).retries(1)),
		node(interrupt.erroring(a).restarts(1).reason(retriesExhausted).by(service("x"))),
		pods(interrupt.failing(a).terminating().restarts(1).reason(stepFailed)), ourCordon, drained,
		flight(service("x"), "b1", "r1"),
		want(wait(a, retriesExhausted), is(erroring)), also(inFlight(service("x"), "b1", "r1", a))),
	when("its pod is gone: released",
		spec(pkg(a).interrupt(service("x")).retries(1)),
		node(interrupt.erroring(a).restarts(1).reason(retriesExhausted).by(service("x"))), ourCordon, drained,
		flight(service("x"), "b1", "r1"),
		want(wait(a, retriesExhausted), tell(retriesExhausted), is(erroring)), also(nothingInFlight)),
	when("its pod is gone: the other packages continue",
		spec(pkg(a).interrupt(service("x")).retries(1), pkg(b)),
		node(interrupt.erroring(a).restarts(1).reason(retriesExhausted).by(service("x"))), ourCordon, drained,
		flight(service("x"), "b1", "r1"),
		want(apply.inProgress(b).anew(), apply.start(b), wait(a, retriesExhausted), is(erroring)),
		also(nothingInFlight)),
	when("one that was merged into it begins its own",
		spec(pkg(a).interrupt(service("x")).retries(1), pkg(b).interrupt(service("y"))),
		node(interrupt.erroring(a).restarts(1).reason(retriesExhausted).by(service("x", "y")),
			interrupt.skipped(b).by(service("x", "y"))), ourCordon, drained, flight(service("x", "y"), "b1", "r1"),
		want(interrupt.inProgress(b).anew().by(service("y")), interrupt.start(b, service("y")),
			wait(a, retriesExhausted), is(erroring)),
		also(inFlight(service("y"), "b1", nowRun, b), bound("b1", nowRun))),
}

// podLimits count from the pod: while none can be created nothing runs.
var podLimits = []row{
	when("stageTimeout counts from the pod, and not from when the stage was due",
		spec(pkg(a).timeout(5*minute)), node(apply.inProgress(a)), pods(apply.running(a).created(-minute)),
		want(again(4*minute), is(inProgress))),
	when("while no pod can be created, nothing counts",
		spec(pkg(a).timeout(5*minute)), node(apply.inProgress(a)), noPermit,
		want(wait(a, waitingForPermit), tell(waitingForPermit), is(waiting))),
	when("nor while pods are refused",
		spec(pkg(a).timeout(5*minute)), node(apply.erroring(a).reason(podRejected).restarts(1).since(-3*second)),
		want(wait(a, backingOff), tell(backingOff), again(7*second), is(erroring))),
	when("the API server's clock is behind: not before the run began",
		spec(pkg(a).timeout(5*minute)), node(apply.inProgress(a).run(nowRun)),
		pods(apply.running(a).run(nowRun).created(-hour)),
		want(again(5*minute), is(inProgress))),
	when("a reboot's limit counts from its pod, too",
		spec(pkg(a).interrupt(reboot)), node(interrupt.inProgress(a).by(reboot)),
		pods(interrupt.running(a).created(-minute)), ourCordon,
		want(wait(a, waitingForReboot), tell(waitingForReboot), again(19*minute), is(inProgress))),
}

// longRuns: people are told of a stage without a limit, whose script may hang. It is no failure.
var longRuns = []row{
	when("it runs: another look half an hour after its pod",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a).created(-minute)),
		want(again(29*minute), is(inProgress))),
	when("it runs for long",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a).created(-30*minute)),
		want(wait(a, stageRunsLong), tell(stageRunsLong), is(inProgress))),
	when("it runs for a day: since when it is told stays",
		spec(pkg(a)), node(apply.inProgress(a).since(-24*hour)), pods(apply.running(a).created(-24*hour)),
		told(stageRunsLong, -23*hour),
		want(wait(a, stageRunsLong), tell(stageRunsLong).since(-23*hour), is(inProgress))),
	when("so does an interrupt",
		spec(pkg(a).interrupt(service("x"))), node(interrupt.inProgress(a).by(service("x"))),
		pods(interrupt.running(a).created(-30*minute)), ourCordon,
		want(wait(a, stageRunsLong), tell(stageRunsLong), is(inProgress))),
	when("it has a limit of its own",
		spec(pkg(a).timeout(2*hour)), node(apply.inProgress(a)), pods(apply.running(a).created(-hour)),
		want(again(hour), is(inProgress))),
	when("another one ends",
		spec(pkg(a), pkg(b)), node(apply.inProgress(a), config.inProgress(b)),
		pods(apply.running(a).created(-hour), config.done(b)),
		want(config.complete(b).run("r1"), config.delete(b), wait(a, stageRunsLong), tell(stageRunsLong),
			is(inProgress))),
	when("a pod that does not end is told first",
		spec(pkg(a), pkg(b)), node(apply.inProgress(a), config.inProgress(b)),
		pods(apply.running(a).created(-hour), config.running(b).ends(-5*minute)),
		want(wait(a, stageRunsLong), wait(b, waitingForPodToEnd), tell(waitingForPodToEnd), is(inProgress))),
}

// TestLongRunsSay: since when, where to look, and what limits it.
func TestLongRunsSay(t *testing.T) {
	since := now.Add(-time.Hour).UTC().Format(time.RFC3339)
	for _, c := range []struct {
		row
		container, want string
	}{
		{
			row:       when("a package of the spec", spec(pkg(a)), node(apply.inProgress(a))),
			container: "a-apply",
			want: "stage apply of package a has been running since " + since +
				" without a time limit; `kubectl logs -n skyhook a-apply -c a-apply`; set spec.packages.a.stageTimeout to limit it",
		},
		{
			row: when("no container runs at the moment", spec(pkg(a)), node(apply.inProgress(a))),
			want: "stage apply of package a has been running since " + since +
				" without a time limit; `kubectl logs -n skyhook a-apply`; set spec.packages.a.stageTimeout to limit it",
		},
		{
			row: when("the spec has it no more",
				kept(pkg(a).def("old").uninstall(on, auto)), node(uninstall.inProgress(a).def("old"))),
			container: "a-uninstall",
			want: "stage uninstall of package a has been running since " + since +
				" without a time limit; `kubectl logs -n skyhook a-uninstall -c a-uninstall`",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(c.row)
			o.Pods = livePods(c.entries[0].stage.running(a).created(-hour))
			o.Pods[0].Container = c.container
			d := lifecycle.Next(o)
			if w := d.Record.Wait; w == nil || w.Message != c.want {
				t.Errorf("\ngot  %+v\nwant %s", w, c.want)
			}
			f := situation.FactsOf("", o.Wanted, d.Record, nil, true)
			if f.FailedRun || f.NeedsAuthor || !f.InProgress || d.Erroring {
				t.Errorf("it counts as more than work: %+v, erroring %t", f, d.Erroring)
			}
		})
	}
}
