package lifecycle

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// retire takes a package version that has to go as far as it gets:
//
//	any stage -> uninstall -> [uninstall-interrupt] -> no entry
//
// An interrupt that runs is not broken off: it is waited for, see interrupt.go.
func (m *machine) retire(key string, l Leaving) {
	e, recorded := m.out.Record.Packages[key]
	switch {
	case !recorded: // it went together with another version
		return
	case l.Missing:
		m.waitNode(e.Name, ReasonNoDefinition, fmt.Sprintf(
			"nobody kept how %s %s was installed, so it cannot be uninstalled; put this version back into spec.packages, or give the node up with the annotation %s",
			e.Name, e.Version, admission.AnnotationAbandon))
		return
	case isInterrupt(e.Stage) && e.Active():
		return
	case e.Stage == v1alpha1.StageUninstall && e.Active() && !m.observe(&e, l.Package):
		return
	}
	over := e.State == v1alpha1.StateComplete
	switch {
	case e.Stage == v1alpha1.StageUninstall && over && l.Package.Interrupt == nil,
		e.Stage == v1alpha1.StageUninstallInterrupt && over:
		m.uninstalled(e)
	case e.Stage == v1alpha1.StageUninstall && over, e.Stage == v1alpha1.StageUninstallInterrupt:
		// owes its interrupt, see interruptDue
	default:
		m.beginUninstall(e, l.Package)
	}
}

func (m *machine) beginUninstall(last record.Entry, pkg Package) {
	if !m.mayUninstall(last, pkg) || pkg.Interrupt != nil && !m.quiet(last.Name) {
		return
	}
	e := record.Entry{
		Name: last.Name, Version: last.Version, Image: pkg.Image, ContainerSHA: pkg.ContainerSHA,
		Stage: v1alpha1.StageUninstall, State: v1alpha1.StateInProgress,
		Since: metav1.NewTime(m.Now), Run: m.nextRun(last.Run), Config: pkg.Config,
		Hash: pkg.Hash, Definition: pkg.Definition, Generation: m.Generation,
	}
	m.put(e)
	m.start(e)
}

func (m *machine) mayUninstall(e record.Entry, pkg Package) bool {
	return m.mayWork(e.Name) && m.dependentsGone(e) && m.mayStart(e.Name, pkg)
}

// uninstalled forgets a package, in all its versions: none is on the host any more.
func (m *machine) uninstalled(e record.Entry) {
	for key, other := range m.out.Record.Packages {
		if other.Name == e.Name {
			delete(m.out.Record.Packages, key)
		}
	}
	m.out.Changes = append(m.out.Changes, Change{
		Package: e.Name, Version: e.Version, Stage: v1alpha1.StageUninstall, State: v1alpha1.StateComplete,
		Reason: ReasonUninstalled, Message: fmt.Sprintf("package [%s:%s] is uninstalled", e.Name, e.Version),
	})
}

func (m *machine) dependentsGone(e record.Entry) bool {
	other, left := m.dependent(e)
	if left {
		m.wait(e.Name, ReasonDependent, fmt.Sprintf("package %s depends on it and is uninstalled first", other))
	}
	return !left
}

// dependent returns a package that depends on this one and is still to be undone: what was built on it goes first.
func (m *machine) dependent(e record.Entry) (name string, left bool) {
	for _, key := range sortedKeys(m.leaving) {
		other, recorded := m.out.Record.Packages[key]
		undone := uninstalling(other) && (other.State == v1alpha1.StateComplete || other.Stage == v1alpha1.StageUninstallInterrupt)
		if !recorded || undone || other.Name == e.Name || !m.dependsOn(other.Name, e.Name) || m.dependsOn(e.Name, other.Name) {
			continue
		}
		return other.Name, true
	}
	return "", false
}

// dependsOn reports whether a leaving package depends on another, be it through others, also such that stay.
func (m *machine) dependsOn(name, goal string) bool {
	edges := map[string]map[string]string{}
	for other, pkg := range m.Packages {
		edges[other] = pkg.DependsOn
	}
	for key, l := range m.leaving {
		edges[m.out.Record.Packages[key].Name] = l.Package.DependsOn
	}
	seen, open := map[string]bool{name: true}, []string{name}
	for len(open) > 0 {
		next := open[0]
		open = open[1:]
		for dep := range edges[next] {
			if dep == goal {
				return true
			}
			if !seen[dep] {
				seen[dep] = true
				open = append(open, dep)
			}
		}
	}
	return false
}

