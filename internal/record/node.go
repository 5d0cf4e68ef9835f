package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Prefixes of the metadata keys; the Skyhook's name follows.
const (
	prefix           = v1alpha1.GroupName + "/"
	stateKeyPrefix   = prefix + "nodeState_"
	statusKeyPrefix  = prefix + "status_"
	versionKeyPrefix = prefix + "version_"
	permitKeyPrefix  = prefix + "permit_"
	cordonKeyPrefix  = prefix + "cordon_"
	waitKeyPrefix    = prefix + "wait_"
	bootKeyPrefix    = prefix + "boot_"
)

// Node is what one node remembers of one Skyhook.
type Node struct {
	// Status of the node for the Skyhook; empty when never set.
	Status v1alpha1.Status
	// Packages by "name|version". An absent entry means that the package is not installed.
	Packages map[string]Entry
	// Done is the last permit that the node finished with, see PermitToken; empty when none.
	Done string
	// OperatorVersion wrote the record last.
	OperatorVersion string
	// Cordoned says that the Skyhook holds a cordon on the node.
	Cordoned bool
	// Wait is what the whole node waits for; nil when it does not.
	Wait *Wait
	// BootID seen last; kept only where packages are applied again after a reboot.
	BootID string
	// Unreadable says that the package states could not be read, so that Packages does not tell what is installed.
	Unreadable bool
}

// bare reports whether nothing of the Skyhook is on the node and nothing is to come: then only annotations remember that
// it was here, and no label or condition speaks of it.
func (n Node) bare() bool {
	return n.Status == v1alpha1.StatusComplete && len(n.Packages) == 0 && !n.Unreadable
}

// Wait is a reason for which a node does not get on, and since when.
type Wait struct {
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Since   metav1.Time `json:"since"`
}

// PermitToken is how a node names a permit, see v1alpha1.Permit.
func PermitToken(p v1alpha1.Permit) string { return p.Token() }

// MalformedError says that an annotation on a node cannot be read.
type MalformedError struct {
	// Annotation is the key.
	Annotation string
	Err        error
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("annotation %s is not a map of package states: %v; repair it, or remove it to start over on this node",
		e.Annotation, e.Err)
}

func (e *MalformedError) Unwrap() error { return e.Err }

// Read decodes the record of a Skyhook from a node's annotations. The error is a *MalformedError.
func Read(skyhook string, annotations map[string]string) (Node, error) {
	n := Node{
		Status:          v1alpha1.Status(annotations[statusKeyPrefix+skyhook]),
		Done:            annotations[permitKeyPrefix+skyhook],
		OperatorVersion: annotations[versionKeyPrefix+skyhook],
		Cordoned:        annotations[cordonKeyPrefix+skyhook] == "true",
		BootID:          annotations[bootKeyPrefix+skyhook],
		Packages:        map[string]Entry{},
	}
	n.Wait = readWait(annotations[waitKeyPrefix+skyhook])
	key := stateKeyPrefix + skyhook
	raw, ok := annotations[key]
	if !ok || raw == "" {
		return n, nil
	}
	if err := json.Unmarshal([]byte(raw), &n.Packages); err != nil {
		n.Packages, n.Unreadable = map[string]Entry{}, true
		return n, &MalformedError{Annotation: key, Err: err}
	}
	if n.Packages == nil { // "null"
		n.Packages = map[string]Entry{}
	}
	for k, e := range n.Packages {
		if err := checkEntry(k, e); err != nil {
			n.Unreadable = true
			return n, &MalformedError{Annotation: key, Err: err}
		}
	}
	return n, nil
}

// readWait never fails: a wait is only told to people, and is written anew when it cannot be read.
func readWait(raw string) *Wait {
	var w Wait
	if raw == "" || json.Unmarshal([]byte(raw), &w) != nil {
		return nil
	}
	return &w
}

func checkEntry(key string, e Entry) error {
	name, version, ok := strings.Cut(key, "|")
	if !ok || name == "" || version == "" {
		return fmt.Errorf("key %q is not name|version", key)
	}
	if e.Name != name || e.Version != version {
		return fmt.Errorf("entry %q holds package %q version %q", key, e.Name, e.Version)
	}
	return nil
}

// Exists reports whether any key of the Skyhook's record is on the node.
func Exists(skyhook string, annotations, labels map[string]string) bool {
	for _, key := range annotationKeys(skyhook) {
		if _, ok := annotations[key]; ok {
			return true
		}
	}
	_, ok := labels[statusKeyPrefix+skyhook]
	return ok
}

// Skyhooks returns the sorted names of all Skyhooks whose record, or part of it, is on the node.
func Skyhooks(annotations, labels map[string]string) []string {
	names := map[string]bool{}
	for key := range annotations {
		for _, p := range keyPrefixes {
			if name, ok := strings.CutPrefix(key, p); ok {
				names[name] = true
			}
		}
	}
	for key := range labels {
		if name, ok := strings.CutPrefix(key, statusKeyPrefix); ok {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// CordonedByOther reports whether a Skyhook other than the given one holds a cordon on the node.
func CordonedByOther(skyhook string, annotations map[string]string) bool {
	for key, value := range annotations {
		if name, ok := strings.CutPrefix(key, cordonKeyPrefix); ok && name != skyhook && value == "true" {
			return true
		}
	}
	return false
}

// Owns reports whether a node annotation belongs to the record of any Skyhook.
func Owns(annotation string) bool {
	for _, p := range keyPrefixes {
		if strings.HasPrefix(annotation, p) {
			return true
		}
	}
	return false
}

// AnnotationCount is how many annotations make a record.
const AnnotationCount = 7

var keyPrefixes = [AnnotationCount]string{
	stateKeyPrefix, statusKeyPrefix, versionKeyPrefix, permitKeyPrefix, cordonKeyPrefix, waitKeyPrefix, bootKeyPrefix,
}

func annotationKeys(skyhook string) [AnnotationCount]string {
	keys := keyPrefixes
	for i := range keys {
		keys[i] += skyhook
	}
	return keys
}

// Raw returns the texts that make the record of a Skyhook, to tell cheaply whether it changed.
func Raw(skyhook string, annotations map[string]string) [AnnotationCount]string {
	raw := annotationKeys(skyhook)
	for i, key := range raw {
		raw[i] = annotations[key]
	}
	return raw
}
