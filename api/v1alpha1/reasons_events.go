package v1alpha1

// Reasons of events, in addition to those above and the types of conditions. An event reports something that happened;
// the status says whether anything waits.
const (
	// EventApply: A stage begins or succeeds.
	// Ended by: none.
	// Do: Nothing.
	EventApply = "Apply"
	// EventError: A stage fails. The message has the cause.
	// Ended by: message.
	// Do: See the node's reason in `status.attention` of the Skyhook.
	EventError = "Error"
	// EventHistoryLost: The operator cannot read or write the ConfigMap with the past rollouts of the Skyhook and how
	// long its stages took. Only `kubectl skyhook history` and time estimates depend on it. A history that cannot be
	// read starts over.
	// Ended by: message.
	// Do: Change what the message names, for example with `kubectl delete configmap -n NAMESPACE NAME`.
	EventHistoryLost = "HistoryLost"
	// EventInterrupt: The operator evicts a pod from a node that is going to be interrupted.
	// Ended by: none.
	// Do: Nothing.
	EventInterrupt = "Interrupt"
	// EventRuntimeTaint: The operator adds the runtime taint to a node, or removes it.
	// Ended by: none.
	// Do: Nothing.
	EventRuntimeTaint = "RuntimeTaint"
	// EventState: The status of the Skyhook changes.
	// Ended by: none.
	// Do: Nothing.
	EventState = "State"
	// EventStatusRefused: The API server refuses the whole status of the Skyhook, so the operator writes it without
	// the parts that the message names.
	// Ended by: none.
	// Do: Nothing. Nodes keep their status in the label `skyhook.nvidia.com/status_NAME`.
	EventStatusRefused = "StatusRefused"
	// EventUninstallAbandoned: Packages stay on a node, because the annotation
	// `skyhook.nvidia.com/abandon-uninstall` names it.
	// Ended by: none.
	// Do: Nothing. The annotation `skyhook.nvidia.com/nodeState_NAME` of the node says which packages they are.
	EventUninstallAbandoned = "UninstallAbandoned"
)
