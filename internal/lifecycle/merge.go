package lifecycle

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// pendingInterrupt is one that an entry needs, with the package that says which.
type pendingInterrupt struct {
	entry record.Entry
	pkg   situation.Package
}

// stage is the one in which the interrupt runs.
func (d pendingInterrupt) stage() v1alpha1.Stage {
	if record.IsUninstall(d.entry.Stage) {
		return v1alpha1.StageUninstallInterrupt
	}
	return v1alpha1.StageInterrupt
}

// pendingInterrupts returns those of packages that are installed, then those of packages that are removed, each in
// order of their names. One that was merged into an interrupt which has no owner any more is pending again.
func (v view) pendingInterrupts() []pendingInterrupt {
	var list []pendingInterrupt
	for _, u := range append(v.staying(), v.leaving()...) {
		e, recorded := v.recorded(u)
		if recorded && v.phase(u, &e) == situation.PhaseInterruptPending {
			list = append(list, pendingInterrupt{e, u.pkg})
		}
	}
	return slices.DeleteFunc(list, func(d pendingInterrupt) bool {
		_, out := v.outOfTurn(d.entry.Name)
		return out
	})
}

// recorded is entryOf without spelling it as the spec does.
func (v view) recorded(u unit) (record.Entry, bool) {
	if u.removed() {
		e, ok := v.out.Record.Packages[u.key]
		return e, ok
	}
	e, ok := situation.Find(v.out.Record, u.name, u.pkg.Version)
	_, removed := v.removals[e.Key()]
	return e, ok && !removed && !record.IsUninstall(e.Stage)
}

// othersIdle reports whether no package of this Skyhook runs a stage of its own. One that is in the middle of a stage
// but has no pod waits for something, maybe this interrupt, so nobody waits for it.
func (p interrupts) othersIdle(name string) bool {
	for _, e := range p.Relevant(p.out.Record) {
		if !e.Active() || !p.hasPod(e.Name) {
			continue
		}
		message := fmt.Sprintf("the interrupt waits until stage %s of package %s has ended", e.Stage, e.Name)
		if e.State == v1alpha1.StateErroring {
			message += ", which is erroring"
		}
		p.wait(newWait(name, v1alpha1.ReasonWaitingForInterrupt, message))
		return false
	}
	return true
}

// aloneOnNode reports whether no package pod of any Skyhook is left on the node.
func (p interrupts) aloneOnNode(name string) bool {
	n, first := len(p.Pods)+p.Node.OtherPods, p.Node.OtherPod
	if n == 0 {
		return true
	}
	if len(p.Pods) > 0 {
		pod := slices.MinFunc(p.Pods, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
		first = types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	}
	var message string
	switch {
	case first.Name == "": // one that another Skyhook starts in this very pass
		message = "the interrupt waits until a package pod of another Skyhook, which starts now, has left the node"
	case n == 1:
		message = fmt.Sprintf("the interrupt waits until package pod %s has left the node", first)
	default:
		message = fmt.Sprintf("the interrupt waits until package pod %s and %d more have left the node", first, n-1)
	}
	p.wait(newWait(name, v1alpha1.ReasonWaitingForOtherPods, message+lookAt(first)))
	return false
}

// lookAt is the command that shows why a pod is there; empty for none.
func lookAt(pod types.NamespacedName) string {
	if pod.Name == "" {
		return ""
	}
	return fmt.Sprintf("; `kubectl describe pod -n %s %s`", pod.Namespace, pod.Name)
}

// rank orders interrupts by how much they include.
func rank(t v1alpha1.InterruptType) int {
	return slices.Index(v1alpha1.InterruptTypes(), t)
}

// merge makes one interrupt of all that are pending, and names the package that runs it: the highest rank wins,
// services of equal rank are joined.
func merge(list []pendingInterrupt) (string, v1alpha1.Interrupt) {
	var (
		owner  string
		winner v1alpha1.Interrupt
	)
	for _, d := range list {
		for _, i := range d.interrupts() {
			switch {
			case owner == "" || rank(i.Type) < rank(winner.Type):
				owner, winner = d.entry.Name, *i.DeepCopy()
			case i.Type == winner.Type:
				winner.Services = union(winner.Services, i.Services)
			}
		}
	}
	slices.Sort(winner.Services)
	return owner, winner
}

// interrupts returns those of an entry; for an orphan that needs none by the spec as it is now, what it was merged
// into. An uninstall needs the package's own.
func (d pendingInterrupt) interrupts() []v1alpha1.Interrupt {
	needed := situation.InterruptsFor(d.pkg, d.entry)
	if len(needed) == 0 && d.entry.Interrupt != nil {
		return []v1alpha1.Interrupt{*d.entry.Interrupt}
	}
	return needed
}
