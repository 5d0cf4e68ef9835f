package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Package is one package to install: an image with scripts, a version and how
// it is configured. On each node its stages run in order: apply (or upgrade),
// config and, if it has an interrupt, interrupt and post-interrupt.
//
// +kubebuilder:validation:XValidation:rule="!has(self.configInterrupts) || self.configInterrupts.all(k, has(self.configMap) && (k in self.configMap || (k.contains('*') && k.matches(r'^([-._a-zA-Z0-9*?]|[[][!^]?[-._a-zA-Z0-9]+[]])+$') && self.configMap.exists(c, c.matches('^' + k.replace('.', '[.]').replace('*', '.*').replace('?', '.') + '$')))))",message="every key of configInterrupts must be a key of configMap, or a glob with * that matches at least one; correct the key or add it to configMap",fieldPath=".configInterrupts"
type Package struct {
	// Name repeats the key in packages. Leave it out.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	Name string `json:"name,omitempty"`

	// Version is the semantic version of the package and the tag of its image.
	// A leading v and missing minor or patch numbers are allowed; leading zeros
	// and build metadata (+...) are not. Raising it upgrades the package on
	// every node. All nodes run the image that the tag pointed to at the first
	// pull, even if the tag moves; the operator can be set not to pin it.
	// Examples: 1.2.3, v1.2.3-rc.1, 2024.7.6.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!self.contains('+')",message="version must not have build metadata, because it is an image tag and part of names; remove everything from the + on"
	// +kubebuilder:validation:XValidation:rule=`self.contains('+') || (self.matches(r'^v?(0|[1-9][0-9]*)([.](0|[1-9][0-9]*)([.](0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[-A-Za-z][-0-9A-Za-z]*)([.](0|[1-9][0-9]*|[0-9]*[-A-Za-z][-0-9A-Za-z]*))*)?)?)?$') && !self.matches(r'-([.]|$)|[.]-'))`,message="version must be a semantic version such as 1.2.3, v1.2.3-rc.1 or 1.2, without leading zeros; correct it"
	// +required
	Version string `json:"version"`

	// Image is the repository of the package's image, with the registry's port if
	// it has one. A tag in it is ignored: version is the tag. A digest in it
	// (@sha256:...) pins the image as containerSHA does; if both are set they
	// must be equal. The operator can be set to allow some registries only.
	// Example: ghcr.io/nvidia/skyhook-packages/shellscript.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`!self.contains('://') && !self.matches(r'\s') && !self.startsWith(':') && !self.startsWith('@')`,message="image must be a repository such as ghcr.io/org/name, without https:// and without spaces; correct it"
	// +required
	Image string `json:"image"`

	// ContainerSHA pins the image to a digest: nodes then pull
	// image@containerSHA instead of image:version, whatever was pulled before
	// for this version. Nodes that are complete stay as they are. The operator
	// can be set to require it. Written as sha256: and 64 lower-case
	// hexadecimal digits.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:XValidation:rule=`self.size() == 0 || self.matches(r'^sha256:[0-9a-f]{64}$')`,message="containerSHA must be sha256: followed by 64 lower-case hexadecimal digits; copy the digest of the image, or remove the field"
	ContainerSHA string `json:"containerSHA,omitempty"`

	// AgentImageOverride is a full image reference that replaces the operator's
	// agent image for this package. Leave it out, except to test an agent. The
	// operator can be set to refuse it. Example:
	// ghcr.io/org/skyhook-agent:1.4.0.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`!self.contains('://') && !self.matches(r'\s')`,message="agentImageOverride must be an image reference such as ghcr.io/org/agent:1.2.3, without https:// and without spaces; correct it"
	AgentImageOverride string `json:"agentImageOverride,omitempty"`

	// Interrupt is the disruption that the package needs to take effect. It runs
	// after config and is followed by the stage post-interrupt. The node is
	// cordoned and drained before the first stage of the package. Unset means
	// none.
	// +optional
	Interrupt *Interrupt `json:"interrupt,omitempty"`

	// DependsOn maps the name of another package of this Skyhook to its version,
	// exactly as written there. Those packages must be complete on the node
	// before this one starts. Example: {tuning: 1.2.0}.
	// +optional
	// +kubebuilder:validation:MaxProperties=127
	DependsOn map[string]string `json:"dependsOn,omitempty"`

	// ConfigInterrupts maps a key of configMap, or a glob with *, to the
	// interrupt that runs when the value of such a key changes after the first
	// install, instead of the package's interrupt. Example: {"sysctl_*": {type:
	// reboot}}.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	ConfigInterrupts map[string]Interrupt `json:"configInterrupts,omitempty"`

	// ConfigMap is the package's configuration, and its scripts where a package
	// takes scripts: file names and contents, mounted into its pods. Changing a
	// value runs the stage config again on every node. Example: {apply.sh:
	// "..."}.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches(r'^[-._a-zA-Z0-9]{1,253}$') && !k.startsWith('..') && k != '.')",message="a key of configMap must be a file name of letters, digits, dashes, dots and underscores, at most 253 characters, and must not be . or start with ..; rename the key"
	ConfigMap map[string]string `json:"configMap,omitempty"`

	// Env is set on the containers that run the package's steps, in the form of a
	// pod's env. The operator's own variables (SKYHOOK_*) win over these.
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`

	// Resources of each init container of the package's pods. All four fields or
	// none. Unset leaves them to the cluster (LimitRange).
	// +optional
	Resources *ResourceRequirements `json:"resources,omitempty"`

	// GracefulShutdown is the time that a running step has to end after SIGTERM,
	// before it is killed: the termination grace period of the package's pods, as
	// a duration that is cut to whole seconds. Unset means the cluster's 30
	// seconds. Examples: 90s, 5m, 1h30m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$') && duration(self) >= duration('0s')`,message="gracefulShutdown must be a duration of zero or more such as 90s, 5m or 1h30m; correct it"
	GracefulShutdown *metav1.Duration `json:"gracefulShutdown,omitempty"`

	// StageTimeout is how long the pod of one stage of the package may exist on
	// a node, including all retries by the kubelet. After that, the stage is
	// ended and the node is erroring until the Skyhook's spec is edited or the
	// node's record is removed. For a reboot interrupt, it is the time until
	// the node must be back. 0 means no limit, and 20 minutes for a reboot; so
	// does unset, unless the operator is set up with another one.
	// Examples: 90s, 5m, 1h30m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$') && (duration(self) >= duration('1s') || duration(self) == duration('0s'))`,message="stageTimeout must be a duration of at least one second such as 90s, 5m or 1h30m, or 0 for no limit; correct it"
	StageTimeout *metav1.Duration `json:"stageTimeout,omitempty"`

	// MaxRetries is how often a failed stage is retried on a node. After that, the
	// node is erroring until the Skyhook's spec is edited or the node's record is
	// removed. 0 means no retries. Unset means no limit, unless the operator is
	// set up with one. A pod that is lost, evicted, or refused by its node does
	// not count as a failure of the stage.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRetries *int32 `json:"maxRetries,omitempty"`

	// Uninstall says whether the package can be uninstalled, and requests it.
	// Unset means that what the package did stays on the nodes when it is
	// removed from the spec.
	// +optional
	Uninstall *Uninstall `json:"uninstall,omitempty"`
}

