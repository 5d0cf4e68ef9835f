package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// Node is what one node remembers of one Skyhook.
type Node struct {
	// Status of the node for the Skyhook; empty when never set.
	Status v1alpha1.Status
	// Packages by "name|version". An absent entry means that the package is not installed.
	Packages map[string]Entry
	// FinishedPermit is the token of the last permit that the node gave back, see v1alpha1.Permit; empty when none.
	FinishedPermit string
	// OperatorVersion wrote the record last.
	OperatorVersion string
	// Cordoned says that the Skyhook holds a cordon on the node.
	Cordoned bool
	// Begun says that work on the node began since it was last complete.
	Begun bool
	// Wait is what the whole node waits for; nil when it does not.
	Wait *Wait
	// BootID seen last; kept only where packages are applied again after a reboot.
	BootID string
	// Host that the record is of; kept only where replaced hosts start over.
	Host Host
	// Unreadable says that the package states could not be read, so that Packages does not tell what is installed.
	Unreadable bool
}

// bare reports whether nothing of the Skyhook is on the node and nothing is to come: then only annotations remember
// that it was here, and no label or condition speaks of it.
func (n Node) bare() bool {
	return n.Status == v1alpha1.StatusComplete && len(n.Packages) == 0 && !n.Unreadable
}

// MalformedError says that an annotation on a node cannot be read.
type MalformedError struct {
	// Annotation is the key.
	Annotation string
	Err        error
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("annotation %s cannot be read: %v", e.Annotation, e.Err)
}

func (e *MalformedError) Unwrap() error { return e.Err }

