//go:build candidates

package mutants

var candidatesOfControllers = []Mutant{
	{
		"a cordon is lifted without a look at the pods", node, "item.needsProof",
		`d.Unschedulable != nil && !*d.Unschedulable`, `false`,
		"uncordoned-interrupted/",
	},
	{
		"an interrupt begins without a look at the pods", node, "item.needsProof",
		`!sameInterrupt(i.pass.inFlight, d.InFlight)`, `false`,
		"beside-interrupt/",
	},
	{
		"a record is written whatever it was", node, "pass.metadataOf",
		`map[string]any{"resourceVersion": p.wrote.resourceVersion}`, `map[string]any{}`,
		"two-pods/,beside-interrupt/,interrupt-uncordoned/,uncordoned-needed/,uncordoned-interrupted/,stage-order/," +
			"rebooted-twice/,budget/,overcounted/,time-order/",
	},
	{
		"a pod is deleted by its name", node, "item.deletePod",
		`client.Preconditions{UID: &pod.UID}`, `client.Preconditions{}`,
		"two-pods/,overcounted/," + stuck,
	},
	{
		"pods are ours by their label", node, "item.ownPods",
		`!metav1.IsControlledBy(pod, i.skyhook)`, `pod.Labels[v1alpha1.LabelName] != i.skyhook.Name`,
		"two-pods/,stage-order/,false-complete/,beside-interrupt/," + stuck,
	},
	{
		"definitions that the cache lacks count as missing", node, "item.proveDefinitions",
		`len(lacking) == 0`, `true`,
		"not-uninstalled/," + stuck,
	},
	{
		"a ConfigMap is mounted whatever it holds", node, "item.holds",
		`ours && workload.Sealed(&cm) && workload.Holds(&cm, pkg.ConfigMap)`,
		`err == nil`,
		"false-complete/config",
	},
	{
		"an orphan is cleared before its pods are gone", node, "pass.clearOrphan",
		`p.hasPodsOf(name) || change.Empty() && !interrupts`, `change.Empty() && !interrupts`,
		"uncordoned-interrupted/,beside-interrupt/",
	},
	{
		"workloads come before packages are applied again", node, "pass.nextTaint",
		`state.Ready(p.node) || !i.rebooted(n)`, `true`,
		"taint-early/",
	},
	{
		"another's interrupt in flight holds nobody", state, "At.HoldHere",
		`return holdInterrupted(s, around.Interrupting)`, `return nil`,
		"beside-interrupt/",
	},
	{
		"what an earlier Skyhook has left in this pass does not hold", state, "At.Earlier",
		`undone[e.Name] || at.incomplete(i)`, `at.incomplete(i)`,
		"order/node,order/all",
	},
	{
		"a status is written whatever it was", skyhook, "pass.patchStatus",
		`client.MergeFromWithOptions(statusOf(before), lock)`, `client.MergeFrom(statusOf(before))`,
		"budget/",
	},
	{
		"a permit goes with its Node although a pod is left", skyhook, "pass.lookFor",
		`pod != nil`, `false`,
		"budget/",
	},
	{
		"a finalizer goes by the cache alone", skyhook, "pass.leftovers",
		`err != nil || len(left) > 0`, `true`,
		"left-behind/,beside-interrupt/,uncordoned-interrupted/",
	},
	{
		"a finalizer goes before the pods", skyhook, "pass.leftOn",
		`for i := range pods.Items {etc}`, ``,
		"left-behind/,beside-interrupt/,uncordoned-interrupted/,budget/,two-pods/",
	},
	{
		"definitions are deleted while nodes work", skyhook, "pass.pruneDefinitions",
		`len(s.Status.Permits) > 0`, `false`,
		"not-uninstalled/," + stuck,
	},
	{
		"a definition that came back is not the last one", skyhook, "pass.retainOne",
		`exists && old.Revision > lastRevision(old, have, workload.SamePackage)`, `exists`,
		"not-uninstalled/," + stuck,
	},
	{
		"a new spec goes by old definitions", skyhook, "pass.upToDate",
		`s.Status.ObservedGeneration == s.Generation`, `true`,
		"not-uninstalled/," + stuck,
	},
	{
		"the configMap of an uninstall is not written", skyhook, "pass.wantedConfigMaps",
		`for _, definition := range slices.Sorted(maps.Keys(p.uninstalling)) {etc}`, ``,
		stuck,
	},
	{
		"pods change by an old node where nothing is written", node, "pass.confirm",
		`return p.unchanged(ctx)`, `return nil`,
		"two-pods/,beside-interrupt/,interrupt-uncordoned/,interrupt-undrained/,stage-order/,dependency/,overcounted/",
	},
	{
		"nobody is woken by a boot", state, "nodeDiffers",
		`a.Status.NodeInfo.BootID != b.Status.NodeInfo.BootID`, `false`,
		stuck,
	},
	{
		"nobody is woken by a node that becomes Ready", state, "nodeDiffers",
		`Ready(a) != Ready(b)`, `false`,
		stuck,
	},
	{
		"nobody is woken by a cordon", state, "nodeDiffers",
		`a.Spec.Unschedulable != b.Spec.Unschedulable`, `false`,
		stuck,
	},
	{
		"a renewed permit wakes nobody", node, "changedPermits",
		`had[p.Node] != p`, `had[p.Node].Node == ""`,
		stuck,
	},
	{
		"a new plan wakes nobody", node, "concernsAll",
		`before.Status.ObservedGeneration != after.Status.ObservedGeneration`, `false`,
		"complete-untold/," + stuck,
	},
	{
		"who waits for all of an earlier Skyhook is not woken", node, "Reconciler.skyhookHandler",
		`rollout.CompleteEverywhere(before) != rollout.CompleteEverywhere(after)`, `false`,
		stuck,
	},
	{
		"those that come later are woken by edits alone", skyhook, "orderMatters",
		`before.Generation != after.Generation || before.Status.Status != after.Status.Status ||
			rollout.CompleteEverywhere(before) != rollout.CompleteEverywhere(after) ||
			before.Annotations[v1alpha1.AnnotationDisable] != after.Annotations[v1alpha1.AnnotationDisable] ||
			(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)`,
		`before.Generation != after.Generation`,
		stuck,
	},
	{
		"a pod that leaves wakes no Skyhook", skyhook, "skyhookOf",
		`!ok || owner == nil`, `true`,
		stuck,
	},
	{
		"evictions go by an old list", node, "item.next",
		`state.Clear || len(state.Evict) > 0`, `state.Clear`,
		"evicts/beside-protected",
	},
}
