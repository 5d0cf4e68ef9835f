package lifecycle_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

var mergeTables = []group{
	{"merge", merges},
	{"waits", interruptWaits},
}

// merges: several packages of a node need an interrupt, and get one for all.
var merges = []row{
	when("reboot wins over all, and the first that needs it owns it",
		spec(pkg(a).interrupt(service("x")), pkg(b).interrupt(reboot), pkg(c).interrupt(reboot),
			pkg("d@1.0").interrupt(noop)),
		node(config.complete(a), config.complete(b), config.complete(c), config.complete("d@1.0")), ourCordon, drained,
		want(interrupt.skipped(a).anew().by(reboot), interrupt.inProgress(b).anew().by(reboot),
			interrupt.skipped(c).anew().by(reboot), interrupt.skipped("d@1.0").anew().by(reboot),
			interrupt.start(b, reboot), is(inProgress))),
	when("restartAllServices wins over service",
		spec(pkg(a).interrupt(service("x")), pkg(b).interrupt(restartAllServices)),
		node(config.complete(a), config.complete(b)), ourCordon, drained,
		want(interrupt.skipped(a).anew().by(restartAllServices), interrupt.inProgress(b).anew().by(restartAllServices),
			interrupt.start(b, restartAllServices), is(inProgress))),
	when("service wins over noop",
		spec(pkg(a).interrupt(noop), pkg(b).interrupt(service("x"))), node(config.complete(a), config.complete(b)),
		ourCordon, drained,
		want(interrupt.skipped(a).anew().by(service("x")), interrupt.inProgress(b).anew().by(service("x")),
			interrupt.start(b, service("x")), is(inProgress))),
	when("services are joined, sorted, each once",
		spec(pkg(a).interrupt(service("z", "x")), pkg(b).interrupt(service("y", "x"))),
		node(config.complete(a), config.complete(b)), ourCordon, drained,
		want(interrupt.inProgress(a).anew().by(service("x", "y", "z")),
			interrupt.skipped(b).anew().by(service("x", "y", "z")), interrupt.start(a, service("x", "y", "z")),
			is(inProgress))),
	when("services of one are sorted, too",
		spec(pkg(a).interrupt(service("z", "x"))), node(config.complete(a)), ourCordon, drained,
		want(interrupt.inProgress(a).anew().by(service("x", "z")), interrupt.start(a, service("x", "z")),
			is(inProgress))),
	when("what needs nothing is left out",
		spec(pkg(a).interrupt(reboot), pkg(b), pkg(c).interrupt(reboot)),
		node(config.complete(a), config.complete(b), postInterrupt.complete(c)), ourCordon, drained,
		want(interrupt.inProgress(a).anew().by(reboot), interrupt.start(a, reboot), is(inProgress))),
	when("several config interrupts of one package are merged",
		spec(pkg(a).config("k=2", "l=2").on("k", service("x")).on("l", service("y"))),
		node(config.complete(a).changed("k", "l")), ourCordon, drained,
		want(interrupt.inProgress(a).anew().changed("k", "l").by(service("x", "y")),
			interrupt.start(a, service("x", "y")), is(inProgress))),
	when("done: all that were merged continue together",
		spec(pkg(a).interrupt(service("x")), pkg(b).interrupt(service("y"))),
		node(interrupt.inProgress(a).by(service("x", "y")), interrupt.skipped(b).by(service("x", "y"))),
		pods(interrupt.done(a)), ourCordon,
		want(interrupt.complete(a), interrupt.complete(b), postInterrupt.inProgress(a).anew(),
			postInterrupt.inProgress(b).anew(), interrupt.delete(a), postInterrupt.start(a), postInterrupt.start(b),
			is(inProgress))),
	when("skipped ones wait while the owner's interrupt runs",
		spec(pkg(a).interrupt(service("x")), pkg(b).interrupt(service("y"))),
		node(interrupt.inProgress(a).by(service("x", "y")), interrupt.skipped(b).by(service("x", "y"))),
		pods(interrupt.running(a)), ourCordon,
		want(is(inProgress))),
	when("skipped by an earlier interrupt that never ended: not done by this one",
		spec(pkg(a).interrupt(noop), pkg(b).interrupt(service("y"))),
		node(interrupt.inProgress(a).by(noop), interrupt.skipped(b).by(service("y"))), pods(interrupt.done(a)),
		ourCordon, drained,
		want(interrupt.complete(a), postInterrupt.inProgress(a).anew(), interrupt.delete(a), postInterrupt.start(a),
			wait(b, waitingForInterrupt), is(inProgress))),
	when("skipped by the same interrupt once, but another version came since: what was before stays so",
		spec(pkg(a).interrupt(noop), pkg("b@1.1").interrupt(noop)),
		node(interrupt.inProgress(a).by(noop), interrupt.skipped(b).by(noop).since(-2*hour),
			postInterrupt.complete("b@1.1")), pods(interrupt.done(a)), ourCordon, drained,
		want(interrupt.complete(a), postInterrupt.inProgress(a).anew(), interrupt.delete(a), postInterrupt.start(a),
			is(inProgress))),
	when("skipped without an owner, after the reboot: it counts for them",
		spec(pkg(b).interrupt(reboot)), node(interrupt.skipped(b).by(reboot)), ourCordon, booted("b2"),
		want(interrupt.complete(b), postInterrupt.inProgress(b).anew(), postInterrupt.start(b), is(inProgress))),
	when("skipped without an owner, after the reboot, but another version came since: the host is mixed, apply anew",
		spec(pkg(b).interrupt(reboot)),
		node(interrupt.skipped(b).by(reboot).since(-2*hour), upgrade.inProgress("b@1.1").since(-minute)), ourCordon,
		drained, booted("b2"),
		want(apply.inProgress(b).anew(), apply.start(b), is(inProgress))),
	when("skipped without an owner, while the node reboots: wait and see",
		spec(pkg(b).interrupt(reboot)), node(interrupt.skipped(b).by(reboot)), ourCordon, drained, booted("b2"),
		notReady,
		want(wait(b, waitingForReboot), tell(waitingForReboot), is(inProgress))),
	when("skipped without an owner, and no reboot: they reboot by themselves",
		spec(pkg(b).interrupt(reboot), pkg(c).interrupt(reboot)),
		node(interrupt.skipped(b).by(reboot), interrupt.skipped(c).by(reboot)), ourCordon, drained,
		want(interrupt.inProgress(b).anew().by(reboot), interrupt.skipped(c).anew().by(reboot),
			interrupt.start(b, reboot), is(inProgress))),
	when("skipped without an owner, and the spec asks for no interrupt any more: what they were merged into runs",
		spec(pkg(b)), node(interrupt.skipped(b).by(reboot)), ourCordon, drained,
		want(config.complete(b).run("r1"), disown, uncordon, is(complete), returned)),
	when("skipped by another operator, and the spec asks for no interrupt any more: done",
		spec(pkg(b)), node(interrupt.skipped(b).run("")), ourCordon, drained,
		want(interrupt.complete(b), is(inProgress))),
}

