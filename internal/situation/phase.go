package situation

import (
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Phase is what is true of one package version on one node. It does not say what to do: that is Next's switch.
type Phase string

const (
	// PhaseAbsent: the record has nothing of it, or only an uninstall that was cancelled.
	PhaseAbsent Phase = "Absent"
	// PhaseSuperseded: work on another version of the package began after its last change, so what is recorded is no
	// longer on the host as it says.
	PhaseSuperseded Phase = "Superseded"
	// PhaseRunning: a stage has begun, and nothing of it failed so far.
	PhaseRunning Phase = "Running"
	// PhaseFailing: a stage has begun, and its last attempt failed; it is retried.
	PhaseFailing Phase = "Failing"
	// PhaseExhausted: a stage reached a limit of the spec, stageTimeout or maxRetries, and waits for another spec.
	PhaseExhausted Phase = "Exhausted"
	// PhaseConfigPending: it is installed, but its config stage did not run with the configMap as it is now.
	PhaseConfigPending Phase = "ConfigPending"
	// PhaseInterruptPending: it is configured or uninstalled, and an interrupt has to follow that is not in flight.
	PhaseInterruptPending Phase = "InterruptPending"
	// PhasePostInterruptPending: its interrupt is done, and post-interrupt has not succeeded since.
	PhasePostInterruptPending Phase = "PostInterruptPending"
	// PhaseUninstallPending: it has to be uninstalled, and its uninstall has not begun.
	PhaseUninstallPending Phase = "UninstallPending"
	// PhaseSettled: there is nothing left to do; one that is to be removed is uninstalled.
	PhaseSettled Phase = "Settled"
	// PhaseUnreadable: it has to be uninstalled, and the operator has no definition of it.
	PhaseUnreadable Phase = "Unreadable"
)

// Aim is what is wanted of one package version.
type Aim struct {
	// Package is its definition.
	Package Package
	// Removed says that it has to be uninstalled; Missing, that the operator has no definition of it.
	Removed, Missing bool
	// Generation of the spec.
	Generation int64
}

// PhaseOf reads an entry of a record, nil for none; inFlight says that the Skyhook's interrupt is in flight on the
// node. It is the only place that reads stage, state, changes and interrupt together.
func PhaseOf(e *record.Entry, aim Aim, inFlight bool) Phase {
	switch {
	case e == nil:
		return PhaseAbsent
	case aim.Removed:
		return removalPhase(*e, aim, inFlight)
	case record.IsInterrupt(e.Stage) && e.State != v1alpha1.StateComplete:
		return interruptPhase(*e, aim, inFlight)
	case e.Active(), e.State != v1alpha1.StateComplete && installs(e.Stage):
		return activePhase(*e, aim)
	case e.State != v1alpha1.StateComplete, // a state that nobody writes any more
		installs(e.Stage), ConfigChanged(aim.Package, *e):
		return PhaseConfigPending
	case e.Stage == v1alpha1.StageConfig && Owes(aim.Package, *e):
		return PhaseInterruptPending
	case e.Stage == v1alpha1.StageInterrupt, e.Stage == v1alpha1.StageConfig && needsPostInterrupt(*e):
		return PhasePostInterruptPending
	default:
		return PhaseSettled
	}
}

func installs(s v1alpha1.Stage) bool { return s == v1alpha1.StageApply || s == v1alpha1.StageUpgrade }

func removalPhase(e record.Entry, aim Aim, inFlight bool) Phase {
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
		return PhaseInterruptPending
	case record.IsUninstall(e.Stage) && over:
		return PhaseSettled
	default:
		return PhaseUninstallPending
	}
}

// interruptPhase reads an interrupt that is not complete: one that waits for the interrupt in flight runs with it.
func interruptPhase(e record.Entry, aim Aim, inFlight bool) Phase {
	switch phase := activePhase(e, aim); {
	case phase == PhaseExhausted, inFlight:
		return phase
	default:
		return PhaseInterruptPending
	}
}

func activePhase(e record.Entry, aim Aim) Phase {
	switch {
	case Exhausted(e) && e.Generation == aim.Generation:
		return PhaseExhausted
	case e.State == v1alpha1.StateErroring:
		return PhaseFailing
	default:
		return PhaseRunning
	}
}
