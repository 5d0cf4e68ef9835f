package v1alpha1

// Every reason is called as its value. A comment has three parts, from which tools/reasons generates
// docs/reasons.md:
//
//	// ReasonX: What it means, in full sentences.
//	// Ended by: who can end it, the usual one first.
//	// Do: The command or field that helps.
//
// Who can end it is one or more of time, node, other, administrator and author, as in record.Frees, and package author;
// or message, where the message says so; or none, where nothing waits. The first sentence of a block's comment is the
// heading of its table, and the rest stands below the heading. "make generate" writes the page.

// Reasons why a package or a whole node waits. They are in `status.waiting` and `status.attention` of the Skyhook,
// and in the annotation `skyhook.nvidia.com/wait_NAME` of the node.
const (
	// ReasonWaitingForPermit: Other nodes use the whole budget, or the current batch is not over, so the node has no
	// permit yet.
	// Ended by: other.
	// Do: Nothing: a place becomes free when a node that uses the budget is complete. How many nodes are disturbed at
	// a time is in `spec.interruptionBudget`, or in the deployment policy. If the message says that bad batches stopped
	// the compartment, see `FailureThreshold`.
	ReasonWaitingForPermit = "WaitingForPermit"
	// ReasonWaitingForDependency: A package that this one depends on is not complete on the node.
	// Ended by: node.
	// Do: Nothing while that package progresses. If it fails, `status.attention` of the Skyhook says why.
	ReasonWaitingForDependency = "WaitingForDependency"
	// ReasonDependencyMissing: `dependsOn` names a package, or a version of it, that is not in the spec.
	// Ended by: author.
	// Do: Add that package to `spec.packages`, or correct `spec.packages.PACKAGE.dependsOn`.
	ReasonDependencyMissing = "DependencyMissing"
	// ReasonDependencyUninstalled: `dependsOn` names a package that is being uninstalled or was uninstalled.
	// Ended by: author.
	// Do: Set `uninstall.apply` of that package to `false`, or remove it from `spec.packages.PACKAGE.dependsOn`.
	ReasonDependencyUninstalled = "DependencyUninstalled"
	// ReasonImageNotAllowed: A package is to be uninstalled, and the operator's settings do not allow its image.
	// Ended by: author, administrator.
	// Do: Correct `image` or `containerSHA` of the package, change the setting (`ALLOWED_REGISTRIES`,
	// `REQUIRE_DIGEST` or `FORBID_AGENT_IMAGE_OVERRIDE`), or leave the package on the node: `kubectl skyhook
	// abandon NAME --node NODE`.
	ReasonImageNotAllowed = "ImageNotAllowed"
	// ReasonWaitingForConfigMap: The operator has not written the ConfigMap with the package's `configMap` yet.
	// Ended by: time.
	// Do: Nothing. If it lasts, `kubectl describe skyhook NAME` shows what keeps the operator from writing it.
	ReasonWaitingForConfigMap = "WaitingForConfigMap"
	// ReasonWaitingForPodToEnd: An earlier pod of the package has not ended.
	// Ended by: node, administrator.
	// Do: Nothing at first. If the message says that the pod did not end within its grace period, look at its
	// finalizers with `kubectl get pod -n skyhook POD -o yaml`, and at the node's kubelet.
	ReasonWaitingForPodToEnd = "WaitingForPodToEnd"
	// ReasonPodCannotStart: No container of the pod has started. The message has the kubelet's reason, such as a
	// volume or a network that is not ready. After half an hour, the node counts as erroring.
	// Ended by: node, administrator.
	// Do: Fix what the message names. `kubectl describe pod -n skyhook POD` shows more.
	ReasonPodCannotStart = "PodCannotStart"
	// ReasonStageRunsLong: A stage without `stageTimeout` has been running for half an hour. It keeps running.
	// Ended by: node, author.
	// Do: Read its log with `kubectl logs -n skyhook POD --all-containers`. If it hangs, set
	// `spec.packages.PACKAGE.stageTimeout`.
	ReasonStageRunsLong = "StageRunsLong"
	// ReasonBackingOff: The pod of a stage was lost or refused. It is created again after a pause that grows with
	// each failure.
	// Ended by: time.
	// Do: Nothing. The message says what happened to the pod; if it keeps happening, look at `kubectl describe node
	// NODE`.
	ReasonBackingOff = "BackingOff"
	// ReasonWaitingForSerial: `spec.serial` is `true`, and another package of the Skyhook runs first.
	// Ended by: node.
	// Do: Nothing while that package progresses. If it fails, `status.attention` of the Skyhook says why.
	ReasonWaitingForSerial = "WaitingForSerial"
	// ReasonCordoning: The operator has cordoned the node, and the API server does not show it yet.
	// Ended by: time.
	// Do: Nothing. If it lasts, `kubectl get node NODE -o yaml` shows whether something else uncordons the node.
	ReasonCordoning = "Cordoning"
	// ReasonWaitingForInterrupt: An interrupt of this or another Skyhook is in flight on the node, or an interrupt
	// waits for a stage of another package to end.
	// Ended by: node, other.
	// Do: Nothing while the interrupt progresses. The annotation `skyhook.nvidia.com/interrupt` of the node shows
	// which Skyhook it belongs to; if it fails, `status.attention` of that Skyhook says why.
	ReasonWaitingForInterrupt = "WaitingForInterrupt"
	// ReasonWaitingForOtherPods: An interrupt starts only when no other package pod is left on the node; or the
	// operator cannot tell which package pods are on the node.
	// Ended by: node, administrator.
	// Do: Nothing at first. If it lasts, `kubectl describe pod -n skyhook POD` shows why the pod is still there. If
	// the message says that a pod has lost its label, delete that pod.
	ReasonWaitingForOtherPods = "WaitingForOtherPods"
	// ReasonWaitingForReboot: The operator told the node to reboot, and the node is not back yet.
	// Ended by: node.
	// Do: Nothing at first. 20 minutes, or `spec.packages.PACKAGE.stageTimeout`, after the node was told to reboot, the
	// reason becomes `RebootTimeout`; a node from which the Skyhook is being removed is freed instead. If the message says
	// that the interrupt cannot begin, look at the node's kubelet: `journalctl -u kubelet`.
	ReasonWaitingForReboot = "WaitingForReboot"
	// ReasonWaitingForUninstall: Another version of the package must be uninstalled first.
	// Ended by: node.
	// Do: Nothing while the uninstall progresses. If it fails, the condition `UninstallFailed` says why.
	ReasonWaitingForUninstall = "WaitingForUninstall"
	// ReasonWaitingForDependent: A package that depends on this one must be uninstalled first.
	// Ended by: node.
	// Do: Nothing while the uninstall progresses. If it fails, the condition `UninstallFailed` says why.
	ReasonWaitingForDependent = "WaitingForDependent"
	// ReasonPassFailed: The operator repeatedly fails to read or write what it needs for a node or a Skyhook. The
	// message has the error. The operator retries.
	// Ended by: administrator.
	// Do: Fix what the error names, such as a webhook, a quota or the operator's role. `kubectl get events -A
	// --field-selector reason=PassFailed` lists all cases.
	ReasonPassFailed = "PassFailed"
	// ReasonUninstallRequired: A version of the package that is no longer in the spec is still installed and must be
	// uninstalled first, but the spec does not request that.
	// Ended by: author.
	// Do: Put that version back and set `uninstall.apply` to `true`, or set `uninstall.whenRemoved` to `Uninstall`.
	ReasonUninstallRequired = "UninstallRequired"
	// ReasonDefinitionMissing: A package is to be uninstalled, but the operator has no definition of the installed
	// version.
	// Ended by: author, administrator.
	// Do: Put that version back into `spec.packages`, or leave the package on the node: `kubectl skyhook
	// abandon NAME --node NODE`.
	ReasonDefinitionMissing = "DefinitionMissing"
)

