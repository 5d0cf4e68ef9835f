package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Skyhook declares which packages belong on which nodes, and how many nodes
// may be in progress at a time. It is cluster-scoped. Set the annotation
// skyhook.nvidia.com/pause or skyhook.nvidia.com/disable to "true" to hold
// it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=skyhooks,scope=Cluster,shortName=sky,categories=skyhooks
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.status`
// +kubebuilder:printcolumn:name="Complete Nodes",type=string,JSONPath=`.status.completeNodes`
// +kubebuilder:printcolumn:name="Nodes In-Progress",type=integer,JSONPath=`.status.nodesInProgress`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.attention[0].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`,priority=1
// +kubebuilder:printcolumn:name="Packages",type=string,JSONPath=`.status.packageList`,priority=1
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.deploymentPolicy`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 53",message="metadata.name must not be longer than 53 characters, because it is part of annotation keys on nodes; choose a shorter name"
type Skyhook struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants. The operator never writes it.
	// +optional
	Spec SkyhookSpec `json:"spec,omitzero"`
	// Status is what the operator observed. Users never write it.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1,"completeNodes":"","nodesInProgress":0,"packageList":""}
	Status SkyhookStatus `json:"status,omitzero"`
}

// SkyhookList is a list of Skyhooks.
//
// +kubebuilder:object:root=true
type SkyhookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Skyhook `json:"items"`
}

// SkyhookSpec is the user's intent. The operator never writes it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.deploymentPolicy) || self.deploymentPolicy.size() == 0 || !has(self.interruptionBudget) || ((!has(self.interruptionBudget.percent) || dyn(self.interruptionBudget.percent) == null) && (!has(self.interruptionBudget.count) || dyn(self.interruptionBudget.count) == null))",message="deploymentPolicy and interruptionBudget exclude each other; remove interruptionBudget, the policy has budgets of its own",fieldPath=".deploymentPolicy"
type SkyhookSpec struct {
	// Serial makes the packages of this Skyhook run one at a time on each node,
	// in the order of their dependencies and names. False (the default) lets
	// packages that do not depend on each other run at the same time.
	// +optional
	// +kubebuilder:default=false
	Serial bool `json:"serial,omitempty"`

	// PodNonInterruptLabels selects pods, in any namespace, that must never be
	// interrupted. While such a pod is Pending or Running on a node, the node is
	// not drained and no interrupt runs there; the node waits for the pod to end
	// by itself. Unset or empty protects no pod. Example: {matchLabels:
	// {workload: training}}.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && e.values.size() > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || e.values.size() == 0))",message="matchExpressions must use operator In or NotIn with values, or Exists or DoesNotExist without values; correct the operator or the values",fieldPath=".matchExpressions"
	PodNonInterruptLabels metav1.LabelSelector `json:"podNonInterruptLabels,omitzero"`

	// NodeSelectors selects the nodes by their labels. Unset or empty selects
	// every node of the cluster. Nodes labeled skyhook.nvidia.com/ignore=true
	// are skipped. Nodes that run Windows, and virtual nodes (the label
	// type=virtual-kubelet, or Fargate's), are never selected. Example:
	// {matchLabels: {node.kubernetes.io/instance-type: gpu}}.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && e.values.size() > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || e.values.size() == 0))",message="matchExpressions must use operator In or NotIn with values, or Exists or DoesNotExist without values; correct the operator or the values",fieldPath=".matchExpressions"
	NodeSelectors metav1.LabelSelector `json:"nodeSelectors,omitzero"`

	// DeploymentPolicy is the name of the DeploymentPolicy that paces the
	// rollout: compartments, budgets, batches. It excludes interruptionBudget.
	// If unset, only interruptionBudget paces the rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	DeploymentPolicy string `json:"deploymentPolicy,omitempty"`

	// DeploymentPolicyOptions overrides parts of the DeploymentPolicy for this
	// Skyhook alone.
	// +optional
	DeploymentPolicyOptions *DeploymentPolicyOptions `json:"deploymentPolicyOptions,omitempty"`

	// InterruptionBudget limits how many nodes are in progress at the same
	// time, for every kind of work. Set percent or count, not both. Unset means
	// no limit except that of every Skyhook, 1000 nodes. It excludes
	// deploymentPolicy.
	// +optional
	InterruptionBudget InterruptionBudget `json:"interruptionBudget,omitzero"`

	// Packages to install, by name. A name has 1 to 43 lower-case letters, digits
	// and dashes, starts with a letter and ends with a letter or digit; name and
	// version joined by a dash have at most 63 characters. At most 128 packages.
	// +optional
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches(r'^[a-z]([-a-z0-9]{0,41}[a-z0-9])?$'))",message="a package name must have 1 to 43 lower-case letters, digits and dashes, start with a letter and end with a letter or digit; rename the package",messageExpression="'package name must have 1 to 43 lower-case letters, digits and dashes, start with a letter and end with a letter or digit; rename: ' + self.filter(k, !k.matches(r'^[a-z]([-a-z0-9]{0,41}[a-z0-9])?$'))[0]"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !has(self[k].name) || self[k].name.size() == 0 || self[k].name == k)",message="name of a package must equal its key in packages; remove the name",messageExpression="'name must equal the key of the package in packages; remove the name of: ' + self.filter(k, has(self[k].name) && self[k].name.size() > 0 && self[k].name != k)[0]"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() + self[k].version.size() <= 62)",message="name and version of a package, joined by a dash, must not be longer than 63 characters, because they are a label of its pods; shorten the name or the version",messageExpression="'name and version of a package, joined by a dash, must not be longer than 63 characters, because they are a label of its pods; shorten the name or the version of: ' + self.filter(k, k.size() + self[k].version.size() > 62)[0]"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !has(self[k].dependsOn) || !(k in self[k].dependsOn))",message="dependsOn of a package must not name the package itself; remove that entry",messageExpression="'dependsOn of a package must not name the package itself; remove that entry from: ' + self.filter(k, has(self[k].dependsOn) && k in self[k].dependsOn)[0]"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !has(self[k].dependsOn) || self[k].dependsOn.all(d, d in self && self[d].version == self[k].dependsOn[d]))",message="dependsOn must name packages of this Skyhook with exactly the version written there; add the package or correct name and version",messageExpression="'dependsOn must name packages of this Skyhook with exactly the version written there; add the package or correct name and version in: ' + self.filter(k, has(self[k].dependsOn) && !self[k].dependsOn.all(d, d in self && self[d].version == self[k].dependsOn[d]))[0]"
	Packages map[string]Package `json:"packages,omitempty"`

	// AdditionalTolerations are added to every pod of this Skyhook. A node with a
	// taint that is tolerated neither by these nor by the operator's own
	// tolerations is blocked, and nothing starts there.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.operator) || t.operator.size() == 0 || t.operator in ['Equal', 'Exists', 'Lt', 'Gt'])",message="operator of a toleration must be Equal or Exists; correct it"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.effect) || t.effect.size() == 0 || t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="effect of a toleration must be NoSchedule, PreferNoSchedule or NoExecute, or unset for all; correct it"
	// +kubebuilder:validation:XValidation:rule="self.all(t, (has(t.key) && t.key.size() > 0) || (has(t.operator) && t.operator == 'Exists'))",message="a toleration without key must have operator Exists; set key or operator"
	AdditionalTolerations []corev1.Toleration `json:"additionalTolerations,omitempty"`

	// RuntimeRequired keeps the operator's runtime taint
	// (skyhook.nvidia.com=runtime-required:NoSchedule unless configured
	// otherwise) on a node until this Skyhook and all others that require it are
	// complete there, so that workloads wait for the packages. Default false.
	// +optional
	// +kubebuilder:default=false
	RuntimeRequired bool `json:"runtimeRequired,omitempty"`

	// AutoTaintNewNodes lets the operator put the runtime taint on nodes that it
	// sees for the first time, instead of the machinery that creates them. Useful
	// with runtimeRequired. Default false.
	// +optional
	// +kubebuilder:default=false
	AutoTaintNewNodes bool `json:"autoTaintNewNodes,omitempty"`

	// Priority orders the Skyhooks that target the same node: lower runs first,
	// equal ones by name. At least 1, default 200.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=200
	Priority int `json:"priority,omitempty"`

	// Sequencing says how this Skyhook holds back those that come after it:
	// node (the default) holds them back on a node until this one is complete
	// on that node, all until this one is complete on all its nodes.
	// +optional
	// +kubebuilder:default=node
	Sequencing Sequencing `json:"sequencing,omitempty"`

	// Drain tells how other pods are moved away from a node before an interrupt.
	// +optional
	Drain *Drain `json:"drain,omitempty"`
}

// Drain says how other pods are moved away from a node before an interrupt.
// Pods are evicted, so that PodDisruptionBudgets are respected; DaemonSet,
// static, finished and kube-system pods stay.
type Drain struct {
	// GracePeriodSeconds is the time that evicted pods have to end. Unset uses
	// each pod's own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`

	// TimeoutSeconds is the time after which a node that could not be drained
	// is erroring; the drain continues. Unset means never.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty"`

	// DeleteEmptyDirData evicts pods that use emptyDir volumes, whose data is
	// then lost. If false, such a pod holds the drain until it is gone.
	// +optional
	// +kubebuilder:default=true
	DeleteEmptyDirData *bool `json:"deleteEmptyDirData,omitempty"`

	// Force evicts pods that no controller would create again elsewhere. If
	// false, such a pod holds the drain until it is gone. Unset means what the
	// operator's DRAIN_FORCE says: false, unless somebody set it.
	// +optional
	Force *bool `json:"force,omitempty"`
}

