package lifecycle

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// adopt finds the entry of a package and spells its version as the spec does, where other readers look for it; nil when
// there is none.
func (p *pass) adopt(name string, pkg situation.Package) *record.Entry {
	e, ok := situation.Find(p.out.Record, name, pkg.Version)
	if !ok || record.IsUninstall(e.Stage) {
		return nil // one that was on its way out when it was wanted again is installed again
	}
	if situation.FinishedElsewhere(p.out.Record, e) || p.Finished && situation.LastElsewhere(e) {
		e.Config, e.Changed = p.configuredWith(name, pkg), []string{}
		p.out.take(Step{Write: &e})
	}
	if unowed, changed := situation.Unowed(p.out.Record, e); changed && !situation.Settled(pkg, e) {
		e = unowed // else the next status would not tell any more
		p.out.take(Step{Write: &e})
	}
	if e.Config == nil && e.Stage != v1alpha1.StageApply && e.Stage != v1alpha1.StageUpgrade {
		e.Config = p.configuredWith(name, pkg) // what changes from now on is a change
		p.out.take(Step{Write: &e})
	}
	if e.Definition == "" && pkg.Definition != "" && !situation.ConfigChanged(pkg, e) {
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
func (v view) configuredWith(name string, pkg situation.Package) map[string]string {
	if known, ok := v.Configured[name]; ok {
		return known
	}
	return pkg.Config
}

// installedBelow reports whether an older version of the package was installed on the node. A version that never got
// there is not upgraded from; the new one is applied.
func (v view) installedBelow(name, wanted string) bool {
	for _, e := range v.out.Record.Packages {
		if e.Name == name && version.Older(e.Version, wanted) && situation.Installed(e) {
			return true
		}
	}
	return false
}
