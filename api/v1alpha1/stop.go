package v1alpha1

// StopConfigMap is the name of the ConfigMap in the operator's namespace that stops all Skyhooks, also those that are
// created later, for as long as it exists. What it holds is for people, and may be missing.
const StopConfigMap = "skyhook-stop"

// Keys of the data of the StopConfigMap.
const (
	// StopBy is who stopped everything.
	StopBy = "by"
	// StopReason is why, in that person's words.
	StopReason = "reason"
	// StopPaused lists the Skyhooks, separated by commas, that got the annotation for it, because their operator may not
	// know this ConfigMap.
	StopPaused = "paused"
)
