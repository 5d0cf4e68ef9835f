package rollout_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

var (
	holdPaused   = &situation.Hold{Status: v1alpha1.StatusPaused, Wait: record.Wait{Reason: v1alpha1.ReasonPaused, Frees: record.FreesAdministrator, Message: "paused"}}
	holdDisabled = &situation.Hold{Status: v1alpha1.StatusDisabled, ReturnsPermit: true, TakesOut: true, Wait: record.Wait{Reason: v1alpha1.ReasonDisabled, Frees: record.FreesAdministrator, Message: "disabled"}}
	holdInvalid  = &situation.Hold{Status: v1alpha1.StatusBlocked, Wait: record.Wait{Reason: v1alpha1.ReasonSpecInvalid, Frees: record.FreesAuthor, Message: "spec.serial: no"}}
	// A Skyhook that cannot be prepared for its nodes, until somebody acts, or until Kubernetes cleaned up.
	holdUnprepared = &situation.Hold{Status: v1alpha1.StatusBlocked, Wait: record.Wait{Reason: "ConfigMapConflict", Frees: record.FreesAdministrator, Message: "taken"}}
	holdLeftover   = &situation.Hold{Status: v1alpha1.StatusBlocked, Wait: record.Wait{Reason: "ConfigMapConflict", Frees: record.FreesTime, Message: "taken"}}
)

