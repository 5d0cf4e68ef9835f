package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Seal tells a record that the operator wrote from one that the node's kubelet wrote: a label of a domain in which the
// admission plugin NodeRestriction lets no kubelet write. It is bound to one node and to the name of a Skyhook, so that
// no other record, nor one of a node that was there before under the same name, passes for it. A Skyhook that is deleted
// and created again takes over what the node has of the one before, as the seal stays with the record.
type Seal struct {
	// Skyhook is its name.
	Skyhook string
	// SkyhookUID and NodeUID are given by the API server.
	SkyhookUID, NodeUID types.UID
}

// key of the label.
func (s Seal) key() string { return v1alpha1.LabelSealPrefix + s.Skyhook }

// byName begins a seal that is bound to the Skyhook's name. Those of earlier operators are bound to its UID, and begin with
// nothing.
const byName = "2"

// size is how many bytes of a hash a seal has.
const size = 20

// form is how a seal begins; empty for one by UID.
func form(seal string) string {
	if len(seal) > hex.EncodedLen(size) && strings.HasPrefix(seal, byName) {
		return byName
	}
	return ""
}

// value of the label, in a form, for package states as they are written, and for whether the status says complete: nothing
// else of a record decides what is done on the node. Kubelets have a say in what states tell, by the messages of pods, so
// it is long enough for nobody to find two of the same seal.
func (s Seal) value(form, states string, complete bool) string {
	h, owner := sha256.New(), string(s.SkyhookUID)
	if form == byName {
		owner = s.Skyhook
	}
	for _, part := range []string{form + string(s.NodeUID), owner, states} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	fmt.Fprint(h, complete)
	return form + hex.EncodeToString(h.Sum(nil)[:size])
}

// Holds reports whether the package states are those that were sealed last. The status may say less than it did:
// whoever takes complete away gains nothing.
func (s Seal) Holds(annotations, labels map[string]string) bool {
	have, states := labels[s.key()], annotations[v1alpha1.AnnotationNodeStatePrefix+s.Skyhook]
	is := func(complete bool) bool { return have == s.value(form(have), states, complete) }
	return is(true) || !s.complete(annotations) && is(false)
}

func (s Seal) complete(annotations map[string]string) bool {
	return annotations[v1alpha1.AnnotationStatusPrefix+s.Skyhook] == string(v1alpha1.StatusComplete)
}

// Missing reports whether the record was never sealed.
func (s Seal) Missing(labels map[string]string) bool {
	_, ok := labels[s.key()]
	return !ok
}

// Apply makes the patch seal the record as it leaves it; one without package states gets no seal. A seal by UID that holds
// stays as long as the record does not change: a new operator must not write every node of a fleet at once.
func (s Seal) Apply(p *Patch, annotations, labels map[string]string) {
	after, as := map[string]string{}, form(labels[s.key()])
	for _, key := range []string{
		v1alpha1.AnnotationNodeStatePrefix + s.Skyhook,
		v1alpha1.AnnotationStatusPrefix + s.Skyhook,
	} {
		after[key] = annotations[key]
		if change, changes := p.Annotations[key]; changes {
			after[key], as = "", byName
			if change != nil {
				after[key] = *change
			}
		}
	}
	want := ""
	if states := after[v1alpha1.AnnotationNodeStatePrefix+s.Skyhook]; states != "" {
		if want = s.value(as, states, s.complete(after)); want != labels[s.key()] {
			want = s.value(byName, states, s.complete(after))
		}
	}
	delete(p.Labels, s.key())
	p.set(p.label, s.key(), want, labels)
}

// AnySeal reports whether a record of any Skyhook is sealed on the node.
func AnySeal(labels map[string]string) bool {
	for key := range labels {
		if isSeal(key) {
			return true
		}
	}
	return false
}

// SameUnsealed reports whether labels differ in nothing but seals.
func SameUnsealed(a, b map[string]string) bool {
	count := 0
	for key, value := range a {
		if isSeal(key) {
			continue
		}
		count++
		if other, ok := b[key]; !ok || other != value {
			return false
		}
	}
	for key := range b {
		if !isSeal(key) {
			count--
		}
	}
	return count == 0
}

func isSeal(label string) bool { return strings.HasPrefix(label, v1alpha1.LabelSealPrefix) }
