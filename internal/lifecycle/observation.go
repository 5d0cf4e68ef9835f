package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// Observation is all that a decision depends on.
type Observation struct {
	// Skyhook that is decided for.
	Skyhook string
	// Wanted is what the Skyhook wants on the node.
	situation.Wanted
	// Record is what the node remembers of the Skyhook.
	Record record.Node
	// InFlight is the interrupt in flight on the node, whoever owns it; nil for none.
	InFlight *record.Interrupt
	// Pods are the Skyhook's own pods on the node.
	Pods []Pod
	// Unbegun are pods of the Skyhook's that went since the last pass without anything of their stage having begun.
	Unbegun []Pod
	// Permit that the node holds; nil when none.
	Permit *v1alpha1.Permit
	// Hold keeps new work from starting; nil when nothing does.
	Hold *situation.Hold
	// ConfigReady says, by package name, that the package's ConfigMap holds the configMap of the spec, or that none is
	// needed.
	ConfigReady map[string]bool
	// Configured has hashes, by package name, of the configMap that another operator, which records none, configured the
	// package with; nothing of a package of which that is not known.
	Configured map[string]map[string]string
	// Finished says that the node was complete when another operator paused or disabled the Skyhook, whatever the
	// record's status says since.
	Finished bool
	// RetainedReady says the same of retained definitions, by their names.
	RetainedReady map[string]bool
	// Serial makes packages run one at a time.
	Serial bool
	// Node is what is seen of the node itself.
	Node Node
	// Drain is what is left on the node beside our pods; nil when nobody looked. Next asks for a look with LookDrain.
	Drain *Drain
	// Failed tells why the last passes over the node failed, all of them; empty while they do not, or not for long.
	Failed string
	// Pins are the images that were pulled first; nil when images are not pinned.
	Pins Pins
	// Reapply says after what every package starts over.
	Reapply Reapply
	Now     time.Time
}

// Reapply says after what all packages are applied again on a node: settings of the operator.
type Reapply struct {
	// Reboots that no Skyhook asked for.
	Reboots bool
	// Hosts says that the node got another host, or the same one installed anew.
	Hosts bool
}

// Node is what matters of the node, beside its record.
type Node struct {
	Ready         bool
	BootID        string
	MachineID     string
	Unschedulable bool
	// CordonUnread says that Unschedulable is only decided, by another Skyhook in the same pass: it was not read back.
	CordonUnread bool
	// CordonedByOther says that another Skyhook holds a cordon on it.
	CordonedByOther bool
	// OtherPods counts the package pods of other Skyhooks on it that have not ended.
	OtherPods int
	// InterruptPods counts the pods of interrupts on it that have not ended, but for the Skyhook's own: also of one that
	// was deleted, and may have been created again under its name.
	InterruptPods int
	// OtherPod and InterruptPod are the first of them by name. OtherPod is zero while all of them are yet to be created.
	OtherPod, InterruptPod types.NamespacedName
	// Architecture of the node, such as amd64. Resolves says that its container runtime reports of an image what its tag
	// stands for, be that an index of several architectures.
	Architecture string
	Resolves     bool
	// OwnReboot says that the boot id changed by a reboot that some Skyhook asked for: the boot is accepted.
	OwnReboot bool
}

// Drain is what a look at the node's other pods found.
type Drain struct {
	// Clear says that no pod is left that has to leave the node.
	Clear   bool
	Reason  string
	Message string
	// By is the first pod that holds it, as namespace/name.
	By string
	// TimedOut says that it takes longer than the Skyhook allows.
	TimedOut bool
}

// Outcome is what a pod tells about its stage.
type Outcome int

const (
	// Running: no verdict yet. With a Reason, no container could be started so far.
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
	Namespace string
	Name      string
	UID       types.UID
	Package   string
	Version   string
	Stage     v1alpha1.Stage
	Run       string
	Hash      string
	// Generation of the spec that another operator made the pod for; only where there is no Hash.
	Generation  int64
	Created     time.Time
	Terminating bool
	// Ends is when the grace period of a pod that is being deleted is over; zero when it is not told.
	Ends     time.Time
	Outcome  Outcome
	Restarts int32
	// Took is how long the pod took on its node until it was Done, at least a second; zero if that is not known, or if
	// something failed on the way.
	Took time.Duration
	// ExitCode of the failed attempt; Retrying says that the next one runs already.
	ExitCode int32
	Retrying bool
	// Begun says that the agent runs, or ran, in the pod, so that something of the stage may be on the host.
	Begun bool
	// Shutdown says that the node ended the pod, which is Lost, because it goes down itself.
	Shutdown bool
	// Repeats says that the message only tells that what failed is retried: the one before it has the cause.
	Repeats bool
	// Container is the one that runs now; empty when none does.
	Container string
	// Elsewhere says that it waits for an image which another pod in its place would pull from elsewhere.
	Elsewhere bool
	// Missing says that the registry does not have the image.
	Missing bool
	// Image is the repository of the package's image, and Digest what of it the pod runs, as far as that is known.
	// ByDigest says that it was asked for by this digest, and not by the version.
	Image, Digest string
	ByDigest      bool
	Reason        string
	Message       string
}