// TestRollUp has one line per mix of node states: permits, nodes and hold give status, Ready, Reconciling and Stalled.
func TestRollUp(t *testing.T) {
	one := []v1alpha1.Permit{permit("n1", 0)}
	for _, c := range []struct {
		name    string
		permits []v1alpha1.Permit
		nodes   string
		hold    *situation.Hold
		want    string
	}{
		{name: "no nodes", want: "complete Ready=True:NodesConverged Reconciling=False Stalled=False:NodesConverged"},
		{name: "all complete", nodes: "n1 complete; n2 complete", want: "complete Ready=True:NodesConverged Reconciling=False Stalled=False:NodesConverged"},
		{name: "one works, one waits", permits: one, nodes: "n1 in_progress; n2", want: "in_progress Ready=False:Progressing Reconciling=True Stalled=False:Progressing"},
		{name: "a new permit is work", nodes: "n1; n2", want: "in_progress Ready=False:Progressing Reconciling=True Stalled=False:Progressing"},
		{name: "one complete, one works", permits: one, nodes: "n1 in_progress; n2 complete", want: "in_progress Ready=False:Progressing Reconciling=True Stalled=False:Progressing"},
		{name: "one erroring, others wait: erroring, not unknown", permits: one, nodes: "n1 erroring; n2; n3; n4", want: "erroring Ready=False:Erroring Reconciling=False Stalled=True:NodesErroring"},
		{name: "erroring before in progress", permits: []v1alpha1.Permit{permit("n1", 0), permit("n2", 1)}, nodes: "n1 erroring; n2 in_progress", want: "erroring Ready=False:Erroring Reconciling=True Stalled=False:Progressing"},
		{name: "erroring before blocked", permits: one, nodes: "n1 erroring; n2 held=TaintNotTolerable", want: "erroring Ready=False:Erroring Reconciling=False Stalled=True:NodesErroring"},
		{name: "blocked before in progress", permits: one, nodes: "n1 in_progress; n2 held=TaintNotTolerable", want: "blocked Ready=False:Blocked Reconciling=True Stalled=False:Progressing"},
		{name: "all blocked", nodes: "n1 held=NodeIgnored; n2 held=TaintNotTolerable", want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:NodeIgnored"},
		{name: "blocked and complete", nodes: "n1 held=NodeIgnored; n2 complete", want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:NodeIgnored"},
		{name: "complete although it would be blocked", nodes: "n1 complete held=NodeIgnored", want: "complete Ready=True:NodesConverged Reconciling=False Stalled=False:NodesConverged"},
		{name: "in progress before waiting", permits: one, nodes: "n1 in_progress; n2 held=WaitingForSkyhook", want: "in_progress Ready=False:Progressing Reconciling=True Stalled=False:Progressing"},
		{name: "all wait for an earlier Skyhook", nodes: "n1 held=WaitingForSkyhook; n2 held=WaitingForSkyhook", want: "waiting Ready=False:Waiting Reconciling=True Stalled=False:Waiting"},
		{name: "nodes whose kubelet is away wait", nodes: "n1 not-ready", want: "waiting Ready=False:Waiting Reconciling=True Stalled=False:Waiting"},
		{name: "held by an earlier Skyhook in the middle of a stage", nodes: "n1 in_progress held=WaitingForSkyhook", want: "waiting Ready=False:Waiting Reconciling=True Stalled=False:Waiting"},
		{name: "held in the middle of a failing stage", nodes: "n1 erroring held=NodeIgnored", want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:NodeIgnored"},
		{name: "a stage runs although the permit is back", permits: one, nodes: "n1 complete; n2 in_progress", want: "in_progress Ready=False:Progressing Reconciling=True Stalled=False:Progressing"},
		{name: "only another spec helps, before a permit", permits: one, nodes: "n1 blocked=DependencyUninstalled", want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:DependencyUninstalled"},
		{name: "a record of complete, of the spec before", permits: one, nodes: "n1 held=WaitingForSkyhook; n2 held=WaitingForSkyhook", want: "waiting Ready=False:Waiting Reconciling=True Stalled=False:Waiting"},

		{name: "all blocked: the first by name tells", nodes: "n2 held=TaintNotTolerable; n1 held=NodeIgnored", want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:NodeIgnored"},
		{name: "one is ignored, one needs another spec", nodes: "n2 held=NodeIgnored; n1 blocked=DependencyMissing", want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:DependencyMissing"},
		{name: "one needs another spec, one works", permits: one, nodes: "n2 blocked=DependencyMissing; n1 in_progress", want: "blocked Ready=False:Blocked Reconciling=True Stalled=False:Progressing"},
		{name: "one is ignored, one waits for an earlier Skyhook", nodes: "n1 held=NodeIgnored; n2 held=WaitingForSkyhook", want: "blocked Ready=False:Blocked Reconciling=True Stalled=False:Progressing"},
		{name: "one is ignored and has yet to give its permit back, for which one waits", permits: one, nodes: "n1 held=NodeIgnored; n2", want: "blocked Ready=False:Blocked Reconciling=True Stalled=False:Progressing"},
		{name: "one is ignored, and what runs there comes to its end", nodes: "n1 in_progress held=NodeIgnored", want: "blocked Ready=False:Blocked Reconciling=True Stalled=False:Progressing"},
		{name: "one is ignored, one is away", nodes: "n1 held=NodeIgnored; n2 not-ready", want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:NodeIgnored"},
		{name: "one fails, and gets its turn after an earlier Skyhook", nodes: "n1 erroring held=WaitingForSkyhook", want: "erroring Ready=False:Erroring Reconciling=True Stalled=False:Progressing"},
		{name: "a drain that lasts too long needs somebody", permits: one, nodes: "n1 overdue=DrainTimeout; n2", want: "erroring Ready=False:Erroring Reconciling=False Stalled=True:NodesErroring"},
		{name: "one cannot be read", permits: one, nodes: "n1 in_progress; n2 held=NodeStateMalformed", want: "blocked Ready=False:Blocked Reconciling=True Stalled=False:Progressing"},
		{name: "none can be read", nodes: "n1 held=NodeStateMalformed; n2 complete", want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:NodeStateMalformed"},
		{name: "one died in progress, for which one waits", permits: one, nodes: "n1 in_progress not-ready; n2", want: "in_progress Ready=False:Progressing Reconciling=False Stalled=True:NodeNotReady"},
		{name: "one died before its work, for which one waits", permits: one, nodes: "n1 not-ready; n2", want: "in_progress Ready=False:Progressing Reconciling=False Stalled=True:NodeNotReady"},
		{name: "one died in progress, one works", permits: []v1alpha1.Permit{permit("n1", 0), permit("n2", 1)}, nodes: "n1 in_progress not-ready; n2 in_progress", want: "in_progress Ready=False:Progressing Reconciling=True Stalled=False:Progressing"},
		{name: "one reboots for its interrupt", permits: one, nodes: "n1 in_progress reboots not-ready; n2", want: "in_progress Ready=False:Progressing Reconciling=True Stalled=False:Progressing"},
		{name: "a drain waits for others", permits: one, nodes: "n1 in_progress wait=EvictionRefused; n2 held=NodeIgnored", want: "blocked Ready=False:Blocked Reconciling=True Stalled=False:Progressing"},

		{name: "paused", nodes: "n1; n2", hold: holdPaused, want: "paused Ready=False:Paused Reconciling=False Stalled=False:Paused"},
		{name: "paused, while a node fails", permits: one, nodes: "n1 erroring; n2", hold: holdPaused, want: "paused Ready=False:Paused Reconciling=False Stalled=False:Paused"},
		{name: "paused when complete: Ready all the same", nodes: "n1 complete; n2 complete", hold: holdPaused, want: "paused Ready=True:Paused Reconciling=False Stalled=False:Paused"},
		{name: "disabled", nodes: "n1; n2", hold: holdDisabled, want: "disabled Ready=False:Disabled Reconciling=False Stalled=False:Disabled"},
		{name: "disabled when complete", nodes: "n1 complete", hold: holdDisabled, want: "complete Ready=True:NodesConverged Reconciling=False Stalled=False:NodesConverged"},
		{name: "invalid", nodes: "n1; n2", hold: holdInvalid, want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:SpecInvalid"},
		{name: "cannot be prepared", nodes: "n1; n2 complete", hold: holdUnprepared, want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:ConfigMapConflict"},
		{name: "cannot be prepared when complete", nodes: "n1 complete", hold: holdUnprepared, want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:ConfigMapConflict"},
		{name: "cannot be prepared for a while", nodes: "n1", hold: holdLeftover, want: "blocked Ready=False:Blocked Reconciling=True Stalled=False:Blocked"},
		{name: "invalid when complete", nodes: "n1 complete", hold: holdInvalid, want: "blocked Ready=False:Blocked Reconciling=False Stalled=True:SpecInvalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := rollout.Plan(rollout.Input{Skyhook: skyhook(1, c.permits...), Nodes: nodes(c.nodes), Hold: c.hold, Now: now})
			ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
			stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
			reconciling := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReconciling)
			got := fmt.Sprintf("%s Ready=%s:%s Reconciling=%s Stalled=%s:%s",
				status.Status, ready.Status, ready.Reason, reconciling.Status, stalled.Status, stalled.Reason)
			if got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
			if stalled.Status == metav1.ConditionTrue && reconciling.Status == metav1.ConditionTrue {
				t.Error("it is stalled and reconciling, which kstatus takes for a contradiction")
			}
		})
	}
}

// TestRollUpOfKnownStatesIsKnown tries every pair of node states with and without a permit.
func TestRollUpOfKnownStatesIsKnown(t *testing.T) {
	states := []string{
		"", "complete", "in_progress", "erroring", "blocked=DefinitionMissing", "overdue=DrainTimeout", "cordoned",
		"held=NodeIgnored", "held=WaitingForSkyhook", "not-ready",
	}
	for _, a := range states {
		for _, b := range states {
			for _, permits := range [][]v1alpha1.Permit{nil, {permit("n1", 0)}} {
				status := rollout.Plan(rollout.Input{Skyhook: skyhook(1, permits...), Nodes: nodes("n1 " + a + "; n2 " + b), Now: now})
				if status.Status == v1alpha1.StatusUnknown || status.Status == "" {
					t.Errorf("n1 %q, n2 %q, permits %q roll up to %q", a, b, text(permits), status.Status)
				}
				is := func(kind string) bool { return meta.IsStatusConditionTrue(status.Conditions, kind) }
				if n := btoi(is(v1alpha1.ConditionReady)) + btoi(is(v1alpha1.ConditionReconciling)) + btoi(is(v1alpha1.ConditionStalled)); n != 1 {
					t.Errorf("n1 %q, n2 %q, permits %q: %d of Ready, Reconciling and Stalled are true: %+v", a, b, text(permits), n, status.Conditions)
				}
				n := status.Nodes
				if sum := n.Complete + n.InProgress + n.Erroring + n.Blocked + n.Waiting + n.Paused + n.Disabled + n.Unknown; sum != 2 || n.Total != 2 {
					t.Errorf("n1 %q, n2 %q, permits %q are counted as %+v", a, b, text(permits), n)
				}
			}
		}
	}
}

func btoi(is bool) int {
	if is {
		return 1
	}
	return 0
}

func TestPlanCounts(t *testing.T) {
	s := skyhook(3, permit("n2", 4), permit("n3", 5))
	s.Spec.Packages = map[string]v1alpha1.Package{"tuning": {Version: "1.2.0"}, "base": {Version: "2.0.0"}}
	status := rollout.Plan(rollout.Input{
		Skyhook: s, Now: now,
		Nodes: nodes("n1 complete; n2 in_progress; n3 erroring; n4; n5 held=NodeIgnored; n6 not-ready"),
	})
	if text(status.Permits) != "n2:4 n3:5 n4:6" || status.NextOrder != 7 || status.NodeOrderOffset != 7 {
		t.Errorf("permits %q, next %d, offset %d", text(status.Permits), status.NextOrder, status.NodeOrderOffset)
	}
	want := v1alpha1.NodeCounts{Total: 6, Complete: 1, InProgress: 2, Erroring: 1, Blocked: 1, Waiting: 1}
	if diff := cmp.Diff(want, status.Nodes); diff != "" {
		t.Errorf("counts, -want +got\n%s", diff)
	}
	if status.NodesInProgress != 3 || status.CompleteNodes != "1/6" || status.PackageList != "base:2.0.0,tuning:1.2.0" {
		t.Errorf("columns are %d, %q, %q", status.NodesInProgress, status.CompleteNodes, status.PackageList)
	}
	if status.ObservedGeneration != generation {
		t.Errorf("observed generation %d, want %d", status.ObservedGeneration, generation)
	}
}

func TestReadyMessage(t *testing.T) {
	var many []string
	for i := range 11 {
		many = append(many, fmt.Sprintf("m%02d complete", i))
	}
	for _, c := range []struct {
		name    string
		permits []v1alpha1.Permit
		hold    *situation.Hold
		nodes   string
		want    string
	}{
		{name: "no nodes", want: "0/0 nodes complete"},
		{
			name: "as in the specification", permits: []v1alpha1.Permit{permit("node-b", 0)},
			nodes: "node-a complete; node-b in_progress; node-c held=TaintNotTolerable",
			want:  "1/3 nodes complete (node-a), 1 in progress (node-b), 1 blocked (node-c)",
		},
		{
			name: "every group, in order", permits: []v1alpha1.Permit{permit("i2", 0), permit("i1", 1)},
			nodes: "w held=WaitingForSkyhook; e2 erroring; e1 erroring; b held=NodeIgnored; i2; i1; c complete",
			want:  "1/7 nodes complete (c), 2 in progress (i1, i2), 1 blocked (b), 2 erroring (e1, e2), 1 waiting (w)",
		},
		{name: "paused", hold: holdPaused, nodes: "p2 erroring; p1; c complete", want: "0/3 nodes complete, 3 paused (c, p1, p2): paused"},
		{name: "disabled", hold: holdDisabled, nodes: "d2 erroring; d1; c complete", want: "1/3 nodes complete (c), 2 disabled (d1, d2): disabled"},
		{name: "ten names", nodes: strings.Join(many[:10], ";"), want: "10/10 nodes complete (m00, m01, m02, m03, m04, m05, m06, m07, m08, m09)"},
		{name: "more than ten names", nodes: strings.Join(many, ";"), want: "11/11 nodes complete (m00, m01, m02, m03, m04, m05, m06, m07, m08, m09 and 1 more)"},
		{
			name: "more than ten in one group, few in another", permits: []v1alpha1.Permit{permit("x", 0)}, nodes: strings.Join(many, ";") + "; x",
			want: "11/12 nodes complete (m00, m01, m02, m03, m04, m05, m06, m07, m08, m09 and 1 more), 1 in progress (x)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := rollout.Plan(rollout.Input{Skyhook: skyhook(1, c.permits...), Nodes: nodes(c.nodes), Hold: c.hold, Now: now})
			if got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).Message; got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	s := skyhook(1, permit("n1", 0))
	first := rollout.Plan(rollout.Input{
		Skyhook: s, Now: now, Nodes: nodes("n1 erroring trouble=StepFailed; n2 held=TaintNotTolerable; n3 held=NodeIgnored; n4 held=NodeIgnored"),
	})
	wantMessages := map[string]string{
		v1alpha1.ConditionTaintNotTolerable: "1 node is excluded by taints that this Skyhook does not tolerate (n2); " +
			"add tolerations to spec.additionalTolerations, or find out who set the taints, and why",
		v1alpha1.ConditionNodesIgnored: "2 nodes are excluded by the label skyhook.nvidia.com/ignore=true (n3, n4); " +
			"include a node with `kubectl label node NODE skyhook.nvidia.com/ignore-`",
		v1alpha1.ConditionStalled:     "node n1: StepFailed: trouble: StepFailed",
		v1alpha1.ConditionReconciling: "0/4 nodes complete, 3 blocked (n2, n3, n4), 1 erroring (n1)",
	}
	for kind, message := range wantMessages {
		if got := meta.FindStatusCondition(first.Conditions, kind); got.Message != message {
			t.Errorf("%s: message %q, want %q", kind, got.Message, message)
		}
	}
	for _, kind := range []string{v1alpha1.ConditionTaintNotTolerable, v1alpha1.ConditionNodesIgnored, v1alpha1.ConditionStalled} {
		if !meta.IsStatusConditionTrue(first.Conditions, kind) {
			t.Errorf("%s is not True", kind)
		}
	}
	for kind, mirrored := range map[string]string{
		v1alpha1.ConditionReady: "Ready", v1alpha1.ConditionTaintNotTolerable: "TaintNotTolerable", v1alpha1.ConditionNodesIgnored: "NodesIgnored",
	} {
		checkMirror(t, first.Conditions, kind, "skyhook.nvidia.com/"+mirrored)
	}
	checkMirror(t, first.Conditions, v1alpha1.ConditionReady, "skyhook.nvidia.com/Transition")

	s.Status = first
	later := now.Add(time.Hour)
	second := rollout.Plan(rollout.Input{Skyhook: s, Now: later, Nodes: nodes("n1 erroring trouble=OOMKilled; n2; n3; n4")})
	for kind, changed := range map[string]bool{
		v1alpha1.ConditionReady: false, v1alpha1.ConditionStalled: false, "skyhook.nvidia.com/Ready": false,
		v1alpha1.ConditionTaintNotTolerable: true, v1alpha1.ConditionNodesIgnored: true, "skyhook.nvidia.com/TaintNotTolerable": true,
	} {
		want := now
		if changed {
			want = later
		}
		if got := meta.FindStatusCondition(second.Conditions, kind); !got.LastTransitionTime.Time.Equal(want) {
			t.Errorf("%s: transition time %s, want %s", kind, got.LastTransitionTime, want)
		}
	}
	if got := meta.FindStatusCondition(second.Conditions, v1alpha1.ConditionTaintNotTolerable).Message; got != "no selected node has a taint that this Skyhook does not tolerate" {
		t.Errorf("message of a False condition is %q", got)
	}
}

func checkMirror(t *testing.T, conditions []metav1.Condition, kind, mirror string) {
	t.Helper()
	a, b := meta.FindStatusCondition(conditions, kind), meta.FindStatusCondition(conditions, mirror)
	if a == nil || b == nil {
		t.Fatalf("%s or %s is missing", kind, mirror)
	}
	copied := *b
	copied.Type = kind
	if diff := cmp.Diff(*a, copied); diff != "" {
		t.Errorf("%s differs from %s:\n%s", mirror, kind, diff)
	}
	if a.ObservedGeneration != generation {
		t.Errorf("%s has observed generation %d", kind, a.ObservedGeneration)
	}
}

// TestUnretained: without its definitions no node may start with a spec, so the status does not speak of its
// generation. All that is out stays out.
func TestUnretained(t *testing.T) {
	s := skyhook(2, permit("n1", 0))
	s.Status.ObservedGeneration = generation - 1
	in := rollout.Input{Skyhook: s, Now: now, Nodes: nodes("n1; n2"), Hold: holdUnprepared, Unretained: true}
	status := rollout.Plan(in)
	if status.ObservedGeneration != generation-1 || text(status.Permits) != "n1:0" {
		t.Errorf("observed generation %d, permits %s", status.ObservedGeneration, text(status.Permits))
	}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); c.Message != "taken" || c.ObservedGeneration != generation {
		t.Errorf("Ready is %+v", c)
	}
	in.Hold, in.Unretained = nil, false
	if status = rollout.Plan(in); status.ObservedGeneration != generation || text(status.Permits) != "n1:0 n2:1" {
		t.Errorf("then: observed generation %d, permits %s", status.ObservedGeneration, text(status.Permits))
	}
}

// TestPlanTwice: a plan of unchanged input is the same, so that it costs no write.
func TestPlanTwice(t *testing.T) {
	s := skyhook(2, permit("n1", 0))
	in := rollout.Input{Skyhook: s, Now: now, Nodes: nodes("n1 erroring trouble=StepFailed; n2; n3 held=NodeIgnored; n4 not-ready; n5 complete")}
	s.Status = rollout.Plan(in)
	in.Now = now.Add(time.Hour)
	if diff := cmp.Diff(s.Status, rollout.Plan(in)); diff != "" {
		t.Errorf("an hour later the plan differs:\n%s", diff)
	}
}

func TestAttention(t *testing.T) {
	s := skyhook(1)
	s.Status.Attention = []v1alpha1.NodeAttention{
		{Node: "b1", Reason: v1alpha1.ReasonTaintNotTolerable, Since: metav1.NewTime(now.Add(-time.Hour))},
		{Node: "b2", Reason: v1alpha1.ReasonNodeIgnored, Since: metav1.NewTime(now.Add(-time.Hour))},
	}
	status := rollout.Plan(rollout.Input{
		Skyhook: s, Now: now.Add(300 * time.Millisecond),
		Nodes: nodes("w not-ready; b2 held=TaintNotTolerable; b1 held=TaintNotTolerable; e2 erroring trouble=OOMKilled; e1 erroring trouble=StepFailed; c complete; q held=WaitingForSkyhook"),
	})
	got := make([]string, 0, len(status.Attention))
	for _, a := range status.Attention {
		got = append(got, fmt.Sprintf("%s %s %s %s", a.Node, a.Status, a.Reason, now.Sub(a.Since.Time)))
	}
	want := []string{
		"e1 erroring StepFailed 1m0s", "e2 erroring OOMKilled 1m0s",
		"b1 blocked TaintNotTolerable 1h0m0s", // the same reason as before: since then
		"b2 blocked TaintNotTolerable 0s",     // another reason
		"q waiting WaitingForSkyhook 0s",
		"w waiting NodeNotReady 0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAttentionIsBounded(t *testing.T) {
	all := fleet(500)
	for i := range all {
		all[i].Hold = &situation.Hold{Status: v1alpha1.StatusBlocked, Wait: record.Wait{Reason: v1alpha1.ReasonTaintNotTolerable, Message: "-"}}
	}
	all[499].Facts.FailedRun, all[499].Failure = true, &record.Wait{Reason: "StepFailed"}
	status := rollout.Plan(rollout.Input{Skyhook: skyhook(1), Nodes: all, Now: now})
	if len(status.Attention) != 10 {
		t.Fatalf("%d nodes need attention, want the first 10", len(status.Attention))
	}
	if status.Attention[0].Node != all[499].Name || status.Attention[1].Node != all[0].Name || status.Attention[9].Node != all[8].Name {
		t.Errorf("the list is %+v", status.Attention)
	}
}

func TestDetail(t *testing.T) {
	states := map[string]v1alpha1.PackageStatus{"a|1.0": {Name: "a", Version: "1.0", Stage: v1alpha1.StageApply, State: v1alpha1.StateInProgress}}
	s := skyhook(2, permit("n1", 0))
	since := metav1.NewTime(now.Add(-time.Hour))
	s.Status.NodePriority = map[string]metav1.Time{"n1": since, "gone": since}
	all := nodes("n1 in_progress; n2; n3 complete")
	all[0].States = states
	status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: all, Now: now})
	want := v1alpha1.SkyhookStatus{
		NodeState:    map[string]map[string]v1alpha1.PackageStatus{"n1": states},
		NodeStatus:   map[string]v1alpha1.Status{"n1": v1alpha1.StatusInProgress, "n2": v1alpha1.StatusInProgress, "n3": v1alpha1.StatusComplete},
		NodeBootIDs:  map[string]string{"n1": "boot-n1", "n2": "boot-n2", "n3": "boot-n3"},
		NodePriority: map[string]metav1.Time{"n1": since, "n2": metav1.NewTime(now)},
	}
	got := v1alpha1.SkyhookStatus{
		NodeState: status.NodeState, NodeStatus: status.NodeStatus, NodeBootIDs: status.NodeBootIDs, NodePriority: status.NodePriority,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDetailOnlyForSmallFleets(t *testing.T) {
	for _, c := range []struct {
		nodes    int
		detailed bool
	}{{1, true}, {rollout.DetailLimit, true}, {rollout.DetailLimit + 1, false}, {0, false}} {
		s := skyhook(1)
		s.Status = rollout.Plan(rollout.Input{Skyhook: s, Nodes: fleet(2), Now: now}) // maps of a smaller fleet are dropped
		status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: fleet(c.nodes), Now: now})
		if got := len(status.NodeStatus) == c.nodes && len(status.NodeBootIDs) == c.nodes && status.NodeStatus != nil; got != c.detailed {
			t.Errorf("%d nodes: detailed is %t", c.nodes, got)
		}
		if !c.detailed && len(status.NodeState)+len(status.NodeStatus)+len(status.NodeBootIDs)+len(status.NodePriority) > 0 {
			t.Errorf("%d nodes: maps are left over", c.nodes)
		}
	}
}

// TestStatusIsBounded fills a status with the most that it may hold.
func TestStatusIsBounded(t *testing.T) {
	all := fleet(10_000)
	for i := range all {
		switch i % 10 {
		case 9:
			all[i].Hold = &situation.Hold{Status: v1alpha1.StatusBlocked, Wait: record.Wait{Reason: v1alpha1.ReasonTaintNotTolerable, Message: strings.Repeat("m", 1000)}}
		case 5:
			all[i].Facts.FailedRun = true
			all[i].Failure = &record.Wait{Reason: "CreateContainerConfigError", Message: strings.Repeat("m", 400), Since: metav1.NewTime(now)}
		case 3:
			all[i].Facts.Complete = true
		}
	}
	s := skyhook(0)
	s.Generation = 1_000_000
	s.Status.NextOrder = 1_000_000
	s.Spec.Packages = map[string]v1alpha1.Package{}
	for i := range 128 {
		s.Spec.Packages[fmt.Sprintf("package-%02d-%s", i, strings.Repeat("p", 20))] = v1alpha1.Package{Version: "2026.11.21-rc.1"}
	}
	status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: all, Now: now})
	if len(status.Permits) != rollout.MaxPermits || status.Nodes.Total != 10_000 {
		t.Fatalf("%d permits for %d nodes", len(status.Permits), status.Nodes.Total)
	}
	raw, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(raw))
	if limit := 128 << 10; len(raw) >= limit {
		t.Errorf("the status has %d bytes; the limit is %d", len(raw), limit)
	}
}