// Reasons of failed runs, and of what happened to a package. Those of failed runs are in `status.attention` of the
// Skyhook and in the annotation `skyhook.nvidia.com/nodeState_NAME` of the node; the others are reasons of events and
// conditions.
const (
	// ReasonStepFailed: A step exited with an error. The message has the exit code and the last lines of its output.
	// The step is retried with growing pauses.
	// Ended by: author, package author, administrator.
	// Do: Fix the script, the configuration or the host. `kubectl logs -n skyhook POD -c CONTAINER` shows the whole
	// log.
	ReasonStepFailed = "StepFailed"
	// ReasonPodLost: The pod ended without a result. The operator creates it again after a pause.
	// Ended by: time.
	// Do: Nothing. If it keeps happening, look at `kubectl describe node NODE`.
	ReasonPodLost = "PodLost"
	// ReasonPodRejected: The API server refuses the pod of a stage, or a ConfigMap that the pod mounts; or the node
	// refuses the pod, for example because it has less CPU or memory free than the package requests. The operator
	// retries with growing pauses; that is no failed attempt of the package.
	// Ended by: administrator.
	// Do: Change what the message names, such as an admission policy, a quota or a LimitRange; `kubectl get
	// quota,limitrange -n skyhook` lists the last two. If it names a pod of the operator's namespace that is in the
	// way, delete that pod. If the node has too little free, wait until pods there have ended, or lower
	// `spec.packages.PACKAGE.resources` or the LimitRange.
	ReasonPodRejected = "PodRejected"
	// ReasonPending: The pod has not started, and the kubelet has not said why.
	// Ended by: time, administrator.
	// Do: Nothing at first. If it lasts, look at `kubectl describe pod -n skyhook POD` and at the node's kubelet.
	ReasonPending = "Pending"
	// ReasonRebootTimeout: The node did not reboot, or did not come back, within 20 minutes or the package's
	// `stageTimeout`.
	// Ended by: administrator.
	// Do: Look at the node's console and kubelet, and reboot the node by hand if it did not reboot. To allow more
	// time, raise `spec.packages.PACKAGE.stageTimeout`. If the node is lost for good: `kubectl delete node NODE`.
	ReasonRebootTimeout = "RebootTimeout"
	// ReasonStageTimeout: The stage did not end within `stageTimeout`, and is not retried.
	// Ended by: author.
	// Do: Fix the package, or raise `spec.packages.PACKAGE.stageTimeout`: any edit of the spec retries the stage. How to
	// retry it on one node without an edit, `kubectl skyhook why node NODE` says.
	ReasonStageTimeout = "StageTimeout"
	// ReasonRetriesExhausted: The stage failed more often than `maxRetries` allows, and is not retried.
	// Ended by: author.
	// Do: Fix the package, or raise `spec.packages.PACKAGE.maxRetries`: any edit of the spec retries the stage. How to
	// retry it on one node without an edit, `kubectl skyhook why node NODE` says.
	ReasonRetriesExhausted = "RetriesExhausted"
	// ReasonReapplyAfterReboot: The node rebooted by itself, and its packages are applied again because
	// `REAPPLY_ON_REBOOT` is `true`.
	// Ended by: none.
	// Do: Nothing.
	ReasonReapplyAfterReboot = "ReapplyAfterReboot"
	// ReasonHostReplaced: The node reports another machine id than before: its host was replaced, or installed again. Its
	// packages are applied again.
	// Ended by: none.
	// Do: Nothing. To keep records when machine ids change, set `DETECT_REPLACED_HOSTS` to `false` in the operator.
	ReasonHostReplaced = "HostReplaced"
	// ReasonImageMoved: The tag of a package's image points to a different image than the pinned one. All nodes run the
	// pinned image.
	// Ended by: none.
	// Do: Nothing. To run the other image, build it as a new `version`, or set `containerSHA` to its digest.
	ReasonImageMoved = "ImageMoved"
	// ReasonUninstalled: The package was uninstalled from the node.
	// Ended by: none.
	// Do: Nothing.
	ReasonUninstalled = "Uninstalled"
	// ReasonUninstallStopped: An uninstall was stopped before its end, because the spec now has another version of the
	// package. That version is installed.
	// Ended by: none.
	// Do: Nothing.
	ReasonUninstallStopped = "UninstallStopped"
)

