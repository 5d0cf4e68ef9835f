package lifecycle

import (
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Wanted is what a Skyhook wants on one node.
type Wanted struct {
	// Packages of the spec.
	Packages Packages
	// Retained definitions of what was installed, see Retained.
	Retained Retained
	// Deleting says that the Skyhook is being deleted.
	Deleting bool
	// Abandoned says that nothing is to be undone on this node any more: the user gave it up.
	Abandoned bool
}

// Retained are the definitions that packages were installed with, by the name that record entries refer to them by.
type Retained map[string]Package

// Leaving is a package version that has to be undone on a node.
type Leaving struct {
	// Package is the definition to undo it with: the spec's when that is of the same version, so that a failing uninstall
	// can be mended by an edit, else the one that it was installed with.
	Package Package
	// FromSpec says that it is the spec's.
	FromSpec bool
	// Missing says that there is no definition: nobody knows how to undo it.
	Missing bool
}

// Leaving returns what has to be undone on a node, by the key of its entry: at most one version of a package.
func (w Wanted) Leaving(n record.Node) map[string]Leaving {
	var all map[string]Leaving
	for key, e := range n.Packages {
		l, leaves := w.leaving(e)
		if !leaves || superseded(n, e) || w.yields(n, key, e, l) {
			continue
		}
		if all == nil {
			all = map[string]Leaving{}
		}
		all[key] = l
	}
	return all
}

func (w Wanted) leaving(e record.Entry) (Leaving, bool) {
	if w.Abandoned {
		return Leaving{}, false
	}
	spec, inSpec := w.Packages[e.Name]
	l := w.definition(e)
	enabled := l.Package.Uninstallable || inSpec && spec.Uninstallable
	onRemoval := enabled && (l.Package.whenRemoved() == v1alpha1.WhenRemovedUninstall ||
		inSpec && spec.whenRemoved() == v1alpha1.WhenRemovedUninstall)
	begun := !l.Missing && uninstalling(e)
	switch {
	case w.Deleting:
		return l, enabled
	case inSpec && spec.applies():
		return l, true
	case inSpec:
		return l, (onRemoval || begun) && below(spec.Version, e.Version)
	default:
		return l, onRemoval || begun
	}
}

// yields reports whether another version of the package is undone instead, and this one is forgotten with it. Operators
// that keep no times leave several, and which of them is on the host is not known.
func (w Wanted) yields(n record.Node, key string, e record.Entry, l Leaving) bool {
	for otherKey, other := range n.Packages {
		if otherKey == key || other.Name != e.Name || superseded(n, other) {
			continue
		}
		if o, leaves := w.leaving(other); leaves && comesBefore(other, o, e, l) {
			return true
		}
	}
	return false
}

// comesBefore orders versions of one package that have to be undone: one that was begun, then the spec's, then one that
// somebody knows how to undo, then the higher.
func comesBefore(a record.Entry, la Leaving, b record.Entry, lb Leaving) bool {
	for _, is := range [][2]bool{
		{uninstalling(a), uninstalling(b)},
		{la.FromSpec, lb.FromSpec},
		{lb.Missing, la.Missing},
		{below(b.Version, a.Version), below(a.Version, b.Version)},
	} {
		if is[0] != is[1] {
			return is[0]
		}
	}
	return a.Key() < b.Key()
}

// definition returns what is known of the package of an entry.
func (w Wanted) definition(e record.Entry) Leaving {
	if spec, ok := w.Packages[e.Name]; ok && sameVersion(spec.Version, e.Version) {
		return Leaving{Package: spec, FromSpec: true}
	}
	pkg, ok := w.Retained[e.Definition]
	return Leaving{Package: pkg, Missing: !ok}
}

// Stays returns the entries, sorted by key, of package versions that could be uninstalled and that the spec does not want,
// but that nobody said to undo; each with its definition.
func (w Wanted) Stays(n record.Node) ([]record.Entry, []Package) {
	var entries []record.Entry
	var packages []Package
	for _, key := range sortedKeys(n.Packages) {
		e := n.Packages[key]
		l := w.definition(e)
		_, leaves := w.leaving(e)
		if !l.FromSpec && !leaves && !w.Abandoned && l.Package.Uninstallable && !superseded(n, e) {
			entries, packages = append(entries, e), append(packages, l.Package)
		}
	}
	return entries, packages
}

// NeedsUninstall returns the entry of a newer version that has to be uninstalled by hand before the named package of the
// spec may be installed: it can be uninstalled, and nobody said that this may happen by itself.
func (w Wanted) NeedsUninstall(n record.Node, name string) (record.Entry, bool) {
	spec := w.Packages[name]
	for _, key := range sortedKeys(n.Packages) {
		e := n.Packages[key]
		if e.Name != name || w.Abandoned || uninstalling(e) || !below(spec.Version, e.Version) || superseded(n, e) {
			continue
		}
		l := w.definition(e)
		if _, leaves := w.leaving(e); l.Package.Uninstallable && !leaves {
			return e, true
		}
	}
	return record.Entry{}, false
}

// applies reports whether the spec asks to uninstall the package now.
func (p Package) applies() bool { return p.Uninstallable && p.Uninstall != nil && p.Uninstall.Apply }

func (p Package) whenRemoved() v1alpha1.WhenRemoved {
	return ptr.Deref(p.Uninstall, v1alpha1.Uninstall{}).WhenRemoved
}

// uninstalling reports whether the entry's package is being undone.
func uninstalling(e record.Entry) bool {
	return e.Stage == v1alpha1.StageUninstall || e.Stage == v1alpha1.StageUninstallInterrupt
}

// isInterrupt reports whether an interrupt runs in the stage.
func isInterrupt(s v1alpha1.Stage) bool {
	return s == v1alpha1.StageInterrupt || s == v1alpha1.StageUninstallInterrupt
}
