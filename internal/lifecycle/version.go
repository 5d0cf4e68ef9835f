package lifecycle

import (
	"github.com/Masterminds/semver/v3"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// sameVersion reports whether two version texts mean one version: 1.2, 1.2.0 and v1.2.0 do.
func sameVersion(a, b string) bool {
	if a == b {
		return true
	}
	va, errA := semver.NewVersion(a)
	vb, errB := semver.NewVersion(b)
	return errA == nil && errB == nil && va.Equal(vb)
}

// below reports whether version a is older than b; texts that are not versions are never older.
func below(a, b string) bool {
	va, errA := semver.NewVersion(a)
	vb, errB := semver.NewVersion(b)
	return errA == nil && errB == nil && va.LessThan(vb)
}

// find returns the entry of a package version, also when the record spells the version differently.
func find(n record.Node, name, version string) (record.Entry, bool) {
	if e, ok := n.Packages[record.Key(name, version)]; ok {
		return e, true
	}
	for _, e := range n.Packages {
		if e.Name == name && sameVersion(e.Version, version) {
			return e, true
		}
	}
	return record.Entry{}, false
}

// adopt finds the entry of a package and renames it to the spelling of the spec, where other readers look for it.
func (m *machine) adopt(name string, pkg Package) (record.Entry, bool) {
	e, ok := find(m.out.Record, name, pkg.Version)
	if ok && e.Version != pkg.Version {
		delete(m.out.Record.Packages, e.Key())
		e.Version = pkg.Version
		m.out.Record.Packages[e.Key()] = e
	}
	return e, ok
}

// installed reports whether a version came at least to the end of its apply.
func installed(e record.Entry) bool {
	return e.Stage != v1alpha1.StageApply || e.State == v1alpha1.StateComplete
}

// installedBelow reports whether an older version of the package was installed on the node. A version that never got
// there is not upgraded from; the new one is applied.
func (m *machine) installedBelow(name, version string) bool {
	for _, e := range m.out.Record.Packages {
		if e.Name == name && below(e.Version, version) && installed(e) {
			return true
		}
	}
	return false
}

// forgetReplaced drops the entries of other versions that the one in e has just taken the place of: all of them after
// an upgrade; after an apply those that were never installed and that nobody works on any more.
func (m *machine) forgetReplaced(e record.Entry) {
	for key, other := range m.out.Record.Packages {
		replaced := e.Stage == v1alpha1.StageUpgrade || !installed(other)
		if other.Name == e.Name && key != e.Key() && replaced {
			delete(m.out.Record.Packages, key)
		}
	}
}