// interruptWaits: what an interrupt waits for before it begins.
var interruptWaits = []row{
	when("for another package's stage",
		spec(pkg(a).interrupt(reboot), pkg(b)), node(config.complete(a), apply.inProgress(b)), pods(apply.running(b)),
		ourCordon, drained,
		want(wait(a, waitingForInterrupt), is(inProgress))),
	when("for another package's stage that fails",
		spec(pkg(a).interrupt(reboot), pkg(b)),
		node(config.complete(a), apply.erroring(b).reason(stepFailed).restarts(1)),
		pods(apply.failing(b).restarts(1).reason(stepFailed)), ourCordon, drained,
		want(wait(a, waitingForInterrupt), is(erroring))),
	when("for another package's stage that begins in this pass",
		spec(pkg(a).interrupt(reboot), pkg(b)), node(config.complete(a)), ourCordon, drained,
		want(apply.inProgress(b).anew(), apply.start(b), wait(a, waitingForInterrupt), is(inProgress))),
	when("not for a stage of a version that the spec no longer has",
		spec(pkg(a).interrupt(reboot), pkg("b@1.1")), node(config.complete(a), apply.inProgress(b)), ourCordon, drained,
		serial,
		want(interrupt.inProgress(a).anew().by(reboot), interrupt.start(a, reboot), wait(b, waitingForSerial),
			is(inProgress))),
	when("not for a package that has lost its pod and depends on this one",
		spec(pkg(a).interrupt(reboot), pkg(b).needs(a)), node(config.complete(a), apply.inProgress(b)), ourCordon,
		drained,
		want(interrupt.inProgress(a).anew().by(reboot), interrupt.start(a, reboot), wait(b, waitingForDependency),
			is(inProgress))),
	when("not for a package that has lost its pod and waits for its turn",
		spec(pkg(a).interrupt(reboot), pkg(b)), node(config.complete(a), apply.inProgress(b)), ourCordon, drained,
		serial,
		want(interrupt.inProgress(a).anew().by(reboot), interrupt.start(a, reboot), wait(b, waitingForSerial),
			is(inProgress))),
	when("not for a package that failed permanently",
		spec(pkg(a).interrupt(reboot), pkg(b).retries(0)),
		node(config.complete(a), apply.erroring(b).reason(retriesExhausted)), ourCordon, drained,
		want(interrupt.inProgress(a).anew().by(reboot), interrupt.start(a, reboot), wait(b, retriesExhausted),
			is(erroring))),
	when("for a pod that nobody wants to be gone",
		spec(pkg(a).interrupt(reboot)), node(config.complete(a), apply.inProgress(b)), pods(apply.running(b)),
		ourCordon, drained,
		want(apply.delete(b), wait(a, waitingForOtherPods), is(inProgress))),
	when("for its own pod of the config stage to be gone",
		spec(pkg(a).interrupt(reboot)), node(config.complete(a)), pods(config.done(a).terminating()), ourCordon,
		drained,
		want(wait(a, waitingForOtherPods), is(inProgress))),
	when("for the pods of other Skyhooks",
		spec(pkg(a).interrupt(reboot)), node(config.complete(a)), ourCordon, drained, otherPods(2),
		want(wait(a, waitingForOtherPods), tell(waitingForOtherPods), is(inProgress))),
	when("for the pods of other Skyhooks, when its own pod is to be made again",
		spec(pkg(a).interrupt(reboot)), node(interrupt.inProgress(a).run(nowRun).by(reboot)), ourCordon, drained,
		otherPods(1),
		want(wait(a, waitingForOtherPods), tell(waitingForOtherPods), is(inProgress))),
	when("for a boot id",
		spec(pkg(a).interrupt(reboot)), node(config.complete(a)), ourCordon, drained, booted(""),
		want(wait(a, waitingForReboot), tell(waitingForReboot), is(inProgress))),
	when("for a boot id, also when it is no reboot: a reboot may be merged into it later",
		spec(pkg(a).interrupt(noop)), node(config.complete(a)), ourCordon, drained, booted(""),
		want(wait(a, waitingForReboot), tell(waitingForReboot), is(inProgress))),
	when("for a permit",
		spec(pkg(a).interrupt(reboot)), node(config.complete(a)), ourCordon, drained, noPermit,
		want(wait(a, waitingForPermit), tell(waitingForPermit), is(waiting))),
	when("while the node is paused",
		spec(pkg(a).interrupt(reboot)), node(config.complete(a)), ourCordon, drained, pausedNode,
		want(nodeWait(reasonPaused), tell(reasonPaused), is(paused))),
	when("and its pod, while the node is paused, is not made again",
		spec(pkg(a).interrupt(service("x"))), node(interrupt.inProgress(a).by(service("x"))), ourCordon, drained,
		pausedNode,
		want(interrupt.skipped(a).run("r1").by(service("x")), nodeWait(reasonPaused), tell(reasonPaused), is(paused))),
	when("nothing starts while an interrupt runs",
		spec(pkg(a).interrupt(service("x")), pkg(b)), node(interrupt.inProgress(a).by(service("x"))),
		pods(interrupt.running(a)), ourCordon, drained,
		want(wait(b, waitingForInterrupt), is(inProgress))),
	when("no lost pod is replaced while an interrupt runs",
		spec(pkg(a).interrupt(service("x")), pkg(b)),
		node(interrupt.inProgress(a).by(service("x")), config.inProgress(b)), pods(interrupt.running(a)), ourCordon,
		drained,
		want(wait(b, waitingForInterrupt), is(inProgress))),
	when("the interrupt ends: what waited for it starts in the same pass",
		spec(pkg(a).interrupt(service("x")), pkg(b)), node(interrupt.inProgress(a).by(service("x"))),
		pods(interrupt.done(a)), ourCordon, drained,
		want(interrupt.complete(a), postInterrupt.inProgress(a).anew(), apply.inProgress(b).anew(), interrupt.delete(a),
			postInterrupt.start(a), apply.start(b), is(inProgress))),
	when("a second interrupt waits for the first",
		spec(pkg(a).interrupt(service("x")), pkg(b).interrupt(reboot)),
		node(interrupt.inProgress(a).by(service("x")), config.complete(b)), pods(interrupt.running(a)), ourCordon,
		drained,
		want(is(inProgress))),
	when("a dependent waits for post-interrupt of its dependency",
		spec(pkg(a).interrupt(noop), pkg(b).needs(a)), node(postInterrupt.inProgress(a)),
		pods(postInterrupt.running(a)), ourCordon,
		want(wait(b, waitingForDependency), is(inProgress))),
}

