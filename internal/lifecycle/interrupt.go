package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// rebootLimit is how long a reboot may take unless the package sets stageTimeout. Servers with much memory or many
// disks need ten minutes.
const rebootLimit = 20 * time.Minute

// Exit codes of a process that SIGKILL or SIGTERM ended, as the end of a node's life does.
const (
	exitKilled     = 137
	exitTerminated = 143
)

// activeInterrupt returns the entry that owns the interrupt running on the node, if any.
func (m *machine) activeInterrupt() (record.Entry, bool) {
	for _, key := range sortedKeys(m.out.Record.Packages) {
		if e := m.out.Record.Packages[key]; isInterrupt(e.Stage) && e.Active() {
			return e, true
		}
	}
	return record.Entry{}, false
}

// continueInterrupt looks after the interrupt that is running. It comes before the packages, so that their
// post-interrupt stages start in the same pass.
func (m *machine) continueInterrupt() {
	e, running := m.activeInterrupt()
	if !running {
		m.adoptOrphans()
		return
	}
	pod, found := m.podOf(e)
	if found {
		m.claimed[pod.Name] = true
	}
	switch {
	case m.rebooted(e):
		m.completeInterrupt(e, pod, found)
	case !found:
		m.ensureInterrupt(&e)
	case isReboot(e):
		m.watchReboot(&e, pod)
	case pod.Outcome == Done:
		m.completeInterrupt(e, pod, found)
	case pod.Terminating:
		m.wait(e.Name, ReasonPodTerminating, fmt.Sprintf("pod %s is being deleted; it is replaced when it has ended", pod.Name))
	default:
		if pkg := m.definition(e).Package; !m.overTime(&e, pkg, pod) {
			m.judge(&e, pkg, pod)
		}
	}
}

func isReboot(e record.Entry) bool {
	return e.Interrupt != nil && e.Interrupt.Type == v1alpha1.InterruptReboot
}

// rebooted reports whether the node came back from the reboot that the entry asked for. Only the boot id tells: the
// pod may have ended in any way.
func (m *machine) rebooted(e record.Entry) bool {
	return isReboot(e) && m.Node.Ready && e.BootID != "" && m.Node.BootID != "" && e.BootID != m.Node.BootID
}

// watchReboot waits for the boot id to change. A pod killed as the node goes down is no failure.
func (m *machine) watchReboot(e *record.Entry, pod Pod) {
	limit := rebootLimit
	pkg := m.definition(*e).Package
	if pkg.StageTimeout != nil {
		limit = pkg.StageTimeout.Duration
	}
	left := runStart(*e).Add(limit).Sub(m.Now)
	if left <= 0 {
		m.failWith(e, ReasonRebootTimeout, fmt.Sprintf("the node did not reboot within %s; look at its console, or reboot it by hand", limit), e.Restarts)
		return
	}
	m.lookAgain(left)
	goingDown := pod.Outcome == Failing && (pod.ExitCode == exitKilled || pod.ExitCode == exitTerminated)
	if pod.Outcome == Running || pod.Outcome == Done || pod.Terminating || goingDown || !m.Node.Ready {
		m.recovered(e)
		m.waitNode(e.Name, ReasonReboot, "the node is to reboot; its boot id has not changed yet")
		return
	}
	m.judge(e, pkg, pod)
}

// ensureInterrupt creates the missing pod of a running interrupt again. The agent knows what it did already by the
// resource id, which stays that of the run.
func (m *machine) ensureInterrupt(e *record.Entry) {
	if m.definition(*e).Missing || e.Interrupt == nil {
		// Nobody can build its pod any more, or knows what another operator ran. Those that it ran for find another owner.
		e.State = v1alpha1.StateSkipped
		m.put(*e)
		return
	}
	if isReboot(*e) && m.Node.BootID != e.BootID {
		m.waitNode(e.Name, ReasonReboot, "the node has rebooted and is not Ready yet")
		return
	}
	if m.remainsGivenUp(*e) || !m.mayWork(e.Name) || !m.waited(e) || !m.aloneOnNode(e.Name) || !m.quiet(e.Name) {
		return
	}
	if gaveUp(*e) {
		e.Generation, e.State, e.Restarts, e.Reason, e.Message = m.Generation, v1alpha1.StateInProgress, 0, "", ""
		e.Since, e.Run = metav1.NewTime(m.Now), m.nextRun(e.Run)
		m.put(*e)
	}
	m.start(*e)
}

