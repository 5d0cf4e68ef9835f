package lifecycle

import (
	"fmt"
	"maps"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// gate is one thing that may keep a new pod of a package from being started. It returns the reason while it is closed.
type gate struct {
	name string
	// turn says that it is about whether it is the node's or the package's turn, and not about what is there.
	turn   bool
	closed func(*pass, unit) *Wait
}

// gates are asked in this order, and the first that is closed gives the reason. Those before them see no package: a record
// that cannot be read, and Hold, which has what is outside of the packages: deleted or disabled, paused, invalid spec,
// excluded node, taint, an earlier Skyhook, another Skyhook's interrupt in flight. The last one, drained, comes after the
// record of a step is known: it depends on whether an interrupt will follow.
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
	names := []string{"malformed record", "hold (deleted or disabled, paused, invalid spec, excluded node, taint, earlier Skyhook, interrupt of another Skyhook)"}
	for _, g := range gates[1:] {
		names = append(names, g.name)
	}
	return append(names, "drained")
}

// open reports whether a stage of a unit may begin, and notes the reason when not.
func (p *pass) open(u unit) bool { return p.ask(u, gates) }

// openAgain reports the same for a stage that has begun and lost its pod. Its turn comes last: a node that fails says that
// it lacks its turn only if that is all it lacks, since it gets its turn for saying so.
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
			p.shut(w)
			return false
		}
	}
	return true
}

// shut notes the reason of a closed gate. The hold is noted once for the node, see finish.
func (p *pass) shut(w *Wait) {
	if p.Hold == nil || w.Reason != p.Hold.Reason {
		p.wait(w)
	}
}

func (p *pass) gateHold(u unit) *Wait {
	if p.Hold == nil {
		return nil
	}
	w := p.Hold.Wait
	w.Package = u.name
	return &w
}

func (p *pass) gateInterrupt(u unit) *Wait {
	if _, runs := p.interruptOwner(); runs {
		return newWait(u.name, v1alpha1.ReasonWaitingForInterrupt, "an interrupt is running on the node")
	}
	if p.Node.InterruptPods > 0 {
		return newWait(u.name, v1alpha1.ReasonWaitingForInterrupt, fmt.Sprintf(
			"pod %s of another Skyhook's interrupt, or of one that is gone, is still on the node", p.Node.InterruptPod)+lookAt(p.Node.InterruptPod))
	}
	return nil
}

func (p *pass) gatePermit(u unit) *Wait {
	if p.Permit != nil {
		return nil
	}
	return newWait(u.name, v1alpha1.ReasonWaitingForPermit, "the node has no permit to work yet: the budget, or the batch, is used by other nodes")
}

func (p *pass) gateSerial(u unit) *Wait {
	if turn, out := p.outOfTurn(u.name); out {
		return newWait(u.name, v1alpha1.ReasonWaitingForSerial, fmt.Sprintf("spec.serial is true and it is the turn of package %s", turn))
	}
	return nil
}

// gateImage lets no image run that the cluster does not allow, also to undo what it did when it was allowed. A package that has
// to have a digest may run by the one that is pinned: the spec may have forgotten it.
func (p *pass) gateImage(u unit) *Wait {
	problem := u.pkg.Refused
	if _, ok := p.Pins.of(u.pkg, u.name, p.Node); problem == "" && !ok {
		problem = u.pkg.Undigested
	}
	if problem == "" {
		return nil
	}
	if u.leaves() {
		if e := p.out.Record.Packages[u.key]; !p.definition(e).FromSpec { // what it was installed with cannot be corrected
			problem += fmt.Sprintf("; for that put version %s back into spec.packages, with uninstall.apply=true", e.Version)
		}
		problem += "; or leave it on the node with the annotation " + v1alpha1.AnnotationAbandonUninstall
	}
	return newWait(u.name, v1alpha1.ReasonImageNotAllowed, problem)
}

// gateDependencies lets what a package is built on come first, and what is built on it leave first. It is asked before the
// permit: a node that could not use one must not get one, and give it back, in turns.
func (p *pass) gateDependencies(u unit) *Wait {
	if u.leaves() {
		if other, left := p.dependent(p.out.Record.Packages[u.key]); left {
			return newWait(u.name, v1alpha1.ReasonWaitingForDependent, fmt.Sprintf("package %s depends on it and is uninstalled first", other))
		}
		return nil
	}
	return p.unmet(u.name, u.pkg)
}

// gateConfigMap asks whether the ConfigMap that the pod would mount holds what it should.
func (p *pass) gateConfigMap(u unit) *Wait {
	ready := p.RetainedReady[u.pkg.Definition]
	if spec, ok := p.Packages[u.name]; ok && sameVersion(spec.Version, u.pkg.Version) {
		ready = p.ConfigReady[u.name]
	}
	if ready {
		return nil
	}
	return newWait(u.name, v1alpha1.ReasonWaitingForConfigMap, "the ConfigMap does not hold this package's configMap yet")
}

// gateEarlierPod waits for pods of an earlier run, and for what is left of an interrupt: nothing runs beside one, also when
// it is done with, or nobody wants it any more.
func (p *pass) gateEarlierPod(u unit) *Wait {
	for _, pod := range p.Pods {
		if pod.Package == u.name || isInterrupt(pod.Stage) {
			return newWait(u.name, v1alpha1.ReasonWaitingForPodToEnd, fmt.Sprintf("pod %s of an earlier run has not ended yet", pod.Name))
		}
	}
	return nil
}

// unmet returns the dependency that keeps a package from starting, as a reason to wait; nil when all are complete on the
// node. One that only another spec mends comes before those that may become complete: else the author hears of it only after
// these, and the node holds a permit meanwhile.
func (p *pass) unmet(name string, pkg Package) *Wait {
	var first *Wait
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
func (p *pass) unmetOne(name, dep, version string) *Wait {
	other, ok := p.Packages[dep]
	switch {
	case !ok || !sameVersion(other.Version, version):
		return newWait(name, v1alpha1.ReasonDependencyMissing, fmt.Sprintf(
			"spec.packages.%s.dependsOn names %s %s, which is not in spec.packages", name, dep, version))
	case other.applies():
		return newWait(name, v1alpha1.ReasonDependencyUninstalled, fmt.Sprintf(
			"depends on %s %s, which is to be uninstalled (uninstall.apply is true)", dep, version))
	case !packageComplete(p.out.Record, dep, other):
		return newWait(name, v1alpha1.ReasonWaitingForDependency, fmt.Sprintf("depends on %s %s, which is not complete on this node", dep, version))
	}
	return nil
}
