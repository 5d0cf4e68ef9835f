package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Observation is all that a decision depends on.
type Observation struct {
	// Packages that the spec wants, see Prepare.
	Packages Packages
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
	Now         time.Time
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
	Reason      string
	Message     string
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
	// After is when to look again although nothing may have changed; 0 when an event will tell.
	After time.Duration
	// Leaving says that the Skyhook is to be gone from the node; Clear, that its record can be removed now.
	Leaving, Clear bool
}

// Start asks for a pod.
type Start struct {
	Package string
	Stage   v1alpha1.Stage
	Run     string
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
}

// Reasons of waits and errors that the lifecycle itself gives.
const (
	ReasonNoPermit          = "WaitingForPermit"
	ReasonDependency        = "WaitingForDependency"
	ReasonDependencyMissing = "DependencyMissing"
	ReasonConfigMap         = "WaitingForConfigMap"
	ReasonPodTerminating    = "WaitingForPodToEnd"
	ReasonPodStarting       = "PodCannotStart"
	ReasonBackoff           = "BackingOff"
	ReasonStepFailed        = "StepFailed"
	ReasonPodLost           = "PodLost"
)