// completeInterrupt ends the interrupt for its owner and for all that were merged into it.
func (m *machine) completeInterrupt(owner record.Entry, pod Pod, found bool) {
	for _, key := range sortedKeys(m.out.Record.Packages) {
		e := m.out.Record.Packages[key]
		if !isInterrupt(e.Stage) || key != owner.Key() && (!mergedInto(e, owner) || superseded(m.out.Record, e)) {
			continue
		}
		m.interrupted(e)
	}
	if m.Reapply && isReboot(owner) {
		m.out.Record.BootID = m.Node.BootID // our own reboot is no reason to start over
	}
	if found {
		m.out.Delete = append(m.out.Delete, pod)
		if pod.Outcome == Done {
			m.Pods = without(m.Pods, pod.Name)
		}
	}
}

// interrupted ends the interrupt stage of an entry. After an uninstall it was the last one, also when the package is
// wanted again by now.
func (m *machine) interrupted(e record.Entry) {
	e.State, e.Reason, e.Message, e.Since = v1alpha1.StateComplete, "", "", metav1.NewTime(m.Now)
	m.put(e)
	if e.Stage == v1alpha1.StageUninstallInterrupt {
		m.uninstalled(e)
	}
}

// mergedInto reports whether the entry waits for this very interrupt. A skipped one may be left from an earlier one, such as
// that of a package that left the spec and came back.
func mergedInto(e, owner record.Entry) bool {
	return e.State == v1alpha1.StateSkipped && e.BootID == owner.BootID && reflect.DeepEqual(e.Interrupt, owner.Interrupt)
}

// adoptOrphans completes packages that were merged into a reboot whose owner is gone but that took place. Others owe
// their interrupt again, see interruptDue.
func (m *machine) adoptOrphans() {
	for _, key := range sortedKeys(m.out.Record.Packages) {
		e := m.out.Record.Packages[key]
		if isInterrupt(e.Stage) && e.State == v1alpha1.StateSkipped && m.rebooted(e) && !superseded(m.out.Record, e) {
			m.interrupted(e)
		}
	}
}

// beginInterrupt starts one interrupt for all packages that owe one, when nothing else works on the node any more.
func (m *machine) beginInterrupt() {
	if _, running := m.activeInterrupt(); running {
		return
	}
	due := m.interruptDue()
	if len(due) == 0 {
		return
	}
	owner := due[0].entry.Name
	if !m.mayWork(owner) || !m.othersIdle(owner) || !m.aloneOnNode(owner) {
		return
	}
	// The reboot that an orphan was merged into may be under way: it counts, see adoptOrphans.
	if m.Node.BootID == "" || !m.Node.Ready && slices.ContainsFunc(due, func(d debt) bool { return isReboot(d.entry) }) {
		m.waitNode(owner, ReasonReboot, "the node does not report its boot id, or is rebooting")
		return
	}
	if !m.quiet(owner) {
		return
	}
	ownerName, interrupt := merge(due)
	for _, d := range due {
		e := d.entry
		e.Stage, e.State = d.stage(), v1alpha1.StateSkipped
		if ownerName == "" { // what they were merged into is known to nobody, and they owe nothing themselves
			m.interrupted(e)
			continue
		}
		e.Since, e.Restarts = metav1.NewTime(m.Now), 0
		e.Interrupt, e.BootID, e.Run = &interrupt, m.Node.BootID, m.nextRun(e.Run)
		if e.Name == ownerName {
			e.State = v1alpha1.StateInProgress
			m.start(e)
		}
		m.put(e)
	}
}

// debt is an entry that owes an interrupt, and its package.
type debt struct {
	entry record.Entry
	pkg   Package
}

