package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is the health of a Skyhook, or of one node for one Skyhook.
// +kubebuilder:validation:Enum=unknown;complete;blocked;waiting;disabled;paused;in_progress;erroring
type Status string

const (
	// StatusUnknown means that nothing is known yet, or that what is recorded
	// cannot be read.
	StatusUnknown Status = "unknown"
	// StatusComplete means that every package is complete.
	StatusComplete Status = "complete"
	// StatusBlocked means that nothing is done until a person changes something: a
	// taint, the label of an ignored node, a missing policy, the spec.
	StatusBlocked Status = "blocked"
	// StatusWaiting means that others have to finish first: an earlier Skyhook,
	// or nodes that use the budget.
	StatusWaiting Status = "waiting"
	// StatusDisabled means that the annotation skyhook.nvidia.com/disable is
	// "true".
	StatusDisabled Status = "disabled"
	// StatusPaused means that the annotation skyhook.nvidia.com/pause is "true".
	StatusPaused Status = "paused"
	// StatusInProgress means that the node has a permit, or that a stage runs.
	StatusInProgress Status = "in_progress"
	// StatusErroring means that a stage failed, or that something takes longer
	// than the spec allows. It is retried unless a limit is reached.
	StatusErroring Status = "erroring"
)

// Stage is one part of the life of a package on a node.
// +kubebuilder:validation:Enum=apply;interrupt;post-interrupt;config;uninstall;uninstall-interrupt;upgrade
type Stage string

const (
	// StageApply installs the package for the first time.
	StageApply Stage = "apply"
	// StageConfig configures it, after apply or upgrade and after each change of
	// its configMap.
	StageConfig Stage = "config"
	// StageInterrupt runs its interrupt on the drained node.
	StageInterrupt Stage = "interrupt"
	// StagePostInterrupt runs after the interrupt.
	StagePostInterrupt Stage = "post-interrupt"
	// StageUninstall reverses what the package did to the host.
	StageUninstall Stage = "uninstall"
	// StageUninstallInterrupt runs its interrupt after the uninstall.
	StageUninstallInterrupt Stage = "uninstall-interrupt"
	// StageUpgrade replaces another version of it.
	StageUpgrade Stage = "upgrade"
)

// State is the outcome of a stage.
// +kubebuilder:validation:Enum=complete;in_progress;skipped;erroring;unknown
type State string

const (
	// StateComplete means that the stage and its check succeeded.
	StateComplete State = "complete"
	// StateInProgress means that the stage runs.
	StateInProgress State = "in_progress"
	// StateSkipped means that an interrupt of another package serves this one as
	// well.
	StateSkipped State = "skipped"
	// StateErroring means that the stage failed. It is retried unless
	// maxRetries or stageTimeout is reached.
	StateErroring State = "erroring"
	// StateUnknown means that the recorded state cannot be read.
	StateUnknown State = "unknown"
)

