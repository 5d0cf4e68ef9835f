package lifecycle

import (
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// breakOff ends an interrupt that fails, or that has no pod, once it is no longer what is wanted: its owner leaves or is
// wanted again, another version is wanted, or an edit changes what runs. One that runs comes to its end first. Those of its
// packages that still owe an interrupt begin another one, whoever owns it.
func (p *pass) breakOff() {
	for _, key := range sortedKeys(p.out.Record.Packages) {
		e := p.out.Record.Packages[key]
		retry := exhausted(e) && e.Generation != p.Generation
		if isInterrupt(e.Stage) && retry && p.obsolete(e) {
			p.takeBack(e)
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
	if p.underWay(owner, pod, found) || owner.State != v1alpha1.StateErroring && (found || p.turnedRound(owner)) {
		return
	}
	for _, key := range sortedKeys(p.out.Record.Packages) {
		if e := p.out.Record.Packages[key]; key == owner.Key() || isInterrupt(e.Stage) && mergedInto(e, owner) {
			p.takeBack(e)
		}
	}
	p.releaseInterrupt()
}

// refreshOrphans takes packages back to before their interrupt that wait for one without an owner, and were edited meanwhile.
func (p *pass) refreshOrphans() {
	for _, key := range sortedKeys(p.out.Record.Packages) {
		e := p.out.Record.Packages[key]
		waits := isInterrupt(e.Stage) && e.State == v1alpha1.StateSkipped && e.Interrupt != nil && !p.rebooted(e)
		if waits && p.current(e) && !p.turnedRound(e) && p.edited(e) {
			p.owesAgain(e)
		}
	}
}

// obsolete reports whether an interrupt is no longer what is wanted.
func (p *pass) obsolete(owner record.Entry) bool {
	if p.turnedRound(owner) || !p.current(owner) {
		return true
	}
	return p.edited(owner) || p.mergesDifferently(owner)
}

// edited reports whether a package changed since its interrupt began, or does not owe one any more.
func (p *pass) edited(e record.Entry) bool {
	pkg := p.definition(e).Package
	return e.Hash != "" && e.Hash != pkg.Hash || configChanged(pkg, e) || len(owed(pkg, e)) == 0
}

// turnedRound reports whether the user wants to uninstall what is being installed, or to keep what is being uninstalled.
func (p *pass) turnedRound(e record.Entry) bool {
	_, leaves := p.leaving[e.Key()]
	return leaves != uninstalling(e)
}

// current reports whether an entry is still about what is wanted: the spec's version, or one that leaves.
func (p *pass) current(e record.Entry) bool {
	_, leaves := p.leaving[e.Key()]
	return leaves || !p.Deleting && p.definition(e).FromSpec && !superseded(p.out.Record, e)
}

// mergesDifferently reports whether the packages of an interrupt would make another one of what they owe by now.
func (p *pass) mergesDifferently(owner record.Entry) bool {
	if owner.Interrupt == nil {
		return false
	}
	var due []pending
	for _, key := range sortedKeys(p.out.Record.Packages) {
		e := p.out.Record.Packages[key]
		if (key == owner.Key() || isInterrupt(e.Stage) && mergedInto(e, owner)) && p.current(e) && !p.turnedRound(e) {
			due = append(due, pending{e, p.definition(e).Package})
		}
	}
	_, now := merge(due)
	return now.Type != owner.Interrupt.Type || !slices.Equal(now.Services, slices.Sorted(slices.Values(owner.Interrupt.Services)))
}

// takeBack takes an entry out of an interrupt. What turned round is picked up by install or uninstall; what is still wanted
// owes the interrupt that the spec has now, if any.
func (p *pass) takeBack(e record.Entry) {
	switch {
	case !p.turnedRound(e) && p.current(e) && (e.State != v1alpha1.StateSkipped || p.edited(e)):
		p.owesAgain(e)
	case e.State == v1alpha1.StateSkipped:
	case p.turnedRound(e):
		e.State, e.Since = v1alpha1.StateSkipped, p.stamp()
		p.put(e)
	default: // the times say which version is on the host
		e.State = v1alpha1.StateSkipped
		p.put(e)
	}
}

// owesAgain takes an entry back to where it was before its interrupt.
func (p *pass) owesAgain(e record.Entry) {
	e.Stage, e.State, e.Since = v1alpha1.StageConfig, v1alpha1.StateComplete, p.stamp()
	if _, leaves := p.leaving[e.Key()]; leaves {
		e.Stage = v1alpha1.StageUninstall
	}
	e.Interrupt, e.BootID, e.Reason, e.Message, e.Restarts, e.Generation = nil, "", "", "", 0, p.Generation
	p.put(e)
}
