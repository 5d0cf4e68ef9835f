package lifecycle

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Complete reports whether every package is complete on a node.
func Complete(all Packages, n record.Node) bool {
	for name, pkg := range all {
		if !packageComplete(n, name, pkg) {
			return false
		}
	}
	return true
}

func packageComplete(n record.Node, name string, pkg Package) bool {
	e, ok := find(n, name, pkg.Version)
	return ok && (final(pkg, e) || finishedElsewhere(n, e))
}

// final reports whether the entry is past its last stage with the config that the spec has now.
func final(pkg Package, e record.Entry) bool { return settled(pkg, e) && !configChanged(pkg, e) }

// finishedElsewhere reports whether another operator, which kept no hashes, called the package complete on this node. It
// did not say whether an interrupt followed the config stage, but the node's status tells that none is owed.
func finishedElsewhere(n record.Node, e record.Entry) bool {
	return e.Config == nil && n.Status == v1alpha1.StatusComplete && e.State == v1alpha1.StateComplete &&
		(e.Stage == v1alpha1.StageConfig || e.Stage == v1alpha1.StagePostInterrupt)
}

// FirstFailure returns the first erroring entry of the wanted packages, in order of their names.
func FirstFailure(all Packages, n record.Node) (record.Entry, bool) {
	for _, name := range all.names() {
		if e, ok := find(n, name, all[name].Version); ok && e.State == v1alpha1.StateErroring {
			return e, true
		}
	}
	return record.Entry{}, false
}

// Interrupting reports whether an interrupt of the Skyhook runs on the node.
func Interrupting(n record.Node) bool {
	for _, e := range n.Packages {
		if e.Stage == v1alpha1.StageInterrupt && e.Active() {
			return true
		}
	}
	return false
}