// breakOff gives up interrupts that keep failing when the user turned round: to undo a package that cannot finish its
// install, or to keep one that cannot finish its uninstall; or mended the interrupt itself. One that runs goes on.
func (m *machine) breakOff() {
	for _, key := range sortedKeys(m.out.Record.Packages) {
		e := m.out.Record.Packages[key]
		l, leaves := m.leaving[key]
		switch {
		case e.State != v1alpha1.StateErroring:
		case leaves && e.Stage == v1alpha1.StageInterrupt, !leaves && e.Stage == v1alpha1.StageUninstallInterrupt:
			e.State, e.Since = v1alpha1.StateSkipped, metav1.NewTime(m.Now)
			m.put(e)
		case e.Stage == v1alpha1.StageUninstallInterrupt && l.FromSpec && m.mended(e, l.Package):
			m.owesAgain(e, v1alpha1.StageUninstall)
		case e.Stage == v1alpha1.StageInterrupt && m.definition(e).FromSpec && m.mended(e, m.definition(e).Package):
			m.owesAgain(e, v1alpha1.StageConfig)
		}
	}
}

// owesAgain takes an entry back to where it was before its interrupt: it owes the one that the spec has now, if any.
func (m *machine) owesAgain(e record.Entry, stage v1alpha1.Stage) {
	e.Stage, e.State, e.Since = stage, v1alpha1.StateComplete, metav1.NewTime(m.Now)
	e.Interrupt, e.BootID, e.Reason, e.Message, e.Restarts, e.Generation = nil, "", "", "", 0, m.Generation
	m.put(e)
}

// mended reports whether the spec changed since the entry's interrupt was begun, and asks for another one. What was merged
// of several packages differs from each one's own, so the difference alone says nothing.
func (m *machine) mended(e record.Entry, pkg Package) bool {
	return e.Generation != m.Generation && e.Interrupt != nil &&
		!slices.ContainsFunc(owed(pkg, e), func(i v1alpha1.Interrupt) bool { return reflect.DeepEqual(i, *e.Interrupt) })
}

// heldByRemoval reports whether another version of a package has to go before the spec's may be installed. It records the
// reason.
func (m *machine) heldByRemoval(name string) bool {
	if e, goes := m.goesFirst(name); goes {
		m.wait(name, ReasonUninstalling, fmt.Sprintf("version %s is uninstalled first", e.Version))
		return true
	}
	e, needed := m.NeedsUninstall(m.out.Record, name)
	if needed {
		m.waitNode(name, ReasonUninstallFirst, fmt.Sprintf(
			"version %s is installed and has uninstall.enabled=true; put it back and set uninstall.apply=true first, or set uninstall.whenRemoved to Uninstall",
			e.Version))
	}
	return needed
}

// dependencyGoes reports whether a dependency is, or is to be, uninstalled: then only an edit of the spec helps.
func (m *machine) dependencyGoes(name string, pkg Package) bool {
	w := m.unmet(name, pkg)
	if w == nil || w.Reason != ReasonDependencyGone {
		return false
	}
	m.waitNode(name, w.Reason, w.Message)
	return true
}

// needsUser reports whether nothing goes on because of what only the user can change. The node then gives its permit
// back, and gets one again for another spec.
func (m *machine) needsUser() bool {
	if len(m.out.Waits) == 0 || m.out.LookDrain || m.out.After > 0 {
		return false
	}
	found := false
	for _, w := range m.out.Waits {
		switch {
		case NeedsUser(w.Reason):
			found = true
		case w.Reason != ReasonDependency && w.Reason != ReasonDependent && w.Reason != ReasonSerial && w.Reason != ReasonUninstalling:
			return false
		}
	}
	return found
}

// NeedsUser reports whether a wait ends only with another spec.
func NeedsUser(reason string) bool {
	return reason == ReasonDependencyGone || reason == ReasonUninstallFirst || reason == ReasonNoDefinition
}

// waitsForRemoval is heldByRemoval without a word.
func (m *machine) waitsForRemoval(name string) bool {
	_, goes := m.goesFirst(name)
	_, needed := m.NeedsUninstall(m.out.Record, name)
	return goes || needed
}

// goesFirst returns the entry of another version that has to go.
func (m *machine) goesFirst(name string) (record.Entry, bool) {
	for _, key := range sortedKeys(m.leaving) {
		if e, recorded := m.out.Record.Packages[key]; recorded && e.Name == name {
			return e, true
		}
	}
	return record.Entry{}, false
}
