package taint_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/internal/taint"
)

var (
	runtime = corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}
	foreign = corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}
	// same key, other effect: another taint
	sibling = corev1.Taint{Key: "skyhook.nvidia.com", Effect: corev1.TaintEffectNoExecute}
)

const mark = "skyhook.nvidia.com/autoTaint_skyhook.nvidia.com"

// now is 12:00.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// node reads "tainted known marked foreign sibling other-value".
func node(text string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"theirs": "x"}}}
	for _, word := range strings.Fields(text) {
		switch word {
		case "tainted":
			n.Spec.Taints = append(n.Spec.Taints, runtime)
		case "other-value":
			t := runtime
			t.Value = "x"
			n.Spec.Taints = append(n.Spec.Taints, t)
		case "foreign":
			n.Spec.Taints = append(n.Spec.Taints, foreign)
		case "sibling":
			n.Spec.Taints = append(n.Spec.Taints, sibling)
		case "known":
			n.Annotations["skyhook.nvidia.com/nodeState_x"] = "{}"
		case "marked":
			n.Annotations[mark] = "true"
		case "deleting":
			n.Annotations[mark] = "deleting"
		case "until-now", "until-12:04", "until-13:00":
			n.Annotations[mark] = map[string]string{
				"until-now": "2026-03-01T12:00:00Z", "until-12:04": "2026-03-01T12:04:00Z", "until-13:00": "2026-03-01T13:00:00Z",
			}[word]
		}
	}
	return n
}

// skyhooks reads "required+complete required+auto -": one word a Skyhook, "-" for one that has no say.
func skyhooks(text string) []taint.Skyhook {
	var list []taint.Skyhook
	for _, word := range strings.Fields(text) {
		has := func(flag string) bool { return strings.Contains("+"+word+"+", "+"+flag+"+") }
		list = append(list, taint.Skyhook{
			Required: has("required"), Auto: has("auto"), Complete: has("complete"), Reapplied: has("reapplied"),
			Deleting: has("leaving"),
		})
	}
	return list
}

