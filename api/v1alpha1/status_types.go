package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is the health of a Skyhook, or of one node for one Skyhook.
// +kubebuilder:validation:Enum=unknown;complete;blocked;waiting;disabled;paused;in_progress;erroring
type Status string

const (
	StatusUnknown    Status = "unknown"
	StatusComplete   Status = "complete"
	StatusBlocked    Status = "blocked"
	StatusWaiting    Status = "waiting"
	StatusDisabled   Status = "disabled"
	StatusPaused     Status = "paused"
	StatusInProgress Status = "in_progress"
	StatusErroring   Status = "erroring"
)

// Stage is a phase of one package on one node.
// +kubebuilder:validation:Enum=apply;interrupt;post-interrupt;config;uninstall;uninstall-interrupt;upgrade
type Stage string

const (
	StageApply              Stage = "apply"
	StageConfig             Stage = "config"
	StageInterrupt          Stage = "interrupt"
	StagePostInterrupt      Stage = "post-interrupt"
	StageUninstall          Stage = "uninstall"
	StageUninstallInterrupt Stage = "uninstall-interrupt"
	StageUpgrade            Stage = "upgrade"
)

// State is the outcome of a stage.
// +kubebuilder:validation:Enum=complete;in_progress;skipped;erroring;unknown
type State string

const (
	StateComplete   State = "complete"
	StateInProgress State = "in_progress"
	StateSkipped    State = "skipped"
	StateErroring   State = "erroring"
	StateUnknown    State = "unknown"
)

// SkyhookStatus is what the operator observed. Truth about a node lives on the node; this object stays under 128 KiB
// whatever the size of the fleet.
type SkyhookStatus struct {
	// ObservedGeneration is the generation of the spec that this status reflects.
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Status is the roll-up over all selected nodes.
	Status Status `json:"status,omitempty"`
	// Conditions; Ready, Reconciling and Stalled follow the kstatus conventions.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Permits are the nodes that may work now. A node starts new work only while it is listed here.
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=1000
	Permits []Permit `json:"permits,omitempty"`
	// NextOrder is the order number that the next permit of this rollout gets; 0 between rollouts.
	NextOrder int32 `json:"nextOrder,omitempty"`
	// Nodes counts the selected nodes by status.
	Nodes NodeCounts `json:"nodes,omitzero"`
	// Attention lists the first ten nodes that do not progress, with the reason.
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=10
	Attention []NodeAttention `json:"attention,omitempty"`
	// NodesInProgress counts the nodes in_progress or erroring.
	// +kubebuilder:default=0
	NodesInProgress int `json:"nodesInProgress"`
	// CompleteNodes is "complete/selected".
	// +kubebuilder:default="0/0"
	CompleteNodes string `json:"completeNodes"`
	// PackageList is the sorted "name:version" of every package, joined with commas.
	// +kubebuilder:default=""
	PackageList string `json:"packageList"`
	// NodeState mirrors the package states of each node; filled for small fleets only.
	NodeState map[string]map[string]PackageStatus `json:"nodeState,omitempty"`
	// NodeStatus mirrors the status of each node; filled for small fleets only.
	NodeStatus map[string]Status `json:"nodeStatus,omitempty"`
	// NodeBootIDs mirrors the boot id of each node; filled for small fleets only.
	NodeBootIDs map[string]string `json:"nodeBootIds,omitempty"`
	// NodePriority tells since when a node holds its permit; filled for small fleets only.
	NodePriority map[string]metav1.Time `json:"nodePriority,omitempty"`
	// NodeOrderOffset is kept for readers of the existing API. Always NextOrder.
	NodeOrderOffset int `json:"nodeOrderOffset,omitempty"`
	// ConfigUpdates lists, per package, the config keys that differ on some node.
	ConfigUpdates map[string][]string `json:"configUpdates,omitempty"`
	// CompartmentStatuses is the progress of each compartment of the deployment policy.
	CompartmentStatuses map[string]CompartmentStatus `json:"compartmentStatuses,omitempty"`
}

// Permit allows one node to work. It is taken back only after the node acknowledged, in its record, that it is done
// with exactly this permit (generation and order), so that no stale cache can exceed a budget.
type Permit struct {
	// Node that may work.
	Node string `json:"node"`
	// Order is the node's place in this rollout: 0, 1, 2 and so on, never reused, never changed.
	Order int32 `json:"order"`
	// Generation of the spec for which the permit was granted.
	Generation int64 `json:"generation"`
}

// NodeCounts counts the selected nodes by status.
type NodeCounts struct {
	Total      int `json:"total,omitempty"`
	Complete   int `json:"complete,omitempty"`
	InProgress int `json:"inProgress,omitempty"`
	Erroring   int `json:"erroring,omitempty"`
	Blocked    int `json:"blocked,omitempty"`
	Waiting    int `json:"waiting,omitempty"`
	Paused     int `json:"paused,omitempty"`
	Disabled   int `json:"disabled,omitempty"`
	Unknown    int `json:"unknown,omitempty"`
}

// NodeAttention tells why one node does not progress.
type NodeAttention struct {
	Node string `json:"node"`
	// Status of the node.
	Status Status `json:"status"`
	// Reason is one machine-readable word.
	Reason string `json:"reason"`
	// Message is a sentence for people.
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// Since when the node is in this situation.
	Since metav1.Time `json:"since,omitempty"`
}

// PackageStatus is the state of one package on one node.
type PackageStatus struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Image        string `json:"image"`
	ContainerSHA string `json:"containerSHA,omitempty"`
	Stage        Stage  `json:"stage"`
	State        State  `json:"state"`
	// Restarts of the stage's pod.
	Restarts int32 `json:"restarts,omitempty"`
}

// CompartmentStatus is the progress of one compartment.
type CompartmentStatus struct {
	Matched         int         `json:"matched"`
	Ceiling         int         `json:"ceiling"`
	InProgress      int         `json:"inProgress"`
	Completed       int         `json:"completed"`
	ProgressPercent int         `json:"progressPercent"`
	BatchState      *BatchState `json:"batchState,omitempty"`
}

// BatchState is where a compartment's strategy stands.
type BatchState struct {
	CurrentBatch        int  `json:"currentBatch,omitempty"`
	ConsecutiveFailures int  `json:"consecutiveFailures,omitempty"`
	CompletedNodes      int  `json:"completedNodes,omitempty"`
	FailedNodes         int  `json:"failedNodes,omitempty"`
	ShouldStop          bool `json:"shouldStop,omitempty"`
	LastBatchSize       int  `json:"lastBatchSize,omitempty"`
	LastBatchFailed     bool `json:"lastBatchFailed,omitempty"`
}
