package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// rebootLimit is how long a reboot may take unless the package sets stageTimeout. Servers with much memory or many
// disks need ten minutes.
const rebootLimit = 20 * time.Minute

// Exit codes of a process that SIGKILL or SIGTERM ended, as the end of a node's life does, and of one whose end the
// container runtime did not see.
var goingDown = []int32{137, 143, 255}

// interrupting reports whether the Skyhook's interrupt is in flight on the node.
func (v view) interrupting() bool {
	_, runs := v.interruptOwner()
	return runs || v.out.InFlight.OwnedBy(v.Skyhook)
}

// InFlightOf returns the interrupt that the record of a Skyhook says is in flight, for a node whose annotation does not
// say so: it was written by an earlier version, or the annotation was removed. Nil when none is.
func InFlightOf(skyhook string, n record.Node) *record.Interrupt {
	if e, running := interruptOwner(n); running {
		return inFlight(skyhook, e, n.Packages)
	}
	return nil
}

// interruptOwner returns the entry that runs the interrupt of this Skyhook that is in flight.
func (v view) interruptOwner() (record.Entry, bool) { return interruptOwner(v.out.Record) }

func interruptOwner(n record.Node) (record.Entry, bool) {
	for _, e := range situation.Sorted(n.Packages) {
		if record.IsInterrupt(e.Stage) && e.Active() && !situation.Exhausted(e) {
			return e, true
		}
	}
	return record.Entry{}, false
}

// AskedForReboot reports whether the record says that a reboot was asked for on another boot than the given one, and
// its entries are not complete yet.
func AskedForReboot(n record.Node, bootID string) bool {
	for _, e := range n.Packages {
		pending := record.IsInterrupt(e.Stage) && e.State != v1alpha1.StateComplete && !situation.Superseded(n, e) && !situation.Exhausted(e)
		if pending && isReboot(e) && e.BootID != "" && e.BootID != bootID {
			return true
		}
	}
	return false
}

func inFlight(skyhook string, owner record.Entry, entries map[string]record.Entry) *record.Interrupt {
	i := &record.Interrupt{Skyhook: skyhook, BootID: owner.BootID, Run: owner.Run, Since: owner.Since}
	if owner.Interrupt != nil { // else another operator began it, which kept none
		i.Type, i.Services = owner.Interrupt.Type, owner.Interrupt.Services
	}
	for key, e := range situation.Sorted(entries) {
		if key == owner.Key() || record.IsInterrupt(e.Stage) && mergedInto(e, owner) {
			i.Packages = append(i.Packages, key)
		}
	}
	return i
}

// interrupts takes the steps of the interrupt of a node, which is one for all packages.
type interrupts struct{ *pass }

// watchInterrupt looks after the interrupt in flight. It comes before the packages, so that their post-interrupt stages
// start in the same pass.
func (p interrupts) watchInterrupt() {
	p.breakOff()
	e, running := p.interruptOwner()
	if !running {
		p.releaseInterrupt() // so that what it was merged of may begin another one in this pass
		p.adoptOrphans()
		return
	}
	p.ownInterrupt(e)
	pod, found := p.podOf(e)
	if found {
		p.claimed[pod.Name] = true
		e.Rejected, e.RejectedAt = 0, metav1.Time{} // the refusals are over, and must not lengthen a later pause
	}
	switch {
	case p.rebooted(e):
		p.completeInterrupt(e, pod, found)
	case p.Hold != nil && p.maySuspend(e, pod, found):
		p.suspendInterrupt(e, pod, found)
	case !found:
		p.ensureInterrupt(&e)
	case pod.Elsewhere && !pod.Terminating: // the one that follows may get its image
		p.out.take(Step{Delete: &pod})
		p.waitForEnd(e, pod)
	case isReboot(e):
		p.watchReboot(&e, pod)
	case pod.Outcome == Done:
		p.completeInterrupt(e, pod, found)
	case p.overTime(&e, p.DefinitionOf(e).Package, pod):
	case pod.Terminating:
		p.waitForEnd(e, pod)
	default:
		p.judge(&e, p.DefinitionOf(e).Package, pod)
	}
}

