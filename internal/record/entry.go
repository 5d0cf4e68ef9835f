// Package record is the codec of what a node remembers about each Skyhook: annotations, labels and conditions.
//
// It turns node metadata into values and back. It knows no client, clock or logger, and takes no decision.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// MaxMessage is the longest message, in bytes, that an Entry keeps: a node holds many entries in one object.
const MaxMessage = 256

// Entry is what a node remembers of one package version. The first seven fields are the API's PackageStatus and are
// read by others; the rest is ours.
type Entry struct {
	Name         string         `json:"name"`
	Version      string         `json:"version"`
	Image        string         `json:"image"`
	ContainerSHA string         `json:"containerSHA,omitempty"`
	Stage        v1alpha1.Stage `json:"stage"`
	State        v1alpha1.State `json:"state"`
	// Restarts counts the failed attempts of this stage.
	Restarts int32 `json:"restarts,omitempty"`

	// Since is when the entry came into this stage and state, in whole seconds.
	Since metav1.Time `json:"since,omitzero"`
	// Run identifies one run of the stage. A pod counts for this entry only if it carries the same run, so that the
	// result of an earlier run, still in a cache, is never taken for this one's.
	Run string `json:"run,omitempty"`
	// Config has a short hash per config key as this stage applies it. Nil means unknown: written by an operator
	// that kept none.
	Config map[string]string `json:"config,omitzero"`
	// Definition names the retained definition of the package that the run works with: what is needed to uninstall it.
	// Empty when written by an operator that kept none.
	Definition string `json:"definition,omitempty"`
	// Hash of what the run's pod takes from the spec.
	Hash string `json:"hash,omitempty"`
	// Generation of the spec for which the run began; it names the package's copy on the host.
	Generation int64 `json:"generation,omitempty"`
	// Changed has the config keys that changed since the last time the package was through all stages. Nil means that
	// it was not a change: the package is being installed or upgraded.
	Changed []string `json:"changed,omitzero"`
	// Interrupt that runs, or ran last, for this package, merged with those of others.
	Interrupt *v1alpha1.Interrupt `json:"interrupt,omitempty"`
	// Owes says whether an interrupt has to follow the config stage, which is complete: that is decided when the stage
	// ends. Nil means unknown: written by a version that did not keep it, or not that far.
	Owes *bool `json:"owes,omitempty"`
	// BootID of the node when that interrupt began.
	BootID string `json:"bootID,omitempty"`
	// Reason is one word that tells why the state is erroring.
	Reason string `json:"reason,omitempty"`
	// Message is a sentence for people, at most MaxMessage bytes.
	Message string `json:"message,omitempty"`
	// Attempts counts how often in a row the stage itself failed; pods that were lost are no attempts of it.
	Attempts int32 `json:"attempts,omitempty"`
	// AttemptsBefore is how many of them were of pods before the one that runs.
	AttemptsBefore int32 `json:"attemptsBefore,omitempty"`
	// Rejected counts how often in a row the API server refused the pod of this stage. They are no attempts of it.
	Rejected int32 `json:"rejected,omitempty"`
	// RejectedAt is when it did so last; Since tells of the first time. Of an Untouched entry it is when a pod was found
	// to have gone without having begun; zero from before the next is created.
	RejectedAt metav1.Time `json:"rejectedAt,omitzero"`
	// Superseded says that another version took this one's place, although files of this one may still be on the host:
	// it could not be uninstalled.
	Superseded bool `json:"superseded,omitempty"`
	// Untouched says that this version never ran on the host before, and that nothing of it had begun when the entry was
	// written: its pod, if there is one, tells whether that is still so. Entries of earlier operators have no such mark.
	Untouched bool `json:"untouched,omitempty"`
}

// NeverStarted reports whether the record alone tells that nothing of the version is on the host: what failed was the
// start. That a pod begins after such a failure is written.
func (e Entry) NeverStarted() bool { return e.Untouched && e.State == v1alpha1.StateErroring }

// Attempted reports whether what failed is an attempt of the stage; else its pod was refused, was lost, or does not start.
func (e Entry) Attempted() bool {
	return e.Attempts > e.AttemptsBefore || e.Reason == v1alpha1.ReasonStepFailed
}

// Key is the entry's key in the record: "name|version".
func (e Entry) Key() string { return Key(e.Name, e.Version) }

// Key joins a package name and version to the key of its entry.
func Key(name, version string) string { return name + "|" + version }

// Active reports whether the stage is running or failing: a pod is expected for it.
func (e Entry) Active() bool {
	return e.State == v1alpha1.StateInProgress || e.State == v1alpha1.StateErroring
}

// IsInterrupt reports whether an interrupt runs in the stage.
func IsInterrupt(s v1alpha1.Stage) bool {
	return s == v1alpha1.StageInterrupt || s == v1alpha1.StageUninstallInterrupt
}

// IsUninstall reports whether the stage belongs to the uninstall of a package.
func IsUninstall(s v1alpha1.Stage) bool {
	return s == v1alpha1.StageUninstall || s == v1alpha1.StageUninstallInterrupt
}

// HashConfig returns a short hash for each key of a configMap; an empty, non-nil map when there is none.
func HashConfig(data map[string]string) map[string]string {
	hashes := make(map[string]string, len(data))
	for k, v := range data {
		sum := sha256.Sum256([]byte(v))
		hashes[k] = hex.EncodeToString(sum[:4])
	}
	return hashes
}

// ChangedKeys returns the sorted config keys that were added, changed or removed between two sets of hashes.
func ChangedKeys(applied, wanted map[string]string) []string {
	var keys []string
	for k, h := range wanted {
		if old, ok := applied[k]; !ok || old != h {
			keys = append(keys, k)
		}
	}
	for k := range applied {
		if _, ok := wanted[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// TrimMessage makes s valid UTF-8 of at most MaxMessage bytes. When it has to cut it keeps the first line, which says
// what failed, and the end, where the cause usually stands.
func TrimMessage(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "?")
	if len(s) <= MaxMessage {
		return s
	}
	const (
		gap     = "\n...\n"
		maxHead = 100
	)
	head, _, _ := strings.Cut(s, "\n")
	if len(head) > maxHead {
		head = head[:maxHead]
	}
	tail := s[len(s)-(MaxMessage-len(head)-len(gap)):]
	return strings.ToValidUTF8(head, "") + gap + strings.ToValidUTF8(tail, "")
}
