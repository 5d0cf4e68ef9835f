package mutants

import (
	"fmt"
	"strings"
)

// Mutant is one bug: a text of the engine that occurs once in its file, and what it is replaced by.
type Mutant struct {
	Name, File, Before, After string
	// Findings are the names of the checks that may find it, as the beginning of a finding's signature. Anything else that
	// is found says nothing about the bug.
	Findings []string
}

// Mutants are the bugs, each of them one that is easily made.
var Mutants = []Mutant{
	{
		Name: "budget off by one", File: "internal/rollout/grant.go",
		Before:   "ceiling: Limit(f.Skyhook.Spec.InterruptionBudget, len(f.Nodes)),",
		After:    "ceiling: Limit(f.Skyhook.Spec.InterruptionBudget, len(f.Nodes)) + 1,",
		Findings: []string{"budget/"},
	},
	{
		Name: "uncordon although another holds it", File: "internal/lifecycle/cordon.go",
		Before:   "\t\tr.Cordoned = false\n\t\tif !p.Node.CordonedByOther {",
		After:    "\t\tr.Cordoned = false\n\t\tif true {",
		Findings: []string{"uncordoned-needed/", "interrupt-uncordoned/", "uncordoned-interrupted/"},
	},
	{
		Name: "drain not waited for", File: "internal/lifecycle/cordon.go",
		Before:   "\tif !p.Drain.Clear {\n",
		After:    "\tif false {\n",
		Findings: []string{"interrupt-undrained/"},
	},
	{
		Name: "cordon not read back", File: "internal/lifecycle/cordon.go",
		Before:   "\t\tp.wait(newWait(name, v1alpha1.ReasonCordoning, cordoning))\n\t\treturn false\n",
		After:    "\t\tp.wait(newWait(name, v1alpha1.ReasonCordoning, cordoning))\n",
		Findings: []string{"begins-uncordoned/"},
	},
	{
		Name: "drain only before the interrupt", File: "internal/lifecycle/apply.go",
		Before:   "&& len(interruptsFor(u.pkg, e)) > 0 && !p.drained(u.name) {",
		After:    "&& len(interruptsFor(u.pkg, e)) > 0 && !p.Node.Unschedulable && !p.drained(u.name) {",
		Findings: []string{"begins-undrained/"},
	},
	{
		Name: "time goes back", File: "internal/lifecycle/reapply.go",
		Before:   "\tif !now.After(newest) {\n",
		After:    "\tif false {\n",
		Findings: []string{"time-order/"},
	},
	{
		Name: "record ahead of the clock stays", File: "internal/lifecycle/reapply.go",
		Before:   "\tif newest.Sub(now) > clockSlack {\n",
		After:    "\tif false {\n",
		Findings: []string{"time-order/ahead"},
	},
	{
		Name: "pod before record", File: "internal/controller/node/execute.go",
		Before:   "\tfor _, write := range writes {\n",
		After:    "\tfor _, i := range p.items {\n\t\tif err := r.changePods(ctx, p, i); err != nil {\n\t\t\tp.errs = append(p.errs, err)\n\t\t}\n\t}\n\tfor _, write := range writes {\n",
		Findings: []string{"two-pods/", "beside-interrupt/", "interrupt-uncordoned/", "stage-order/", "dependency/", "rebooted-twice/", "budget/", "timeout-early/"},
	},
	{
		Name: "interrupt not checked again after an edit", File: "internal/lifecycle/breakoff.go",
		Before:   "if p.rebooted(owner) || !p.obsolete(owner) {",
		After:    "if running || true {",
		Findings: []string{"cure-in-vain/", "never-complete/", "no-cure/", "no-reason/", "waits-for-nobody/", "cycle/", "no-rest/", "cordon-left/", "permit-left/", "pod-left/"},
	},
	{
		Name: "permit taken back unacknowledged", File: "internal/rollout/grant.go",
		Before:   "\t\t\tif n.FinishedPermit != p.Token() {\n\t\t\t\tf.add(*p, int32(i))",
		After:    "\t\t\tif n.FinishedPermit != p.Token() && (n.Facts.InProgress || n.Facts.Disturbed) {\n\t\t\t\tf.add(*p, int32(i))",
		Findings: []string{"budget/", "stage-order/", "cycle/", "no-rest/"},
	},
	{
		Name: "pods of the operator before not looked for", File: "internal/controller/node/proof.go",
		Before:   "first := !p.wrote.proved && (",
		After:    "first := false && (",
		Findings: []string{"two-pods/", "beside-interrupt/"},
	},
	{
		Name: "a loss keeps its run", File: "internal/lifecycle/run.go",
		Before:   "e.State, e.Run = v1alpha1.StateInProgress, p.nextRun(e.Run) // so",
		After:    "e.State = v1alpha1.StateInProgress // so",
		Findings: []string{"overcounted/"},
	},
	{
		Name: "boot accepted by its own Skyhook alone", File: "internal/lifecycle/reapply.go",
		Before:   "ours := p.Node.OwnReboot || p.out.InFlight.IsReboot()",
		After:    "ours := p.out.InFlight.OwnedBy(p.Skyhook) && p.out.InFlight.IsReboot()",
		Findings: []string{"reboots-forever/", "cycle/reboots", "no-rest/reboots"},
	},
	{
		Name: "a held node keeps its failing pod", File: "internal/lifecycle/run.go",
		Before:   "\tcase p.Hold != nil && pod.idle():\n",
		After:    "\tcase false:\n",
		Findings: []string{"runs-while-held/", "no-cure/WaitingForOtherPods"},
	},
	{
		Name: "permit before dependencies", File: "internal/lifecycle/gates.go",
		Before:   "\treturn p.ask(u, placeGates) && p.ask(u, turnGates)",
		After:    "\treturn p.ask(u, turnGates) && p.ask(u, placeGates)",
		Findings: []string{"cycle/permit", "no-rest/", "no-reason/"},
	},
	{
		Name: "a forged record is believed", File: "internal/controller/state/seal.go",
		Before:   "|| sn.Vouches(s, node, n) {",
		After:    "|| true {",
		Findings: []string{"taint-early/"},
	},
	{
		Name: "a forged record is sealed", File: "internal/controller/node/pass.go",
		Before:   "i.seals = s.Status.SealedSince != nil && p.snapshot.Vouches(s, p.node, n)",
		After:    "i.seals = s.Status.SealedSince != nil",
		Findings: []string{"taint-early/"},
	},
	{
		Name: "a new node is believed before it is tainted", File: "internal/controller/state/seal.go",
		Before:   "return taint.Has(node, sn.runtime) || slices",
		After:    "return taint.Has(node, sn.runtime) || false && slices",
		Findings: []string{"taint-missing/"},
	},
}

// apply plants the bug into the text of its file. A text that is not there, or not just once, is an error: the engine has
// changed, and the bug has to be written anew.
func (m Mutant) apply(text string) (string, error) {
	if n := strings.Count(text, m.Before); n != 1 {
		return "", fmt.Errorf("the text to replace is in %s %d times, not once; adapt it to the code as it is now:\n%s", m.File, n, m.Before)
	}
	return strings.Replace(text, m.Before, m.After, 1), nil
}
