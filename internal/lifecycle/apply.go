package lifecycle

import (
	"fmt"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// install begins the first stage of a package that is not on the node in this version: upgrade where an older version
// is installed, else apply. A version that has to be uninstalled comes first, see heldByRemoval.
//
//	apply | upgrade -> config -> [interrupt -> post-interrupt]
func (p *pass) install(u unit) {
	stage := v1alpha1.StageApply
	if p.installedBelow(u.name, u.pkg.Version) {
		stage = v1alpha1.StageUpgrade
	}
	began := len(p.out.Start)
	p.beginStage(u, record.Entry{}, stage)
	if len(p.out.Start) > began {
		p.explainStopped(u)
	}
}

// explainStopped sends an event for an uninstall that the install of another version stopped.
func (p *pass) explainStopped(u unit) {
	for _, e := range situation.Sorted(p.out.Record.Packages) {
		if e.Name == u.name && record.IsUninstall(e.Stage) && e.Active() && !version.Same(e.Version, u.pkg.Version) {
			p.out.take(Step{Tell: &Change{
				Package: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Reason: v1alpha1.ReasonUninstallStopped,
				Message: fmt.Sprintf(
					"the uninstall of %s %s was stopped before its end, because spec.packages.%s.version is now %s, which is "+
						"installed instead",
					e.Name, e.Version, e.Name, u.pkg.Version),
			}})
		}
	}
}

// beginStage starts a stage that installs or configures, if its gates are open. A package that will need an interrupt
// disturbs the node from its first stage on, so that is where cordon and drain come first.
func (p *pass) beginStage(u unit, last record.Entry, stage v1alpha1.Stage) {
	if !p.open(u) {
		return
	}
	e := p.begin(u, last, stage)
	e.Changed = changedFor(u.pkg, last, stage)
	carry(&e, last)
	e.Untouched = (stage == v1alpha1.StageApply || stage == v1alpha1.StageUpgrade) && p.unknown(u)
	if stage != v1alpha1.StagePostInterrupt && len(situation.InterruptsFor(u.pkg, e)) > 0 && !p.drain(u.name) {
		return
	}
	p.put(e)
	p.start(e)
}

// replaced removes the entries of all other versions of a package: the one in e took their place on the host. Files of
// a newer version that could not be uninstalled may still be there, so its entry stays, marked.
func (p *pass) replaced(e record.Entry) {
	for key, other := range situation.Sorted(p.out.Record.Packages) {
		switch {
		case other.Name != e.Name || key == e.Key():
		case version.Older(e.Version, other.Version) && situation.Installed(other):
			if other.Superseded = true; other.Active() { // nobody will end it
				other.State, other.Reason, other.Message = v1alpha1.StateSkipped, "", ""
			}
			p.out.take(Step{Write: &other})
		default:
			p.out.take(Step{RemoveEntry: key})
		}
	}
}
