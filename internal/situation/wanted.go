package situation

import (
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// Wanted is what a Skyhook wants on one node.
type Wanted struct {
	// Packages of the spec.
	Packages Packages
	// Retained definitions of what was installed, see Retained.
	Retained Retained
	// Generation of the spec.
	Generation int64
	// Deleting says that the Skyhook is being deleted.
	Deleting bool
	// Abandoned says that nothing is to be uninstalled on this node any more, see v1alpha1.AnnotationAbandonUninstall.
	Abandoned bool
}

// Retained are the definitions that packages were installed with, by the name that record entries refer to them by.
type Retained map[string]Package

// Removal is a package version that has to be uninstalled from a node.
type Removal struct {
	// Package is the definition to uninstall it with: the spec's when that is of the same version, so that a failing
	// uninstall can be fixed by an edit, else the one that it was installed with.
	Package Package
	// FromSpec says that it is the spec's.
	FromSpec bool
	// Missing says that the operator has no definition to uninstall it with.
	Missing bool
}

// Removals returns what has to be uninstalled from a node, by the key of its entry: at most one version of a package.
func (w Wanted) Removals(n record.Node) map[string]Removal {
	var all map[string]Removal
	for key, e := range n.Packages {
		l, removed := w.removal(e)
		if !removed || Superseded(n, e) || w.yields(n, key, e, l) {
			continue
		}
		if all == nil {
			all = map[string]Removal{}
		}
		all[key] = l
	}
	return all
}

// Withdrawn reports whether the spec no longer wants a version of which nothing ran, as far as its entry tells: it is to
// be forgotten.
func (w Wanted) Withdrawn(e record.Entry) bool {
	spec, inSpec := w.Packages[e.Name]
	wanted := inSpec && !w.Deleting && !spec.UninstallAsked() && version.Same(spec.Version, e.Version)
	return e.Untouched && !wanted && !w.Abandoned
}

func (w Wanted) removal(e record.Entry) (Removal, bool) {
	if w.Abandoned || e.Untouched { // there is nothing to uninstall, see Withdrawn
		return Removal{}, false
	}
	spec, inSpec := w.Packages[e.Name]
	l := w.DefinitionOf(e)
	enabled := l.Package.Uninstallable || inSpec && spec.Uninstallable
	onRemoval := enabled && (l.Package.whenRemoved() == v1alpha1.WhenRemovedUninstall ||
		inSpec && spec.whenRemoved() == v1alpha1.WhenRemovedUninstall)
	begun := !l.Missing && record.IsUninstall(e.Stage)
	switch {
	case w.Deleting:
		return l, enabled
	case inSpec && spec.UninstallAsked():
		return l, true
	case inSpec:
		return l, (onRemoval || begun) && version.Older(spec.Version, e.Version)
	default:
		return l, onRemoval || begun
	}
}

// yields reports whether another version of the package is uninstalled instead, and the entry of this one is removed
// with it. The records of operators that keep no times may have several, and which of them is on the host is not known.
func (w Wanted) yields(n record.Node, key string, e record.Entry, l Removal) bool {
	for otherKey, other := range n.Packages {
		if otherKey == key || other.Name != e.Name || Superseded(n, other) {
			continue
		}
		if o, removed := w.removal(other); removed && comesBefore(other, o, e, l) {
			return true
		}
	}
	return false
}

// comesBefore orders versions of one package that have to be uninstalled: one whose uninstall has begun, then the
// spec's, then one with a definition, then the higher.
func comesBefore(a record.Entry, la Removal, b record.Entry, lb Removal) bool {
	for _, is := range [][2]bool{
		{record.IsUninstall(a.Stage), record.IsUninstall(b.Stage)},
		{la.FromSpec, lb.FromSpec},
		{lb.Missing, la.Missing},
		{version.Older(b.Version, a.Version), version.Older(a.Version, b.Version)},
	} {
		if is[0] != is[1] {
			return is[0]
		}
	}
	return a.Key() < b.Key()
}

// DefinitionOf returns what is known of the package of an entry.
func (w Wanted) DefinitionOf(e record.Entry) Removal {
	if spec, ok := w.Packages[e.Name]; ok && version.Same(spec.Version, e.Version) {
		return Removal{Package: spec, FromSpec: true}
	}
	pkg, ok := w.Retained[e.Definition]
	return Removal{Package: pkg, Missing: !ok}
}

// Undefined are the names of definitions that nobody has and that the record goes by; nil for none.
func (w Wanted) Undefined(n record.Node) map[string]bool {
	var names map[string]bool
	for _, e := range n.Packages {
		if e.Definition == "" || w.Abandoned || !w.DefinitionOf(e).Missing || Superseded(n, e) {
			continue
		}
		if names == nil {
			names = map[string]bool{}
		}
		names[e.Definition] = true
	}
	return names
}

// Stays returns the entries, sorted by key, of package versions that could be uninstalled and that the spec does not
// want, but whose uninstall nobody asked for; each with its definition.
func (w Wanted) Stays(n record.Node) ([]record.Entry, []Package) {
	var entries []record.Entry
	var packages []Package
	for _, e := range Sorted(n.Packages) {
		l := w.DefinitionOf(e)
		_, removed := w.removal(e)
		if !l.FromSpec && !removed && !w.Abandoned && !e.Untouched && l.Package.Uninstallable && !Superseded(n, e) {
			entries, packages = append(entries, e), append(packages, l.Package)
		}
	}
	return entries, packages
}

// NeedsUninstall returns the entry of a newer version that has to be uninstalled by hand before the named package of
// the spec may be installed: it can be uninstalled, and nobody said that this may happen by itself.
func (w Wanted) NeedsUninstall(n record.Node, name string) (record.Entry, bool) {
	spec := w.Packages[name]
	for _, e := range Sorted(n.Packages) {
		if e.Name != name || w.Abandoned || e.Untouched || record.IsUninstall(e.Stage) || !version.Older(spec.Version, e.Version) ||
			Superseded(n, e) {
			continue
		}
		l := w.DefinitionOf(e)
		if _, removed := w.removal(e); l.Package.Uninstallable && !removed {
			return e, true
		}
	}
	return record.Entry{}, false
}

// AsksForUninstall reports whether the spec asks to uninstall one of its packages now.
func (w Wanted) AsksForUninstall() bool {
	for _, pkg := range w.Packages {
		if pkg.Uninstall.Requested() {
			return true
		}
	}
	return false
}

// UninstallAsked reports whether the spec asks to uninstall the package now.
func (p Package) UninstallAsked() bool {
	return p.Uninstallable && p.Uninstall != nil && p.Uninstall.Apply
}

func (p Package) whenRemoved() v1alpha1.WhenRemoved {
	return ptr.Deref(p.Uninstall, v1alpha1.Uninstall{}).WhenRemoved
}
