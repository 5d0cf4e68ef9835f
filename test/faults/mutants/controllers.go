package mutants

// ofControllers are bugs in how decisions are carried out, and in what they go by.
var ofControllers = []Mutant{
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
		"pod before record", node, "pass.writeNode",
		`for _, write := range writes {etc}`,
		`for _, i := range p.items { if err := i.changePods(ctx); err != nil { p.errs = append(p.errs, err) } }; $0`,
		"two-pods/,beside-interrupt/,interrupt-uncordoned/,stage-order/,dependency/,rebooted-twice/,budget/,timeout-early/",
	},
	{
		"pods of the operator before not looked for", node, "item.needsProof",
		`!i.pass.wrote.proved`, `false`,
		"two-pods/,beside-interrupt/",
	},
	{
		"a drain is believed from an old list", node, "item.next",
		`if pods, err = evict.ConfirmNode(ctx, p.Live, p.node.Name); err != nil {etc}; state = drain.Classify(pods, options, nil, p.now)`,
		``,
		"interrupt-undrained/,begins-undrained/,evicts/",
	},
	{
		"an orphan's cordon is lifted although another holds it", node, "pass.clearOrphans",
		`lift && !slices.Contains(slices.Collect(maps.Values(cordons)), true)`, `lift`,
		"uncordoned-needed/,uncordoned-interrupted/",
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
	{
		"workloads come when one Skyhook is complete", tainting, "requiredBy",
		`!slices.ContainsFunc(required, func(s Skyhook) bool { return !s.Complete })`,
		`slices.ContainsFunc(required, func(s Skyhook) bool { return s.Complete })`,
		"taint-early/",
	},
	{
		"a pod that is being deleted counts as gone", draining, "Options.judge",
		`finished(pod) || o.isPackagePod(pod)`, `$0 || pod.DeletionTimestamp != nil`,
		"interrupt-undrained/,begins-undrained/",
	},
	{
		"protected pods are evicted", draining, "Options.judge",
		`o.protects(pod)`, `false`,
		"interrupt-undrained/,begins-undrained/,evicts/protected,evicts/beside-protected",
	},
	{
		"pods that nobody brings back are evicted", draining, "Options.judge",
		`b.Controller == "" && !o.Force`, `false`,
		"evicts/unmanaged",
	},
	{
		"pods of DaemonSets are evicted", draining, "staysOnNode",
		`controlledBy(pod, "apps", "DaemonSet")`, `false`,
		"evicts/DaemonSet," + stuck,
	},
	{
		"a node that leaves does not acknowledge its permit", recording, "Clear",
		`k == v1alpha1.AnnotationPermitPrefix+skyhook`, `false`,
		stuck,
	},
	{
		"a cordon is not recorded", recording, "Write",
		`trueOrNone(n.Cordoned)`, `""`,
		"cordon-left/,uncordoned-interrupted/," + stuck,
	},
}
