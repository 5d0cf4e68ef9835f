package lifecycle

import (
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// breakOff ends an interrupt that fails, or that has no pod, once it is no longer what is wanted: its owner is to be
// removed or is wanted again, another version is wanted, or an edit changes what runs. One that runs comes to its end
// first. Those of its packages that still need an interrupt begin another one, whoever owns it.
func (p interrupts) breakOff() {
	for _, e := range situation.Sorted(p.out.Record.Packages) {
		if record.IsInterrupt(e.Stage) && situation.Exhausted(e) && p.Edited(e) && p.obsolete(e) {
			p.detach(e)
		}
	}
	owner, running := p.interruptOwner()
	if !running {
		p.refreshOrphans()
		return
	}
	if p.rebooted(owner) || !p.obsolete(owner) {
		return
	}
	pod, found := p.podOf(owner)
	if p.underWay(owner, pod, found) || owner.State != v1alpha1.StateErroring && (found || p.reversed(owner)) {
		return
	}
	for key, e := range situation.Sorted(p.out.Record.Packages) {
		if key == owner.Key() || record.IsInterrupt(e.Stage) && mergedInto(e, owner) {
			p.detach(e)
		}
	}
	p.releaseInterrupt()
}

// refreshOrphans takes packages back to before their interrupt that wait for one without an owner, and were edited
// meanwhile.
func (p interrupts) refreshOrphans() {
	for _, e := range situation.Sorted(p.out.Record.Packages) {
		waits := record.IsInterrupt(e.Stage) && e.State == v1alpha1.StateSkipped && e.Interrupt != nil && !p.rebooted(e)
		if waits && p.current(e) && !p.reversed(e) && p.edited(e) {
			p.resetToPending(e)
		}
	}
}

// obsolete reports whether an interrupt is no longer what is wanted.
func (v view) obsolete(owner record.Entry) bool {
	if v.reversed(owner) || !v.current(owner) {
		return true
	}
	return v.edited(owner) || v.mergesDifferently(owner)
}

// edited reports whether a package changed since its interrupt began, or does not need one any more.
func (v view) edited(e record.Entry) bool {
	pkg := v.DefinitionOf(e).Package
	return e.Hash != "" && e.Hash != pkg.Hash || situation.ConfigChanged(pkg, e) || len(situation.InterruptsFor(pkg, e)) == 0
}

// reversed reports whether the user wants to uninstall what is being installed, or to keep what is being uninstalled.
func (v view) reversed(e record.Entry) bool {
	_, removed := v.removals[e.Key()]
	return removed != record.IsUninstall(e.Stage)
}

// current reports whether an entry is still about what is wanted: the spec's version, or one that is to be removed.
func (v view) current(e record.Entry) bool {
	_, removed := v.removals[e.Key()]
	return removed || !v.Deleting && v.DefinitionOf(e).FromSpec && !situation.Superseded(v.out.Record, e)
}

// mergesDifferently reports whether the packages of an interrupt would begin another one by now, as what they need has
// changed.
func (v view) mergesDifferently(owner record.Entry) bool {
	if owner.Interrupt == nil {
		return false
	}
	var needed []pendingInterrupt
	for key, e := range situation.Sorted(v.out.Record.Packages) {
		if (key == owner.Key() || record.IsInterrupt(e.Stage) && mergedInto(e, owner)) && v.current(e) && !v.reversed(e) {
			needed = append(needed, pendingInterrupt{e, v.DefinitionOf(e).Package})
		}
	}
	_, now := merge(needed)
	return now.Type != owner.Interrupt.Type ||
		!slices.Equal(now.Services, slices.Sorted(slices.Values(owner.Interrupt.Services)))
}

// detach takes an entry out of an interrupt. Install or uninstall continue with what was reversed; for what is still
// wanted the interrupt that the spec has now, if any, becomes pending.
func (p interrupts) detach(e record.Entry) {
	switch {
	case !p.reversed(e) && p.current(e) && (e.State != v1alpha1.StateSkipped || p.edited(e)):
		p.resetToPending(e)
	case e.State == v1alpha1.StateSkipped:
	case p.reversed(e):
		e.State, e.Since = v1alpha1.StateSkipped, p.stamp()
		p.put(e)
	default: // the times say which version is on the host
		e.State = v1alpha1.StateSkipped
		p.put(e)
	}
}

// resetToPending puts an entry back to where it was before its interrupt, which is pending again.
func (p interrupts) resetToPending(e record.Entry) {
	e.Stage, e.State, e.Since = v1alpha1.StageConfig, v1alpha1.StateComplete, p.stamp()
	if _, removed := p.removals[e.Key()]; removed {
		e.Stage = v1alpha1.StageUninstall
	}
	e.Interrupt, e.BootID, e.Reason, e.Message, e.Restarts, e.Generation = nil, "", "", "", 0, p.Generation
	e.Attempts, e.AttemptsBefore = 0, 0
	p.put(e)
}