// Read decodes the record of a Skyhook from a node's annotations. The error is a *MalformedError.
func Read(skyhook string, annotations map[string]string) (Node, error) {
	n := Node{
		Status:          v1alpha1.Status(annotations[v1alpha1.AnnotationStatusPrefix+skyhook]),
		FinishedPermit:  annotations[v1alpha1.AnnotationPermitPrefix+skyhook],
		OperatorVersion: annotations[v1alpha1.AnnotationVersionPrefix+skyhook],
		Cordoned:        annotations[v1alpha1.AnnotationCordonPrefix+skyhook] == "true",
		Begun:           annotations[v1alpha1.AnnotationBegunPrefix+skyhook] == "true",
		BootID:          annotations[v1alpha1.AnnotationBootPrefix+skyhook],
		Host:            ReadHost(annotations[v1alpha1.AnnotationHostPrefix+skyhook]),
		Packages:        map[string]Entry{},
	}
	n.Wait = readWait(annotations[v1alpha1.AnnotationWaitPrefix+skyhook])
	key := v1alpha1.AnnotationNodeStatePrefix + skyhook
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

// checkEntry refuses what the API server would refuse in the status of the Skyhook: one node's record must not keep
// everybody else's from being shown.
func checkEntry(key string, e Entry) error {
	name, version, ok := strings.Cut(key, "|")
	switch {
	case !ok || name == "" || version == "":
		return fmt.Errorf("key %q is not name|version", bound(key))
	case e.Name != name || e.Version != version:
		return fmt.Errorf("entry %q holds package %q version %q", bound(key), bound(e.Name), bound(e.Version))
	case !slices.Contains(v1alpha1.Stages(), e.Stage):
		return fmt.Errorf("entry %q has the unknown stage %q", bound(key), bound(string(e.Stage)))
	case !slices.Contains(v1alpha1.States(), e.State):
		return fmt.Errorf("entry %q has the unknown state %q", bound(key), bound(string(e.State)))
	case e.Interrupt != nil && !e.Interrupt.Type.Known():
		return fmt.Errorf("entry %q has the unknown interrupt type %q", bound(key), bound(string(e.Interrupt.Type)))
	case len(key)+len(e.Image)+len(e.ContainerSHA) > maxIdentity:
		return fmt.Errorf("entry %q has more than %d bytes of name, version, image and digest", bound(key), maxIdentity)
	case e.Restarts < 0:
		return fmt.Errorf("entry %q has %d restarts", bound(key), e.Restarts)
	}
	return nil
}

// maxIdentity is far above what the API lets a package have: 2 KiB.
const maxIdentity = 2 << 10

// bound keeps a text that somebody else wrote short enough for a message.
func bound(quoted string) string { return text.Cut(quoted, maxQuoted) }

// maxQuoted is how many bytes of such a text a message has.
const maxQuoted = 80

// Exists reports whether any key of the Skyhook's record is on the node.
func Exists(skyhook string, annotations, labels map[string]string) bool {
	for _, prefix := range keyPrefixes {
		if _, ok := annotations[prefix+skyhook]; ok {
			return true
		}
	}
	for _, prefix := range labelPrefixes {
		if _, ok := labels[prefix+skyhook]; ok {
			return true
		}
	}
	return false
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
		for _, p := range labelPrefixes {
			if name, ok := strings.CutPrefix(key, p); ok {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Owns reports whether a node annotation, or label, belongs to the record of any Skyhook.
func Owns(key string) bool {
	for _, p := range keyPrefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return key == v1alpha1.AnnotationInterrupt || isSeal(key)
}

// AnnotationCount is how many annotations make a record.
const AnnotationCount = 9

var keyPrefixes = [AnnotationCount]string{
	v1alpha1.AnnotationNodeStatePrefix, v1alpha1.AnnotationStatusPrefix, v1alpha1.AnnotationVersionPrefix,
	v1alpha1.AnnotationPermitPrefix, v1alpha1.AnnotationBegunPrefix,
	v1alpha1.AnnotationCordonPrefix, v1alpha1.AnnotationWaitPrefix, v1alpha1.AnnotationBootPrefix,
	v1alpha1.AnnotationHostPrefix,
}

// outlasting are those that stay without the Skyhook, as long as there are package states: their files may still be on
// the host, and only these annotations tell which, and on which host.
var outlasting = []string{
	v1alpha1.AnnotationNodeStatePrefix, v1alpha1.AnnotationVersionPrefix, v1alpha1.AnnotationHostPrefix,
}

// labelPrefixes are those of a record's labels.
var labelPrefixes = []string{v1alpha1.LabelStatusPrefix, v1alpha1.LabelSealPrefix}

func annotationKeys(skyhook string) [AnnotationCount]string {
	keys := keyPrefixes
	for i := range keys {
		keys[i] += skyhook
	}
	return keys
}

// Keys are the annotations that make the record of a Skyhook.
type Keys [AnnotationCount]string

// KeysOf returns those of a Skyhook.
func KeysOf(skyhook string) Keys { return annotationKeys(skyhook) }

// Left reports whether a node has something of the Skyhook that has to go when the Skyhook does: what Clear would
// remove of the record as it is, and a permit that it is done with. It reads the record only where nothing else tells.
func (k Keys) Left(annotations, labels map[string]string) bool {
	for i, key := range k {
		if _, ok := annotations[key]; ok && !slices.Contains(outlasting, keyPrefixes[i]) {
			return true
		}
	}
	skyhook := strings.TrimPrefix(k[0], keyPrefixes[0])
	if !Exists(skyhook, annotations, labels) {
		return false
	}
	n, _ := Read(skyhook, annotations) // states that nobody can read stay in place
	return !Clear(skyhook, n, annotations, labels).Empty()
}

// MayInterrupt reports whether the record may show an interrupt: one that does has the word in it.
func (k Keys) MayInterrupt(annotations map[string]string) bool {
	return strings.Contains(annotations[k[0]], string(v1alpha1.StageInterrupt))
}

// Raw returns the texts of the record, to tell cheaply whether it changed.
func (k Keys) Raw(annotations map[string]string) [AnnotationCount]string {
	raw := k
	for i, key := range k {
		raw[i] = annotations[key]
	}
	return raw
}
