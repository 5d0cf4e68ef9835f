package mutants

// ofSituation are bugs in what is true of one node.
var ofSituation = []Mutant{
	{
		"complete although the configMap changed", situation, "Final",
		`Settled(pkg, e) && !ConfigChanged(pkg, e)`, `Settled(pkg, e)`,
		"false-complete/",
	},
}
