package situation

import (
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// Complete reports whether a node has what is wanted: every package complete, and nothing left to remove.
func Complete(w Wanted, n record.Node) bool {
	if len(w.Removals(n)) > 0 {
		return false
	}
	for _, e := range n.Packages {
		if w.Withdrawn(e) {
			return false
		}
	}
	for name, pkg := range w.Packages {
		if !w.Deleting && !pkg.UninstallAsked() && !packageComplete(n, name, pkg) {
			return false
		}
	}
	return true
}

// PackageComplete reports whether a package of the spec is complete on a node.
func (w Wanted) PackageComplete(n record.Node, name string) bool {
	return packageComplete(n, name, w.Packages[name])
}

func packageComplete(n record.Node, name string, pkg Package) bool {
	e, ok := Find(n, name, pkg.Version)
	if !ok {
		return false
	}
	before, _ := Unowed(n, e)
	return Final(pkg, before) || FinishedElsewhere(n, e)
}

// Final reports whether the entry is past its last stage with the config that the spec has now.
func Final(pkg Package, e record.Entry) bool { return Settled(pkg, e) && !ConfigChanged(pkg, e) }

// FinishedElsewhere reports whether another operator, which kept no hashes, called the package complete on this node.
// It did not say whether an interrupt followed the config stage, but the node's status tells that none is pending.
func FinishedElsewhere(n record.Node, e record.Entry) bool {
	return n.Status == v1alpha1.StatusComplete && LastElsewhere(e)
}

// LastElsewhere reports whether the entry, of another operator, is at a stage that may be its last.
func LastElsewhere(e record.Entry) bool {
	return e.Config == nil && e.State == v1alpha1.StateComplete &&
		(e.Stage == v1alpha1.StageConfig || e.Stage == v1alpha1.StagePostInterrupt)
}

// Unhashed returns the packages of the spec that another operator, which kept no hashes, installed on the node, in no
// order: only the ConfigMap that it left tells what they were configured with.
func (w Wanted) Unhashed(n record.Node) []string {
	var names []string
	for name, pkg := range w.Packages {
		if e, ok := Find(n, name, pkg.Version); ok && e.Config == nil && !record.IsUninstall(e.Stage) {
			names = append(names, name)
		}
	}
	return names
}

// FirstFailure returns the first erroring entry that matters, in order of the package names; without one, the first
// whose interrupt failed before it was suspended, because something holds the node: it has not begun again. That of a
// package which is to be removed meanwhile is past, but for the interrupt of its uninstall.
func FirstFailure(w Wanted, n record.Node) (record.Entry, bool) {
	entries, removals := w.Relevant(n), w.Removals(n)
	for _, failed := range []func(record.Entry) bool{
		func(e record.Entry) bool { return e.State == v1alpha1.StateErroring },
		func(e record.Entry) bool {
			_, removed := removals[e.Key()]
			return record.IsInterrupt(e.Stage) && e.State == v1alpha1.StateSkipped && e.Reason != "" &&
				record.IsUninstall(e.Stage) == removed
		},
	} {
		if i := slices.IndexFunc(entries, failed); i >= 0 {
			return entries[i], true
		}
	}
	return record.Entry{}, false
}

// Uninstalling returns the entries that are being uninstalled, in order of the package names.
func Uninstalling(w Wanted, n record.Node) []record.Entry {
	return slices.DeleteFunc(w.Relevant(n), func(e record.Entry) bool { return !record.IsUninstall(e.Stage) })
}

// Relevant returns the entries that what is wanted is about, in order of the package names: those of the spec's
// versions, and those that are to be removed. An uninstall that nobody wants any more is past, but for its interrupt,
// if that runs.
func (w Wanted) Relevant(n record.Node) []record.Entry {
	removals := w.Removals(n)
	var list []record.Entry
	for key, e := range Sorted(n.Packages) {
		_, removed := removals[key]
		pkg, inSpec := w.Packages[e.Name]
		current := inSpec && !w.Deleting && version.Same(pkg.Version, e.Version) && !Superseded(n, e)
		past := record.IsUninstall(e.Stage) && (!record.IsInterrupt(e.Stage) || !e.Active())
		if removed || current && !past {
			list = append(list, e)
		}
	}
	return list
}