// Reasons why a pod keeps a node from being drained. The message names the pod, and `status.attention` of the Skyhook
// the node.
const (
	// ReasonProtectedPod: `spec.podNonInterruptLabels` matches a pod on the node. No pod is evicted while it is
	// there.
	// Ended by: other.
	// Do: Nothing: work on the node continues when the pod ends. If it has to be sooner, ask the owner of the pod, as
	// deleting it ends its job, with what the job has not saved. `kubectl get pod -n NAMESPACE POD -o wide` shows since when
	// it runs.
	ReasonProtectedPod = "ProtectedPod"
	// ReasonEvictionRefused: The API server refused to evict the pod, usually because of a PodDisruptionBudget. The
	// operator retries.
	// Ended by: other.
	// Do: `kubectl get poddisruptionbudgets -n NAMESPACE` shows which budget allows no disruption: add replicas to its
	// workload, or fix those that are not ready. Deleting the pod goes past that budget, and its service may fail.
	ReasonEvictionRefused = "EvictionRefused"
	// ReasonPodReturns: Each time the pod was evicted, its controller put another one on the node, despite the cordon.
	// The operator no longer evicts it.
	// Ended by: other.
	// Do: Remove the toleration of `node.kubernetes.io/unschedulable` or `spec.nodeName` from the controller's pod
	// template, or scale the controller down; then delete the pod.
	ReasonPodReturns = "PodReturns"
	// ReasonPodUnmanaged: The pod has no controller that would create it again.
	// Ended by: other, author.
	// Do: Ask the owner of the pod to end it, as deleting it ends its job for good. To have such pods evicted, set
	// `spec.drain.force` to `true`.
	ReasonPodUnmanaged = "PodUnmanaged"
	// ReasonPodUsesEmptyDir: The pod has an emptyDir volume, whose data would be lost, and
	// `spec.drain.deleteEmptyDirData` is `false`.
	// Ended by: other, author.
	// Do: Ask the owner of the pod to save the data and to end it. To have such pods evicted, set
	// `spec.drain.deleteEmptyDirData` to `true`: what is in their volumes is lost.
	ReasonPodUsesEmptyDir = "PodUsesEmptyDir"
	// ReasonPodTerminating: The pod is being deleted and has not ended.
	// Ended by: other.
	// Do: Nothing at first. If the message says that the pod is stuck, look at its finalizers with `kubectl get pod
	// -n NAMESPACE POD -o yaml`, and at the node's kubelet.
	ReasonPodTerminating = "PodTerminating"
	// ReasonEvicting: The operator has requested the eviction of the pod.
	// Ended by: other.
	// Do: Nothing. If it lasts, look at `kubectl describe pod -n NAMESPACE POD`.
	ReasonEvicting = "Evicting"
	// ReasonDrainTimeout: The drain takes longer than `spec.drain.timeoutSeconds`. It continues, and the node is
	// erroring until it is over.
	// Ended by: other.
	// Do: Remove what the message names, or raise `spec.drain.timeoutSeconds`.
	ReasonDrainTimeout = "DrainTimeout"
)

