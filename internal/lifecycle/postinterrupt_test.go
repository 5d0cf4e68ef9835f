package lifecycle_test

var postInterruptTables = []group{
	{"edits", postInterrupts},
}

// postInterrupts: what follows an interrupt runs until it succeeds, whatever is edited meanwhile.
var postInterrupts = []row{
	when("changed during post-interrupt: back to config, for the new change",
		spec(pkg(a).hash("2").config("k=2", "l=2").on("k", service("x"))),
		node(postInterrupt.inProgress(a).config("k=2", "l=1").changed("k")), pods(postInterrupt.running(a)), ourCordon,
		drained,
		want(config.inProgress(a).anew().changed("l"), postInterrupt.delete(a), is(inProgress))),
	when("fixed after post-interrupt failed, no interrupt pending for the key: config is done, post-interrupt runs again",
		spec(pkg(a).config("k=3").interrupt(reboot)), node(config.inProgress(a).changed("k").by(reboot).boot("b0")),
		pods(config.done(a)), ourCordon, drained,
		want(config.complete(a), postInterrupt.inProgress(a).anew().changed("k"), config.delete(a),
			postInterrupt.start(a), is(inProgress))),
	when("the same without an interrupt that ran: config is the end",
		spec(pkg(a).config("k=3").interrupt(reboot)), node(config.inProgress(a).changed("k")), pods(config.done(a)),
		ourCordon, drained,
		want(config.complete(a).run("r1").changed("k"), disown, uncordon, config.delete(a), is(complete), returned)),
	when("after post-interrupt succeeded nothing of the interrupt is left: the next change ends with config",
		spec(pkg(a).config("k=3").interrupt(reboot)), node(postInterrupt.complete(a).config("k=2")), ourCordon, drained,
		want(config.inProgress(a).anew().changed("k"), config.start(a), is(inProgress))),
	when("changed after post-interrupt failed: back to config",
		spec(pkg(a).hash("2").config("k=3").on("k", service("x"))),
		node(postInterrupt.erroring(a).config("k=2").changed("k").reason(stepFailed).restarts(3)),
		pods(postInterrupt.failing(a).restarts(3).reason(stepFailed)), ourCordon, drained,
		want(config.inProgress(a).anew().changed("k"), postInterrupt.delete(a), is(inProgress))),
}
