package lifecycle

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Phase is what is true of one package version on one node. It does not say what to do: that is Next's switch.
type Phase string

const (
	// PhaseAbsent: the record has nothing of it, or it was on its way out when it was wanted again.
	PhaseAbsent Phase = "Absent"
	// PhaseSuperseded: work on another version of the package began after its last change, so what is recorded is no longer on
	// the host as it says.
	PhaseSuperseded Phase = "Superseded"
	// PhaseRunning: a stage has begun, and nothing of it failed so far.
	PhaseRunning Phase = "Running"
	// PhaseFailing: a stage has begun, and its last attempt failed; it is retried.
	PhaseFailing Phase = "Failing"
	// PhaseExhausted: a stage reached a limit of the spec, stageTimeout or maxRetries, and waits for another spec.
	PhaseExhausted Phase = "Exhausted"
	// PhaseOwesConfig: it is installed, but its config stage did not run with the configMap as it is now.
	PhaseOwesConfig Phase = "OwesConfig"
	// PhaseOwesInterrupt: it is configured or uninstalled, and an interrupt has to follow that is not in flight.
	PhaseOwesInterrupt Phase = "OwesInterrupt"
	// PhaseOwesPostInterrupt: its interrupt is done, and post-interrupt has not succeeded since.
	PhaseOwesPostInterrupt Phase = "OwesPostInterrupt"
	// PhaseOwesUninstall: it has to leave the node, and its uninstall has not begun.
	PhaseOwesUninstall Phase = "OwesUninstall"
	// PhaseSettled: there is nothing left to do; one that leaves is uninstalled.
	PhaseSettled Phase = "Settled"
	// PhaseUnreadable: it has to leave the node, and nobody kept how it was installed.
	PhaseUnreadable Phase = "Unreadable"
)

// Aim is what is wanted of one package version.
type Aim struct {
	// Package is its definition.
	Package Package
	// Leaves says that it has to leave the node; Missing, that its definition was not kept.
	Leaves, Missing bool
	// Generation of the spec.
	Generation int64
}

// PhaseOf reads an entry of a record, nil for none; inFlight says that the Skyhook's interrupt is in flight on the node. It
// is the only place that reads stage, state, changes and interrupt together.
func PhaseOf(e *record.Entry, aim Aim, inFlight bool) Phase {
	switch {
	case e == nil:
		return PhaseAbsent
	case aim.Leaves:
		return leavingPhase(*e, aim, inFlight)
	case isInterrupt(e.Stage) && e.State != v1alpha1.StateComplete:
		return interruptPhase(*e, aim, inFlight)
	case e.Active():
		return activePhase(*e, aim)
	case e.State != v1alpha1.StateComplete, // a state that nobody writes any more
		e.Stage == v1alpha1.StageApply, e.Stage == v1alpha1.StageUpgrade, configChanged(aim.Package, *e):
		return PhaseOwesConfig
	case e.Stage == v1alpha1.StageConfig && len(owed(aim.Package, *e)) > 0:
		return PhaseOwesInterrupt
	case e.Stage == v1alpha1.StageInterrupt, e.Stage == v1alpha1.StageConfig && postInterruptOwed(*e):
		return PhaseOwesPostInterrupt
	default:
		return PhaseSettled
	}
}

func leavingPhase(e record.Entry, aim Aim, inFlight bool) Phase {
	over := e.State == v1alpha1.StateComplete
	switch {
	case aim.Missing:
		return PhaseUnreadable
	case e.Stage == v1alpha1.StageUninstallInterrupt && !over:
		return interruptPhase(e, aim, inFlight)
	case e.Stage == v1alpha1.StageInterrupt && e.Active() && inFlight: // one that runs is waited for
		return activePhase(e, aim)
	case e.Stage == v1alpha1.StageUninstall && e.Active():
		return activePhase(e, aim)
	case e.Stage == v1alpha1.StageUninstall && over && aim.Package.Interrupt != nil:
		return PhaseOwesInterrupt
	case uninstalling(e) && over:
		return PhaseSettled
	default:
		return PhaseOwesUninstall
	}
}

// interruptPhase reads an interrupt that is not complete: one that waits for the interrupt in flight runs with it.
func interruptPhase(e record.Entry, aim Aim, inFlight bool) Phase {
	switch phase := activePhase(e, aim); {
	case phase == PhaseExhausted, inFlight:
		return phase
	default:
		return PhaseOwesInterrupt
	}
}

func activePhase(e record.Entry, aim Aim) Phase {
	switch {
	case exhausted(e) && e.Generation == aim.Generation:
		return PhaseExhausted
	case e.State == v1alpha1.StateErroring:
		return PhaseFailing
	default:
		return PhaseRunning
	}
}

func (p *pass) phase(u unit, e *record.Entry) Phase {
	if e == nil && p.supersededBefore(u) {
		return PhaseSuperseded
	}
	return PhaseOf(e, Aim{Package: u.pkg, Leaves: u.leaves(), Missing: u.missing, Generation: p.Generation}, p.interrupting())
}
