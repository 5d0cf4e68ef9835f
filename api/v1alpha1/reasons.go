package v1alpha1

// Every reason is called as its value. Those of waits and errors say in their comment who can end them: time, the node, others
// (nodes, Skyhooks, workloads), an administrator of the cluster, or the author of the spec.

// Reasons for which a package, or a whole node, waits.
const (
	// ReasonWaitingForPermit: the node's turn has not come. Others: the nodes that use the budget.
	ReasonWaitingForPermit = "WaitingForPermit"
	// ReasonWaitingForDependency: a package that this one depends on is not complete. The node.
	ReasonWaitingForDependency = "WaitingForDependency"
	// ReasonDependencyMissing: the spec has no package that this one depends on, or not in that version. The author.
	ReasonDependencyMissing = "DependencyMissing"
	// ReasonDependencyUninstalled: a package that this one depends on is, or is to be, uninstalled. The author.
	ReasonDependencyUninstalled = "DependencyUninstalled"
	// ReasonImageNotAllowed: the cluster does not allow an image of the package, which is to be uninstalled. The author.
	ReasonImageNotAllowed = "ImageNotAllowed"
	// ReasonWaitingForConfigMap: the package's ConfigMap is not written yet. Time.
	ReasonWaitingForConfigMap = "WaitingForConfigMap"
	// ReasonWaitingForPodToEnd: an earlier pod of the package has not ended. The node.
	ReasonWaitingForPodToEnd = "WaitingForPodToEnd"
	// ReasonPodCannotStart: no container of the pod has started; the message tells why. The node, or an administrator.
	ReasonPodCannotStart = "PodCannotStart"
	// ReasonStageRunsLong: a stage without stageTimeout has been running for half an hour. The node; if it hangs, the author.
	ReasonStageRunsLong = "StageRunsLong"
	// ReasonBackingOff: a pod that got lost is created again after a pause. Time.
	ReasonBackingOff = "BackingOff"
	// ReasonWaitingForSerial: with serial, another package of the Skyhook comes first. The node.
	ReasonWaitingForSerial = "WaitingForSerial"
	// ReasonCordoning: the cordon is not seen in the API yet. Time.
	ReasonCordoning = "Cordoning"
	// ReasonWaitingForInterrupt: another package, or another Skyhook, interrupts the node. The node, or that Skyhook.
	ReasonWaitingForInterrupt = "WaitingForInterrupt"
	// ReasonWaitingForOtherPods: an interrupt starts when no other package pod is left. The node.
	ReasonWaitingForOtherPods = "WaitingForOtherPods"
	// ReasonWaitingForReboot: the node was told to reboot and is not back yet. The node.
	ReasonWaitingForReboot = "WaitingForReboot"
	// ReasonWaitingForUninstall: another version of the package is uninstalled first. The node.
	ReasonWaitingForUninstall = "WaitingForUninstall"
	// ReasonWaitingForDependent: a package that depends on this one is uninstalled first. The node.
	ReasonWaitingForDependent = "WaitingForDependent"
	// ReasonPassFailed: the operator cannot do, or find out, what it has to, for a node or a Skyhook; the message has the error.
	// It is tried again. An administrator.
	ReasonPassFailed = "PassFailed"
	// ReasonUninstallRequired: another version has to be uninstalled first, and nobody asked for it. The author.
	ReasonUninstallRequired = "UninstallRequired"
	// ReasonDefinitionMissing: the operator does not know any more how to uninstall a version. The author.
	ReasonDefinitionMissing = "DefinitionMissing"
)

// Reasons of failed runs and of what happened to a package.
const (
	// ReasonStepFailed: a step or a check exited non-zero; it is retried. The author, or whoever cares for the host.
	ReasonStepFailed = "StepFailed"
	// ReasonPodLost: the pod ended without a result; it is created again. Time.
	ReasonPodLost = "PodLost"
	// ReasonPodRejected: the API server refuses the pod, or a ConfigMap that it mounts; it is tried again. An administrator.
	ReasonPodRejected = "PodRejected"
	// ReasonPending: the pod has not started, and nobody has said anything of it yet. Time.
	ReasonPending = "Pending"
	// ReasonRebootTimeout: the node did not reboot in time. An administrator, who reboots it.
	ReasonRebootTimeout = "RebootTimeout"
	// ReasonStageTimeout: the stage took longer than stageTimeout and is not tried again. The author.
	ReasonStageTimeout = "StageTimeout"
	// ReasonRetriesExhausted: the stage failed maxRetries times and is not tried again. The author.
	ReasonRetriesExhausted = "RetriesExhausted"
	// ReasonReapplyAfterReboot: the node rebooted and its packages are applied again. Nothing waits.
	ReasonReapplyAfterReboot = "ReapplyAfterReboot"
	// ReasonImageMoved: the tag of a package's image stands for another image than the one that is pinned. Nothing waits.
	ReasonImageMoved = "ImageMoved"
	// ReasonUninstalled: the package is uninstalled. Nothing waits.
	ReasonUninstalled = "Uninstalled"
	// ReasonUninstallStopped: the uninstall was stopped before its end, as the spec has another version now. Nothing waits.
	ReasonUninstallStopped = "UninstallStopped"
)