// stage is the one in which the interrupt runs.
func (d debt) stage() v1alpha1.Stage {
	if uninstalling(d.entry) {
		return v1alpha1.StageUninstallInterrupt
	}
	return v1alpha1.StageInterrupt
}

// interruptDue returns the entries that owe an interrupt: those that come, then those that go, each in order of their
// names. A skipped one whose interrupt has no owner any more owes it again, so that nobody is stranded.
func (m *machine) interruptDue() []debt {
	var due []debt
	for _, name := range m.Packages.names() {
		pkg := m.Packages[name]
		e, ok := find(m.out.Record, name, pkg.Version)
		if _, leaves := m.leaving[e.Key()]; !ok || leaves || m.Deleting || pkg.applies() {
			continue
		}
		orphan := e.Stage == v1alpha1.StageInterrupt && e.State == v1alpha1.StateSkipped
		waiting := e.Stage == v1alpha1.StageConfig && e.State == v1alpha1.StateComplete && !configChanged(pkg, e) && len(owed(pkg, e)) > 0
		if orphan || waiting {
			due = append(due, debt{e, pkg})
		}
	}
	for _, key := range sortedKeys(m.leaving) {
		e, recorded := m.out.Record.Packages[key]
		undone := e.Stage == v1alpha1.StageUninstall && e.State == v1alpha1.StateComplete
		orphan := e.Stage == v1alpha1.StageUninstallInterrupt && e.State == v1alpha1.StateSkipped
		if recorded && !m.leaving[key].Missing && (undone || orphan) {
			due = append(due, debt{e, m.leaving[key].Package})
		}
	}
	return slices.DeleteFunc(due, func(d debt) bool {
		_, out := m.outOfTurn(d.entry.Name)
		return out
	})
}

// othersIdle reports whether no package of this Skyhook runs a stage of its own. One that is in the middle of a stage but
// has no pod waits for something, be it this interrupt, so nobody waits for it.
func (m *machine) othersIdle(name string) bool {
	for _, e := range m.relevant(m.out.Record) {
		if !e.Active() || !m.hasPod(e.Name) {
			continue
		}
		message := fmt.Sprintf("the interrupt waits until stage %s of package %s has ended", e.Stage, e.Name)
		if e.State == v1alpha1.StateErroring {
			message += "; it is erroring"
		}
		m.wait(name, ReasonInterrupt, message)
		return false
	}
	return true
}

// hasPod reports whether a pod of the package is on the node or starts now.
func (m *machine) hasPod(name string) bool {
	return slices.ContainsFunc(m.Pods, func(p Pod) bool { return p.Package == name }) ||
		slices.ContainsFunc(m.out.Start, func(s Start) bool { return s.Package == name })
}

// aloneOnNode reports whether no package pod of any Skyhook is left on the node.
func (m *machine) aloneOnNode(name string) bool {
	if n := len(m.Pods) + m.Node.OtherPods; n > 0 {
		m.wait(name, ReasonOtherPods, fmt.Sprintf("the interrupt waits until %d package pods have left the node", n))
		return false
	}
	return true
}

// rank orders interrupts by how much they include.
func rank(t v1alpha1.InterruptType) int {
	return slices.Index([]v1alpha1.InterruptType{
		v1alpha1.InterruptReboot, v1alpha1.InterruptRestartAllServices, v1alpha1.InterruptService, v1alpha1.InterruptNoop,
	}, t)
}

// merge makes one interrupt of all that are due, and names the package that runs it: the highest rank wins, services of
// equal rank are joined.
func merge(due []debt) (string, v1alpha1.Interrupt) {
	var (
		owner  string
		winner v1alpha1.Interrupt
	)
	for _, d := range due {
		for _, i := range d.owed() {
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

// owed returns the interrupts of the debt; for an orphan that owes nothing by the spec as it is now, what it was merged
// into. An uninstall owes the package's own.
func (d debt) owed() []v1alpha1.Interrupt {
	list := owed(d.pkg, d.entry)
	if len(list) == 0 && d.entry.Interrupt != nil {
		return []v1alpha1.Interrupt{*d.entry.Interrupt}
	}
	return list
}