// TestWaitsForPodsNameThem, and say where to look.
func TestWaitsForPodsNameThem(t *testing.T) {
	other := types.NamespacedName{Namespace: "skyhook", Name: "other-pod"}
	for _, c := range []struct {
		name string
		row
		count      int
		other      types.NamespacedName
		interrupts bool
		want       string
	}{
		{
			name: "one of another Skyhook",
			row:  see(spec(pkg(a).interrupt(reboot)), node(config.complete(a)), ourCordon, drained), count: 1, other: other,
			want: "the interrupt waits until package pod skyhook/other-pod has left the node; " +
				"`kubectl describe pod -n skyhook other-pod`",
		},
		{
			name: "two of others", row: see(spec(pkg(a).interrupt(reboot)), node(config.complete(a)), ourCordon, drained),
			count: 2, other: other,
			want: "the interrupt waits until package pod skyhook/other-pod and 1 more have left the node; " +
				"`kubectl describe pod -n skyhook other-pod`",
		},
		{
			name: "one that starts in the same pass",
			row:  see(spec(pkg(a).interrupt(reboot)), node(config.complete(a)), ourCordon, drained), count: 1,
			want: "the interrupt waits until a package pod of another Skyhook, which starts now, has left the node",
		},
		{
			name: "its own come first",
			row: see(
				spec(pkg(a).interrupt(reboot)), node(config.complete(a)), pods(config.running(c), config.running(b)),
				ourCordon, drained),
			count: 1, other: other,
			want: "the interrupt waits until package pod skyhook/b-config and 2 more have left the node; " +
				"`kubectl describe pod -n skyhook b-config`",
		},
		{
			name: "one of an interrupt", row: see(spec(pkg(a))), count: 1, other: other, interrupts: true,
			want: "pod skyhook/other-pod of an interrupt of another Skyhook, or of a deleted one, is still on the node; " +
				"`kubectl describe pod -n skyhook other-pod`",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(c.row)
			o.Node.OtherPods, o.Node.OtherPod = c.count, c.other
			if c.interrupts {
				o.Node.InterruptPods, o.Node.InterruptPod = c.count, c.other
			}
			var got []string
			for _, w := range lifecycle.Next(o).Waits {
				got = append(got, w.Message)
			}
			if !slices.Contains(got, c.want) {
				t.Errorf("\ngot  %q\nwant %q", got, c.want)
			}
		})
	}
}