// ownInterrupt sees to it that the interrupt in flight is the one that the entries tell of.
func (p interrupts) ownInterrupt(owner record.Entry) {
	if p.out.InFlight == nil {
		p.out.InFlight = inFlight(p.Skyhook, owner, p.out.Record.Packages)
	}
}

// releaseInterrupt ends the interrupt in flight of this Skyhook once no entry runs it and no pod of it is left.
func (p interrupts) releaseInterrupt() {
	_, running := p.interruptOwner()
	left := slices.ContainsFunc(p.Pods, func(pod Pod) bool { return record.IsInterrupt(pod.Stage) && pod.Outcome != Lost })
	if p.out.InFlight.OwnedBy(p.Skyhook) && !running && !left && p.Node.InterruptPods == 0 {
		p.out.InFlight = nil
	}
}

func isReboot(e record.Entry) bool {
	return e.Interrupt != nil && e.Interrupt.Type == v1alpha1.InterruptReboot
}

// rebooted reports whether the node came back from the reboot that the entry asked for. Only the boot id tells: the
// pod may have ended in any way.
func (v view) rebooted(e record.Entry) bool {
	return isReboot(e) && v.Node.Ready && e.BootID != "" && v.Node.BootID != "" && e.BootID != v.Node.BootID
}

// underWay reports whether the node may be going down, or coming up, for the reboot that the entry asked for.
func (v view) underWay(e record.Entry, pod Pod, found bool) bool {
	late := e.State == v1alpha1.StateErroring && e.Reason == v1alpha1.ReasonRebootTimeout
	if !isReboot(e) || late && v.Node.Ready && v.Node.BootID == e.BootID {
		return false // it does not come; should it come after all, the boot id tells
	}
	ends := found && (pod.Outcome == Done || pod.Outcome == Running || pod.Terminating || pod.Shutdown ||
		pod.Outcome == Failing && slices.Contains(goingDown, pod.ExitCode))
	return ends || !v.Node.Ready || v.Node.BootID != e.BootID
}

// watchReboot waits for the boot id to change. A pod that ended as the node went down is no failure.
func (p interrupts) watchReboot(e *record.Entry, pod Pod) {
	limit, pkg := p.rebootLimit(*e), p.DefinitionOf(*e).Package
	left := p.began(*e, pod).Add(limit).Sub(p.Now)
	late := e.State == v1alpha1.StateErroring && e.Reason == v1alpha1.ReasonRebootTimeout // whatever another clock says
	if left <= 0 || late {
		message := p.notBack(*e, limit)
		if pod.Outcome == Failing && !p.underWay(*e, pod, true) {
			message += "; " + pod.Message
		}
		p.failWith(e, v1alpha1.ReasonRebootTimeout, message, e.Restarts)
		return
	}
	p.out.lookAgain(left)
	if p.underWay(*e, pod, true) {
		p.recovered(e)
		p.waitNode(p.rebootWait(*e))
		return
	}
	p.judge(e, pkg, pod)
}

// rebootWait says how far a reboot has come that is waited for.
func (v view) rebootWait(e record.Entry) *record.Wait {
	message := "the node was told to reboot, and its boot id has not changed yet"
	switch {
	case v.Node.BootID == "":
		message = "the node was told to reboot and does not report its boot id; if that lasts, look at its kubelet"
	case v.Node.BootID != e.BootID:
		message = "the node has rebooted and is not Ready yet; if that lasts, look at its kubelet"
	}
	return newWait(e.Name, v1alpha1.ReasonWaitingForReboot, message)
}

// notBack says how far a reboot came that takes too long.
func (v view) notBack(e record.Entry, limit time.Duration) string {
	switch {
	case v.Node.BootID != "" && v.Node.BootID != e.BootID:
		return fmt.Sprintf("the node rebooted, but is not Ready %s after it was told to reboot; look at its kubelet", limit)
	case !v.Node.Ready:
		return fmt.Sprintf("the node is not Ready and has not rebooted within %s; look at its console", limit)
	default:
		return fmt.Sprintf("the node did not reboot within %s; look at its console, or reboot it by hand", limit)
	}
}

