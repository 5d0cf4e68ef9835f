package capability

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/pkg/image/label"
)

// The answers of an image to whether the package in it can be uninstalled. Unknown counts as False.
const (
	True    = "true"
	False   = "false"
	Unknown = "unknown"
)

const (
	unlabeled = "the image has no label " + label.Uninstall + " with the value true or false"
	// maxMessage bounds the message of a failure, in bytes: with 128 packages the annotation must stay far below the
	// 256 KiB that all annotations of an object may have.
	maxMessage = 200
	// maxNamed is how many packages a summary names before it only counts.
	maxNamed = 3
	// maxSummary bounds a summary, in bytes: the note of an event may have 1,024.
	maxSummary = 900
)

// Finding is what is known of an image.
type Finding struct {
	// Reference of the image, as the package has it.
	Reference string `json:"-"`
	// Answer of the image: True, False or Unknown.
	Answer string `json:"-"`
	// Digest that the reference stands for, such as sha256:<64 hexadecimal digits>; empty when it could not be found.
	Digest string `json:"digest,omitempty"`
	// Reason and Message tell why the answer is Unknown. An image without a label needs none when it is added.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Known is what is known of a Skyhook's images, and the JSON in its annotation.
type Known struct {
	// References by their name. Each is looked up once, so a tag that moves later is not noticed.
	References map[string]Finding `json:"references,omitempty"`
	// Digests with the answers that were read from the images themselves.
	Digests map[string]string `json:"digests,omitempty"`
}

// Read returns what the Skyhook's annotation tells. What cannot be read, or was written by somebody else in another
// form, tells nothing: no other reason than ours may become that of a condition, which the API server would refuse
// together with the rest of the status.
func Read(s *v1alpha1.Skyhook) Known {
	var k Known
	if json.Unmarshal([]byte(s.Annotations[v1alpha1.AnnotationUninstallCapability]), &k) != nil {
		return Known{}
	}
	maps.DeleteFunc(k.References, func(reference string, _ Finding) bool {
		_, ok := k.Of(reference)
		return !ok
	})
	return k
}

// Of returns what is known of a reference; false when nothing is.
func (k Known) Of(reference string) (Finding, bool) {
	f := k.References[reference]
	switch answer := k.Digests[f.Digest]; answer {
	case True, False:
		return Finding{Reference: reference, Answer: answer, Digest: f.Digest}, true
	case Unknown:
		f.Reference, f.Answer, f.Reason, f.Message = reference, Unknown, v1alpha1.ReasonImageUnlabeled, unlabeled
		return f, true
	}
	switch f.Reason {
	case v1alpha1.ReasonImageNotFound, v1alpha1.ReasonRegistryUnreachable, v1alpha1.ReasonImageUnreadable:
		f.Reference, f.Answer, f.Message = reference, Unknown, bounded(f.Message, maxMessage)
		return f, true
	}
	return Finding{}, false
}

// Add notes a finding.
func (k *Known) Add(f Finding) {
	if k.References == nil {
		k.References = map[string]Finding{}
	}
	if k.Digests == nil {
		k.Digests = map[string]string{}
	}
	k.References[f.Reference] = Finding{Digest: f.Digest, Reason: f.Reason, Message: bounded(f.Message, maxMessage)}
	if f.Reason == "" {
		k.Digests[f.Digest] = f.Answer
	}
}

// keep drops what is known of references that are not used, and the digests that go with them.
func (k *Known) keep(used map[string]bool) {
	digests := map[string]bool{}
	maps.DeleteFunc(k.References, func(reference string, f Finding) bool {
		digests[f.Digest] = digests[f.Digest] || used[reference]
		return !used[reference]
	})
	maps.DeleteFunc(k.Digests, func(digest, _ string) bool { return !digests[digest] })
}

// String is the annotation's value; empty when nothing is known.
func (k Known) String() string {
	if len(k.References) == 0 {
		return ""
	}
	value, err := json.Marshal(k)
	if err != nil {
		panic(fmt.Sprintf("capability: maps of strings do not become JSON: %v", err))
	}
	return string(value)
}

// Summary is one text about doubts, with the package, the image and the cause of the first three, in at most 900
// bytes.
func Summary(doubts []Doubt) string {
	var texts []string
	for _, d := range doubts[:min(len(doubts), maxNamed)] {
		texts = append(texts, fmt.Sprintf("package %s (image %s): %s", d.Package, d.Reference, d.Message))
	}
	if more := len(doubts) - maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return bounded(strings.Join(texts, "; "), maxSummary)
}

// bounded makes one line of a text, of at most limit bytes.
func bounded(message string, limit int) string {
	between := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	words := strings.FieldsFunc(strings.ToValidUTF8(message, ""), between)
	return text.Cut(strings.Join(words, " "), limit)
}