// Reasons for which a pod keeps a node from being drained.
const (
	// ReasonProtectedPod: the pod must never be interrupted. While there is one, nothing is evicted. Others: the pod ends.
	ReasonProtectedPod = "ProtectedPod"
	// ReasonEvictionRefused: the API refused the eviction, such as for a disruption budget. It is tried in every pass. Others.
	ReasonEvictionRefused = "EvictionRefused"
	// ReasonPodReturns: its controller puts a pod on the node again whenever one is evicted, in spite of the cordon. Others.
	ReasonPodReturns = "PodReturns"
	// ReasonPodUnmanaged: no controller would create the pod again. Others, or the author by spec.drain.force.
	ReasonPodUnmanaged = "PodUnmanaged"
	// ReasonPodUsesEmptyDir: data would be lost with the pod. Others, or the author by spec.drain.
	ReasonPodUsesEmptyDir = "PodUsesEmptyDir"
	// ReasonPodTerminating: the pod is being deleted, by us or by somebody else. Others.
	ReasonPodTerminating = "PodTerminating"
	// ReasonEvicting: the eviction is due in this pass. Others.
	ReasonEvicting = "Evicting"
	// ReasonDrainTimeout: the drain takes longer than spec.drain.timeoutSeconds; it goes on. Others.
	ReasonDrainTimeout = "DrainTimeout"
)

// Reasons for which a Skyhook, or one of its nodes, is held back.
const (
	// ReasonDisabled: the annotation disable is "true". An administrator.
	ReasonDisabled = "Disabled"
	// ReasonPaused: the annotation pause is "true". An administrator.
	ReasonPaused = "Paused"
	// ReasonSpecInvalid: the spec breaks a rule. The author.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonDeploymentPolicyNotFound: the deployment policy does not exist. An administrator.
	ReasonDeploymentPolicyNotFound = "DeploymentPolicyNotFound"
	// ReasonNodeIgnored: the node's label ignore is "true". An administrator.
	ReasonNodeIgnored = "NodeIgnored"
	// ReasonTaintNotTolerable: the node has a taint that the Skyhook does not tolerate. An administrator, or the author.
	ReasonTaintNotTolerable = "TaintNotTolerable"
	// ReasonWaitingForSkyhook: a Skyhook that comes earlier is not complete. Others: that Skyhook.
	ReasonWaitingForSkyhook = "WaitingForSkyhook"
	// ReasonNodeNotReady: the node's kubelet does not report. An administrator.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonNodeStateMalformed: what the node remembers of the Skyhook cannot be read. An administrator.
	ReasonNodeStateMalformed = "NodeStateMalformed"
	// ReasonNodeStateUnsealed: the node keeps workloads off, and its record is not as the operator wrote it. An administrator.
	ReasonNodeStateUnsealed = "NodeStateUnsealed"
	// ReasonDepartedNotReady: the node left the selection at work and is not Ready, so that it keeps its permit. An administrator.
	ReasonDepartedNotReady = "DepartedNotReady"
	// ReasonUnknown stands for a reason that is no word, and for a status of which nothing is known. Whoever the message names.
	ReasonUnknown = "Unknown"
)

// Reasons for which a Skyhook cannot be prepared for its nodes.
const (
	// ReasonConfigMapConflict: the name of a package's ConfigMap is taken. An administrator; time, if an earlier Skyhook left it.
	ReasonConfigMapConflict = "ConfigMapConflict"
	// ReasonDefinitionConflict: the name of a ControllerRevision is taken. An administrator; time, if an earlier Skyhook left it.
	ReasonDefinitionConflict = "DefinitionConflict"
	// ReasonConfigMapRefused: the API server refuses a package's ConfigMap. The author, or an administrator, as the message says.
	ReasonConfigMapRefused = "ConfigMapRefused"
	// ReasonDefinitionRefused: the API server refuses a ControllerRevision. The author, or an administrator, as the message says.
	ReasonDefinitionRefused = "DefinitionRefused"
	// ReasonClaimRefused: the finalizer cannot be put on the Skyhook, or taken off it at the end of its deletion. The author, or an
	// administrator, as the message says.
	ReasonClaimRefused = "ClaimRefused"
)

