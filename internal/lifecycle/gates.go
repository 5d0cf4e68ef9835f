package lifecycle

import (
	"fmt"
	"maps"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// gate is one thing that may keep a new pod of a package from being started. It returns the reason while it is closed.
type gate struct {
	name string
	// turn says that it is about whether it is the node's or the package's turn, and not about what is there.
	turn   bool
	closed func(*pass, unit) *record.Wait
}

// gates are asked in this order, and the first that is closed gives the reason. Those before them see no package: a
// record that cannot be read, and Hold, which has what is outside of the packages: deleted or disabled, paused, invalid
// spec, excluded node, taint, an earlier Skyhook, another Skyhook's interrupt in flight. The last one, drained, comes
// after the record of a step is known: it depends on whether an interrupt will follow.
var gates = []gate{
	{name: "hold", turn: true, closed: (*pass).gateHold},
	{name: "interrupt in flight", closed: (*pass).gateInterrupt},
	{name: "image allowed", turn: true, closed: (*pass).gateImage},
	{name: "dependencies", closed: (*pass).gateDependencies},
	{name: "permit", turn: true, closed: (*pass).gatePermit},
	{name: "serial turn", turn: true, closed: (*pass).gateSerial},
	{name: "config map in place", closed: (*pass).gateConfigMap},
	{name: "earlier pod gone", closed: (*pass).gateEarlierPod},
}

// Gates are the names of the gates, in order.
func Gates() []string {
	names := []string{
		"malformed record",
		"hold (deleted or disabled, paused, all stopped, invalid spec, excluded node, taint, earlier Skyhook, " +
			"interrupt of another Skyhook)",
	}
	for _, g := range gates[1:] {
		names = append(names, g.name)
	}
	return append(names, "drained")
}

// open reports whether a stage of a unit may begin, and notes the reason when not.
func (p *pass) open(u unit) bool { return p.ask(u, gates) }

// openAgain reports the same for a stage that has begun and lost its pod. The gates about its turn come last: a node
// that fails tells that it lacks its turn only if it lacks nothing else, because that gets it its turn.
func (p *pass) openAgain(u unit) bool {
	return p.ask(u, placeGates) && p.ask(u, turnGates)
}

// turnGates are about whose turn it is, which is all that an interrupt is asked; placeGates, about what is on the node.
var (
	turnGates  = slices.DeleteFunc(slices.Clone(gates), func(g gate) bool { return !g.turn })
	placeGates = slices.DeleteFunc(slices.Clone(gates), func(g gate) bool { return g.turn })
)

func (p *pass) ask(u unit, list []gate) bool {
	for _, g := range list {
		if w := g.closed(p, u); w != nil {
			p.noteClosed(w)
			return false
		}
	}
	return true
}

// noteClosed notes the reason of a closed gate. The hold is noted once for the node, see finish.
func (p *pass) noteClosed(w *record.Wait) {
	if p.Hold == nil || w.Reason != p.Hold.Reason {
		p.wait(w)
	}
}

func (p *pass) gateHold(u unit) *record.Wait {
	if p.Hold == nil {
		return nil
	}
	w := p.Hold.Wait
	w.Package = u.name
	return &w
}

func (p *pass) gateInterrupt(u unit) *record.Wait {
	if _, runs := p.interruptOwner(); runs {
		return newWait(u.name, v1alpha1.ReasonWaitingForInterrupt,
			"an interrupt of this Skyhook is in flight on the node; work continues when it is done")
	}
	if p.Node.InterruptPods > 0 {
		return newWait(u.name, v1alpha1.ReasonWaitingForInterrupt, fmt.Sprintf(
			"pod %s of an interrupt of another Skyhook, or of a deleted one, is still on the node",
			p.Node.InterruptPod)+lookAt(p.Node.InterruptPod))
	}
	return nil
}

func (p *pass) gatePermit(u unit) *record.Wait {
	switch {
	case p.Permit != nil:
		return nil
	case p.revoked != nil && p.Record.Begun:
		return newWait(u.name, v1alpha1.ReasonWaitingForPermit,
			"the node is half done with what the spec said before, and keeps its place; it continues as a member of the next "+
				"batch, or once a stopped rollout is continued")
	}
	return newWait(u.name, v1alpha1.ReasonWaitingForPermit,
		"the node has no permit yet: other nodes use the whole budget, "+
			"or the current batch is not over; to let more nodes work at a time, raise spec.interruptionBudget")
}

func (p *pass) gateSerial(u unit) *record.Wait {
	if turn, out := p.outOfTurn(u.name); out {
		return newWait(u.name, v1alpha1.ReasonWaitingForSerial, fmt.Sprintf(
			"package %s runs first, because spec.serial is true", turn))
	}
	for _, pod := range p.Pods { // also of one that left the spec
		if p.Serial && pod.Package != u.name && pod.Outcome != Done {
			return pod.holds(newWait(u.name, v1alpha1.ReasonWaitingForSerial, fmt.Sprintf(
				"pod %s of package %s has not ended yet, and spec.serial is true", pod.Name, pod.Package)))
		}
	}
	return nil
}

// gateImage lets no image run that the cluster does not allow, also for the uninstall of what it did when it was
// allowed. A package that has to have a digest may run by the one that is pinned: the spec may not name it any more.
func (p *pass) gateImage(u unit) *record.Wait {
	problem := u.pkg.Refused
	if _, ok := p.Pins.of(u.pkg, u.name, p.Node); problem == "" && !ok {
		problem = u.pkg.Undigested
	}
	if problem == "" {
		return nil
	}
	if u.removed() {
		if e := p.out.Record.Packages[u.key]; !p.DefinitionOf(e).FromSpec { // what it was installed with cannot be corrected
			problem += fmt.Sprintf("; to correct it, put version %s back into spec.packages, with uninstall.apply: true",
				e.Version)
		}
		problem += "; or " + leaveOnNode
	}
	return newWait(u.name, v1alpha1.ReasonImageNotAllowed, problem)
}

// gateDependencies has a package wait for what it depends on, and its uninstall for the uninstall of what depends on
// it. It is asked before the permit: a node that could not use one must not get one, and give it back, in turns.
func (p *pass) gateDependencies(u unit) *record.Wait {
	if u.removed() {
		if other, left := p.dependent(p.out.Record.Packages[u.key]); left {
			return newWait(u.name, v1alpha1.ReasonWaitingForDependent, fmt.Sprintf(
				"package %s is uninstalled first, because it depends on this one", other))
		}
		return nil
	}
	return p.unmet(u.name, u.pkg)
}

// gateConfigMap asks whether the ConfigMap that the pod would mount holds what it should.
func (p *pass) gateConfigMap(u unit) *record.Wait {
	ready := p.RetainedReady[u.pkg.Definition]
	if spec, ok := p.Packages[u.name]; ok && version.Same(spec.Version, u.pkg.Version) {
		ready = p.ConfigReady[u.name]
	}
	if ready {
		return nil
	}
	return newWait(u.name, v1alpha1.ReasonWaitingForConfigMap, fmt.Sprintf(
		"the operator has not written the ConfigMap of this package yet; if that lasts, see kubectl describe skyhook %s",
		p.Skyhook))
}

// gateEarlierPod waits for pods of an earlier run, and for what is left of an interrupt: nothing runs beside one, also
// when it is done with, or nobody wants it any more.
func (p *pass) gateEarlierPod(u unit) *record.Wait {
	for _, pod := range p.Pods {
		if pod.Package == u.name || record.IsInterrupt(pod.Stage) {
			return pod.holds(newWait(u.name, v1alpha1.ReasonWaitingForPodToEnd,
				fmt.Sprintf("pod %s of an earlier run has not ended yet", pod.Name)))
		}
	}
	return nil
}

// unmet returns the dependency that keeps a package from starting, as a reason to wait; nil when all are complete on
// the node. One that only another spec fixes comes before those that may become complete: else the author hears of it
// only after these, and the node holds a permit meanwhile.
func (p *pass) unmet(name string, pkg situation.Package) *record.Wait {
	var first *record.Wait
	for _, dep := range slices.Sorted(maps.Keys(pkg.DependsOn)) {
		w := p.unmetOne(name, dep, pkg.DependsOn[dep])
		switch {
		case w == nil:
		case w.Frees == record.FreesAuthor:
			return w
		case first == nil:
			first = w
		}
	}
	return first
}

// unmetOne returns what is missing of one dependency; nil when it is complete on the node.
func (p *pass) unmetOne(name, dep, wanted string) *record.Wait {
	other, ok := p.Packages[dep]
	switch {
	case !ok || !version.Same(other.Version, wanted):
		return newWait(name, v1alpha1.ReasonDependencyMissing, fmt.Sprintf(
			"spec.packages.%s.dependsOn names %s %s, which is not in spec.packages; add it, or correct dependsOn", name, dep,
			wanted))
	case other.UninstallAsked():
		return newWait(name, v1alpha1.ReasonDependencyUninstalled, fmt.Sprintf(
			"spec.packages.%s.dependsOn names %s %s, whose uninstall.apply is true; "+
				"set that to false, or remove it from dependsOn",
			name, dep, wanted))
	case !p.PackageComplete(p.out.Record, dep):
		return newWait(name, v1alpha1.ReasonWaitingForDependency, fmt.Sprintf(
			"package %s %s, on which this one depends, is not complete on the node yet", dep, wanted))
	}
	return nil
}
