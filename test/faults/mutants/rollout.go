package mutants

// ofRollout are bugs in which nodes may work.
var ofRollout = []Mutant{
	{
		"budget off by one", rollout, "fleet.everyNode",
		`Limit(f.Skyhook.Spec.InterruptionBudget, len(f.Nodes))`, `$0 + 1`,
		"budget/",
	},
	{
		"permit taken back unacknowledged", rollout, "newFleet",
		`n.FinishedPermit != p.Token()`, `$0 && (n.Facts.InProgress || n.Facts.Disturbed)`,
		"budget/,stage-order/,cycle/,no-rest/",
	},
}
