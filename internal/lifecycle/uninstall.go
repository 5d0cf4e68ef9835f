package lifecycle

import (
	"fmt"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// uninstall begins the uninstall of a package version that has to leave:
//
//	any stage -> uninstall -> [uninstall-interrupt] -> no entry
//
// An interrupt that runs is not broken off: it is waited for, see interrupt.go.
func (p *pass) uninstall(u unit, last record.Entry) bool {
	if !p.open(u) || u.pkg.Interrupt != nil && !p.drained(u.name) {
		return false
	}
	e := p.begin(u, last, v1alpha1.StageUninstall)
	e.Version = last.Version
	p.put(e)
	p.start(e)
	return false
}

// settle has nothing left to do for a package that stays. One that left is forgotten, in all its versions: none is on the
// host any more.
func (p *pass) settle(u unit, e record.Entry) bool {
	if u.leaves() {
		p.uninstalled(e)
	}
	return false
}

func (p *pass) uninstalled(e record.Entry) {
	for _, key := range sortedKeys(p.out.Record.Packages) {
		if p.out.Record.Packages[key].Name == e.Name {
			p.out.take(Step{Forget: key})
		}
	}
	p.out.take(Step{Tell: &Change{
		Package: e.Name, Version: e.Version, Stage: v1alpha1.StageUninstall, State: v1alpha1.StateComplete,
		Reason: v1alpha1.ReasonUninstalled, Message: fmt.Sprintf("package [%s:%s] is uninstalled", e.Name, e.Version),
	}})
}

// definitionMissing says that nobody can uninstall a package.
func (p *pass) definitionMissing(e record.Entry) bool {
	p.wait(newWait(e.Name, v1alpha1.ReasonDefinitionMissing, fmt.Sprintf(
		"the definition that %s %s was installed with was not kept, so it cannot be uninstalled; put this version back into spec.packages, or leave it on the node with the annotation %s",
		e.Name, e.Version, v1alpha1.AnnotationAbandonUninstall)))
	return false
}

// dependent returns a package that depends on this one and is still to be undone: what was built on it goes first.
func (p *pass) dependent(e record.Entry) (name string, left bool) {
	for _, key := range sortedKeys(p.leaving) {
		other, recorded := p.out.Record.Packages[key]
		undone := uninstalling(other) && (other.State == v1alpha1.StateComplete || other.Stage == v1alpha1.StageUninstallInterrupt)
		if !recorded || undone || other.Name == e.Name || !p.dependsOn(other.Name, e.Name) || p.dependsOn(e.Name, other.Name) {
			continue
		}
		return other.Name, true
	}
	return "", false
}

// dependsOn reports whether a leaving package depends on another, be it through others, also such that stay.
func (p *pass) dependsOn(name, goal string) bool {
	edges := map[string]map[string]string{}
	for other, pkg := range p.Packages {
		edges[other] = pkg.DependsOn
	}
	for key, l := range p.leaving {
		edges[p.out.Record.Packages[key].Name] = l.Package.DependsOn
	}
	seen, todo := map[string]bool{name: true}, []string{name}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		for dep := range edges[next] {
			if dep == goal {
				return true
			}
			if !seen[dep] {
				seen[dep] = true
				todo = append(todo, dep)
			}
		}
	}
	return false
}

// heldByRemoval reports whether another version of a package has to leave before the spec's may be installed. It notes the
// reason.
func (p *pass) heldByRemoval(name string) bool {
	if e, goes := p.goesFirst(name); goes {
		p.wait(newWait(name, v1alpha1.ReasonWaitingForUninstall, fmt.Sprintf("version %s is uninstalled first", e.Version)))
		return true
	}
	e, needed := p.NeedsUninstall(p.out.Record, name)
	if needed {
		p.wait(newWait(name, v1alpha1.ReasonUninstallRequired, fmt.Sprintf(
			"version %s is installed and has uninstall.enabled=true; put it back and set uninstall.apply=true first, or set uninstall.whenRemoved to Uninstall",
			e.Version)))
	}
	return needed
}

// waitsForRemoval is heldByRemoval without a word.
func (p *pass) waitsForRemoval(name string) bool {
	_, goes := p.goesFirst(name)
	_, needed := p.NeedsUninstall(p.out.Record, name)
	return goes || needed
}

// goesFirst returns the entry of another version that has to leave.
func (p *pass) goesFirst(name string) (record.Entry, bool) {
	for _, key := range sortedKeys(p.leaving) {
		if e, recorded := p.out.Record.Packages[key]; recorded && e.Name == name {
			return e, true
		}
	}
	return record.Entry{}, false
}
