package mutants

import (
	"fmt"
	"strings"
)

// Mutant is one bug: a text of the engine that occurs once in its file, and what it is replaced by.
type Mutant struct {
	Name, File string
	// Findings are the names of the checks that may find it, as the beginning of a finding's signature, separated by
	// commas. Anything else that is found says nothing about the bug.
	Findings string

	Before, After string
}

// Mutants are the bugs, each of them one that is easily made.
var Mutants = []Mutant{
	{
		"stop of all not asked for", "internal/controller/state/stop.go", "starts-while-stopped/",
		"\tif err != nil || !i.doubtsStop() {\n",
		"\tif true {\n",
	},
	{
		"stop of all not told to nodes", "internal/controller/node/pass.go", "starts-while-stopped/",
		"\to.Hold, err = r.hold(ctx, p, s)\n",
		"\tif o.Hold, err = r.hold(ctx, p, s); o.Hold != nil && o.Hold.Reason == v1alpha1.ReasonAllStopped {\n\t\to.Hold = nil\n\t}\n",
	},
	{
		"budget off by one", "internal/rollout/grant.go", "budget/",
		"Limit(f.Skyhook.Spec.InterruptionBudget, len(f.Nodes)),",
		"Limit(f.Skyhook.Spec.InterruptionBudget, len(f.Nodes)) + 1,",
	},
	{
		"uncordon although another holds it", "internal/lifecycle/cordon.go",
		"uncordoned-needed/,interrupt-uncordoned/,uncordoned-interrupted/",
		"\t\tr.Cordoned = false\n\t\tif !p.Node.CordonedByOther {",
		"\t\tr.Cordoned = false\n\t\tif true {",
	},
	{
		"drain not waited for", "internal/lifecycle/cordon.go", "interrupt-undrained/",
		"\tif !p.Drain.Clear {\n",
		"\tif false {\n",
	},
	{
		"cordon not read back", "internal/lifecycle/cordon.go", "begins-uncordoned/",
		"\t\tp.wait(newWait(name, v1alpha1.ReasonCordoning, cordoning))\n\t\treturn false\n",
		"\t\tp.wait(newWait(name, v1alpha1.ReasonCordoning, cordoning))\n",
	},
	{
		"drain only before the interrupt", "internal/lifecycle/apply.go", "begins-undrained/",
		"&& len(interruptsFor(u.pkg, e)) > 0 && !p.drained(u.name) {",
		"&& len(interruptsFor(u.pkg, e)) > 0 && !p.Node.Unschedulable && !p.drained(u.name) {",
	},
	{
		"time goes back", "internal/lifecycle/reapply.go", "time-order/",
		"\tif !now.After(newest) {\n",
		"\tif false {\n",
	},
	{
		"record ahead of the clock stays", "internal/lifecycle/reapply.go", "time-order/ahead",
		"\tif newest.Sub(now) > clockSlack {\n",
		"\tif false {\n",
	},
	{
		"pod before record", "internal/controller/node/execute.go",
		"two-pods/,beside-interrupt/,interrupt-uncordoned/,stage-order/,dependency/,rebooted-twice/," +
			"budget/,timeout-early/",
		"\tfor _, write := range writes {\n",
		"\tfor _, i := range p.items {\n\t\tif err := r.changePods(ctx, p, i); err != nil {\n" +
			"\t\t\tp.errs = append(p.errs, err)\n\t\t}\n\t}\n\tfor _, write := range writes {\n",
	},
	{
		"interrupt not checked again after an edit", "internal/lifecycle/breakoff.go",
		"cure-in-vain/,never-complete/,no-cure/,no-reason/,waits-for-nobody/,cycle/,no-rest/," +
			"cordon-left/,permit-left/,pod-left/",
		"if p.rebooted(owner) || !p.obsolete(owner) {",
		"if running || true {",
	},
	{
		"permit taken back unacknowledged", "internal/rollout/grant.go", "budget/,stage-order/,cycle/,no-rest/",
		"\t\t\tif n.FinishedPermit != p.Token() {\n\t\t\t\tf.add(*p, int32(i))",
		"\t\t\tif n.FinishedPermit != p.Token() && (n.Facts.InProgress || n.Facts.Disturbed) {\n" +
			"\t\t\t\tf.add(*p, int32(i))",
	},
	{
		"pods of the operator before not looked for", "internal/controller/node/proof.go",
		"two-pods/,beside-interrupt/",
		"first := !p.wrote.proved && (",
		"first := false && (",
	},
	{
		"a loss keeps its run", "internal/lifecycle/run.go", "overcounted/",
		"e.State, e.Run = v1alpha1.StateInProgress, p.nextRun(e.Run) // so",
		"e.State = v1alpha1.StateInProgress // so",
	},
	{
		"boot accepted by its own Skyhook alone", "internal/lifecycle/reapply.go",
		"reboots-forever/,cycle/reboots,no-rest/reboots",
		"ours := p.Node.OwnReboot || p.out.InFlight.IsReboot()",
		"ours := p.out.InFlight.OwnedBy(p.Skyhook) && p.out.InFlight.IsReboot()",
	},
	{
		"a held node keeps its failing pod", "internal/lifecycle/run.go",
		"runs-while-held/,no-cure/WaitingForOtherPods",
		"\tcase p.Hold != nil && pod.idle():\n",
		"\tcase false:\n",
	},
	{
		"permit before dependencies", "internal/lifecycle/gates.go", "cycle/permit,no-rest/,no-reason/",
		"\treturn p.ask(u, placeGates) && p.ask(u, turnGates)",
		"\treturn p.ask(u, turnGates) && p.ask(u, placeGates)",
	},
	{
		"a forged record is believed", "internal/controller/state/seal.go", "taint-early/",
		"|| sn.vouches(s, node, empty) {",
		"|| true {",
	},
	{
		"a forged record is sealed", "internal/controller/node/pass.go", "taint-early/",
		"i.seals = s.Status.SealedSince != nil && p.snapshot.Vouches(s, p.node, n)",
		"i.seals = s.Status.SealedSince != nil",
	},
	{
		"a new node is believed before it is tainted", "internal/controller/state/seal.go", "taint-missing/",
		"return taint.Has(node, sn.taints.Runtime) || slices",
		"return taint.Has(node, sn.taints.Runtime) || false && slices",
	},
}

// apply plants the bug into the text of its file. A text that is not there, or not just once, is an error: the engine
// has changed, and the bug has to be written anew.
func (m Mutant) apply(text string) (string, error) {
	if n := strings.Count(text, m.Before); n != 1 {
		return "", fmt.Errorf("the text to replace is in %s %d times, not once; adapt it to the code as it is now:\n%s",
			m.File, n, m.Before)
	}
	return strings.Replace(text, m.Before, m.After, 1), nil
}