// Reasons why nothing starts for a Skyhook or on one of its nodes. They are in `status.waiting` and
// `status.attention` of the Skyhook.
const (
	// ReasonDisabled: The annotation `skyhook.nvidia.com/disable` of the Skyhook is `true`.
	// Ended by: administrator.
	// Do: Continue with `kubectl annotate skyhook NAME skyhook.nvidia.com/disable-`.
	ReasonDisabled = "Disabled"
	// ReasonPaused: The annotation `skyhook.nvidia.com/pause` of the Skyhook is `true`.
	// Ended by: administrator.
	// Do: Continue with `kubectl annotate skyhook NAME skyhook.nvidia.com/pause-`.
	ReasonPaused = "Paused"
	// ReasonAllStopped: An administrator stopped all Skyhooks: the ConfigMap `skyhook-stop` is in the operator's
	// namespace.
	// Ended by: administrator.
	// Do: Continue with `kubectl skyhook resume --all`, or `kubectl delete configmap -n skyhook skyhook-stop`.
	ReasonAllStopped = "AllStopped"
	// ReasonSpecInvalid: The spec, or the deployment policy that it names, breaks a rule.
	// Ended by: author, administrator.
	// Do: Correct the field that the message names: `kubectl edit skyhook NAME`, or `kubectl edit deploymentpolicy
	// POLICY`.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonDeploymentPolicyNotFound: The deployment policy that the spec names does not exist.
	// Ended by: administrator, author.
	// Do: Create the policy, or correct `spec.deploymentPolicy`.
	ReasonDeploymentPolicyNotFound = "DeploymentPolicyNotFound"
	// ReasonNodeIgnored: The label `skyhook.nvidia.com/ignore` of the node is `true`.
	// Ended by: administrator.
	// Do: Include the node again with `kubectl label node NODE skyhook.nvidia.com/ignore-`.
	ReasonNodeIgnored = "NodeIgnored"
	// ReasonNodeWrightRecords: NodeWright, the operator of this API under its later name, has a record on the node, so
	// that two operators could work against each other there. Nothing new starts.
	// Ended by: administrator.
	// Do: If NodeWright is still installed, see docs/migrate.md. If it is gone, remove the annotation that the message
	// names: `kubectl annotate node NODE nodewright.nvidia.com/nodeState_NAME-`.
	ReasonNodeWrightRecords = "NodeWrightRecords"
	// ReasonTaintNotTolerable: The node has a taint that the Skyhook does not tolerate.
	// Ended by: administrator, author, other.
	// Do: Find out who set the taint, and why: it may keep work off a host that is not healthy. If the Skyhook may work
	// there nevertheless, add a toleration to `spec.additionalTolerations`. If the message says so, the operator removes
	// the taint itself when the Skyhooks with `runtimeRequired` are complete on the node.
	ReasonTaintNotTolerable = "TaintNotTolerable"
	// ReasonWaitingForSkyhook: An earlier Skyhook is not complete on the node or, with `sequencing: all`, on all its
	// nodes.
	// Ended by: other, administrator.
	// Do: Nothing while the earlier Skyhook progresses; `kubectl describe skyhook EARLIER` shows what it waits for.
	// If it is paused: `kubectl annotate skyhook EARLIER skyhook.nvidia.com/pause-`.
	ReasonWaitingForSkyhook = "WaitingForSkyhook"
	// ReasonNodeNotReady: The node's kubelet does not report. A node that was in progress counts against the budget
	// meanwhile.
	// Ended by: administrator, node.
	// Do: Nothing while the node reboots. Otherwise bring the node back: usually it is enough to start its kubelet
	// again, on the node, with `systemctl restart kubelet`; `journalctl -u kubelet` says why it ended. If the node is
	// lost for good: `kubectl delete node NODE`.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonNodeStateMalformed: The node's record of the Skyhook cannot be read.
	// Ended by: administrator.
	// Do: Correct the annotation `skyhook.nvidia.com/nodeState_NAME` of the node, or remove it to apply the packages
	// again: `kubectl annotate node NODE skyhook.nvidia.com/nodeState_NAME-`.
	ReasonNodeStateMalformed = "NodeStateMalformed"
	// ReasonNodeStateUnsealed: The node has the runtime taint, and its record is not the one that the operator wrote,
	// so the taint stays.
	// Ended by: administrator.
	// Do: Find out who changed the annotation `skyhook.nvidia.com/nodeState_NAME`; then remove it to apply the
	// packages again: `kubectl annotate node NODE skyhook.nvidia.com/nodeState_NAME-`.
	ReasonNodeStateUnsealed = "NodeStateUnsealed"
	// ReasonDepartedNotReady: The node was in progress when it left the selection, and is not Ready. It keeps its
	// permit and counts against the budget.
	// Ended by: administrator.
	// Do: Bring the node back, or delete its Node object: `kubectl delete node NODE`.
	ReasonDepartedNotReady = "DepartedNotReady"
	// ReasonUnknown: Nothing is known yet, or the reason in the node's record cannot be shown as one word.
	// Ended by: message.
	// Do: Read the message: `kubectl describe skyhook NAME`.
	ReasonUnknown = "Unknown"
)