// Sequencing says how a Skyhook holds back those that come after it.
// +kubebuilder:validation:Enum=node;all
type Sequencing string

const (
	// SequencingNode holds later Skyhooks back on a node until this one is
	// complete on that node.
	SequencingNode Sequencing = "node"
	// SequencingAll holds later Skyhooks back everywhere until this one is
	// complete on all its nodes.
	SequencingAll Sequencing = "all"
)

// DeploymentPolicyOptions overrides parts of a DeploymentPolicy.
type DeploymentPolicyOptions struct {
	// ResetBatchStateOnCompletion starts the next rollout from the first batch
	// instead of continuing with the size that the last rollout reached. Default
	// true; takes precedence over the field of the same name in the policy.
	// +optional
	// +kubebuilder:default=true
	ResetBatchStateOnCompletion *bool `json:"resetBatchStateOnCompletion,omitempty"`
}

// InterruptionBudget is a number of nodes, absolute or relative. At most one
// field is set; none means no limit.
//
// +kubebuilder:validation:XValidation:rule="!has(self.percent) || dyn(self.percent) == null || !has(self.count) || dyn(self.count) == null",message="percent and count exclude each other; remove one of them",fieldPath=".percent"
type InterruptionBudget struct {
	// Percent of the selected nodes that may be in progress at the same time, 0 to
	// 100, rounded down, but always at least one node.
	// +optional
	// +nullable
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent *int `json:"percent,omitempty"`

	// Count of nodes that may be in progress at the same time, 0 or more, where 0
	// counts as 1.
	// +optional
	// +nullable
	// +kubebuilder:validation:Minimum=0
	Count *int `json:"count,omitempty"`
}
