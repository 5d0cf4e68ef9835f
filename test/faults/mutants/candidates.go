//go:build candidates

package mutants

import "slices"

// candidates are bugs that no check or world is known to find yet: each asks for one, or turns out to be no bug. Once found,
// it moves to the others. "go test -tags mutants,candidates ./test/faults/mutants" hunts them.
var candidates = slices.Concat(candidatesOfCore, candidatesOfControllers)

var candidatesOfCore = []Mutant{
	{
		"a person's cordon is taken for ours", lifecycle, "pass.cordon",
		`wanted && !r.Cordoned && (!p.Node.Unschedulable || p.Node.CordonedByOther)`, `wanted && !r.Cordoned`,
		"uncordoned-foreign/",
	},
	{
		"a cordon of this very pass counts as read", lifecycle, "pass.drain",
		`!p.Node.Unschedulable || p.Node.CordonUnread`, `!p.Node.Unschedulable`,
		"begins-uncordoned/,interrupt-uncordoned/unread",
	},
	{
		"a lost interrupt comes back undrained", lifecycle, "interrupts.ensureInterrupt",
		`!p.drain(e.Name)`, `false`,
		"interrupt-undrained/,interrupt-uncordoned/",
	},
	{
		"a lost interrupt comes back beside other pods", lifecycle, "interrupts.ensureInterrupt",
		`!p.aloneOnNode(e.Name)`, `false`,
		"beside-interrupt/",
	},
	{
		"an interrupt does not wait for pods of other Skyhooks", lifecycle, "interrupts.aloneOnNode",
		`len(p.Pods) + p.Node.OtherPods`, `len(p.Pods)`,
		"beside-interrupt/",
	},
	{
		"an interrupt's pod without entry is nobody's", lifecycle, "gateInterrupt",
		`v.Node.InterruptPods > 0`, `false`,
		"beside-interrupt/",
	},
	{
		"an interrupt is over before its pod is gone", lifecycle, "interrupts.releaseInterrupt",
		`p.out.InFlight.OwnedBy(p.Skyhook) && !running && !left && p.Node.InterruptPods == 0`,
		`p.out.InFlight.OwnedBy(p.Skyhook) && !running`,
		"beside-interrupt/",
	},
	{
		"an interrupt that is done again has another run", lifecycle, "pass.start",
		`p.out.InFlight != nil && p.out.InFlight.Run != ""`, `false`,
		"rebooted-twice/,reboots-forever/,interrupt-unasked/",
	},
	{
		"a held interrupt is given up in the middle of a reboot", lifecycle, "view.maySuspend",
		`!v.underWay(e, pod, found)`, `true`,
		"beside-interrupt/,uncordoned-interrupted/,rebooted-twice/,reboots-forever/,stage-order/,interrupt-unasked/," + stuck,
	},
	{
		"who was merged into a reboot reboots again", lifecycle, "interrupts.adoptOrphans",
		`p.interrupted(e);`, ``,
		"rebooted-twice/,reboots-forever/,interrupt-unasked/," + stuck,
	},
	{
		"a Skyhook leaves a node in the middle of a reboot", lifecycle, "rebootOf",
		`left <= 0 || !p.underWay(e, pod, found)`, `true`,
		"uncordoned-interrupted/,reboots-forever/,rebooted-twice/,beside-interrupt/",
	},
	{
		"an edit drops an interrupt that is owed", lifecycle, "changedFor",
		`union(last.Changed, keys)`, `keys`,
		"interrupt-owed/,false-complete/",
	},
	{
		"the limit of a stage counts while it has no pod", lifecycle, "view.began",
		`return pod.Created`, `return runStart(e)`,
		"timeout-early/",
	},
	{
		"the limit of a stage ends with the deletion of its pod", lifecycle, "pass.watch",
		`if !p.overTime(&e, u.pkg, pod) {etc}`, `p.waitForEnd(e, pod)`,
		"timeout-late/," + stuck,
	},
	{
		"the limit of a drain counts from any wait before", lifecycle, "sameWait",
		`slices.Contains(draining, before) && slices.Contains(draining, now)`, `slices.Contains(draining, now)`,
		"drain-timeout-early/",
	},
	{
		"one retry too few", lifecycle, "pass.overRetries",
		`e.Attempts <= *pkg.MaxRetries`, `e.Attempts < *pkg.MaxRetries`,
		"exhausted-early/",
	},
	{
		"attempts of a pod before are forgotten", lifecycle, "pass.another",
		`e.AttemptsBefore = e.Attempts; p.put(*e)`, `e.AttemptsBefore, e.Attempts = 0, 0; p.put(*e)`,
		"exhausted-late/",
	},
	{
		"a lost pod counts as an attempt", lifecycle, "pass.lost",
		`e.Attempts = max(e.Attempts, e.AttemptsBefore+pod.Restarts)`,
		`e.Attempts = max(e.Attempts, e.AttemptsBefore+pod.Restarts) + 1`,
		"exhausted-early/,stopped-without-failure/",
	},
	{
		"a refused pod counts as an attempt", lifecycle, "Reject",
		`e.Rejected, e.RejectedAt = e.Rejected+1, metav1.NewTime(now)`,
		`e.Rejected, e.RejectedAt, e.Attempts = e.Rejected+1, metav1.NewTime(now), e.Attempts+1`,
		"exhausted-early/,stopped-without-failure/",
	},
	{
		"no pause before a lost pod comes back", lifecycle, "pass.waited",
		`e.State != v1alpha1.StateErroring || failures == 0`, `true`,
		stuck,
	},
	{
		"any boot is accepted", lifecycle, "pass.acceptBoot",
		`!other || ours || p.Deleting`, `true`,
		"false-complete/,taint-early/",
	},
	{
		"a run that begins over has the name of the one before", lifecycle, "pass.restart",
		`p.nextRun(e.Run)`, `e.Run`,
		"false-complete/,stage-order/,overcounted/,pod-name/," + stuck,
	},
	{
		"two runs of one second have one name", lifecycle, "view.nextRun",
		`strings.TrimRight(last, runSuffix) == run`, `false`,
		"two-pods/,overcounted/,rebooted-twice/,timeout-early/," + stuck,
	},
	{
		"an edit does not replace the pod that runs", lifecycle, "view.runsWhatIsWanted",
		`pod.Hash == u.pkg.Hash`, `true`,
		stuck,
	},
	{
		"the version before stays recorded after an upgrade", lifecycle, "pass.replaced",
		`p.out.take(Step{RemoveEntry: key});`, ``,
		"false-complete/,not-uninstalled/," + stuck,
	},
	{
		"a dependency counts in any version", lifecycle, "unmetOne",
		`!ok || !version.Same(other.Version, wanted)`, `!ok`,
		"dependency/",
	},
	{
		"what others depend on is uninstalled first", lifecycle, "gateDependencies",
		`if other, left := v.dependent(v.out.Record.Packages[u.key]); left {etc}`, ``,
		"uninstall-order/",
	},
	{
		"serial packages start beside a pod that is being deleted", lifecycle, "gateSerial",
		`v.Serial && pod.Package != u.name && pod.Outcome != Done`,
		`v.Serial && pod.Package != u.name && pod.Outcome != Done && !pod.Terminating`,
		"serial/",
	},
	{
		"a half-done node continues without a permit", lifecycle, "gatePermit",
		`v.Permit != nil`, `v.Permit != nil || v.Record.Begun`,
		"budget/",
	},
	{
		"what bars a node frees its place in the middle of work", lifecycle, "view.leaves",
		`v.Hold.ReturnsPermit && !v.out.Record.Begun`, `v.Hold.ReturnsPermit`,
		"budget/,stage-order/," + stuck,
	},
	{
		"a permit goes back while a pod is there", lifecycle, "pass.finish",
		`len(p.Pods) == 0 && len(p.out.Start) == 0 && !p.interrupting()`, `len(p.out.Start) == 0 && !p.interrupting()`,
		"budget/,uncordoned-interrupted/,pod-left/",
	},
	{
		"a Skyhook leaves a node before its pods", lifecycle, "Remove",
		`len(o.Pods) == 0 && reboot == nil`, `reboot == nil`,
		"uncordoned-interrupted/,left-behind/,beside-interrupt/,two-pods/,pod-left/,budget/",
	},
	{
		"pods do not get the image that is pinned", lifecycle, "pass.start",
		`if pin, ok := p.Pins.of(l.Package, e.Name, p.Node); ok {etc}`, ``,
		"image-mixed/," + stuck,
	},
	{
		"an uninstall goes by the spec of another version", lifecycle, "pass.start",
		`if !l.FromSpec {etc}`, ``,
		"not-uninstalled/," + stuck,
	},
	{
		"complete although something is to be removed", situation, "Complete",
		`len(w.Removals(n)) > 0`, `false`,
		"not-uninstalled/,false-complete/label,false-complete/status",
	},
	{
		"post-interrupt is skipped after an edit", situation, "needsPostInterrupt",
		`e.Interrupt != nil && e.Stage != v1alpha1.StageInterrupt`, `false`,
		"interrupt-owed/,false-complete/",
	},
	{
		"an uninstall's interrupt is skipped", situation, "removalPhase",
		`e.Stage == v1alpha1.StageUninstall && over && aim.Package.Interrupt != nil`, `false`,
		"interrupt-owed/",
	},
	{
		"an entry of an earlier version is believed", situation, "Superseded",
		`other.Since.After(e.Since.Time) || other.Since.Equal(&e.Since) && other.Active() && !e.Active()`, `false`,
		"false-complete/,not-uninstalled/,dependency/,stage-order/," + stuck,
	},
	{
		"a node that a person took out is waited for", situation, "Situation.Judge",
		`s.TakenOut()`, `false`,
		stuck,
	},
	{
		"a kubelet's restart counts as away", situation, "Situation.lost",
		`s.NotReadySince.Add(awayAfter)`, `s.NotReadySince`,
		"stopped-without-failure/",
	},
	{
		"away for our interrupt counts as away", situation, "Situation.lost",
		`if i := s.Interrupt; i != nil {etc}`, ``,
		"stopped-without-failure/",
	},
	{
		"a taint counts against a node at once", situation, "Situation.inTime",
		`since.Add(barredAfter)`, `since`,
		"stopped-without-failure/",
	},
	{
		"who failed is not busy", situation, "Situation.Busy",
		`!judged || !s.Failed()`, `!s.Failed()`,
		"budget/",
	},
	{
		"half-done nodes without a permit are not counted", rollout, "fleet.fill",
		`c.ceiling - holders - c.counts.busy`, `c.ceiling - holders`,
		"budget/",
	},
	{
		"who fails and may go on loses its permit", rollout, "blocksOthers",
		`n.Failed() && !n.AwaitsTurn()`, `n.Failed()`,
		stuck,
	},
	{
		"who failed gets a permit again and again", rollout, "policyTurn",
		`return -1`, `return 2`,
		stuck,
	},
	{
		"who needs another spec gets a permit again and again", rollout, "fleet.candidates",
		`n.NeedsAuthor() && !f.newerThanDone(n)`, `false`,
		stuck,
	},
	{
		"a bad member keeps its batch open", rollout, "fleet.batch",
		`m.pending == 0`, `m.pending+len(m.bad) == 0`,
		stuck,
	},
	{
		"batches go on with another content", rollout, "reset.apply",
		`before.Content != "" && sameContent(before.Content, r.content)`, `before.Content != ""`,
		"batch/,stop/missed," + stuck,
	},
	{
		"resume does not continue a stopped rollout", rollout, "fleet.reset",
		`edited(in.Skyhook) || resumed(in.Skyhook) != was.Resumed`, `edited(in.Skyhook)`,
		stuck,
	},
	{
		"an edit does not continue a stopped rollout", rollout, "fleet.reset",
		`edited(in.Skyhook) || resumed(in.Skyhook) != was.Resumed`, `resumed(in.Skyhook) != was.Resumed`,
		stuck,
	},
	{
		"a node is taken for the one before of its name", rollout, "replaced",
		`granted != nil && created.After(granted.Time)`, `false`,
		"batch/," + stuck,
	},
	{
		"a paused Skyhook continues", rollout, "HoldAll",
		`s.Paused()`, `false`,
		"runs-while-held/",
	},
	{
		"an ignored node gets work", rollout, "HoldNode",
		`v1alpha1.Ignored(node.Labels)`, `false`,
		"runs-while-held/",
	},
	{
		"a disabled Skyhook continues", rollout, "HoldAll",
		`s.Disabled()`, `false`,
		"runs-while-held/",
	},
	{
		"a compartment's ceiling is a share of the whole fleet", rollout, "Policy.split",
		`Ceiling(s.budget, sizes[k])`, `Ceiling(s.budget, len(nodes))`,
		"budget/policy",
	},
	{
		"definitions that nodes need are deleted", rollout, "NeedsOf",
		`w.Packages[e.Name].Definition != e.Definition`, `false`,
		"not-uninstalled/," + stuck,
	},
	{
		"a spec counts as observed although its definitions are not kept", rollout, "Plan",
		`!in.Unretained`, `true`,
		"not-uninstalled/," + stuck,
	},
	{
		"the mark of work that has begun is not recorded", recording, "Write",
		`trueOrNone(n.Begun)`, `""`,
		"budget/," + stuck,
	},
	{
		"a boot is accepted for nobody", recording, "AcceptBoot",
		`strings.HasPrefix(key, v1alpha1.AnnotationBootPrefix)`, `false`,
		"reboots-forever/,cycle/reboots,no-rest/reboots",
	},
	{
		"the interrupt in flight is not recorded", recording, "WriteInterrupt",
		`i != nil`, `false`,
		"beside-interrupt/,rebooted-twice/,reboots-forever/," + stuck,
	},
	{
		"a pod is evicted by its name", evicting, "Evictor.evict",
		`&metav1.Preconditions{UID: &pod.UID}`, `nil`,
		"evicts/",
	},
	{
		"the failure of a member that left is forgotten", rollout, "fleet.members",
		`b.Failed++`, `b.Left++`,
		"batch/,stop/missed",
	},
	{
		"an edit of a configMap is no other content", rollout, "contentOf",
		`part{name, p.Version, p.Image, p.ContainerSHA, p.Env, p.ConfigMap, p.Uninstall.Requested()}`,
		`part{name, p.Version, p.Image, p.ContainerSHA, p.Env, nil, p.Uninstall.Requested()}`,
		"batch/,stop/missed",
	},
	{
		"interrupts of configMaps do not drain", lifecycle, "pass.beginStage",
		`len(situation.InterruptsFor(u.pkg, e)) > 0`, `u.pkg.Interrupt != nil`,
		"begins-undrained/,begins-uncordoned/",
	},
}