// maySuspend reports whether the interrupt can be suspended while something holds the node: nothing of it runs.
func (v view) maySuspend(e record.Entry, pod Pod, found bool) bool {
	over := !found || pod.idle() || pod.Outcome == Lost || pod.Outcome == Done && isReboot(e)
	return over && !v.underWay(e, pod, found)
}

// suspendInterrupt ends the interrupt in flight of a held node, where nothing is retried, and which must not keep other
// Skyhooks off the node. For its packages it is pending again. A reboot that was asked for and comes late still counts:
// the entries keep the boot id.
func (p interrupts) suspendInterrupt(e record.Entry, pod Pod, found bool) {
	if found {
		if !pod.Terminating {
			p.out.take(Step{Delete: &pod})
		}
		p.waitForEnd(e, pod)
	}
	e.State, e.Since = v1alpha1.StateSkipped, p.stamp()
	p.put(e)
	p.releaseInterrupt()
}

// ensureInterrupt creates the missing pod of a running interrupt again. The agent knows what it did already by the
// run of the interrupt in flight.
func (p interrupts) ensureInterrupt(e *record.Entry) {
	switch {
	case p.DefinitionOf(*e).Missing || e.Interrupt == nil:
		// Nobody can build its pod any more, or knows what another operator ran. Those that it ran for find another owner.
		e.State = v1alpha1.StateSkipped
		p.put(*e)
		p.releaseInterrupt()
		return
	case isReboot(*e) && p.Node.BootID != e.BootID:
		p.awaitReady(e)
		return
	}
	u := unit{name: e.Name, pkg: p.DefinitionOf(*e).Package}
	if !p.ask(u, turnGates) || !p.waited(*e) || !p.aloneOnNode(e.Name) || !p.drain(e.Name) {
		return
	}
	p.another(e)
	p.start(*e)
}

// awaitReady waits for a node that has rebooted, for as long as a reboot may take.
func (p interrupts) awaitReady(e *record.Entry) {
	limit := p.rebootLimit(*e)
	if left := p.asked(*e).Add(limit).Sub(p.Now); left > 0 {
		p.out.lookAgain(left)
		p.waitNode(p.rebootWait(*e))
		return
	}
	p.failWith(e, v1alpha1.ReasonRebootTimeout, p.notBack(*e, limit), e.Restarts)
}

// asked is when a reboot was asked for that has no pod any more.
func (v view) asked(e record.Entry) time.Time {
	at := runStart(e)
	if v.out.InFlight != nil && v.out.InFlight.Since.After(at) {
		at = v.out.InFlight.Since.Time
	}
	if v.ahead(at) {
		return e.Since.Time // which is moved back, see presentTimes
	}
	return at
}

// rebootLimit is how long a reboot may take.
func (v view) rebootLimit(e record.Entry) time.Duration {
	if pkg := v.DefinitionOf(e).Package; pkg.StageTimeout != nil {
		return pkg.StageTimeout.Duration
	}
	return rebootLimit
}

// completeInterrupt ends the interrupt for its owner and for all that were merged into it.
func (p interrupts) completeInterrupt(owner record.Entry, pod Pod, found bool) {
	for key, e := range situation.Sorted(p.out.Record.Packages) {
		if !record.IsInterrupt(e.Stage) || key != owner.Key() && (!mergedInto(e, owner) || situation.Superseded(p.out.Record, e)) {
			continue
		}
		p.interrupted(e)
	}
	if found {
		p.out.take(Step{Delete: &pod})
		if pod.Outcome == Done {
			p.Pods = without(p.Pods, pod.Name)
		}
	}
	p.releaseInterrupt()
}

