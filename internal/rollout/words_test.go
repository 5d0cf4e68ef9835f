package rollout_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
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
		all[0].Failure = &record.Wait{Reason: text, Message: text}
		status := rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: all, Now: now})
		if got := status.Attention[0].Reason; got != want {
			t.Errorf("%.40q becomes %q, want %q", text, got, want)
		}
		if got := status.Attention[0].Message; len(got) > 400 || !utf8.ValidString(got) {
			t.Errorf("the message has %d bytes: %.40q", len(got), got)
		}
	}
}

// TestMessagesKeepTheWayOut: whatever the length of names and causes, what a message asks people to do is in it as a
// whole.
func TestMessagesKeepTheWayOut(t *testing.T) {
	long := func(i int) string { return strings.Repeat(string(rune('a'+i)), 253) }
	var text []string
	departed := map[string]rollout.Departed{}
	for i := range 8 {
		text = append(text, long(i)+" not-ready")
		departed[long(10+i)] = rollout.Departed{Unavailable: true}
	}
	s := skyhook(0)
	for name := range departed {
		s.Status.Permits = append(s.Status.Permits, permit(name, 0))
	}
	const cause = "ConfigMap x is refused: "
	hold := &situation.Hold{Status: v1alpha1.StatusBlocked, Wait: record.Wait{
		Reason: "ConfigMapRefused", Frees: record.FreesAuthor, Message: cause + strings.Repeat("because of it ", 200) + "; correct spec.packages.x.configMap",
	}}
	malformed := strings.ReplaceAll(strings.Join(text, ";"), "not-ready", "held=NodeStateMalformed")
	for _, c := range []struct {
		kind, begins, ends string
		in                 rollout.Input
	}{
		{"DeletionBlocked", "node ", "`kubectl annotate skyhook demo --overwrite skyhook.nvidia.com/abandon-uninstall=" + long(0) + "`", rollout.Input{Nodes: nodes(strings.Join(text, ";")), Deleting: true}},
		{"DeletionBlocked", cause, "`kubectl annotate skyhook demo --overwrite skyhook.nvidia.com/abandon-uninstall=" + long(0) + "`", rollout.Input{Nodes: nodes(strings.Join(text, ";")), Deleting: true, Hold: hold}},
		{"DeletionBlocked", cause, "`kubectl annotate skyhook demo --overwrite skyhook.nvidia.com/abandon-uninstall=n1,n2`", rollout.Input{Nodes: nodes("n1; n2"), Deleting: true, Hold: hold}},
		{"DepartedNotReady", "nodes ", "bring them back, or delete them with `kubectl delete node NODE`", rollout.Input{Departed: departed}},
		{"NodeStateMalformed", "nodeState annotation cannot be parsed on 8 node(s): ", "`kubectl annotate node NODE skyhook.nvidia.com/nodeState_demo-`", rollout.Input{Nodes: nodes(malformed)}},
		{"Stalled", cause, "; correct spec.packages.x.configMap", rollout.Input{Nodes: nodes("n1"), Hold: hold}},
		{"Ready", cause, "; correct spec.packages.x.configMap", rollout.Input{Nodes: nodes("n1"), Hold: hold}},
	} {
		c.in.Skyhook, c.in.Now = s, now
		got := meta.FindStatusCondition(rollout.Plan(c.in).Conditions, c.kind)
		if got == nil || !strings.HasPrefix(got.Message, c.begins) || !strings.HasSuffix(got.Message, c.ends) || len(got.Message) > 700 {
			t.Errorf("%s: got %+v\nwant it to begin with %q and to end with %q", c.kind, got, c.begins, c.ends)
		}
	}
}

// TestPlurals: one is not many.
func TestPlurals(t *testing.T) {
	status := rollout.Plan(rollout.Input{
		Skyhook: skyhook(1), Now: now, Nodes: nodes("n1 held=TaintNotTolerable; n2 held=NodeIgnored; n3 held=NodeIgnored"), Deleting: true, Freeing: []string{"n1"},
	})
	for kind, want := range map[string]string{
		"TaintNotTolerable": "1 node is excluded by taints that this Skyhook does not tolerate (n1); add tolerations to " +
			"spec.additionalTolerations, or find out who set the taints, and why",
		"NodesIgnored": "2 nodes are excluded by the label skyhook.nvidia.com/ignore=true (n2, n3); " +
			"include a node with `kubectl label node NODE skyhook.nvidia.com/ignore-`",
		"Reconciling": "the Skyhook is being removed from 1 node: n1",
	} {
		if got := meta.FindStatusCondition(status.Conditions, kind).Message; got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
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
