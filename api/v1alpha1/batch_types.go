package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CompartmentStatus is the progress of one compartment.
type CompartmentStatus struct {
	// Matched is the number of nodes in the compartment.
	// +required
	Matched int `json:"matched"`

	// Ceiling is the most nodes of the compartment that may be in progress at the
	// same time.
	// +required
	Ceiling int `json:"ceiling"`

	// InProgress is the number of nodes that are in progress.
	// +required
	InProgress int `json:"inProgress"`

	// Erroring is the number of nodes on which a run failed, or something takes
	// longer than the spec allows.
	// +optional
	Erroring int `json:"erroring,omitempty"`

	// Completed is the number of complete nodes.
	// +required
	Completed int `json:"completed"`

	// ProgressPercent is completed in percent of matched, rounded down.
	// +required
	ProgressPercent int `json:"progressPercent"`

	// Strategy that sizes the batches, its own or that of the policy's default:
	// fixed, linear or exponential; none in a deletion whose policy is missing.
	// Empty without a policy.
	// +optional
	Strategy string `json:"strategy,omitempty"`

	// NextBatchSize is the most nodes that the next batch would have if it started
	// now; 0 while the compartment is stopped.
	// +optional
	NextBatchSize int `json:"nextBatchSize,omitempty"`

	// FailureThresholdEnforced says that bad batches can still stop this
	// compartment.
	// +optional
	FailureThresholdEnforced bool `json:"failureThresholdEnforced"`

	// FailureThresholdReason says why bad batches no longer stop it.
	// +optional
	FailureThresholdReason string `json:"failureThresholdReason,omitempty"`

	// BatchState is where the compartment's strategy stands.
	// +optional
	BatchState *BatchState `json:"batchState,omitempty"`
}

// BatchState is where a compartment's strategy stands.
type BatchState struct {
	// CurrentBatch is the number of the batch that runs or comes next, from 1.
	// +optional
	CurrentBatch int `json:"currentBatch,omitempty"`

	// ConsecutiveFailures is the number of bad batches in a row.
	// +optional
	ConsecutiveFailures int `json:"consecutiveFailures,omitempty"`

	// CompletedNodes is the number of nodes that succeeded in the batches so far.
	// +optional
	CompletedNodes int `json:"completedNodes,omitempty"`

	// FailedNodes is the number of nodes that failed in the batches so far.
	// +optional
	FailedNodes int `json:"failedNodes,omitempty"`

	// Baseline is how many nodes are complete or bad without having been through a
	// batch of the content that rolls out. They are no progress of it: safetyLimit
	// counts from there.
	// +optional
	Baseline int `json:"baseline,omitempty"`

	// ShouldStop says that too many batches in a row were bad and that no new
	// batch starts.
	// +optional
	ShouldStop bool `json:"shouldStop,omitempty"`

	// LastBatchSize is the number of nodes in the last finished batch.
	// +optional
	LastBatchSize int `json:"lastBatchSize,omitempty"`

	// LastBatchFailed says that the last finished batch was bad.
	// +optional
	LastBatchFailed bool `json:"lastBatchFailed,omitempty"`

	// BatchSize is the number of nodes that the running batch began with; 0 while
	// none runs.
	// +optional
	BatchSize int `json:"batchSize,omitempty"`

	// Members are the orders of the permits that nodes of the running batch hold.
	// +optional
	Members Orders `json:"members,omitempty"`

	// Granted is when a node got a permit of a batch last, or was created, if that
	// is later. A member that was created after it took the place of another one
	// under its name.
	// +optional
	Granted *metav1.Time `json:"granted,omitempty"`

	// Succeeded is how many nodes of the running batch are complete and have given
	// their permit back.
	// +optional
	Succeeded int `json:"succeeded,omitempty"`
	// Failed is how many nodes of the running batch have given their permit back
	// and failed, or were deleted or relabelled in the middle of work.
	// +optional
	Failed int `json:"failed,omitempty"`
	// Left is how many nodes of the running batch have given their permit back
	// without a verdict, such as those that somebody took out.
	// +optional
	Left int `json:"left,omitempty"`

	// Closed are the last bad batches in a row that are over.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Closed []ClosedBatch `json:"closed,omitempty"`

	// Lost names the last bad nodes of batches that hold no permit any more, such
	// as those that were deleted in the middle of work. If they can be tried again,
	// they get the next permits.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Lost []string `json:"lost,omitempty"`

	// Again names the nodes that stopped the compartment before it continued. They
	// get the next permits.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Again []string `json:"again,omitempty"`

	// Before is how many bad batches in a row were before those.
	// +optional
	Before int `json:"before,omitempty"`

	// Content names what rolls out: a hash of packages, images, configMaps, env and
	// removals. Other content begins with the first batch.
	// +optional
	Content string `json:"content,omitempty"`

	// Generation of the spec that the content began with. Permits of earlier ones
	// start nothing of it.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}