// Reasons why a Skyhook cannot be prepared for its nodes. They are in its condition `Stalled`; no node gets a new
// permit until they are gone. The operator retries every 30 seconds.
const (
	// ReasonConfigMapConflict: Another object has the name of a ConfigMap that a package needs.
	// Ended by: administrator, author, time.
	// Do: Delete it with `kubectl delete configmap -n skyhook CONFIGMAP`, or rename the package or the Skyhook. If
	// it belonged to a deleted Skyhook of the same name, Kubernetes deletes it soon.
	ReasonConfigMapConflict = "ConfigMapConflict"
	// ReasonDefinitionConflict: Another object has the name of a ControllerRevision that the operator needs to
	// retain a definition.
	// Ended by: administrator, author, time.
	// Do: Delete it with `kubectl delete controllerrevision -n skyhook REVISION`, or rename the package or the
	// Skyhook. If it belonged to a deleted Skyhook of the same name, Kubernetes deletes it soon.
	ReasonDefinitionConflict = "DefinitionConflict"
	// ReasonConfigMapRefused: The API server refuses the ConfigMap of a package.
	// Ended by: author, administrator.
	// Do: Correct the field that the message names, such as `spec.packages.PACKAGE.configMap`; or change what
	// refuses the object: a quota, an admission policy, a webhook or the operator's role.
	ReasonConfigMapRefused = "ConfigMapRefused"
	// ReasonDefinitionRefused: The API server refuses the ControllerRevision that retains the definition of a
	// package.
	// Ended by: author, administrator.
	// Do: Correct the field that the message names, such as `spec.packages.PACKAGE`; or change what refuses the
	// object: a quota, an admission policy, a webhook or the operator's role.
	ReasonDefinitionRefused = "DefinitionRefused"
	// ReasonClaimRefused: The API server refuses to add the operator's finalizer to the Skyhook, or to remove it at
	// the end of the deletion.
	// Ended by: author, administrator.
	// Do: Correct the field that the message names, such as `metadata.finalizers`; or change what refuses the
	// object: a quota, an admission policy, a webhook or the operator's role.
	ReasonClaimRefused = "ClaimRefused"
)

