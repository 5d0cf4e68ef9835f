package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Observation is all that a decision depends on.
type Observation struct {
	// Wanted is what the Skyhook wants on the node.
	Wanted
	// Record is what the node remembers of the Skyhook.
	Record record.Node
	// Pods are the Skyhook's own pods on the node.
	Pods []Pod
	// Permit that the node holds; nil when none.
	Permit *v1alpha1.Permit
	// Hold keeps new work from starting; nil when nothing does.
	Hold *Hold
	// ConfigReady says, by package name, that the package's ConfigMap holds the configMap of the spec, or that none is
	// needed.
	ConfigReady map[string]bool
	// RetainedReady says the same of retained definitions, by their names.
	RetainedReady map[string]bool
	// Serial makes packages run one at a time.
	Serial bool
	// Generation of the spec.
	Generation int64
	// Node is what is seen of the node itself.
	Node Node
	// Drain is what is left on the node beside our pods; nil when nobody looked. Next asks for a look with LookDrain.
	Drain *Drain
	// Reapply starts every package over when the node's boot id changed.
	Reapply bool
	Now     time.Time
}

// Node is what matters of the node, beside its record.
type Node struct {
	Ready         bool
	BootID        string
	Unschedulable bool
	// CordonedByOther says that another Skyhook holds a cordon on it.
	CordonedByOther bool
	// OtherPods counts the package pods of other Skyhooks on it.
	OtherPods int
}

// Drain is what a look at the node's other pods found.
type Drain struct {
	// Clear says that all pods that have to leave are gone.
	Clear   bool
	Reason  string
	Message string
	// TimedOut says that it takes longer than the Skyhook allows.
	TimedOut bool
}

// Hold is a reason, outside of the packages, for which a node must not start new work.
type Hold struct {
	// Status of the node while it lasts.
	Status v1alpha1.Status
	// Release returns the permit once nothing runs, so that a node set aside never holds a slot.
	Release bool
	Reason  string
	Message string
}

// Outcome is what a pod tells about its stage.
type Outcome int

const (
	// Running: no verdict yet.
	Running Outcome = iota
	// Done: the stage's last init container exited 0.
	Done
	// Failing: the current container failed; the kubelet retries it.
	Failing
	// Stuck: a container cannot be started, such as an image that cannot be pulled.
	Stuck
	// Lost: the pod ended for good without a result, such as an eviction.
	Lost
)

// Pod is what matters of one of our pods.
type Pod struct {
	Name        string
	UID         types.UID
	Package     string
	Version     string
	Stage       v1alpha1.Stage
	Run         string
	Hash        string
	Created     time.Time
	Terminating bool
	Outcome     Outcome
	Restarts    int32
	// ExitCode of the failed attempt; Retrying says that the next one runs already.
	ExitCode int32
	Retrying bool
	Reason   string
	Message  string
}

// Decision is what has to happen, in this order: write the record, delete pods, start pods. A pod that is Done is
// deleted without grace, so that there are never two pods of a package on a node.
type Decision struct {
	Record record.Node
	Delete []Pod
	Start  []Start
	// Waits tell why packages do not go on, sorted by package; the node's own wait has no package.
	Waits []Wait
	// Changes are the transitions of this pass, for events.
	Changes []Change
	// Unschedulable is what spec.unschedulable of the node has to become; nil leaves it.
	Unschedulable *bool
	// LookDrain asks for Drain in the observation; Evict, to evict what can be evicted.
	LookDrain, Evict bool
	// After is when to look again although nothing may have changed; 0 when an event will tell.
	After time.Duration
	// Leaving says that the Skyhook is to be gone from the node; Clear, that its record can be removed now.
	Leaving, Clear bool
	// Force deletes pods without waiting for the node to confirm it: the user gave the node up.
	Force bool
}

// Start asks for a pod.
type Start struct {
	Package string
	// Version as in the record's entry.
	Version string
	// Retained names the definition to take instead of the spec's; empty for the spec's.
	Retained   string
	Stage      v1alpha1.Stage
	Run        string
	Generation int64
	// Interrupt to run, in the stages that are interrupts.
	Interrupt *v1alpha1.Interrupt
}

// Wait is one reason for which something does not go on.
type Wait struct {
	Package string
	Reason  string
	Message string
}

// Change is one transition of one package.
type Change struct {
	Package string
	Version string
	Stage   v1alpha1.Stage
	State   v1alpha1.State
	Message string
	// Reason is set for what happened to the node rather than to a package.
	Reason string
}

// Reasons of waits and errors that the lifecycle itself gives.
const (
	ReasonNoPermit          = "WaitingForPermit"
	ReasonDependency        = "WaitingForDependency"
	ReasonDependencyMissing = "DependencyMissing"
	ReasonDependencyGone    = "DependencyUninstalled"
	ReasonConfigMap         = "WaitingForConfigMap"
	ReasonPodTerminating    = "WaitingForPodToEnd"
	ReasonPodStarting       = "PodCannotStart"
	ReasonBackoff           = "BackingOff"
	ReasonStepFailed        = "StepFailed"
	ReasonPodLost           = "PodLost"
	ReasonPodRejected       = "PodRejected"
	ReasonSerial            = "WaitingForSerial"
	ReasonCordon            = "Cordoning"
	ReasonInterrupt         = "WaitingForInterrupt"
	ReasonOtherPods         = "WaitingForOtherPods"
	ReasonReboot            = "WaitingForReboot"
	ReasonDrainTimeout      = "DrainTimeout"
	ReasonRebootTimeout     = "RebootTimeout"
	ReasonStageTimeout      = "StageTimeout"
	ReasonRetries           = "RetriesExhausted"
	ReasonReapply           = "ReapplyAfterReboot"
	ReasonUninstalling      = "WaitingForUninstall"
	ReasonDependent         = "WaitingForDependent"
	ReasonUninstallFirst    = "UninstallRequired"
	ReasonNoDefinition      = "DefinitionMissing"
	ReasonUninstalled       = "Uninstalled"
)
