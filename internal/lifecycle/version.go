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

// find returns the entry that tells what is installed of a package version, also when the record spells the version
// differently. An entry says nothing any more once work on another version began after it.
func find(n record.Node, name, version string) (record.Entry, bool) {
	e, ok := n.Packages[record.Key(name, version)]
	if !ok {
		e, ok = spelledDifferently(n, name, version)
	}
	if !ok || superseded(n, e) {
		return record.Entry{}, false
	}
	return e, true
}

func spelledDifferently(n record.Node, name, version string) (record.Entry, bool) {
	for _, key := range sortedKeys(n.Packages) {
		if e := n.Packages[key]; e.Name == name && sameVersion(e.Version, version) {
			return e, true
		}
	}
	return record.Entry{}, false
}

// superseded reports whether the node turned to another version of the package after the entry's last change.
func superseded(n record.Node, e record.Entry) bool {
	for _, other := range n.Packages {
		if other.Name != e.Name || sameVersion(other.Version, e.Version) || other.Since.IsZero() || e.Since.IsZero() {
			continue
		}
		if other.Since.After(e.Since.Time) || other.Since.Equal(&e.Since) && other.Active() && !e.Active() {
			return true
		}
	}
	return false
}

// adopt finds the entry of a package and renames it to the spelling of the spec, where other readers look for it.
func (m *machine) adopt(name string, pkg Package) (record.Entry, bool) {
	e, ok := find(m.out.Record, name, pkg.Version)
	if ok && uninstalling(e) {
		return record.Entry{}, false // on its way out when it was wanted again: installed anew
	}
	if ok && finishedElsewhere(m.out.Record, e) {
		e.Config, e.Changed = pkg.Config, []string{}
		m.out.Record.Packages[e.Key()] = e
	}
	if ok && e.Definition == "" && pkg.Definition != "" && !configChanged(pkg, e) {
		e.Definition = pkg.Definition // installed by an operator that kept none
		m.out.Record.Packages[e.Key()] = e
	}
	if ok && e.Version != pkg.Version {
		delete(m.out.Record.Packages, e.Key())
		e.Version = pkg.Version
		m.out.Record.Packages[e.Key()] = e
	}
	return e, ok
}

// installed reports whether a version came at least to the end of its apply.
func installed(e record.Entry) bool {
	return !uninstalling(e) && (e.Stage != v1alpha1.StageApply || e.State == v1alpha1.StateComplete)
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

// forgetReplaced drops the entries of all other versions of a package: the one in e took their place on the host.
func (m *machine) forgetReplaced(e record.Entry) {
	for key, other := range m.out.Record.Packages {
		if other.Name == e.Name && key != e.Key() {
			delete(m.out.Record.Packages, key)
		}
	}
}
