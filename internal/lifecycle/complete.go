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
	return ok && final(pkg, e)
}

// final reports whether the entry is past its last stage with the config that the spec has now. An entry without hashes
// was written by an operator that kept none, and is taken as current.
func final(pkg Package, e record.Entry) bool {
	if e.Stage != v1alpha1.StageConfig || e.State != v1alpha1.StateComplete {
		return false
	}
	return e.Config == nil || len(record.ChangedKeys(e.Config, pkg.Config)) == 0
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
