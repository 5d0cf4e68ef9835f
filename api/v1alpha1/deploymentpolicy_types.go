package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeploymentPolicy paces rollouts over compartments of a fleet.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=deploymentpolicies,scope=Cluster
// +kubebuilder:storageversion
type DeploymentPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DeploymentPolicySpec `json:"spec"`
}

// DeploymentPolicyList is a list of DeploymentPolicies.
//
// +kubebuilder:object:root=true
type DeploymentPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeploymentPolicy `json:"items"`
}

// DeploymentPolicySpec is the user's intent.
type DeploymentPolicySpec struct {
	// Default applies to nodes that no compartment matches.
	Default PolicyDefault `json:"default"`
	// Compartments split the fleet by node labels.
	Compartments []Compartment `json:"compartments,omitempty"`
	// ResetBatchStateOnCompletion starts the next rollout from the first batch.
	// +kubebuilder:default=true
	ResetBatchStateOnCompletion *bool `json:"resetBatchStateOnCompletion,omitempty"`
}

// PolicyDefault is the budget and strategy of nodes that no compartment matches.
type PolicyDefault struct {
	Budget   Budget   `json:"budget"`
	Strategy Strategy `json:"strategy"`
}

// Compartment is a part of the fleet with its own pace.
type Compartment struct {
	// +kubebuilder:validation:MinLength=1
	Name     string               `json:"name"`
	Selector metav1.LabelSelector `json:"selector"`
	Budget   Budget               `json:"budget"`
	// Strategy of this compartment; the default's when absent.
	Strategy *Strategy `json:"strategy,omitempty"`
}

// Budget is a number of nodes, absolute or relative; exactly one field is set.
type Budget struct {
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent *int `json:"percent,omitempty"`
	// +kubebuilder:validation:Minimum=1
	Count *int `json:"count,omitempty"`
}

// Strategy sizes the batches; exactly one field is set.
type Strategy struct {
	Fixed       *FixedStrategy       `json:"fixed,omitempty"`
	Linear      *LinearStrategy      `json:"linear,omitempty"`
	Exponential *ExponentialStrategy `json:"exponential,omitempty"`
}

// BatchRules are common to all strategies.
type BatchRules struct {
	// InitialBatch is the size of the first batch, in nodes.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	InitialBatch *int `json:"initialBatch,omitempty"`
	// BatchThreshold is the percentage of a batch that must succeed.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=100
	BatchThreshold *int `json:"batchThreshold,omitempty"`
	// FailureThreshold is the number of failed batches in a row that stops the rollout. Unset never stops it.
	// +kubebuilder:validation:Minimum=1
	FailureThreshold *int `json:"failureThreshold,omitempty"`
	// SafetyLimit is the progress in percent from which failures no longer stop or slow the rollout.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=50
	SafetyLimit *int `json:"safetyLimit,omitempty"`
}

// FixedStrategy keeps the batch size.
type FixedStrategy struct {
	BatchRules `json:",inline"`
}

// LinearStrategy grows the batch by delta.
type LinearStrategy struct {
	BatchRules `json:",inline"`
	// Delta is added after a good batch and taken away after a bad one, in nodes.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	Delta *int `json:"delta,omitempty"`
}

// ExponentialStrategy multiplies the batch.
type ExponentialStrategy struct {
	BatchRules `json:",inline"`
	// GrowthFactor multiplies the batch after a good one and divides it after a bad one.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:default=2
	GrowthFactor *int `json:"growthFactor,omitempty"`
}
