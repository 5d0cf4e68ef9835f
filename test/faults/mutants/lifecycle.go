package mutants

// ofLifecycle are bugs in what happens next on one node.
var ofLifecycle = []Mutant{
	{
		"uncordon although another holds it", lifecycle, "pass.cordon",
		`!p.Node.CordonedByOther`, `true`,
		"uncordoned-needed/,interrupt-uncordoned/,uncordoned-interrupted/",
	},
	{
		"a cordon is lifted once nothing asks for it in a pass", lifecycle, "pass.finish",
		`p.needCordon || p.out.Record.Cordoned`, `p.needCordon`,
		"uncordoned-interrupted/,interrupt-uncordoned/,begins-uncordoned/",
	},
	{
		"a cordon that somebody lifted is not set again", lifecycle, "pass.cordon",
		`wanted && r.Cordoned && !p.Node.Unschedulable`, `false`,
		stuck,
	},
	{
		"drain not waited for", lifecycle, "pass.drain",
		`!p.Drain.Clear`, `false`,
		"interrupt-undrained/",
	},
	{
		"cordon not read back", lifecycle, "pass.drain",
		`p.wait(newWait(name, v1alpha1.ReasonCordoning, cordoning)); return false`,
		`p.wait(newWait(name, v1alpha1.ReasonCordoning, cordoning))`,
		"begins-uncordoned/",
	},
	{
		"drain only before the interrupt", lifecycle, "pass.beginStage",
		`!p.drain(u.name)`, `!p.Node.Unschedulable && $0`,
		"begins-undrained/",
	},
	{
		"an uninstall does not drain", lifecycle, "pass.uninstall",
		`!p.open(u) || u.pkg.Interrupt != nil && !p.drain(u.name)`, `!p.open(u)`,
		"begins-undrained/,begins-uncordoned/",
	},
	{
		"an interrupt begins without another look at the drain", lifecycle, "interrupts.beginInterrupt",
		`if p.drain(first.Name) {etc}`, `p.launch(list)`,
		"interrupt-undrained/,interrupt-uncordoned/",
	},
	{
		"what is left of an interrupt is not waited for", lifecycle, "gateEarlierPod",
		`record.IsInterrupt(pod.Stage)`, `false`,
		"beside-interrupt/",
	},
	{
		"a pod of an earlier run is not waited for", lifecycle, "gateEarlierPod",
		`pod.Package == u.name`, `false`,
		"two-pods/",
	},
	{
		"a reboot is done before the node is Ready", lifecycle, "view.rebooted",
		`isReboot(e) && v.Node.Ready`, `isReboot(e)`,
		"reboot-early/",
	},
	{
		"a reboot is done when its pod is", lifecycle, "interrupts.watchInterrupt",
		`isReboot(e)`, `isReboot(e) && pod.Outcome != Done`,
		"reboot-early/",
	},
	{
		"a reboot is not bound to its boot", lifecycle, "pass.start",
		`s.Interrupt, s.BootID = e.Interrupt, e.BootID`, `s.Interrupt = e.Interrupt`,
		"rebooted-twice/,reboots-forever/,interrupt-unasked/",
	},
	{
		"interrupt not checked again after an edit", lifecycle, "interrupts.breakOff",
		`p.rebooted(owner) || !p.obsolete(owner)`, `true`,
		"cure-in-vain/,never-complete/,no-cure/,no-reason/,waits-for-nobody/,cycle/,no-rest/,cordon-left/,permit-left/," +
			"pod-left/",
	},
	{
		"a held interrupt keeps others off the node", lifecycle, "interrupts.watchInterrupt",
		`p.Hold != nil && p.maySuspend(e, pod, found)`, `false`,
		stuck,
	},
	{
		"the wrong interrupt wins", lifecycle, "merge",
		`rank(i.Type) < rank(winner.Type)`, `rank(i.Type) > rank(winner.Type)`,
		"interrupt-owed/,interrupt-unasked/",
	},
	{
		"services of merged interrupts are lost", lifecycle, "merge",
		`winner.Services = union(winner.Services, i.Services)`, ``,
		"interrupt-owed/," + stuck,
	},
	{
		"time goes back", lifecycle, "presentTimes",
		`!now.After(newest)`, `false`,
		"time-order/",
	},
	{
		"record ahead of the clock stays", lifecycle, "presentTimes",
		`newest.Sub(now) > clockSlack`, `false`,
		"time-order/ahead",
	},
	{
		"a loss keeps its run", lifecycle, "pass.lost",
		`e.State, e.Run = v1alpha1.StateInProgress, p.nextRun(e.Run)`, `e.State = v1alpha1.StateInProgress`,
		"overcounted/",
	},
	{
		"boot accepted by its own Skyhook alone", lifecycle, "pass.acceptBoot",
		`p.Node.OwnReboot || p.out.InFlight.IsReboot() && p.out.InFlight.BootID != current`,
		`p.out.InFlight.OwnedBy(p.Skyhook) && p.out.InFlight.IsReboot() && p.out.InFlight.BootID != current`,
		"reboots-forever/,cycle/reboots,no-rest/reboots",
	},
	{
		"a held node keeps its failing pod", lifecycle, "pass.watch",
		`pod.idle()`, `false`,
		"runs-while-held/,no-cure/WaitingForOtherPods",
	},
	{
		"a lost pod comes back whatever is on the node", lifecycle, "pass.openAgain",
		`p.ask(u, placeGates) && p.ask(u, turnGates)`, `p.ask(u, turnGates)`,
		"dependency/,beside-interrupt/,begins-undrained/,begins-uncordoned/,interrupt-undrained/,interrupt-uncordoned/",
	},
	{
		"the result of an earlier run counts", lifecycle, "view.podOf",
		`pod.Package == e.Name && pod.Stage == e.Stage && pod.Run == e.Run`,
		`pod.Package == e.Name && pod.Stage == e.Stage`,
		"false-complete/,stage-order/,dependency/,overcounted/,timeout-early/,two-pods/",
	},
	{
		"pods that nobody asks for stay", lifecycle, "pass.deleteStale",
		`!p.claimed[pod.Name] && !pod.Terminating`, `false`,
		stuck,
	},
	{
		"dependencies are not waited for", lifecycle, "unmetOne",
		`!v.PackageComplete(v.out.Record, dep)`, `false`,
		"dependency/",
	},
	{
		"a complete node keeps its permit", lifecycle, "pass.finish",
		`p.Permit != nil && over`, `p.Permit != nil && over && !complete`,
		stuck,
	},
	{
		"a Skyhook that leaves lifts the cordon of another", lifecycle, "Remove",
		`!o.Node.CordonedByOther`, `true`,
		"uncordoned-needed/,uncordoned-interrupted/",
	},
	{
		"a Skyhook that leaves forgets its cordon", lifecycle, "Remove",
		`d.Clear && d.Record.Cordoned`, `false`,
		"cordon-left/,left-behind/",
	},
}
