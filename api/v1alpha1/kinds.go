package v1alpha1

import "slices"

// Everything that walks, ranks or checks the values of a type below goes by these lists, and by no other.

// InterruptTypes are all, the one that includes most first: where several are due, one serves those after it.
func InterruptTypes() []InterruptType {
	return []InterruptType{InterruptReboot, InterruptRestartAllServices, InterruptService, InterruptNoop}
}

// Known reports whether it is one of InterruptTypes.
func (t InterruptType) Known() bool { return slices.Contains(InterruptTypes(), t) }

// Stages are all, in the order in which a package meets them.
func Stages() []Stage {
	return []Stage{
		StageUninstall, StageUninstallInterrupt, StageUpgrade, StageApply, StageConfig, StageInterrupt, StagePostInterrupt,
	}
}

// States are all outcomes of a stage.
func States() []State {
	return []State{StateComplete, StateInProgress, StateSkipped, StateErroring, StateUnknown}
}

// Statuses are all, the one that needs somebody most first.
func Statuses() []Status {
	return []Status{
		StatusErroring, StatusBlocked, StatusUnknown, StatusInProgress, StatusWaiting, StatusPaused, StatusDisabled,
		StatusComplete,
	}
}
