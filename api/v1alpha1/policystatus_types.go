package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeploymentPolicyStatus is what a policy applies to. The progress of rollouts
// is in status.compartmentStatuses of each Skyhook, because each has its own
// batches and budget.
type DeploymentPolicyStatus struct {
	// ObservedGeneration is the generation of the spec that this status reflects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Skyhooks counts the Skyhooks that name this policy in
	// spec.deploymentPolicy.
	// +optional
	// +kubebuilder:default=0
	Skyhooks int `json:"skyhooks,omitempty"`

	// UsedBy are the names of these Skyhooks, sorted; the first 100 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=253
	UsedBy []string `json:"usedBy,omitempty"`

	// Nodes counts the nodes that these Skyhooks select. A node that several of
	// them select counts once.
	// +optional
	// +kubebuilder:default=0
	Nodes int `json:"nodes,omitempty"`

	// Compartments counts these nodes by compartment, in the order of the spec,
	// with __default__ last.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=65
	Compartments []CompartmentNodes `json:"compartments,omitempty"`

	// CompartmentList is the same in one line, for printing: the first ten
	// compartments as name:nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	CompartmentList string `json:"compartmentList,omitempty"`

	// Conditions exist only while they are true. CompartmentEmpty: no node
	// belongs to a compartment. CompartmentsUnmatched: all nodes of a Skyhook
	// are in __default__ although there are compartments. Stalled: the operator
	// cannot use the policy, and nothing new starts under it.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CompartmentNodes counts the nodes of a compartment.
type CompartmentNodes struct {
	// Name of the compartment; __default__ has the nodes that no compartment
	// matches.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Nodes that belong to it. Where several compartments match a node, a node
	// may belong to different ones for different Skyhooks, and counts in each.
	// +required
	// +kubebuilder:validation:Minimum=0
	Nodes int `json:"nodes"`
}