// interrupted ends the interrupt stage of an entry. After an uninstall it was the last one, also when the package is
// wanted again by now.
func (p interrupts) interrupted(e record.Entry) {
	e.State, e.Reason, e.Message, e.Since = v1alpha1.StateComplete, "", "", p.stamp()
	e.Attempts, e.AttemptsBefore = 0, 0
	p.put(e)
	if e.Stage == v1alpha1.StageUninstallInterrupt {
		p.uninstalled(e)
	}
}

// mergedInto reports whether the entry waits for this very interrupt. A skipped one may be left from an earlier one,
// such as that of a package that left the spec and came back.
func mergedInto(e, owner record.Entry) bool {
	return e.State == v1alpha1.StateSkipped && e.BootID == owner.BootID && reflect.DeepEqual(e.Interrupt, owner.Interrupt)
}

// adoptOrphans completes packages that were merged into a reboot which took place although its owner is removed. For
// others the interrupt is pending again, see pendingInterrupts.
func (p interrupts) adoptOrphans() {
	for _, e := range situation.Sorted(p.out.Record.Packages) {
		if record.IsInterrupt(e.Stage) && e.State == v1alpha1.StateSkipped && p.rebooted(e) && !situation.Superseded(p.out.Record, e) {
			p.interrupted(e)
		}
	}
}

// beginInterrupt starts one interrupt for all packages that need one, when nothing else is in progress on the node.
func (p interrupts) beginInterrupt() {
	if _, running := p.interruptOwner(); running {
		return
	}
	list := p.pendingInterrupts()
	if len(list) == 0 {
		return
	}
	first := list[0].entry
	u := unit{name: first.Name, pkg: list[0].pkg}
	if !p.ask(u, turnGates) || !p.othersIdle(first.Name) || !p.aloneOnNode(first.Name) {
		return
	}
	// The reboot that an orphan was merged into may be under way: it counts, see adoptOrphans.
	reboots := slices.ContainsFunc(list, func(d pendingInterrupt) bool { return isReboot(d.entry) })
	voids := p.Reapply.Reboots && p.otherBoot() || p.otherHost() // as soon as it is Ready, unless a Skyhook asked for the reboot
	if p.Node.BootID == "" || !p.Node.Ready && (reboots || voids) {
		p.waitNode(newWait(first.Name, v1alpha1.ReasonWaitingForReboot,
			"the interrupt cannot begin: the node does not report its boot id, or is rebooting; "+
				"if that lasts, look at its kubelet"))
		return
	}
	if p.drain(first.Name) {
		p.launch(list)
	}
}

// launch puts the merged interrupt in flight, in the name of one of the packages.
func (p interrupts) launch(list []pendingInterrupt) {
	owner, interrupt := merge(list)
	for _, d := range list {
		e := d.entry
		suspended := e.Stage == d.stage() && e.State == v1alpha1.StateSkipped && e.Hash == d.pkg.Hash
		if situation.Exhausted(e) {
			e.Generation = p.Generation
		}
		e.Stage, e.State, e.Reason, e.Message = d.stage(), v1alpha1.StateSkipped, "", ""
		if owner == "" { // what they were merged into is not known any more, and they need none themselves
			p.interrupted(e)
			continue
		}
		e.Since, e.Restarts, e.AttemptsBefore = p.stamp(), 0, e.Attempts
		if !suspended {
			e.Attempts, e.AttemptsBefore = 0, 0
		}
		e.Rejected, e.RejectedAt = 0, metav1.Time{}
		e.Interrupt, e.BootID, e.Run, e.Hash = &interrupt, p.Node.BootID, p.nextRun(e.Run), d.pkg.Hash
		if record.IsUninstall(e.Stage) {
			e.Config = d.pkg.Config // a change makes an uninstall need nothing more, and must not break its interrupt off
		}
		if e.Name == owner {
			e.State = v1alpha1.StateInProgress
		}
		p.put(e)
	}
	if e, running := p.interruptOwner(); running {
		p.out.InFlight = inFlight(p.Skyhook, e, p.out.Record.Packages)
		p.start(e)
	}
}
