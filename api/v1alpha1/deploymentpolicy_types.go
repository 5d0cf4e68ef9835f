package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeploymentPolicy paces rollouts: it splits a fleet into compartments and
// says how many nodes of each may be in progress at a time and how batches grow
// or stop. Skyhooks refer to it by name in spec.deploymentPolicy. It is
// cluster-scoped.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=deploymentpolicies,scope=Cluster,shortName=dp
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Used By",type=integer,JSONPath=`.status.skyhooks`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="Compartments",type=string,JSONPath=`.status.compartmentList`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Skyhooks",type=string,JSONPath=`.status.usedBy`,priority=1
type DeploymentPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	// +required
	Spec DeploymentPolicySpec `json:"spec"`

	// Status is what the policy applies to; only the operator writes it.
	// +optional
	Status DeploymentPolicyStatus `json:"status,omitzero"`
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
	// Default is the budget and strategy of the nodes that no compartment
	// matches.
	// +required
	Default PolicyDefault `json:"default"`

	// Compartments split the fleet by node labels, each with its own budget and
	// strategy. A node that several match belongs to the most careful of them. At
	// most 64.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(c, self.exists_one(d, d.name == c.name))",message="compartments must have unique names; rename one of them"
	// +kubebuilder:validation:XValidation:rule="self.all(c, self.exists_one(d, d.selector == c.selector))",message="compartments must have different selectors; change or remove one of them"
	Compartments []Compartment `json:"compartments,omitempty"`

	// ResetBatchStateOnCompletion starts the next rollout from the first batch
	// instead of continuing with the size that the last rollout reached. Default
	// true.
	// +optional
	// +kubebuilder:default=true
	ResetBatchStateOnCompletion *bool `json:"resetBatchStateOnCompletion,omitempty"`
}

// PolicyDefault is the budget and strategy of nodes that no compartment
// matches.
type PolicyDefault struct {
	// Budget is the most nodes outside of all compartments that may be in
	// progress at the same time.
	// +required
	Budget Budget `json:"budget"`

	// Strategy sizes the batches of these nodes.
	// +required
	Strategy Strategy `json:"strategy"`
}

// Compartment is a part of the fleet with its own pace.
type Compartment struct {
	// Name of the compartment, unique in the policy. __default__ is reserved for
	// the nodes that no compartment matches.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self != '__default__'",message="name must not be __default__, which is reserved for the nodes that no compartment matches; rename the compartment"
	// +required
	Name string `json:"name"`

	// Selector selects the nodes of this compartment by their labels.
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15].all(i, i >= self.matchExpressions.size() || (self.matchExpressions[i].operator in ['In', 'NotIn'] ? has(self.matchExpressions[i].values) && self.matchExpressions[i].values.size() > 0 : self.matchExpressions[i].operator in ['Exists', 'DoesNotExist'] && (!has(self.matchExpressions[i].values) || self.matchExpressions[i].values.size() == 0)))",message="matchExpressions must use operator In or NotIn with values, or Exists or DoesNotExist without values; correct the operator or the values",fieldPath=".matchExpressions"
	// +required
	Selector metav1.LabelSelector `json:"selector"`

	// Budget is the most nodes of this compartment that may be in progress at the
	// same time.
	// +required
	Budget Budget `json:"budget"`

	// Strategy sizes the batches of this compartment. Unset takes the strategy of
	// the policy's default.
	// +optional
	Strategy *Strategy `json:"strategy,omitempty"`
}

// Budget is a number of nodes, absolute or relative; exactly one field is
// set.
//
// +kubebuilder:validation:XValidation:rule="has(self.percent) != has(self.count)",message="budget must have exactly one of percent and count; set one and remove the other"
type Budget struct {
	// Percent of the matching nodes, 1 to 100, rounded down, but always at least
	// one node.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent *int `json:"percent,omitempty"`

	// Count of nodes, 1 or more.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count *int `json:"count,omitempty"`
}

// Strategy sizes the batches; exactly one field is set. The budget caps every
// batch.
//
// +kubebuilder:validation:XValidation:rule="[has(self.fixed), has(self.linear), has(self.exponential)].filter(b, b).size() == 1",message="strategy must have exactly one of fixed, linear and exponential; set one and remove the others"
type Strategy struct {
	// Fixed keeps the size of the first batch.
	// +optional
	Fixed *FixedStrategy `json:"fixed,omitempty"`

	// Linear adds a constant after a good batch and subtracts it after a bad one.
	// +optional
	Linear *LinearStrategy `json:"linear,omitempty"`

	// Exponential multiplies after a good batch and divides after a bad one.
	// +optional
	Exponential *ExponentialStrategy `json:"exponential,omitempty"`
}

// BatchRules are common to all strategies.
type BatchRules struct {
	// InitialBatch is the size of the first batch, in nodes. At least 1, default
	// 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	InitialBatch *int `json:"initialBatch,omitempty"`

	// BatchThreshold is the percentage of a batch that must succeed for the batch
	// to count as good. 1 to 100, default 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=100
	BatchThreshold *int `json:"batchThreshold,omitempty"`

	// FailureThreshold is the number of bad batches in a row that stops the
	// compartment: no new batch starts there. At least 1. Unset never stops it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	FailureThreshold *int `json:"failureThreshold,omitempty"`

	// SafetyLimit is the progress, in percent of the nodes, from which bad
	// batches no longer stop or slow the rollout. 1 to 100, default 50.
	// +optional
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

	// Delta is added to the size of the batch after a good one and subtracted from
	// it after a bad one, in nodes. At least 1, default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	Delta *int `json:"delta,omitempty"`
}

// ExponentialStrategy multiplies the batch.
type ExponentialStrategy struct {
	BatchRules `json:",inline"`

	// GrowthFactor multiplies the size of the batch after a good one and divides
	// it after a bad one. At least 2, default 2.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:default=2
	GrowthFactor *int `json:"growthFactor,omitempty"`
}