// Further reasons of the Skyhook's conditions Ready, Reconciling, Stalled and RolloutStopped.
const (
	// ReasonNodesConverged: every selected node is complete. Nothing waits.
	ReasonNodesConverged = "NodesConverged"
	// ReasonProgressing: nodes are at work. Nothing waits.
	ReasonProgressing = "Progressing"
	// ReasonWaiting: the nodes' turn has not come. Others.
	ReasonWaiting = "Waiting"
	// ReasonBlocked: something outside must change first. Whoever the reasons of the nodes name.
	ReasonBlocked = "Blocked"
	// ReasonErroring: a step fails on a node; it is retried. Whoever the reasons of the nodes name.
	ReasonErroring = "Erroring"
	// ReasonDeleting: nodes are being freed of the Skyhook, which is being deleted. Nothing waits.
	ReasonDeleting = "Deleting"
	// ReasonNodesErroring: all that is left to do fails. Whoever the reasons of the nodes name.
	ReasonNodesErroring = "NodesErroring"
	// ReasonRolloutStopped: bad batches stopped the rollout, and nothing is at work any more. An administrator, or the author.
	ReasonRolloutStopped = "RolloutStopped"
	// ReasonFailureThreshold: as many batches in a row were bad as the policy allows. An administrator, or the author.
	ReasonFailureThreshold = "FailureThreshold"
)

// Further reasons of the conditions about packages that go, and of NodeStateMalformed.
const (
	// ReasonUninstallInProgress: packages are being uninstalled. Nothing waits.
	ReasonUninstallInProgress = "UninstallInProgress"
	// ReasonUninstallPodFailing: an uninstall fails; it is retried. The author, or whoever cares for the host.
	ReasonUninstallPodFailing = "UninstallPodFailing"
	// ReasonParseError: the annotations of nodes cannot be read. An administrator.
	ReasonParseError = "ParseError"
	// ReasonMalformedNodeState: the deletion cannot tell what is on a node. An administrator.
	ReasonMalformedNodeState = "MalformedNodeState"
	// ReasonPausedWithPendingUninstall: the deletion has packages to uninstall and is paused. An administrator.
	ReasonPausedWithPendingUninstall = "PausedWithPendingUninstall"
	// ReasonDisabledWithPendingUninstall: the deletion has packages to uninstall and is disabled. An administrator.
	ReasonDisabledWithPendingUninstall = "DisabledWithPendingUninstall"
)

// Reasons for which it is not known whether the package in an image can be uninstalled. The author frees each of them by
// setting uninstall.enabled.
const (
	// ReasonImageUnlabeled: the image has no label with the value true or false. The author of the image.
	ReasonImageUnlabeled = "ImageUnlabeled"
	// ReasonReferenceInvalid: the image's reference cannot be read. The author.
	ReasonReferenceInvalid = "ReferenceInvalid"
	// ReasonUnauthorized: the registry asks for other credentials. An administrator.
	ReasonUnauthorized = "Unauthorized"
	// ReasonImageNotFound: the registry does not have the image. The author.
	ReasonImageNotFound = "ImageNotFound"
	// ReasonTimeout: the registry did not answer in time. Time.
	ReasonTimeout = "Timeout"
	// ReasonRegistryUnreachable: the registry cannot be reached. An administrator.
	ReasonRegistryUnreachable = "RegistryUnreachable"
	// ReasonRegistryError: the registry answered with another error. An administrator.
	ReasonRegistryError = "RegistryError"
	// ReasonImageUnreadable: what the registry sent is no image that can be read. The author of the image.
	ReasonImageUnreadable = "ImageUnreadable"
)

// Reasons of the conditions on nodes. The last two are no words: readers of the existing API know them like this, and the API
// server does not mind in a node's status.
const (
	// NodeReasonComplete: every package of the Skyhook is complete on the node.
	NodeReasonComplete = "Complete"
	// NodeReasonIncomplete: not every one is.
	NodeReasonIncomplete = "Incomplete"
	// NodeReasonNotErroring: no package that matters fails on the node.
	NodeReasonNotErroring = "Not Erroring"
	// NodeReasonErroring: one does, or its state is not known.
	NodeReasonErroring = "Package(s) Erroring or Unknown"
)

// Reasons of events, beside those above and the types of conditions.
const (
	// EventApply: a stage begins, or ends well.
	EventApply = "Apply"
	// EventError: a stage fails.
	EventError = "Error"
	// EventInterrupt: a pod is evicted from a node that is going to be interrupted.
	EventInterrupt = "Interrupt"
	// EventRuntimeTaint: the operator adds or removes the taint that keeps workloads off a node.
	EventRuntimeTaint = "RuntimeTaint"
	// EventState: the status of a Skyhook changes.
	EventState = "State"
	// EventStatusRefused: the API server refuses the status of a Skyhook as a whole, so that a part of it is left out.
	EventStatusRefused = "StatusRefused"
	// EventUninstallAbandoned: packages stay on a node, as the user asked for.
	EventUninstallAbandoned = "UninstallAbandoned"
)
