package v1alpha1

// Condition types of a Skyhook that always exist. Ready, Reconciling and Stalled follow the kstatus conventions.
const (
	// ConditionReady is true while every selected node is complete with the spec as it is.
	ConditionReady = "Ready"
	// ConditionReconciling is true while something is left to do that progresses by itself: nodes are in progress or wait.
	// It is never true together with ConditionStalled.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is true while something is left to do and only a person can help.
	ConditionStalled = "Stalled"
	// ConditionTaintNotTolerable is true while nodes are excluded by their taints. Its type is also its reason.
	ConditionTaintNotTolerable = "TaintNotTolerable"
	// ConditionNodesIgnored is true while nodes are excluded by their label. Its type is also its reason.
	ConditionNodesIgnored = "NodesIgnored"
	// ConditionTransition exists only under KeyPrefix, for readers of the existing API, and says what Ready says. Ready,
	// TaintNotTolerable, NodesIgnored and DeploymentPolicyNotFound are repeated there as well.
	ConditionTransition = "Transition"
)

// Condition types of a Skyhook that exist only while they are true.
const (
	// ConditionDeploymentPolicyNotFound: the deployment policy does not exist.
	ConditionDeploymentPolicyNotFound = "DeploymentPolicyNotFound"
	// ConditionDepartedNotReady: a node that left the selection keeps a permit because it is not Ready.
	ConditionDepartedNotReady = "DepartedNotReady"
	// ConditionRolloutStopped: bad batches keep new ones from being started.
	ConditionRolloutStopped = "RolloutStopped"
	// ConditionImageMoved: nodes got different images for the version of a package; all run the one that was pulled first.
	ConditionImageMoved = "ImageMoved"
	// ConditionNodeStateMalformed: the records of nodes cannot be read.
	ConditionNodeStateMalformed = "NodeStateMalformed"
	// ConditionBlocked: packages wait for one that is, or is to be, uninstalled.
	ConditionBlocked = "Blocked"
	// ConditionUninstallInProgress: packages are being uninstalled.
	ConditionUninstallInProgress = "UninstallInProgress"
	// ConditionUninstallFailed: an uninstall fails; its message says whether it is retried.
	ConditionUninstallFailed = "UninstallFailed"
	// ConditionUninstallRequired: what left the spec has to be uninstalled first, and nobody asked for it.
	ConditionUninstallRequired = "UninstallRequired"
	// ConditionUninstallCapabilityUnknown: the operator cannot tell of a package whether it can be uninstalled: its spec
	// leaves uninstall.enabled unset, and its image does not say or could not be looked at.
	ConditionUninstallCapabilityUnknown = "UninstallCapabilityUnknown"
	// ConditionDeletionBlocked: the deletion of the Skyhook does not progress.
	ConditionDeletionBlocked = "DeletionBlocked"
)

// Condition types of a DeploymentPolicy, beside ConditionStalled. They exist only while they are true, and their type is
// also their reason.
const (
	// ConditionCompartmentEmpty: Skyhooks that use the policy select nodes, and none belongs to a compartment.
	ConditionCompartmentEmpty = "CompartmentEmpty"
	// ConditionCompartmentsUnmatched: the policy has compartments, and they match no node of a Skyhook that uses it.
	ConditionCompartmentsUnmatched = "CompartmentsUnmatched"
)

// Condition types of a node. Every Skyhook has both there: KeyPrefix, its name, and one of these.
const (
	// NodeConditionNotReadySuffix: the Skyhook is not complete on the node.
	NodeConditionNotReadySuffix = "/NotReady"
	// NodeConditionErroringSuffix: a package that matters fails on the node.
	NodeConditionErroringSuffix = "/Erroring"
)