// Further reasons of the Skyhook's conditions Ready, Reconciling, Stalled and RolloutStopped. Where a node causes
// them, `status.attention` has the node's own reason.
const (
	// ReasonNodesConverged: Every selected node is complete.
	// Ended by: none.
	// Do: Nothing.
	ReasonNodesConverged = "NodesConverged"
	// ReasonProgressing: Nodes are in progress.
	// Ended by: none.
	// Do: Nothing.
	ReasonProgressing = "Progressing"
	// ReasonWaiting: The nodes that are left wait for permits or for other Skyhooks.
	// Ended by: other.
	// Do: Nothing. `status.waiting` counts the nodes by reason.
	ReasonWaiting = "Waiting"
	// ReasonBlocked: Nodes do nothing until a person changes something.
	// Ended by: message.
	// Do: See the reasons of the nodes in `status.attention`.
	ReasonBlocked = "Blocked"
	// ReasonErroring: On a node a run failed, or something takes longer than the spec allows.
	// Ended by: message.
	// Do: See the reasons of the nodes in `status.attention`.
	ReasonErroring = "Erroring"
	// ReasonDeleting: The Skyhook is being deleted, and the operator removes it from its nodes.
	// Ended by: none.
	// Do: Nothing. If the deletion does not end, the condition `DeletionBlocked` says why.
	ReasonDeleting = "Deleting"
	// ReasonNodesErroring: Every node that is left fails. The message has the reason of the first one.
	// Ended by: message.
	// Do: See the reasons of the nodes in `status.attention`.
	ReasonNodesErroring = "NodesErroring"
	// ReasonRolloutStopped: Too many bad batches in a row stopped the rollout, and no node is in progress.
	// Ended by: administrator, author.
	// Do: Fix what failed on the nodes that the message names; for those that still fail, `status.attention` says why.
	// Then edit the spec, or continue with `kubectl annotate skyhook NAME --overwrite
	// skyhook.nvidia.com/resume="$(date +%s)"`.
	ReasonRolloutStopped = "RolloutStopped"
	// ReasonFailureThreshold: The number of bad batches in a row reached the compartment's `failureThreshold`. No new
	// batch starts there.
	// Ended by: administrator, author.
	// Do: Fix what failed on the nodes that the message names; for those that still fail, `status.attention` says why.
	// Then edit the spec, or continue with `kubectl annotate skyhook NAME --overwrite
	// skyhook.nvidia.com/resume="$(date +%s)"`.
	ReasonFailureThreshold = "FailureThreshold"
)

