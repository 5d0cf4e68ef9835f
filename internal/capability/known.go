package capability

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Answer is what an image says about uninstalling the package in it.
type Answer string

const (
	// True says that the package can be uninstalled.
	True Answer = "true"
	// False says that it cannot.
	False Answer = "false"
	// Unknown says that the image has no such label, or could not be looked at. It counts as false.
	Unknown Answer = "unknown"
)

// Reason is why an answer is Unknown, as conditions show it.
type Reason string

var reasons = map[Reason]bool{
	v1alpha1.ReasonImageUnlabeled: true, v1alpha1.ReasonReferenceInvalid: true, v1alpha1.ReasonUnauthorized: true,
	v1alpha1.ReasonImageNotFound: true, v1alpha1.ReasonTimeout: true, v1alpha1.ReasonRegistryUnreachable: true,
	v1alpha1.ReasonRegistryError: true, v1alpha1.ReasonImageUnreadable: true,
}

const (
	unlabeled = "the image has no label " + v1alpha1.ImageLabelUninstall + " with the value true or false"
	// maxMessage bounds the message of a failure, in bytes: with 128 packages the annotation must stay far below the
	// 256 KiB that all annotations of an object may have.
	maxMessage = 200
)

// Finding is what one look at an image found.
type Finding struct {
	// Reference of the image, as the package has it.
	Reference string
	// Digest that the reference stands for, such as sha256:<64 hexadecimal digits>; empty when it could not be found.
	Digest string
	// Answer of the image with that digest; Unknown without a Reason when it has no label that can be read.
	Answer Answer
	// Reason and Message tell why the image could not be looked at; empty when it could.
	Reason  Reason
	Message string
}

// Known is what is known of a Skyhook's images, and the JSON in its annotation.
type Known struct {
	// References by their name. Each is looked up once, so a tag that moves later is not noticed.
	References map[string]Image `json:"references,omitempty"`
	// Digests with the answers that were read from the images themselves.
	Digests map[string]Answer `json:"digests,omitempty"`
}

// Image is what a reference stands for.
type Image struct {
	Digest string `json:"digest,omitempty"`
	// Reason and Message are set when the image could not be looked at.
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Verdict is what is known of one reference.
type Verdict struct {
	Answer Answer
	// Reason and Message tell why the answer is Unknown; else they are empty.
	Reason  Reason
	Message string
}

// Read returns what the Skyhook's annotation tells. One that cannot be read, or was written by somebody else in another
// form, tells nothing.
func Read(s *v1alpha1.Skyhook) Known {
	var k Known
	text, ok := s.Annotations[v1alpha1.AnnotationUninstallCapability]
	if !ok || json.Unmarshal([]byte(text), &k) != nil || !k.valid() {
		return Known{}
	}
	return k
}

// valid keeps what others wrote into the annotation from becoming the reason of a condition, which the API server
// would refuse together with the rest of the status.
func (k Known) valid() bool {
	for _, a := range k.Digests {
		if a != True && a != False && a != Unknown {
			return false
		}
	}
	for _, i := range k.References {
		if i.Reason != "" && !reasons[i.Reason] {
			return false
		}
	}
	return true
}

// Of returns what is known of a reference; false when nothing is.
func (k Known) Of(reference string) (Verdict, bool) {
	i, ok := k.References[reference]
	if !ok {
		return Verdict{}, false
	}
	answer, ok := k.Digests[i.Digest]
	switch {
	case ok && answer == Unknown:
		return Verdict{Answer: Unknown, Reason: v1alpha1.ReasonImageUnlabeled, Message: unlabeled}, true
	case ok:
		return Verdict{Answer: answer}, true
	case i.Reason != "":
		return Verdict{Answer: Unknown, Reason: i.Reason, Message: bounded(i.Message, maxMessage)}, true
	default:
		return Verdict{}, false
	}
}

// Add notes a finding.
func (k *Known) Add(f Finding) {
	if k.References == nil {
		k.References = map[string]Image{}
	}
	if k.Digests == nil {
		k.Digests = map[string]Answer{}
	}
	k.References[f.Reference] = Image{Digest: f.Digest, Reason: f.Reason, Message: bounded(f.Message, maxMessage)}
	if f.Reason == "" {
		k.Digests[f.Digest] = f.Answer
	}
}

// keep drops what is known of references that are not used, and the digests that go with them.
func (k *Known) keep(used map[string]bool) {
	digests := map[string]bool{}
	maps.DeleteFunc(k.References, func(reference string, i Image) bool {
		digests[i.Digest] = digests[i.Digest] || used[reference]
		return !used[reference]
	})
	maps.DeleteFunc(k.Digests, func(digest string, _ Answer) bool { return !digests[digest] })
}

// String is the annotation's value; empty when nothing is known.
func (k Known) String() string {
	if len(k.References) == 0 {
		return ""
	}
	text, err := json.Marshal(k)
	if err != nil {
		panic(fmt.Sprintf("capability: maps of strings do not become JSON: %v", err))
	}
	return string(text)
}

// bounded makes one line of a text, of at most limit bytes.
func bounded(text string, limit int) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	text = strings.Join(words, " ")
	if len(text) <= limit {
		return text
	}
	cut := limit - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
