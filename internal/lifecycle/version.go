package lifecycle

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// find returns the entry that tells what is installed of a package version, also when the record spells the version
// differently. An entry says nothing any more once work on another version began after it.
func find(n record.Node, name, wanted string) (record.Entry, bool) {
	e, ok := n.Packages[record.Key(name, wanted)]
	if !ok {
		e, ok = spelledDifferently(n, name, wanted)
	}
	if !ok || superseded(n, e) {
		return record.Entry{}, false
	}
	return e, true
}

func spelledDifferently(n record.Node, name, wanted string) (record.Entry, bool) {
	for _, e := range sorted(n.Packages) {
		if e.Name == name && version.Same(e.Version, wanted) {
			return e, true
		}
	}
	return record.Entry{}, false
}

// superseded reports whether the node turned to another version of the package after the entry's last change.
func superseded(n record.Node, e record.Entry) bool {
	if e.Superseded {
		return true
	}
	for _, other := range n.Packages {
		if other.Name != e.Name || other.Superseded || version.Same(other.Version, e.Version) || other.Since.IsZero() ||
			e.Since.IsZero() {
			continue
		}
		if other.Since.After(e.Since.Time) || other.Since.Equal(&e.Since) && other.Active() && !e.Active() {
			return true
		}
	}
	return false
}

// adopt finds the entry of a package and spells its version as the spec does, where other readers look for it; nil when
// there is none.
func (p *pass) adopt(name string, pkg Package) *record.Entry {
	e, ok := find(p.out.Record, name, pkg.Version)
	if !ok || record.IsUninstall(e.Stage) {
		return nil // one that was on its way out when it was wanted again is installed again
	}
	if finishedElsewhere(p.out.Record, e) || p.Finished && lastElsewhere(e) {
		e.Config, e.Changed = p.configuredWith(name, pkg), []string{}
		p.out.take(Step{Write: &e})
	}
	if e.Config == nil && e.Stage != v1alpha1.StageApply && e.Stage != v1alpha1.StageUpgrade {
		e.Config = p.configuredWith(name, pkg) // what changes from now on is a change
		p.out.take(Step{Write: &e})
	}
	if e.Definition == "" && pkg.Definition != "" && !configChanged(pkg, e) {
		e.Definition = pkg.Definition // installed by an operator that kept none
		p.out.take(Step{Write: &e})
	}
	if e.Version != pkg.Version {
		p.out.take(Step{RemoveEntry: e.Key()})
		e.Version = pkg.Version
		p.out.take(Step{Write: &e})
	}
	return &e
}

// configuredWith is what another operator, which kept no hashes, configured a package with. Where nobody knows, that is
// taken to be what the spec has.
func (p *pass) configuredWith(name string, pkg Package) map[string]string {
	if known, ok := p.Configured[name]; ok {
		return known
	}
	return pkg.Config
}

// supersededBefore reports whether the record has the unit's version, and work on another one began after it.
func (p *pass) supersededBefore(u unit) bool {
	e, ok := p.out.Record.Packages[record.Key(u.name, u.pkg.Version)]
	if !ok {
		e, ok = spelledDifferently(p.out.Record, u.name, u.pkg.Version)
	}
	return ok && superseded(p.out.Record, e)
}

// installed reports whether a version came at least to the end of its apply.
func installed(e record.Entry) bool {
	return !record.IsUninstall(e.Stage) && (e.Stage != v1alpha1.StageApply || e.State == v1alpha1.StateComplete)
}

// installedBelow reports whether an older version of the package was installed on the node. A version that never got
// there is not upgraded from; the new one is applied.
func (p *pass) installedBelow(name, wanted string) bool {
	for _, e := range p.out.Record.Packages {
		if e.Name == name && version.Older(e.Version, wanted) && installed(e) {
			return true
		}
	}
	return false
}