// SkyhookStatus is what the operator observed. What is installed on a node is
// recorded on the node; this object stays under 128 KiB whatever the size of the
// fleet.
type SkyhookStatus struct {
	// ObservedGeneration is the generation of the spec that this status reflects;
	// -1 until the operator has seen the object, so that nobody takes it for done.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Status is the roll-up over all selected nodes: complete if every node is,
	// otherwise the status that matters most.
	// +optional
	Status Status `json:"status,omitempty"`

	// Conditions of the Skyhook. Ready is True when every selected node is
	// complete; Reconciling and Stalled follow the kstatus conventions, so
	// kubectl wait --for=condition=Ready and GitOps tools work.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// SealedSince is when the operator began to seal the nodes' records of this
	// Skyhook, which it does from the first runtimeRequired on: a label that
	// kubelets cannot write proves who wrote the record. Records on older nodes
	// that have no seal yet are sealed as they are. Written once.
	// +optional
	SealedSince *metav1.Time `json:"sealedSince,omitempty"`

	// Permits are the nodes that may work now, each as
	// node=generation/order[/round][!]. A node starts new work only while it is
	// listed here, without an exclamation mark: that means that the node is to
	// give the permit back, unless it is in the middle of work. Order is its place
	// in this rollout (SKYHOOK_NODE_ORDER).
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Permits []Permit `json:"permits,omitempty"`

	// NextOrder is the order number that the next permit of this rollout gets; 0
	// between rollouts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NextOrder int32 `json:"nextOrder,omitempty"`

	// Nodes counts the selected nodes by status.
	// +optional
	Nodes NodeCounts `json:"nodes,omitzero"`

	// Attention lists the first ten nodes that do not progress, each with the
	// reason.
	// +optional
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=10
	Attention []NodeAttention `json:"attention,omitempty"`

	// Waiting counts the nodes that wait, by reason: those that are not complete
	// and that neither work nor fail. WaitingForPermit says what holds the budget.
	// The twelve most frequent reasons are listed.
	// +optional
	// +listType=map
	// +listMapKey=reason
	// +kubebuilder:validation:MaxItems=12
	Waiting []WaitingNodes `json:"waiting,omitempty"`

	// NodesInProgress counts the nodes that are in_progress or erroring.
	// +kubebuilder:default=0
	NodesInProgress int `json:"nodesInProgress"`

	// CompleteNodes is the number of complete nodes and of selected nodes, for
	// example 3/10.
	// +kubebuilder:default="0/0"
	CompleteNodes string `json:"completeNodes"`

	// PackageList names every package as name:version, sorted and joined with
	// commas.
	// +kubebuilder:default=""
	PackageList string `json:"packageList"`

	// Content is a hash of what rolls out, with the version of its algorithm: the
	// packages with their images, configMaps and variables, and which of them are
	// to be uninstalled. It stays as it was while nothing new starts.
	// +optional
	Content string `json:"content,omitempty"`

	// NodeState mirrors the package states of each node, by node and by
	// name|version. Filled only while the Skyhook targets few nodes (256 unless
	// configured otherwise); the annotation
	// skyhook.nvidia.com/nodeState_<skyhook> of the node is always complete.
	// +optional
	// +mapType=atomic
	NodeState map[string]map[string]PackageStatus `json:"nodeState,omitempty"`

	// NodeStatus mirrors the status of each node, by node. Filled only while the
	// Skyhook targets few nodes.
	// +optional
	// +mapType=atomic
	NodeStatus map[string]Status `json:"nodeStatus,omitempty"`

	// NodeBootIDs mirrors the boot id of each node, by node. Filled only while
	// the Skyhook targets few nodes.
	// +optional
	// +mapType=atomic
	NodeBootIDs map[string]string `json:"nodeBootIds,omitempty"`

	// NodePriority says since when a node holds its permit, by node. Filled
	// only while the Skyhook targets few nodes.
	// +optional
	// +mapType=atomic
	NodePriority map[string]metav1.Time `json:"nodePriority,omitempty"`

	// FirstRound is the round of the first permits of this rollout; those of
	// earlier rollouts have lower ones.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FirstRound int32 `json:"firstRound,omitempty"`

	// NextRound is above the round of every permit that a node got again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NextRound int32 `json:"nextRound,omitempty"`

	// Resumed is the value of the annotation skyhook.nvidia.com/resume, cut to 128
	// characters, that continued a stopped rollout last.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Resumed string `json:"resumed,omitempty"`

	// NodeOrderOffset is always nextOrder; it is kept for readers of earlier
	// versions.
	// +optional
	NodeOrderOffset int `json:"nodeOrderOffset,omitempty"`

	// ConfigUpdates is never filled; it is kept for readers of earlier versions.
	// Each node records what it has of configMap.
	// +optional
	// +mapType=atomic
	ConfigUpdates map[string][]string `json:"configUpdates,omitempty"`

	// CompartmentStatuses is the progress of each compartment of the deployment
	// policy, by compartment. __default__ has the nodes that no compartment
	// matches, and all nodes without a policy. At most 65.
	// +optional
	// +kubebuilder:validation:MaxProperties=65
	// +mapType=atomic
	CompartmentStatuses map[string]CompartmentStatus `json:"compartmentStatuses,omitempty"`
}

