package record

import (
	"encoding/json"
	"fmt"
	"strconv"
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
}

// Wait is a reason for which a node does not get on, and since when.
type Wait struct {
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Since   metav1.Time `json:"since"`
}

// PermitToken is how a node names a permit. It is unique within the life of a Skyhook's name on that node.
func PermitToken(p v1alpha1.Permit) string {
	token := strconv.FormatInt(p.Generation, 10) + "/" + strconv.FormatInt(int64(p.Order), 10)
	if p.Round != 0 {
		token += "/" + strconv.FormatInt(int64(p.Round), 10)
	}
	return token
}

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
		n.Packages = map[string]Entry{}
		return n, &MalformedError{Annotation: key, Err: err}
	}
	if n.Packages == nil { // "null"
		n.Packages = map[string]Entry{}
	}
	for k, e := range n.Packages {
		if err := checkEntry(k, e); err != nil {
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

// StatusLabel is the label that tells a node's status for a Skyhook. It is on every node that has a live record.
func StatusLabel(skyhook string) string { return statusKeyPrefix + skyhook }

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
	for _, p := range []string{
		stateKeyPrefix, statusKeyPrefix, versionKeyPrefix, permitKeyPrefix, cordonKeyPrefix, waitKeyPrefix, bootKeyPrefix,
	} {
		if strings.HasPrefix(annotation, p) {
			return true
		}
	}
	return false
}

// AnnotationCount is how many annotations make a record.
const AnnotationCount = 7

func annotationKeys(skyhook string) [AnnotationCount]string {
	return [AnnotationCount]string{
		stateKeyPrefix + skyhook, statusKeyPrefix + skyhook, versionKeyPrefix + skyhook, permitKeyPrefix + skyhook,
		cordonKeyPrefix + skyhook, waitKeyPrefix + skyhook, bootKeyPrefix + skyhook,
	}
}

// Raw returns the texts that make the record of a Skyhook, to tell cheaply whether it changed.
func Raw(skyhook string, annotations map[string]string) [AnnotationCount]string {
	raw := annotationKeys(skyhook)
	for i, key := range raw {
		raw[i] = annotations[key]
	}
	return raw
}
