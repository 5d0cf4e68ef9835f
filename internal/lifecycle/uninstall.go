package lifecycle

import (
	"fmt"
	"iter"
	"maps"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/graph"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// uninstall begins the uninstall of a package version that has to be removed:
//
//	any stage -> uninstall -> [uninstall-interrupt] -> no entry
//
// An interrupt that runs is not broken off: it is waited for, see interrupt.go.
func (p *pass) uninstall(u unit, last record.Entry) {
	if !p.open(u) || u.pkg.Interrupt != nil && !p.drain(u.name) {
		return
	}
	e := p.begin(u, last, v1alpha1.StageUninstall)
	e.Version = last.Version
	p.put(e)
	p.start(e)
}

// uninstalled removes the entries of all versions of a package: none is on the host any more.
func (p *pass) uninstalled(e record.Entry) {
	for key, other := range situation.Sorted(p.out.Record.Packages) {
		if other.Name == e.Name {
			p.out.take(Step{RemoveEntry: key})
		}
	}
	p.out.take(Step{Tell: &Change{
		Package: e.Name, Version: e.Version, Stage: v1alpha1.StageUninstall, State: v1alpha1.StateComplete,
		Reason: v1alpha1.ReasonUninstalled, Message: fmt.Sprintf("package [%s:%s] is uninstalled", e.Name, e.Version),
	}})
}

// definitionMissing says that a package cannot be uninstalled.
func definitionMissing(e record.Entry) *record.Wait {
	return newWait(e.Name, v1alpha1.ReasonDefinitionMissing, fmt.Sprintf(
		"%s %s cannot be uninstalled: the operator has no definition of it; put this version back into spec.packages, "+
			"or "+leaveOnNode, e.Name, e.Version))
}

// leaveOnNode says how to leave a package that cannot be uninstalled.
const leaveOnNode = "leave it on the node: add the node to the Skyhook's annotation " +
	v1alpha1.AnnotationAbandonUninstall

// dependent returns a package that depends on this one and is still to be uninstalled, which comes first.
func (v view) dependent(e record.Entry) (name string, left bool) {
	for key := range situation.Sorted(v.removals) {
		other, recorded := v.out.Record.Packages[key]
		uninstalled := record.IsUninstall(other.Stage) && (other.State == v1alpha1.StateComplete ||
			other.Stage == v1alpha1.StageUninstallInterrupt)
		needs := v.needs[other.Name][e.Name] && !v.needs[e.Name][other.Name]
		if !recorded || uninstalled || other.Name == e.Name || !needs {
			continue
		}
		return other.Name, true
	}
	return "", false
}

// allNeeds is what each package that is removed depends on, be it through others, also such that stay.
func (v view) allNeeds() map[string]map[string]bool {
	dependencies := map[string]map[string]string{}
	for other, pkg := range v.Packages {
		dependencies[other] = pkg.DependsOn
	}
	for key, l := range v.removals {
		dependencies[v.out.Record.Packages[key].Name] = l.Package.DependsOn
	}
	edges := func(of string) iter.Seq[string] { return maps.Keys(dependencies[of]) }
	needs := map[string]map[string]bool{}
	for key := range v.removals {
		name := v.out.Record.Packages[key].Name
		needs[name] = map[string]bool{}
		for dep := range graph.Search(name, edges) {
			needs[name][dep] = true
		}
	}
	return needs
}

// removalFirst is the wait of a package of the spec for another version of it that has to be uninstalled before; nil
// when none has.
func (v view) removalFirst(name string) *record.Wait {
	for key := range situation.Sorted(v.removals) {
		if e, recorded := v.out.Record.Packages[key]; recorded && e.Name == name {
			return newWait(name, v1alpha1.ReasonWaitingForUninstall, fmt.Sprintf(
				"version %s of this package is uninstalled before that of the spec is installed", e.Version))
		}
	}
	e, needed := v.NeedsUninstall(v.out.Record, name)
	if !needed {
		return nil
	}
	return newWait(name, v1alpha1.ReasonUninstallRequired, fmt.Sprintf(
		"version %s is still installed and must be uninstalled first, but the spec does not request that; "+
			"put it back with uninstall.apply: true, or set uninstall.whenRemoved: Uninstall", e.Version))
}
