package v1alpha1

// KeyPrefix begins the key of every annotation and label of the operator, and the type of every condition that it
// writes on nodes or repeats for readers of the existing API.
const KeyPrefix = GroupName + "/"

// ResourcePrefix begins the name of a Skyhook as kubectl prints it with -o name.
const ResourcePrefix = "skyhook." + GroupName + "/"

// Annotations of a Skyhook that its users set.
const (
	// AnnotationPause keeps anything new from starting while it is "true"; running pods finish.
	AnnotationPause = KeyPrefix + "pause"
	// AnnotationDisable does the same while it is "true", and later Skyhooks no longer wait for this one.
	AnnotationDisable = KeyPrefix + "disable"
	// AnnotationResume continues a stopped rollout each time that it gets a value that it did not have before.
	AnnotationResume = KeyPrefix + "resume"
	// AnnotationAbandonUninstall lists nodes, separated by commas, on which nothing of the Skyhook is to be uninstalled
	// any more.
	AnnotationAbandonUninstall = KeyPrefix + "abandon-uninstall"
)

// Annotations and the finalizer that the operator puts on a Skyhook.
const (
	// AnnotationUninstallCapability keeps what the images of the packages say about uninstalling them, as JSON.
	AnnotationUninstallCapability = KeyPrefix + "uninstall-capability"
	// AnnotationVersion is the version of the operator that looked at the Skyhook last.
	AnnotationVersion = KeyPrefix + "version"
	// Finalizer keeps a Skyhook until its nodes are free of it.
	Finalizer = KeyPrefix + "skyhook"
)

// Labels of a node that its users set.
const (
	// LabelIgnore excludes a node from every Skyhook while it is "true".
	LabelIgnore = KeyPrefix + "ignore"
)

// Keys of what a node remembers of one Skyhook; the Skyhook's name follows.
const (
	// AnnotationNodeStatePrefix begins the key of the package states, as JSON.
	AnnotationNodeStatePrefix = KeyPrefix + "nodeState_"
	// AnnotationStatusPrefix begins the key of the node's status for the Skyhook.
	AnnotationStatusPrefix = KeyPrefix + "status_"
	// LabelStatusPrefix begins the key of the same status, for selectors.
	LabelStatusPrefix = KeyPrefix + "status_"
	// AnnotationVersionPrefix begins the key of the version of the operator that wrote the record last.
	AnnotationVersionPrefix = KeyPrefix + "version_"
	// AnnotationPermitPrefix begins the key of the last permit that the node finished with.
	AnnotationPermitPrefix = KeyPrefix + "permit_"
	// AnnotationCordonPrefix begins the key that is "true" while the Skyhook holds a cordon on the node.
	AnnotationCordonPrefix = KeyPrefix + "cordon_"
	// AnnotationBegunPrefix begins the key that is "true" from the first stage or cordon on until the node is complete:
	// meanwhile it holds its place in the budget.
	AnnotationBegunPrefix = KeyPrefix + "begun_"
	// AnnotationWaitPrefix begins the key of what the node waits for, as JSON.
	AnnotationWaitPrefix = KeyPrefix + "wait_"
	// AnnotationBootPrefix begins the key of the boot id seen last; kept only where packages are applied again after a
	// reboot.
	AnnotationBootPrefix = KeyPrefix + "boot_"
	// AnnotationHostPrefix begins the key of the machine id seen last; with "/" and the boot id until it has outlived a
	// boot.
	AnnotationHostPrefix = KeyPrefix + "host_"
	// LabelSealPrefix begins the key of the seal of the record. The admission plugin NodeRestriction lets no kubelet write
	// labels of this domain, while it may write every annotation of its node.
	LabelSealPrefix = "node-restriction.kubernetes.io/skyhook_"
)

// Keys of a node that belong to no single Skyhook.
const (
	// AnnotationInterrupt is the interrupt in flight on the node, as JSON.
	AnnotationInterrupt = KeyPrefix + "interrupt"
	// AnnotationAutoTaintPrefix begins the key that is "true" while the node has a taint that the operator added; the
	// taint's key follows, with dots for slashes. A name that is too long is cut, and ends in a hash of the key. While the
	// last Skyhook that required the taint is being deleted it is "deleting", and then the time until which the taint
	// stays.
	AnnotationAutoTaintPrefix = KeyPrefix + "autoTaint_"
	// DefaultRuntimeRequiredTaint keeps workloads off a node until the Skyhooks that they require are complete there,
	// unless another one is configured.
	DefaultRuntimeRequiredTaint = GroupName + "=runtime-required:NoSchedule"
)

// Labels of pods, ConfigMaps and ControllerRevisions. They prove nothing: owner references do.
const (
	// LabelName holds the Skyhook's name on pods, package ConfigMaps and ControllerRevisions.
	LabelName = KeyPrefix + "name"
	// LabelPackage holds "<package>-<version>" on pods.
	LabelPackage = KeyPrefix + "package"
	// LabelInterrupt is "True" on interrupt pods.
	LabelInterrupt = KeyPrefix + "interrupt"
	// LabelNodeMeta holds the Skyhook's name on node metadata ConfigMaps.
	LabelNodeMeta = KeyPrefix + "skyhook-node-meta"
	// LabelHistory holds the Skyhook's name on the ConfigMap with its history.
	LabelHistory = KeyPrefix + "history"
	// LabelPin is "true" on ControllerRevisions that keep which image a package version is pinned to.
	LabelPin = KeyPrefix + "pin"
	// LabelDefinition holds the name of the definition that a ControllerRevision retains.
	LabelDefinition = KeyPrefix + "definition"
)

// Annotations of pods, ConfigMaps, ControllerRevisions and the Secret of the webhook.
const (
	// AnnotationPackage tells which package, version and stage a pod runs, as JSON.
	AnnotationPackage = KeyPrefix + "package"
	// AnnotationRun tells a pod from those of earlier runs of the same stage.
	AnnotationRun = KeyPrefix + "run"
	// AnnotationHash changes with what of the spec shows in a pod.
	AnnotationHash = KeyPrefix + "hash"
	// AnnotationName is the Skyhook that a ConfigMap or a ControllerRevision was made for.
	AnnotationName = KeyPrefix + "name"
	// AnnotationPackageName is the package that a ConfigMap or a ControllerRevision is about.
	AnnotationPackageName = KeyPrefix + "Package.Name"
	// AnnotationPackageVersion is its version.
	AnnotationPackageVersion = KeyPrefix + "Package.Version"
	// AnnotationNodeName is the node that a metadata ConfigMap is about.
	AnnotationNodeName = KeyPrefix + "Node.name"
	// AnnotationMoved is, on what keeps a pin, the other image that a node got for the same tag, as JSON.
	AnnotationMoved = KeyPrefix + "moved"
	// AnnotationDigest is a digest of the data of a metadata ConfigMap.
	AnnotationDigest = KeyPrefix + "digest"
	// AnnotationExpiration tells people and tools when the certificate in a Secret ends, as RFC 3339.
	AnnotationExpiration = KeyPrefix + "expiration"
)
