package skyhook

import (
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// adopt completes what a version before recorded of a wait: it told only its reason. The node controller writes the whole
// wait when it looks at the node next.
func adopt(n record.Node) record.Node {
	if n.Wait == nil || n.Wait.Frees != "" {
		return n
	}
	w := *n.Wait
	w.Frees, w.Overdue = freedBy(w.Reason), w.Reason == v1alpha1.ReasonDrainTimeout
	n.Wait = &w
	return n
}

func freedBy(reason string) record.Frees {
	for frees, reasons := range map[record.Frees][]string{
		record.FreesAuthor: {v1alpha1.ReasonDependencyUninstalled, v1alpha1.ReasonUninstallRequired, v1alpha1.ReasonDefinitionMissing},
		record.FreesOther:  {v1alpha1.ReasonWaitingForPermit, v1alpha1.ReasonWaitingForSkyhook},
		record.FreesAdministrator: {
			v1alpha1.ReasonNodeIgnored, v1alpha1.ReasonTaintNotTolerable, v1alpha1.ReasonPaused, v1alpha1.ReasonDisabled,
			v1alpha1.ReasonSpecInvalid, v1alpha1.ReasonDeploymentPolicyNotFound,
		},
	} {
		if slices.Contains(reasons, reason) {
			return frees
		}
	}
	return record.FreesNode
}
