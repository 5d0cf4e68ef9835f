package mutants

// ofSituation are bugs in what is true of one node.
var ofSituation = []Mutant{
	{
		"complete although the configMap changed", situation, "Final",
		`Settled(pkg, e) && !ConfigChanged(pkg, e)`, `Settled(pkg, e)`,
		"false-complete/",
	},
	{
		"one failed attempt is a verdict", situation, "Wanted.FailedForGood",
		`e.Attempts >= attempts`, `e.Attempts >= 1`,
		"stopped-without-failure/,budget/,batch/",
	},
	{
		"a barred node that has begun is not busy", situation, "Situation.Busy",
		`s.Facts.InProgress || s.Facts.Begun && !s.TakenOut() && (!judged || !s.Failed())`,
		`s.Facts.InProgress || s.Facts.Begun && s.Hold == nil && (!judged || !s.Failed())`,
		"budget/",
	},
}
