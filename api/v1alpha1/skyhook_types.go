package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Skyhook declares which packages belong on which nodes and how many nodes may be worked on at a time.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=skyhooks,scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.status`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Nodes In-Progress",type=integer,JSONPath=`.status.nodesInProgress`
// +kubebuilder:printcolumn:name="Complete Nodes",type=string,JSONPath=`.status.completeNodes`
// +kubebuilder:printcolumn:name="Packages",type=string,JSONPath=`.status.packageList`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.deploymentPolicy`
type Skyhook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SkyhookSpec   `json:"spec,omitempty"`
	Status SkyhookStatus `json:"status,omitempty"`
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
type SkyhookSpec struct {
	// Serial makes packages run one at a time on each node.
	Serial bool `json:"serial,omitempty"`
	// PodNonInterruptLabels selects pods that are never interrupted.
	PodNonInterruptLabels metav1.LabelSelector `json:"podNonInterruptLabels,omitzero"`
	// NodeSelectors selects the nodes by their labels. An empty selector selects every node.
	NodeSelectors metav1.LabelSelector `json:"nodeSelectors,omitzero"`
	// DeploymentPolicy names the DeploymentPolicy that paces the rollout.
	DeploymentPolicy string `json:"deploymentPolicy,omitempty"`
	// DeploymentPolicyOptions overrides parts of the DeploymentPolicy for this Skyhook.
	DeploymentPolicyOptions *DeploymentPolicyOptions `json:"deploymentPolicyOptions,omitempty"`
	// InterruptionBudget limits how many nodes are worked on at the same time.
	InterruptionBudget InterruptionBudget `json:"interruptionBudget,omitzero"`
	// Packages to install, by name.
	Packages map[string]Package `json:"packages,omitempty"`
	// AdditionalTolerations are added to the package pods, and count when node taints are compared.
	AdditionalTolerations []corev1.Toleration `json:"additionalTolerations,omitempty"`
	// RuntimeRequired keeps the runtime taint on a node until this Skyhook is complete there.
	RuntimeRequired bool `json:"runtimeRequired,omitempty"`
	// AutoTaintNewNodes lets the operator add the runtime taint to nodes that it sees for the first time.
	AutoTaintNewNodes bool `json:"autoTaintNewNodes,omitempty"`
	// Priority orders Skyhooks that target the same node; lower runs first.
	// +kubebuilder:default=200
	Priority int `json:"priority,omitempty"`
	// Sequencing tells how this Skyhook holds back later ones.
	// +kubebuilder:default=node
	Sequencing Sequencing `json:"sequencing,omitempty"`
}

// Sequencing tells how a Skyhook holds back those that come after it.
// +kubebuilder:validation:Enum=node;all
type Sequencing string

const (
	// SequencingNode holds later Skyhooks back on a node until this one is complete on that node.
	SequencingNode Sequencing = "node"
	// SequencingAll holds later Skyhooks back everywhere until this one is complete on all its nodes.
	SequencingAll Sequencing = "all"
)

// DeploymentPolicyOptions overrides parts of a DeploymentPolicy.
type DeploymentPolicyOptions struct {
	// ResetBatchStateOnCompletion starts the next rollout from the first batch.
	// +kubebuilder:default=true
	ResetBatchStateOnCompletion *bool `json:"resetBatchStateOnCompletion,omitempty"`
}

// InterruptionBudget is a number of nodes, absolute or relative. At most one field is set; none means no limit.
type InterruptionBudget struct {
	// Percent of the selected nodes, rounded down, at least one.
	Percent *int `json:"percent,omitempty"`
	// Count of nodes, at least one.
	Count *int `json:"count,omitempty"`
}

// Package is one package to install.
type Package struct {
	// Name repeats the key in spec.packages.
	Name string `json:"name,omitempty"`
	// Version is the semantic version, and the tag of the image.
	Version string `json:"version"`
	// Image is the repository. A tag in it is ignored in favour of version.
	Image string `json:"image"`
	// ContainerSHA pins the image to a digest.
	ContainerSHA string `json:"containerSHA,omitempty"`
	// AgentImageOverride replaces the operator's agent image for this package.
	AgentImageOverride string `json:"agentImageOverride,omitempty"`
	// Interrupt is run after config.
	Interrupt *Interrupt `json:"interrupt,omitempty"`
	// DependsOn maps a package name to the version that must be complete on the node first.
	DependsOn map[string]string `json:"dependsOn,omitempty"`
	// ConfigInterrupts maps a configMap key, or a glob with *, to the interrupt to run when that key changes.
	ConfigInterrupts map[string]Interrupt `json:"configInterrupts,omitempty"`
	// ConfigMap is mounted to the package's pods; scripts and configuration.
	ConfigMap map[string]string `json:"configMap,omitempty"`
	// Env is set on the agent's containers.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// Resources of each init container; all four or none.
	Resources *ResourceRequirements `json:"resources,omitempty"`
	// GracefulShutdown is the time that a step has to end after SIGTERM, in whole seconds.
	GracefulShutdown *metav1.Duration `json:"gracefulShutdown,omitempty"`
	// Uninstall tells whether and when the package is undone.
	Uninstall *Uninstall `json:"uninstall,omitempty"`
}

// Interrupt is a disruption that a package needs to take effect.
type Interrupt struct {
	// Type of the interrupt.
	Type InterruptType `json:"type"`
	// Services are the systemd units of a service interrupt.
	Services []string `json:"services,omitempty"`
}

// InterruptType names a kind of interrupt.
// +kubebuilder:validation:Enum=service;reboot;noop;restartAllServices
type InterruptType string

const (
	InterruptService            InterruptType = "service"
	InterruptReboot             InterruptType = "reboot"
	InterruptNoop               InterruptType = "noop"
	InterruptRestartAllServices InterruptType = "restartAllServices"
)

// ResourceRequirements are the requests and limits of each init container.
type ResourceRequirements struct {
	CPURequest    resource.Quantity `json:"cpuRequest,omitempty"`
	CPULimit      resource.Quantity `json:"cpuLimit,omitempty"`
	MemoryRequest resource.Quantity `json:"memoryRequest,omitempty"`
	MemoryLimit   resource.Quantity `json:"memoryLimit,omitempty"`
}

// Uninstall tells whether and when a package is undone.
type Uninstall struct {
	// Enabled says that the package can be uninstalled.
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`
	// Apply asks for the uninstall now.
	// +kubebuilder:default=false
	Apply bool `json:"apply"`
}

