package record

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Frees says who can end a wait.
type Frees string

const (
	// FreesTime: it ends by itself after a while.
	FreesTime Frees = "time"
	// FreesNode: something else on the same node has to end first.
	FreesNode Frees = "node"
	// FreesOther: another node, another Skyhook or a workload has to make room.
	FreesOther Frees = "other"
	// FreesAdministrator: somebody has to change the cluster: an annotation, a label, a taint, a policy.
	FreesAdministrator Frees = "administrator"
	// FreesAuthor: only another spec helps.
	FreesAuthor Frees = "author"
)

// Wait is one reason for which something does not progress. Whoever decides goes by Frees and Overdue, never by the
// reason, which is for people and for metrics.
type Wait struct {
	// Package that waits; empty for the whole node.
	Package string `json:"package,omitempty"`
	// Reason is one word in CamelCase.
	Reason string `json:"reason"`
	// Message is a sentence for people, at most MaxMessage bytes.
	Message string `json:"message"`
	// Since when it waits for this, in whole seconds.
	Since metav1.Time `json:"since,omitzero"`
	// DrainSince is since when the drain lasts that this wait interrupts; zero for none.
	DrainSince metav1.Time `json:"drainSince,omitzero"`
	// Frees says who can end the wait.
	Frees Frees `json:"frees,omitempty"`
	// Overdue says that it lasts longer than the spec allows, which counts as a failed run.
	Overdue bool `json:"overdue,omitempty"`
	// By names what has to change or to go, for a command that does it: a pod as namespace/name, a taint as key:effect, a
	// Skyhook. No record keeps it.
	By string `json:"-"`
}

// readWait never fails: a wait is computed again in every pass, and is written again when it cannot be read. Earlier
// versions told only the reason of a wait; what follows from it is added.
func readWait(raw string) *Wait {
	var w Wait
	if raw == "" || json.Unmarshal([]byte(raw), &w) != nil || w.Reason == "" {
		return nil
	}
	if w.Frees == "" {
		w.Frees, w.Overdue = freedBy(w.Reason), w.Reason == v1alpha1.ReasonDrainTimeout
	}
	return &w
}

// freedBy says who could end a wait of an earlier version.
func freedBy(reason string) Frees {
	for frees, reasons := range map[Frees][]string{
		FreesAuthor: {
			v1alpha1.ReasonDependencyUninstalled, v1alpha1.ReasonUninstallRequired,
			v1alpha1.ReasonDefinitionMissing,
		},
		FreesOther: {v1alpha1.ReasonWaitingForPermit, v1alpha1.ReasonWaitingForSkyhook},
		FreesAdministrator: {
			v1alpha1.ReasonNodeIgnored, v1alpha1.ReasonTaintNotTolerable, v1alpha1.ReasonPaused, v1alpha1.ReasonDisabled,
			v1alpha1.ReasonSpecInvalid, v1alpha1.ReasonDeploymentPolicyNotFound,
		},
	} {
		if slices.Contains(reasons, reason) {
			return frees
		}
	}
	return FreesNode
}

func encodeWait(w *Wait) (string, error) {
	if w == nil {
		return "", nil
	}
	raw, err := json.Marshal(w)
	return string(raw), err
}