func describe(n *corev1.Node, c taint.Change) string {
	var words []string
	if c.Taints != nil {
		after := n.DeepCopy()
		after.Spec.Taints = *c.Taints
		switch had, has := taint.Has(n, runtime), taint.Has(after, runtime); {
		case has && !had:
			words = append(words, "taint")
		case had && !has:
			words = append(words, "untaint")
		}
	}
	if c.Mark != nil {
		words = append(words, map[string]string{
			"true": "mark", "": "unmark", "deleting": "deleting", "2026-03-01T12:05:00Z": "until-12:05",
		}[*c.Mark])
	}
	if c.After > 0 {
		words = append(words, c.After.String())
	}
	return strings.Join(words, " ")
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ name, node, skyhooks, want string }{
		{"nobody is here", "tainted", "", ""},
		{"nobody requires it: it stays", "tainted", "-", ""},
		{"required and incomplete: it stays", "tainted known", "required", ""},
		{"complete: it goes", "tainted known", "required+complete", "untaint"},
		{"complete, with another value of the taint", "other-value known", "required+complete", "untaint"},
		{"complete, and it is gone already", "known", "required+complete", ""},
		{"two require it, one is incomplete", "tainted known", "required+complete required", ""},
		{"two require it, both are complete", "tainted known", "required+complete required+complete", "untaint"},
		{"one that does not require it is incomplete", "tainted known", "required+complete -", "untaint"},
		{"only another effect of the key is there", "sibling known", "required+complete", ""},

		{"a new node", "", "required+auto", "taint mark"},
		{"a new node, only required", "", "required", ""},
		{"a new node, only auto", "", "auto", ""},
		{"a new node that registered with the taint", "tainted", "required+auto", ""},
		{"a new node, nothing to wait for", "", "required+auto+complete", ""},
		{"a known node", "known", "required", ""},
		{"a new node with another effect of the key", "sibling", "required+auto", "taint mark"},

		{"applied again after a reboot", "known", "required+reapplied", "taint mark"},
		{"applied again, the taint is still there", "tainted known", "required+reapplied", ""},
		{"applied again, not required", "known", "reapplied", ""},

		{"being deleted, the operator had added it: it stays", "tainted known marked", "required+leaving", "deleting"},
		{"still being deleted", "tainted known deleting", "required+leaving", ""},
		{"being deleted, after another was", "tainted known until-12:04", "required+leaving", "deleting"},
		{"deleted: it stays for a while", "tainted deleting", "", "until-12:05 5m0s"},
		{"deleted, and the clock was ahead", "tainted until-13:00", "-", "until-12:05 5m0s"},
		{"deleted a minute ago", "tainted until-12:04", "-", "4m0s"},
		{"deleted for good", "tainted until-now", "-", "untaint unmark"},
		{"deleted, and somebody removed it", "until-12:04", "", "unmark"},
		{"deleted and created again", "tainted until-12:04", "required", "mark"},
		{"deleted and created again, and complete", "tainted until-12:04", "required+complete", "untaint mark"},
		{"deleted and created again, without requiring it", "tainted until-12:04", "-", "4m0s"},
		{"required no more by an edit: it stays", "tainted marked", "-", ""},
		{"deleted, it is gone already", "known marked", "required+leaving", "unmark"},
		{"deleted, the node registered with it", "tainted known", "required+leaving", ""},
		{"deleted, another requires it", "tainted known marked", "required+leaving required", ""},
		{
			"deleted, another requires it and is complete", "tainted known marked", "required+leaving required+complete",
			"untaint",
		},
		{"one that does not require it is deleted", "tainted known marked", "leaving", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := node("foreign " + c.node)
			before := n.DeepCopy()
			got := taint.Next(n, runtime, skyhooks(c.skyhooks), now)
			if describe(n, got) != c.want {
				t.Errorf("got %q, want %q", describe(n, got), c.want)
			}
			if (got.Message != "") != (got.Taints != nil) {
				t.Errorf("message %q with taints %v", got.Message, got.Taints)
			}
			if got.Taints != nil && !taint.Has(&corev1.Node{Spec: corev1.NodeSpec{Taints: *got.Taints}}, foreign) {
				t.Error("somebody else's taint is lost")
			}
			if len(n.Spec.Taints) != len(before.Spec.Taints) {
				t.Error("the node that was given is changed")
			}
		})
	}
}

func TestAnnotation(t *testing.T) {
	for key, want := range map[string]string{
		"skyhook.nvidia.com": "skyhook.nvidia.com/autoTaint_skyhook.nvidia.com",
		"a.b/c":              "skyhook.nvidia.com/autoTaint_a.b.c",
	} {
		if got := taint.Annotation(corev1.Taint{Key: key}); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}

// TestNew: a node cannot make itself known. What it has:
//
//	known     an annotation of the operator's, as anybody may write it
//	sealed    a seal, which no kubelet writes
//	younger   created after records began to be sealed
func TestNew(t *testing.T) {
	since := metav1.NewTime(time.Unix(1_800_000_000, 0))
	for _, c := range []struct {
		node string
		want bool
	}{
		{"", true},
		{"known", false},
		{"sealed", false},
		{"known sealed", false},
		{"younger", true},
		{"younger known", true},
		{"younger sealed", false},
		{"younger known sealed", false},
	} {
		t.Run(c.node, func(t *testing.T) {
			n := node(c.node)
			n.Labels, n.CreationTimestamp = map[string]string{"pool": "x"}, since
			if strings.Contains(c.node, "sealed") {
				n.Labels["node-restriction.kubernetes.io/skyhook_other"] = "0f"
			}
			if strings.Contains(c.node, "younger") {
				n.CreationTimestamp.Time = since.Add(time.Second)
			}
			if got := taint.New(n, &since); got != c.want {
				t.Errorf("new: %t", got)
			}
			if before := taint.New(n, nil); strings.Contains(c.node, "younger") && before != (c.node == "younger") {
				t.Errorf("new before records are sealed: %t", before)
			}
		})
	}
}
