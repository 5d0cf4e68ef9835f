package rollout_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestReasonsOfNodes: what a node says is made a reason that the API server accepts.
func TestReasonsOfNodes(t *testing.T) {
	for text, want := range map[string]string{
		"StepFailed":                        "StepFailed",
		"a_1,b:C":                           "a_1,b:C",
		"":                                  "Unknown",
		"  not a reason!\n":                 "notareason",
		"137 is the code":                   "isthecode",
		"_,:":                               "Unknown",
		"Ends:,":                            "Ends",
		"Größe\xff":                         "Gre",
		strings.Repeat("x", 127) + ",more":  strings.Repeat("x", 127),
		strings.Repeat(" ", 1<<20) + "late": "Unknown",
	} {
		all := nodes("n1 erroring")
		all[0].Trouble = &lifecycle.Wait{Reason: text, Message: text}
		status := rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: all, Now: now})
		if got := status.Attention[0].Reason; got != want {
			t.Errorf("%.40q becomes %q, want %q", text, got, want)
		}
		if got := status.Attention[0].Message; len(got) > 400 || !utf8.ValidString(got) {
			t.Errorf("the message has %d bytes: %.40q", len(got), got)
		}
	}
}

// TestReasonOfABlockedDeletion: it comes from a node as well.
func TestReasonOfABlockedDeletion(t *testing.T) {
	all := nodes("n1 blocked=x")
	all[0].Wait.Reason = "no word at all!"
	status := rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: all, Deleting: true, Now: now})
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDeletionBlocked); c == nil || c.Reason != "nowordatall" {
		t.Errorf("the condition is %+v", c)
	}
}

func TestBootIDsAreBounded(t *testing.T) {
	all := nodes("n1")
	all[0].BootID = "\xff" + strings.Repeat("b", 1<<20)
	status := rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: all, Now: now})
	if got := status.NodeBootIDs["n1"]; got != strings.Repeat("b", 127) {
		t.Errorf("the boot id has %d bytes: %.20q", len(got), got)
	}
	if status.Status != v1alpha1.StatusInProgress {
		t.Errorf("status %s", status.Status)
	}
}
