package record

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/reasons"
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

// ByPerson reports whether only a person ends a wait.
func (f Frees) ByPerson() bool { return f == FreesAdministrator || f == FreesAuthor }

// Wait is one reason for which something does not progress. Whoever decides goes by Frees and Overdue, never by the
// reason, which is for people and for metrics.
type Wait struct {
	// Package that waits; empty for the whole node.
	Package string `json:"package,omitempty"`
	// Reason is one word in CamelCase.
	Reason string `json:"reason"`
	// Of is the reason that became this one by lasting too long, where there is another; what helps against it helps.
	Of string `json:"of,omitempty"`
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
	// Generation of the spec that it was found with, where it counts against the node: an edit may have ended it. 0 for
	// unknown.
	Generation int64 `json:"generation,omitempty"`
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
		w.Frees, w.Overdue = FreesOf(w.Reason), w.Reason == v1alpha1.ReasonDrainTimeout
	}
	return &w
}

// FreesOf says who usually ends what waits for a reason: whom its comment names first.
func FreesOf(reason string) Frees {
	known := []Frees{FreesTime, FreesNode, FreesOther, FreesAdministrator, FreesAuthor}
	if by := reasons.Of(reason).EndedBy; len(by) > 0 && slices.Contains(known, Frees(by[0])) {
		return Frees(by[0])
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
