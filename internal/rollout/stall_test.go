package rollout_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestStalledTells: what nothing gets past without a person is told with its reason, failing nodes first, then by name.
func TestStalledTells(t *testing.T) {
	stuckPod := &record.Wait{Reason: v1alpha1.ReasonWaitingForPodToEnd, Message: "a pod did not end"}
	for _, c := range []struct {
		name     string
		nodes    string
		departed map[string]rollout.Departed
		want     string
	}{
		{"an ignored node", "n2 held=TaintNotTolerable; n1 held=NodeIgnored", nil, "NodeIgnored: node n1: held: NodeIgnored"},
		{"one that needs another spec", "n1 blocked=DependencyMissing", nil, "DependencyMissing: node n1: blocked: DependencyMissing"},
		{"one that is half done and tainted", "n1 begun held=TaintNotTolerable", nil, "TaintNotTolerable: node n1: held: TaintNotTolerable; work on the node has begun, so it keeps its place in the budget meanwhile: " +
			"to take it out, run `kubectl skyhook node ignore n1`"},
		{"a failing one first", "n1 held=NodeIgnored; n2 erroring trouble=StepFailed", nil, "NodesErroring: node n2: StepFailed: trouble: StepFailed"},
		{"a failing one that says nothing", "n2 erroring", nil, "NodesErroring: node n2: Erroring: the node is erroring"},
		{"what takes too long", "n1 overdue=DrainTimeout", nil, "NodesErroring: node n1: DrainTimeout: wait: DrainTimeout"},
		{"a node that left gives its permit back", "n1 held=NodeIgnored", map[string]rollout.Departed{"left": {}}, ""},
		{"one that left is not Ready", "n1 held=NodeIgnored", map[string]rollout.Departed{"left": {Unavailable: true}}, "NodeIgnored: node n1: held: NodeIgnored"},
		{"a pod does not end on one that left", "n1 held=NodeIgnored", map[string]rollout.Departed{"left": {Wait: stuckPod}}, "NodeIgnored: node n1: held: NodeIgnored"},
		{
			"one that left and is not Ready holds the budget", "n1; n2", map[string]rollout.Departed{"left": {Unavailable: true}}, "DepartedNotReady: node left: " +
				"the node is no longer selected; it was in progress and is not Ready, so it counts against the budget; " +
				"bring it back, or delete it with `kubectl delete node left`",
		},
		{"a pod that does not end holds the budget", "n1; n2", map[string]rollout.Departed{"left": {Wait: stuckPod}}, "WaitingForPodToEnd: node left: the node is no longer selected; a pod did not end"},
		{"one that left holds the budget, and all waits for another Skyhook", "n1 held=WaitingForSkyhook", map[string]rollout.Departed{"left": {Unavailable: true}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := rollout.Plan(rollout.Input{Skyhook: skyhook(1, permit("left", 0)), Nodes: nodes(c.nodes), Departed: c.departed, Now: now})
			stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
			got := ""
			if stalled.Status == "True" {
				got = stalled.Reason + ": " + stalled.Message
			}
			if got != c.want || meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReconciling) != (c.want == "") {
				t.Errorf("got %q, want %q; conditions %+v", got, c.want, status.Conditions)
			}
		})
	}
}

// TestStalledInAnyOrder: which of two nodes got its permit first decides nothing.
func TestStalledInAnyOrder(t *testing.T) {
	stuckPod := &record.Wait{Reason: v1alpha1.ReasonWaitingForPodToEnd, Message: "a pod did not end"}
	for _, c := range []struct {
		name, nodes string
		left        rollout.Departed
		want        string
	}{
		{"one fails, one that left is not Ready", "n1 erroring trouble=StepFailed; n2", rollout.Departed{Unavailable: true}, v1alpha1.ReasonNodesErroring},
		{"one fails, a pod does not end on one that left", "n1 erroring trouble=StepFailed; n2", rollout.Departed{Wait: stuckPod}, v1alpha1.ReasonNodesErroring},
		{"one is not Ready, one that left neither", "n1 not-ready in_progress; n2", rollout.Departed{Unavailable: true}, v1alpha1.ReasonNodeNotReady},
		{"one fails, one that left gives its permit back", "n1 erroring trouble=StepFailed; n2", rollout.Departed{}, v1alpha1.ReasonProgressing},
	} {
		for first := range int32(2) {
			s := skyhook(2, permit("n1", first), permit("left", 1-first))
			status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: nodes(c.nodes), Departed: map[string]rollout.Departed{"left": c.left}, Now: now})
			stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
			if stalled.Reason != c.want || (stalled.Status == "True") != (c.want != v1alpha1.ReasonProgressing) {
				t.Errorf("%s, n1 has number %d: %s %s, want %s", c.name, first, stalled.Status, stalled.Reason, c.want)
			}
		}
	}
}

// TestPausedDeletion: nothing is being freed while somebody paused it, or while it is blocked; with nothing left to
// uninstall it continues.
func TestPausedDeletion(t *testing.T) {
	for text, want := range map[string]bool{"n1": false, "n1 complete": true} {
		s := rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: nodes(text), Hold: holdPaused, Deleting: true, Freeing: []string{"n1"}, Now: now})
		if got := meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReconciling); got != want {
			t.Errorf("%s: reconciling %t, conditions %+v", text, got, s.Conditions)
		}
	}
}
