package mutants

// ofRollout are bugs in which nodes may work.
var ofRollout = []Mutant{
	{
		"budget off by one", rollout, "fleet.everyNode",
		`Limit(f.Skyhook.Spec.InterruptionBudget, len(f.Nodes))`, `$0 + 1`,
		"budget/",
	},
	{
		"a budget in percent is rounded up", rollout, "atLeastOne",
		`of * percent / 100`, `(of*percent + 99) / 100`,
		"budget/",
	},
	{
		"permit taken back unacknowledged", rollout, "newFleet",
		`n.FinishedPermit != p.Token()`, `$0 && (n.Facts.InProgress || n.Facts.Disturbed)`,
		"budget/,stage-order/,cycle/,no-rest/",
	},
	{
		"a node that is away gives its permit to another", rollout, "fleet.count",
		`t.holders++`, `if !n.Facts.Unavailable { t.holders++ }`,
		"budget/",
	},
	{
		"nodes that left the selection are not counted", rollout, "fleet.fill",
		`c.counts.holders + f.away`, `c.counts.holders`,
		"budget/",
	},
	{
		"a failed node gives its place back without a policy", rollout, "fleet.assign",
		`func(*v1alpha1.Permit, *Node) bool { return false }`, `blocksOthers`,
		"budget/,cycle/",
	},
	{
		"a new permit is the one before", rollout, "numbers.peek",
		`last.Round + 1`, `last.Round`,
		stuck,
	},
	{
		"excluded nodes get permits", rollout, "fleet.candidates",
		`n.Facts.Complete || n.Hold != nil`, `n.Facts.Complete`,
		stuck,
	},
	{
		"sequencing of all nodes is ignored", rollout, "awaitedEverywhere",
		`s.Spec.Sequencing == v1alpha1.SequencingAll && s.DeletionTimestamp == nil && !CompleteEverywhere(s)`, `false`,
		"order/all",
	},
	{
		"the order of Skyhooks is ignored", rollout, "Precedes",
		`Before(a, b) && !a.Disabled()`, `false`,
		"order/node,order/all",
	},
	{
		"nodes that are held are forgotten in the count", rollout, "fleet.count",
		`f.holds[i]`, `f.holds[i] && n.Hold == nil`,
		"budget/",
	},
	{
		"a batch is over before its members are", rollout, "fleet.batch",
		`b.BatchSize > 0 && m.pending == 0`, `b.BatchSize > 0 && b.CompletedNodes+b.FailedNodes > 0`,
		"batch/",
	},
}