// Interrupt is a disruption that a package needs to take effect.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'service' || (has(self.services) && self.services.size() > 0)",message="services must name at least one systemd unit when type is service; add services",fieldPath=".services"
// +kubebuilder:validation:XValidation:rule="!(self.type in ['reboot', 'noop']) || !has(self.services) || self.services.size() == 0",message="services must be left out when type is reboot or noop; remove services, or set type to service",fieldPath=".services"
type Interrupt struct {
	// Type of the interrupt: service restarts the systemd units in services,
	// reboot reboots the node, restartAllServices restarts what sysctl settings
	// need, noop only cordons and drains the node.
	// +required
	Type InterruptType `json:"type"`

	// Services are the systemd units that a service interrupt restarts, in this
	// order. Example: [containerd, kubelet].
	// +optional
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:Pattern=`^[^-\s]\S*$`
	Services []string `json:"services,omitempty"`
}

// InterruptType names a kind of interrupt.
// +kubebuilder:validation:Enum=service;reboot;noop;restartAllServices
type InterruptType string

const (
	// InterruptService restarts the systemd units that the interrupt names.
	InterruptService InterruptType = "service"
	// InterruptReboot reboots the node.
	InterruptReboot InterruptType = "reboot"
	// InterruptNoop cordons and drains the node and does nothing else.
	InterruptNoop InterruptType = "noop"
	// InterruptRestartAllServices restarts what sysctl settings need to take
	// effect.
	InterruptRestartAllServices InterruptType = "restartAllServices"
)

