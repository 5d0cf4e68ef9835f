package lifecycle_test

import (
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// stage has constructors for entries, pods, and what becomes of them.
type stage v1alpha1.Stage

// The words of the tables are the names of the API, without what they begin with there.
const (
	apply              = stage(v1alpha1.StageApply)
	upgrade            = stage(v1alpha1.StageUpgrade)
	config             = stage(v1alpha1.StageConfig)
	interrupt          = stage(v1alpha1.StageInterrupt)
	postInterrupt      = stage(v1alpha1.StagePostInterrupt)
	uninstall          = stage(v1alpha1.StageUninstall)
	uninstallInterrupt = stage(v1alpha1.StageUninstallInterrupt)

	complete      = v1alpha1.StatusComplete
	inProgress    = v1alpha1.StatusInProgress
	erroring      = v1alpha1.StatusErroring
	waiting       = v1alpha1.StatusWaiting
	blocked       = v1alpha1.StatusBlocked
	paused        = v1alpha1.StatusPaused
	disabled      = v1alpha1.StatusDisabled
	statusUnknown = v1alpha1.StatusUnknown

	imageNotAllowed       = v1alpha1.ReasonImageNotAllowed
	waitingForPermit      = v1alpha1.ReasonWaitingForPermit
	waitingForDependency  = v1alpha1.ReasonWaitingForDependency
	dependencyMissing     = v1alpha1.ReasonDependencyMissing
	dependencyUninstalled = v1alpha1.ReasonDependencyUninstalled
	waitingForConfigMap   = v1alpha1.ReasonWaitingForConfigMap
	waitingForPodToEnd    = v1alpha1.ReasonWaitingForPodToEnd
	podCannotStart        = v1alpha1.ReasonPodCannotStart
	stageRunsLong         = v1alpha1.ReasonStageRunsLong
	backingOff            = v1alpha1.ReasonBackingOff
	waitingForSerial      = v1alpha1.ReasonWaitingForSerial
	cordoning             = v1alpha1.ReasonCordoning
	waitingForInterrupt   = v1alpha1.ReasonWaitingForInterrupt
	waitingForOtherPods   = v1alpha1.ReasonWaitingForOtherPods
	waitingForReboot      = v1alpha1.ReasonWaitingForReboot
	waitingForUninstall   = v1alpha1.ReasonWaitingForUninstall
	waitingForDependent   = v1alpha1.ReasonWaitingForDependent
	passFailed            = v1alpha1.ReasonPassFailed
	uninstallRequired     = v1alpha1.ReasonUninstallRequired
	definitionMissing     = v1alpha1.ReasonDefinitionMissing
	stepFailed            = v1alpha1.ReasonStepFailed
	podRejected           = v1alpha1.ReasonPodRejected
	pending               = v1alpha1.ReasonPending
	rebootTimeout         = v1alpha1.ReasonRebootTimeout
	stageTimeout          = v1alpha1.ReasonStageTimeout
	retriesExhausted      = v1alpha1.ReasonRetriesExhausted
	reapplyAfterReboot    = v1alpha1.ReasonReapplyAfterReboot
	hostReplaced          = v1alpha1.ReasonHostReplaced
	uninstallStopped      = v1alpha1.ReasonUninstallStopped
	protectedPod          = v1alpha1.ReasonProtectedPod
	evictionRefused       = v1alpha1.ReasonEvictionRefused
	podTerminating        = v1alpha1.ReasonPodTerminating
	evicting              = v1alpha1.ReasonEvicting
	drainTimeout          = v1alpha1.ReasonDrainTimeout
	reasonDisabled        = v1alpha1.ReasonDisabled
	reasonPaused          = v1alpha1.ReasonPaused
	specInvalid           = v1alpha1.ReasonSpecInvalid
	nodeIgnored           = v1alpha1.ReasonNodeIgnored
	waitingForSkyhook     = v1alpha1.ReasonWaitingForSkyhook
	nodeStateMalformed    = v1alpha1.ReasonNodeStateMalformed

	second, minute, hour = time.Second, time.Minute, time.Hour
)

var (
	noop               = v1alpha1.Interrupt{Type: v1alpha1.InterruptNoop}
	reboot             = v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
	restartAllServices = v1alpha1.Interrupt{Type: v1alpha1.InterruptRestartAllServices}
)

func service(names ...string) v1alpha1.Interrupt {
	return v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: names}
}