// Permit allows one node to work, as node=generation/order[/round][!]. It stays
// listed until the node's record says that the node is done with exactly this
// permit, so that no stale cache can exceed a budget. Order
// is the node's place in this rollout: 0, 1, 2 and so on, never reused, never
// changed. Generation is that of the spec for which it was granted. Round
// tells apart permits of the same order and generation. An exclamation mark
// says that the node starts nothing new with it: one that is in the middle of
// work keeps its place in the budget until it has its turn again, and any other
// gives the permit back.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MaxLength=320
// +kubebuilder:validation:Pattern=`^[^=]+=[0-9]+/[0-9]+(/[0-9]+)?!?$`
type Permit struct {
	// Node that may work.
	Node string

	// Order is the node's place in this rollout.
	Order int32

	// Generation of the spec for which the permit was granted.
	Generation int64

	// Round is that of a later rollout, or of a permit that a node gets again.
	Round int32

	// Revoked asks the node to give the permit back.
	Revoked bool
}

// NodeCounts counts the selected nodes by status. Total is the sum of the
// others.
type NodeCounts struct {
	// Total is the number of selected nodes.
	// +optional
	Total int `json:"total,omitempty"`

	// Complete is the number of nodes on which every package is complete.
	// +optional
	Complete int `json:"complete,omitempty"`

	// InProgress is the number of nodes that are in progress.
	// +optional
	InProgress int `json:"inProgress,omitempty"`

	// Erroring is the number of nodes on which a run failed, or something takes
	// longer than the spec allows.
	// +optional
	Erroring int `json:"erroring,omitempty"`

	// Blocked is the number of nodes that do nothing until a person changes
	// something, such as a taint.
	// +optional
	Blocked int `json:"blocked,omitempty"`

	// Waiting is the number of nodes for which others have to finish first.
	// +optional
	Waiting int `json:"waiting,omitempty"`

	// Paused is the number of nodes that are held by the annotation pause.
	// +optional
	Paused int `json:"paused,omitempty"`

	// Disabled is the number of nodes that are held by the annotation disable.
	// +optional
	Disabled int `json:"disabled,omitempty"`

	// Unknown is the number of nodes whose record cannot be read.
	// +optional
	Unknown int `json:"unknown,omitempty"`
}

// NodeAttention says why one node does not progress.
type NodeAttention struct {
	// Node that does not progress.
	// +required
	Node string `json:"node"`

	// Status of the node.
	// +required
	Status Status `json:"status"`

	// Reason is one machine-readable word.
	// +required
	Reason string `json:"reason"`

	// Message is a sentence for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// Since when the node is in this situation.
	// +optional
	Since metav1.Time `json:"since,omitzero"`
}

// WaitingNodes are the nodes that wait for the same reason.
type WaitingNodes struct {
	// Reason is one machine-readable word, such as WaitingForPermit.
	// +required
	Reason string `json:"reason"`

	// Nodes is the number of nodes that wait for this reason.
	// +required
	Nodes int `json:"nodes"`

	// Message is a sentence for people. Where it differs between nodes, it is that
	// of the first one by name, and begins with that name.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// PackageStatus is the state of one package on one node.
type PackageStatus struct {
	// Name of the package.
	// +required
	Name string `json:"name"`

	// Version of the package that this state is about.
	// +required
	Version string `json:"version"`

	// Image is the repository of the package's image, without tag.
	// +required
	Image string `json:"image"`

	// ContainerSHA is the digest that the image was pinned to, if it was.
	// +optional
	ContainerSHA string `json:"containerSHA,omitempty"`

	// Stage is the stage that the package reached.
	// +required
	Stage Stage `json:"stage"`

	// State is the outcome of the stage so far.
	// +required
	State State `json:"state"`

	// Restarts of the stage's pod: the number of failed attempts.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`

	// Superseded says that an older version took this one's place although this
	// one could not be uninstalled, so its files may still be on the host.
	// Going back to it runs the stage upgrade.
	// +optional
	Superseded bool `json:"superseded,omitempty"`
}