// The rules below cannot compare quantities: with as many packages as are allowed,
// CEL's cost limit does not permit to parse them. The operator checks that limits
// are not less than requests.

// ResourceRequirements are the requests and limits of each init container: all
// four or none, where 0 counts as unset.
//
// +kubebuilder:validation:XValidation:rule="[has(self.cpuRequest) && !(self.cpuRequest in [dyn(0), dyn('0')]), has(self.cpuLimit) && !(self.cpuLimit in [dyn(0), dyn('0')]), has(self.memoryRequest) && !(self.memoryRequest in [dyn(0), dyn('0')]), has(self.memoryLimit) && !(self.memoryLimit in [dyn(0), dyn('0')])].filter(set, set).size() in [0, 4]",message="resources must have all of cpuRequest, cpuLimit, memoryRequest and memoryLimit, or none of them; add the missing ones"
// +kubebuilder:validation:XValidation:rule="!has(self.cpuRequest) || (type(self.cpuRequest) == int ? self.cpuRequest >= 0 : !self.cpuRequest.startsWith('-'))",message="cpuRequest must not be negative; correct it",fieldPath=".cpuRequest"
// +kubebuilder:validation:XValidation:rule="!has(self.cpuLimit) || (type(self.cpuLimit) == int ? self.cpuLimit >= 0 : !self.cpuLimit.startsWith('-'))",message="cpuLimit must not be negative; correct it",fieldPath=".cpuLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.memoryRequest) || (type(self.memoryRequest) == int ? self.memoryRequest >= 0 : !self.memoryRequest.startsWith('-'))",message="memoryRequest must not be negative; correct it",fieldPath=".memoryRequest"
// +kubebuilder:validation:XValidation:rule="!has(self.memoryLimit) || (type(self.memoryLimit) == int ? self.memoryLimit >= 0 : !self.memoryLimit.startsWith('-'))",message="memoryLimit must not be negative; correct it",fieldPath=".memoryLimit"
type ResourceRequirements struct {
	// CPURequest is the CPU that each init container requests, in cores. Example:
	// 100m.
	// +optional
	CPURequest resource.Quantity `json:"cpuRequest,omitzero"`

	// CPULimit is the CPU that each init container may use, in cores, at least
	// cpuRequest. Example: "1".
	// +optional
	CPULimit resource.Quantity `json:"cpuLimit,omitzero"`

	// MemoryRequest is the memory that each init container requests, in bytes.
	// Example: 64Mi.
	// +optional
	MemoryRequest resource.Quantity `json:"memoryRequest,omitzero"`

	// MemoryLimit is the memory that each init container may use, in bytes, at
	// least memoryRequest. Example: 256Mi.
	// +optional
	MemoryLimit resource.Quantity `json:"memoryLimit,omitzero"`
}

// Uninstall says whether and when a package is uninstalled from the nodes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.apply) || !self.apply || (has(self.enabled) && self.enabled)",message="uninstall.apply requires uninstall.enabled; set enabled to true as well",fieldPath=".apply"
type Uninstall struct {
	// Enabled says that the package can be uninstalled: its uninstall stage runs
	// before it may be removed from the spec, and when the Skyhook is deleted.
	// Unset counts as false, unless the operator is set to ask the package's image
	// (its label com.nvidia.skyhook.uninstall).
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Apply requests the uninstall now. Needs enabled. Setting it back to false
	// installs the package again. Default false.
	// +optional
	// +kubebuilder:default=false
	Apply bool `json:"apply"`

	// WhenRemoved says what happens when the package is removed from the spec,
	// or its version is lowered, while it is installed on nodes: Refuse (the
	// default) requires an explicit uninstall first; Uninstall uninstalls it
	// with the definition that it was installed with. Has no effect unless
	// enabled.
	// +optional
	// +kubebuilder:default=Refuse
	WhenRemoved WhenRemoved `json:"whenRemoved,omitempty"`
}

// Requested reports whether the spec asks for the uninstall: apply is true.
func (u *Uninstall) Requested() bool { return u != nil && u.Apply }

// WhenRemoved says what happens to an installed package that leaves the spec.
// +kubebuilder:validation:Enum=Refuse;Uninstall
type WhenRemoved string

const (
	// WhenRemovedRefuse requires an explicit uninstall before the package may
	// leave the spec.
	WhenRemovedRefuse WhenRemoved = "Refuse"
	// WhenRemovedUninstall uninstalls the package with its retained definition.
	WhenRemovedUninstall WhenRemoved = "Uninstall"
)