// Further reasons of the Skyhook's conditions UninstallInProgress, UninstallFailed, DeletionBlocked and
// NodeStateMalformed. DeletionBlocked also has the reason of a node or of the Skyhook from the tables above.
const (
	// ReasonUninstallInProgress: Packages are being uninstalled.
	// Ended by: none.
	// Do: Nothing.
	ReasonUninstallInProgress = "UninstallInProgress"
	// ReasonUninstallPodFailing: The uninstall of a package fails. The message says whether it is retried.
	// Ended by: author, package author, administrator.
	// Do: Fix the package's `configMap`, `env` or `image` in the spec, or the host; or leave the package on the
	// node: `kubectl skyhook abandon NAME --node NODE`.
	ReasonUninstallPodFailing = "UninstallPodFailing"
	// ReasonParseError: The records of nodes cannot be read. The message names the nodes.
	// Ended by: administrator.
	// Do: Correct the annotation `skyhook.nvidia.com/nodeState_NAME` of the node, or remove it to apply the packages
	// again: `kubectl annotate node NODE skyhook.nvidia.com/nodeState_NAME-`.
	ReasonParseError = "ParseError"
	// ReasonMalformedNodeState: The Skyhook cannot be deleted, because the record of a node cannot be read, so the
	// operator cannot tell what is installed there.
	// Ended by: administrator.
	// Do: Correct the annotation `skyhook.nvidia.com/nodeState_NAME` of the node, or leave the packages on the node:
	// `kubectl skyhook abandon NAME --node NODE`.
	ReasonMalformedNodeState = "MalformedNodeState"
	// ReasonPausedWithPendingUninstall: The Skyhook is being deleted and packages have to be uninstalled, but it is
	// paused.
	// Ended by: administrator.
	// Do: Continue with `kubectl annotate skyhook NAME skyhook.nvidia.com/pause-`.
	ReasonPausedWithPendingUninstall = "PausedWithPendingUninstall"
	// ReasonDisabledWithPendingUninstall: The Skyhook is being deleted and packages have to be uninstalled, but it
	// is disabled.
	// Ended by: administrator.
	// Do: Continue with `kubectl annotate skyhook NAME skyhook.nvidia.com/disable-`.
	ReasonDisabledWithPendingUninstall = "DisabledWithPendingUninstall"
)

// Reasons why the operator cannot tell whether a package can be uninstalled. The condition UninstallCapabilityUnknown
// has them. Nothing waits: the package counts as one that cannot be uninstalled. Setting `uninstall.enabled` ends
// each of them.
const (
	// ReasonImageUnlabeled: The image has no label `com.nvidia.skyhook.uninstall` with the value `true` or `false`.
	// Ended by: author, package author.
	// Do: Set `uninstall.enabled`, or build the image with the label.
	ReasonImageUnlabeled = "ImageUnlabeled"
	// ReasonImageNotFound: The registry does not have the image, or does not show it with the operator's credentials.
	// The operator asks again after ten minutes.
	// Ended by: author, administrator.
	// Do: Correct `image` and `version` of the package; or give the pull secret, which `IMAGE_PULL_SECRET` names,
	// credentials for this registry; or set `uninstall.enabled`.
	ReasonImageNotFound = "ImageNotFound"
	// ReasonRegistryUnreachable: The registry does not answer in time or answers with an error, which the message has;
	// or the operator does not trust its certificate. The operator asks again after ten minutes.
	// Ended by: administrator, author.
	// Do: Let the operator's pod reach the registry, and name the registry's certificate authority in `SSL_CERT_FILE`
	// of the operator. To ask at once: `kubectl annotate skyhook NAME skyhook.nvidia.com/uninstall-capability-`. Or
	// set `uninstall.enabled`.
	ReasonRegistryUnreachable = "RegistryUnreachable"
	// ReasonImageUnreadable: The registry sent something that is not a container image for Linux, or is damaged. The
	// operator asks again after ten minutes.
	// Ended by: package author, author.
	// Do: Build the image again, or set `uninstall.enabled`.
	ReasonImageUnreadable = "ImageUnreadable"
)

// Reasons of the conditions on nodes. The last two are not single words: readers of the existing API know them in this
// form, and the API server accepts them in a node's status.
const (
	// NodeReasonComplete: Every package of the Skyhook is complete on the node.
	// Ended by: none.
	// Do: Nothing.
	NodeReasonComplete = "Complete"
	// NodeReasonIncomplete: A package of the Skyhook is not complete on the node.
	// Ended by: message.
	// Do: See the node's reason in `status.waiting` or `status.attention` of the Skyhook.
	NodeReasonIncomplete = "Incomplete"
	// NodeReasonNotErroring: No package of the Skyhook fails on the node.
	// Ended by: none.
	// Do: Nothing.
	NodeReasonNotErroring = "Not Erroring"
	// NodeReasonErroring: A package of the Skyhook fails on the node, or its state is not known.
	// Ended by: message.
	// Do: See the node's reason in `status.attention` of the Skyhook.
	NodeReasonErroring = "Package(s) Erroring or Unknown"
)
