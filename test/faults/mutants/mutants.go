package mutants

// Mutant is one bug: a piece of syntax that is once in a function of the engine, and what it is replaced by.
type Mutant struct {
	Name string
	// Package is a folder of the repository; Func a function of it, written Type.method if it is one.
	Package, Func string
	// Before is an expression or statements, compared as syntax, so that layout, comments and files do not matter; a
	// block {etc} is any block. After takes its place; $0 in it is what was there.
	Before, After string
	// Findings are the names of the checks that may find it, as the beginning of a finding's signature, separated by
	// commas. Anything else that is found says nothing about the bug.
	Findings string
}

const (
	lifecycle = "internal/lifecycle"
	rollout   = "internal/rollout"
	node      = "internal/controller/node"
	state     = "internal/controller/state"
)

// Mutants are the bugs, each of them one that is easily made.
var Mutants = []Mutant{
	{
		"stop of all not asked for", state, "Index.stop",
		`err != nil || !i.doubtsStop()`, `true`,
		"starts-while-stopped/",
	},
	{
		"stop of all not told to nodes", node, "item.ask",
		`o.Hold, err = i.hold(ctx)`,
		`$0; if o.Hold != nil && o.Hold.Reason == v1alpha1.ReasonAllStopped { o.Hold = nil }`,
		"starts-while-stopped/",
	},
	{
		"budget off by one", rollout, "fleet.everyNode",
		`Limit(f.Skyhook.Spec.InterruptionBudget, len(f.Nodes))`, `$0 + 1`,
		"budget/",
	},
	{
		"uncordon although another holds it", lifecycle, "pass.cordon",
		`!p.Node.CordonedByOther`, `true`,
		"uncordoned-needed/,interrupt-uncordoned/,uncordoned-interrupted/",
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
		"pod before record", node, "pass.writeNode",
		`for _, write := range writes {etc}`,
		`for _, i := range p.items { if err := i.changePods(ctx); err != nil { p.errs = append(p.errs, err) } }; $0`,
		"two-pods/,beside-interrupt/,interrupt-uncordoned/,stage-order/,dependency/,rebooted-twice/,budget/,timeout-early/",
	},
	{
		"interrupt not checked again after an edit", lifecycle, "interrupts.breakOff",
		`p.rebooted(owner) || !p.obsolete(owner)`, `true`,
		"cure-in-vain/,never-complete/,no-cure/,no-reason/,waits-for-nobody/,cycle/,no-rest/,cordon-left/,permit-left/," +
			"pod-left/",
	},
	{
		"permit taken back unacknowledged", rollout, "newFleet",
		`n.FinishedPermit != p.Token()`, `$0 && (n.Facts.InProgress || n.Facts.Disturbed)`,
		"budget/,stage-order/,cycle/,no-rest/",
	},
	{
		"pods of the operator before not looked for", node, "item.needsProof",
		`!i.pass.wrote.proved`, `false`,
		"two-pods/,beside-interrupt/",
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
		`p.Hold != nil && pod.idle()`, `false`,
		"runs-while-held/,no-cure/WaitingForOtherPods",
	},
	{
		"a lost pod comes back whatever is on the node", lifecycle, "pass.openAgain",
		`p.ask(u, placeGates) && p.ask(u, turnGates)`, `p.ask(u, turnGates)`,
		"dependency/,beside-interrupt/,begins-undrained/,begins-uncordoned/,interrupt-undrained/,interrupt-uncordoned/",
	},
	{
		"a forged record is believed", state, "Snapshot.unusable",
		`sn.vouches(s, node, empty)`, `true`,
		"taint-early/",
	},
	{
		"a forged record is sealed", node, "item.decide",
		`p.snapshot.Vouches(s, p.node, i.before)`, `true`,
		"taint-early/",
	},
	{
		"a new node is believed before it is tainted", state, "Snapshot.guarded",
		`slices.ContainsFunc(sn.tainting, gets)`, `false && $0`,
		"taint-missing/",
	},
}
