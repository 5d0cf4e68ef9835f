// Package taint decides about the taint that keeps workloads off a node until the Skyhooks that they require are
// complete there.
//
// It takes values and returns values; it knows no client, clock or logger.
package taint

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Skyhook is what matters of one Skyhook on the node.
type Skyhook struct {
	// Required says that workloads wait for it: spec.runtimeRequired, and it targets the node.
	Required bool
	// Auto says that it has the node tainted, which is New to it: spec.autoTaintNewNodes.
	Auto bool
	// Complete says that the node has all that it wants.
	Complete bool
	// Reapplied says that it starts over on the node, after a reboot or on another host.
	Reapplied bool
	// Deleting says that it is being deleted.
	Deleting bool
}

// Change is what has to become of the node; its zero value changes nothing.
type Change struct {
	// Taints of the node as they have to be; nil leaves them.
	Taints *[]corev1.Taint
	// Mark is what the annotation has to be that tells that the operator added the taint: empty to remove it, nil to leave
	// it.
	Mark *string
	// Message tells people what happens; empty when nothing does.
	Message string
	// After is when to look again; 0 when an event will tell.
	After time.Duration
}

// What the mark says of a taint that the operator added. Once the Skyhook is gone it says instead until when the taint
// stays, as a time.
const (
	// Ours: a Skyhook requires it, or did when somebody looked last.
	Ours = "true"
	// deleting: the last Skyhook that required it is being deleted.
	deleting = "deleting"
)

// Grace is how long the taint stays after the Skyhook that required it is gone: a hook of Helm, or kubectl replace
// --force, creates it again at once, and the node may be half done.
const Grace = 5 * time.Minute

// Annotation tells that the operator added the taint, see Ours. A slash in the taint's key would make two in the
// annotation's. A name that is too long for an annotation is cut, and ends in a hash of the key: with one that the API
// server refuses, nothing of the node's record could be written.
func Annotation(t corev1.Taint) string {
	name := v1alpha1.AnnotationAutoTaintPrefix + strings.ReplaceAll(t.Key, "/", ".")
	most := len(v1alpha1.KeyPrefix) + validation.LabelValueMaxLength // as long as the name of an annotation may be
	if len(name) <= most {
		return name
	}
	const length = 10
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(t.Key)))[:length]
	return strings.TrimRight(name[:most-length-1], "-_.") + "-" + hash
}

// Next decides for one node. The taint is removed once all Skyhooks that require it are complete; one that no Skyhook
// requires any more, as the last was deleted, is removed after Grace if the operator added it.
func Next(node *corev1.Node, t corev1.Taint, skyhooks []Skyhook, now time.Time) Change {
	required := slices.DeleteFunc(slices.Clone(skyhooks), func(s Skyhook) bool { return !s.Required || s.Deleting })
	if len(required) == 0 {
		return unrequired(node, t, skyhooks, now)
	}
	c := requiredBy(node, t, required)
	mark, marked := node.Annotations[Annotation(t)]
	if c.Mark == nil && marked && mark != Ours {
		c.Mark = new(Ours) // it was created again
	}
	return c
}

func requiredBy(node *corev1.Node, t corev1.Taint, required []Skyhook) Change {
	tainted := Has(node, t)
	switch {
	case slices.ContainsFunc(required, func(s Skyhook) bool { return s.Reapplied }):
		if tainted {
			return Change{}
		}
		return Change{Taints: with(node, t), Mark: new(Ours), Message: "its packages are applied again, after a reboot or on another host"}
	case !slices.ContainsFunc(required, func(s Skyhook) bool { return !s.Complete }):
		if !tainted {
			return Change{}
		}
		return Change{Taints: without(node, t), Message: "every Skyhook that workloads wait for is complete"}
	case !tainted && slices.ContainsFunc(required, func(s Skyhook) bool { return s.Auto }):
		return Change{Taints: with(node, t), Mark: new(Ours), Message: "the node is new"}
	}
	return Change{}
}

// unrequired sees to the taint that the operator added for a Skyhook that is being deleted, or gone since then.
func unrequired(node *corev1.Node, t corev1.Taint, skyhooks []Skyhook, now time.Time) Change {
	mark, tainted := node.Annotations[Annotation(t)], Has(node, t)
	leaving := slices.ContainsFunc(skyhooks, func(s Skyhook) bool { return s.Required && s.Deleting })
	until, err := time.Parse(time.RFC3339, mark)
	switch left := until.Sub(now); {
	case mark == "", mark == Ours && !leaving: // added by somebody else, or a person has it stay
		return Change{}
	case !tainted:
		return Change{Mark: new("")}
	case leaving && mark == deleting:
		return Change{}
	case leaving:
		return Change{Mark: new(deleting)}
	case err != nil || left > Grace: // it is gone since a moment ago, or the clock was ahead
		return Change{Mark: new(now.Add(Grace).UTC().Format(time.RFC3339)), After: Grace}
	case left > 0:
		return Change{After: left}
	}
	return Change{Taints: without(node, t), Mark: new(""), Message: "no Skyhook requires the taint any longer"}
}

// New reports whether a node is new to a Skyhook whose records are sealed since then; nil for not yet. A node may have
// put any annotation on itself, but no seal; a node that is older may be known from before there were seals, and has an
// annotation then.
func New(node *corev1.Node, since *metav1.Time) bool {
	if record.AnySeal(node.Labels) {
		return false
	}
	if since != nil && since.Before(&node.CreationTimestamp) {
		return true
	}
	for key := range node.Annotations {
		if strings.HasPrefix(key, v1alpha1.KeyPrefix) {
			return false
		}
	}
	return true
}

// Has reports whether the node has the taint, with whatever value: key and effect make one.
func Has(node *corev1.Node, t corev1.Taint) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(have corev1.Taint) bool { return have.MatchTaint(&t) })
}

func with(node *corev1.Node, t corev1.Taint) *[]corev1.Taint {
	all := append(slices.Clone(node.Spec.Taints), t)
	return &all
}

func without(node *corev1.Node, t corev1.Taint) *[]corev1.Taint {
	rest := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(have corev1.Taint) bool { return have.MatchTaint(&t) })
	if rest == nil {
		rest = []corev1.Taint{}
	}
	return &rest
}
