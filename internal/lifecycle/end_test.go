package lifecycle_test

var endTables = []group{
	{"slow ends", slowEnds},
}

// slowEnds: a pod is deleted, and does not end in time.
var slowEnds = []row{
	when("its grace period is not over, nor the time that it may take on top of it",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a).ends(-10*second)),
		want(wait(a, waitingForPodToEnd), again(20*second), is(inProgress))),
	when("it is still there: that is told",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a).ends(-30*second)),
		want(wait(a, waitingForPodToEnd), tell(waitingForPodToEnd), is(inProgress))),
	when("it is still there: since when stays",
		spec(pkg(a)), node(apply.inProgress(a)), pods(apply.running(a).ends(-5*minute)),
		told(waitingForPodToEnd, -4*minute),
		want(wait(a, waitingForPodToEnd), tell(waitingForPodToEnd).since(-4*minute), is(inProgress))),
	when("of an earlier run, which nothing may start beside",
		spec(pkg("a@2.0")), node(config.complete(a)), pods(config.done(a).run("r0").ends(-5*minute)),
		want(wait(a, waitingForPodToEnd), tell(waitingForPodToEnd), is(inProgress))),
	when("of an earlier run, in time",
		spec(pkg("a@2.0")), node(config.complete(a)), pods(config.done(a).run("r0").ends(-10*second)),
		want(wait(a, waitingForPodToEnd), again(20*second), is(inProgress))),
	when("all is complete, but the permit stays for it: that is told",
		spec(pkg(a)), node(config.complete(a)), pods(config.done(b).run("r0").ends(-5*minute)),
		want(tell(waitingForPodToEnd), is(complete))),
	when("what holds the drain is told first",
		spec(pkg(a).interrupt(noop), pkg(b)), node(apply.inProgress(b)), pods(apply.running(b).ends(-5*minute)),
		ourCordon, drainLeft(evicting),
		want(wait(a, evicting), wait(b, waitingForPodToEnd), tell(evicting), evict, again(5*second), is(inProgress))),
}
