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
	closed func(view, unit) *record.Wait
}

// gates are asked in this order, and the first that is closed gives the reason. Those before them see no package: a
// record that cannot be read, and Hold, which has what is outside of the packages: deleted or disabled, paused, invalid
// spec, excluded node, taint, an earlier Skyhook, another Skyhook's interrupt in flight. The last one, drained, comes
// after the record of a step is known: it depends on whether an interrupt will follow.
var gates = []gate{
	{name: "hold", turn: true, closed: gateHold},
	{name: "interrupt in flight", closed: gateInterrupt},
	{name: "image allowed", turn: true, closed: gateImage},
	{name: "dependencies", closed: gateDependencies},
	{name: "permit", turn: true, closed: gatePermit},
	{name: "serial turn", turn: true, closed: gateSerial},
	{name: "config map in place", closed: gateConfigMap},
	{name: "earlier pod gone", closed: gateEarlierPod},
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
		if w := g.closed(p.view, u); w != nil {
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

func gateHold(v view, u unit) *record.Wait {
	if v.Hold == nil {
		return nil
	}
	w := v.Hold.Wait
	w.Package = u.name
	return &w
}

func gateInterrupt(v view, u unit) *record.Wait {
	if _, runs := v.interruptOwner(); runs {
		return newWait(u.name, v1alpha1.ReasonWaitingForInterrupt,
			"an interrupt of this Skyhook is in flight on the node; work continues when it is done")
	}
	if v.Node.InterruptPods > 0 {
		return newWait(u.name, v1alpha1.ReasonWaitingForInterrupt, fmt.Sprintf(
			"pod %s of an interrupt of another Skyhook, or of a deleted one, is still on the node",
			v.Node.InterruptPod)+lookAt(v.Node.InterruptPod))
	}
	return nil
}

func gatePermit(v view, u unit) *record.Wait {
	switch {
	case v.Permit != nil:
		return nil
	case v.revoked != nil && v.Record.Begun:
		return newWait(u.name, v1alpha1.ReasonWaitingForPermit,
			"the node is half done with what the spec said before, and keeps its place; it continues as a member of the next "+
				"batch, or once a stopped rollout is continued")
	}
	return newWait(u.name, v1alpha1.ReasonWaitingForPermit,
		"the node has no permit yet: other nodes use the whole budget, "+
			"or the current batch is not over; to let more nodes work at a time, raise spec.interruptionBudget")
}

func gateSerial(v view, u unit) *record.Wait {
	if turn, out := v.outOfTurn(u.name); out {
		return newWait(u.name, v1alpha1.ReasonWaitingForSerial, fmt.Sprintf(
			"package %s runs first, because spec.serial is true", turn))
	}
	for _, pod := range v.Pods { // also of one that left the spec
		if v.Serial && pod.Package != u.name && pod.Outcome != Done {
			return pod.holds(newWait(u.name, v1alpha1.ReasonWaitingForSerial, fmt.Sprintf(
				"pod %s of package %s has not ended yet, and spec.serial is true", pod.Name, pod.Package)))
		}
	}
	return nil
}

// gateImage lets no image run that the cluster does not allow, also for the uninstall of what it did when it was
// allowed. A package that has to have a digest may run by the one that is pinned: the spec may not name it any more.
func gateImage(v view, u unit) *record.Wait {
	problem := u.pkg.Refused
	if _, ok := v.Pins.of(u.pkg, u.name, v.Node); problem == "" && !ok {
		problem = u.pkg.Undigested
	}
	if problem == "" {
		return nil
	}
	if u.removed() {
		if e := v.out.Record.Packages[u.key]; !v.DefinitionOf(e).FromSpec { // what it was installed with cannot be corrected
			problem += fmt.Sprintf("; to correct it, put version %s back into spec.packages, with uninstall.apply: true",
				e.Version)
		}
		problem += "; or " + leaveOnNode
	}
	return newWait(u.name, v1alpha1.ReasonImageNotAllowed, problem)
}

// gateDependencies has a package wait for what it depends on, and its uninstall for the uninstall of what depends on
// it. It is asked before the permit: a node that could not use one must not get one, and give it back, in turns.
func gateDependencies(v view, u unit) *record.Wait {
	if u.removed() {
		if other, left := v.dependent(v.out.Record.Packages[u.key]); left {
			return newWait(u.name, v1alpha1.ReasonWaitingForDependent, fmt.Sprintf(
				"package %s is uninstalled first, because it depends on this one", other))
		}
		return nil
	}
	return unmet(v, u.name, u.pkg)
}

// gateConfigMap asks whether the ConfigMap that the pod would mount holds what it should.
func gateConfigMap(v view, u unit) *record.Wait {
	ready := v.RetainedReady[u.pkg.Definition]
	if spec, ok := v.Packages[u.name]; ok && version.Same(spec.Version, u.pkg.Version) {
		ready = v.ConfigReady[u.name]
	}
	if ready {
		return nil
	}
	return newWait(u.name, v1alpha1.ReasonWaitingForConfigMap, fmt.Sprintf(
		"the operator has not written the ConfigMap of this package yet; if that lasts, see `kubectl describe skyhook %s`",
		v.Skyhook))
}

// gateEarlierPod waits for pods of an earlier run, and for what is left of an interrupt: nothing runs beside one, also
// when it is done with, or nobody wants it any more.
func gateEarlierPod(v view, u unit) *record.Wait {
	for _, pod := range v.Pods {
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
func unmet(v view, name string, pkg situation.Package) *record.Wait {
	var first *record.Wait
	for _, dep := range slices.Sorted(maps.Keys(pkg.DependsOn)) {
		w := unmetOne(v, name, dep, pkg.DependsOn[dep])
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
func unmetOne(v view, name, dep, wanted string) *record.Wait {
	other, ok := v.Packages[dep]
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
	case !v.PackageComplete(v.out.Record, dep):
		return newWait(name, v1alpha1.ReasonWaitingForDependency, fmt.Sprintf(
			"package %s %s, on which this one depends, is not complete on the node yet", dep, wanted))
	}
	return nil
}
