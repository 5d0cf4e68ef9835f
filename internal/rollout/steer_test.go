package rollout_test

import (
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

const stoppedState = "{currentBatch: 3, consecutiveFailures: 2, failedNodes: 2, shouldStop: true, lastBatchSize: 2, lastBatchFailed: true, before: 2}"

// stopped is a Skyhook whose rollout two bad batches have stopped.
func stopped(t *testing.T) *v1alpha1.Skyhook {
	t.Helper()
	s := skyhook(0)
	s.Spec.Packages = map[string]v1alpha1.Package{"tuning": {Version: "1.2.0"}}
	withState(t, s, stoppedState)
	s.Status.PackageList, s.Status.NextOrder = "tuning:1.2.0", 2
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue})
	return s
}

// TestGoOn has one line per thing that may continue a stopped rollout, or start its batches anew.
func TestGoOn(t *testing.T) {
	newSpec := func(s *v1alpha1.Skyhook) { s.Generation++ }
	newVersion := func(s *v1alpha1.Skyhook) {
		s.Generation++
		s.Spec.Packages = map[string]v1alpha1.Package{"tuning": {Version: "1.3.0"}}
	}
	earlier := func(s *v1alpha1.Skyhook) { // its state has no content, and the bad batches in a row only as a number
		b := s.Status.CompartmentStatuses[rollout.DefaultCompartment].BatchState
		b.Content, b.Before = "", 0
	}
	newConfig := func(s *v1alpha1.Skyhook) {
		s.Generation++
		s.Spec.Packages = map[string]v1alpha1.Package{"tuning": {Version: "1.2.0", ConfigMap: map[string]string{"k": "2"}}}
	}
	resume := func(value string) func(*v1alpha1.Skyhook) {
		return func(s *v1alpha1.Skyhook) { s.Annotations = map[string]string{v1alpha1.AnnotationResume: value} }
	}
	option := func(reset bool) func(*v1alpha1.Skyhook) {
		return func(s *v1alpha1.Skyhook) {
			s.Spec.DeploymentPolicyOptions = &v1alpha1.DeploymentPolicyOptions{ResetBatchStateOnCompletion: &reset}
		}
	}
	const (
		still = "{currentBatch: 3, consecutiveFailures: 2, failedNodes: 2, shouldStop: true, lastBatchSize: 2, lastBatchFailed: true, before: 2}"
		goes  = "{currentBatch: 3, failedNodes: 2, lastBatchSize: 2, lastBatchFailed: true, batchSize: 2, members: 2, 3}"
		kept  = "{currentBatch: 3, failedNodes: 2, baseline: 2, lastBatchSize: 2, lastBatchFailed: true, batchSize: 2, members: 2, 3}"
		anew  = "{currentBatch: 1, failedNodes: 2, baseline: 2, batchSize: 2, members: 2, 3}"
		never = byTwos + "\nresetBatchStateOnCompletion: false"
	)
	for _, c := range []struct {
		name   string
		policy string
		change []func(*v1alpha1.Skyhook)
		want   string
	}{
		{"nothing", byTwos, nil, still},
		{"a new spec continues where it was", byTwos, []func(*v1alpha1.Skyhook){newSpec}, goes},
		{"another operator stopped it, which did not say what it saw", byTwos, []func(*v1alpha1.Skyhook){newSpec, func(s *v1alpha1.Skyhook) {
			s.Status.Conditions = nil
		}}, still},
		{"the resume annotation", byTwos, []func(*v1alpha1.Skyhook){resume("1")}, goes},
		{"a value that it had before", byTwos, []func(*v1alpha1.Skyhook){resume("1"), func(s *v1alpha1.Skyhook) { s.Status.Resumed = "1" }}, still},
		{"an empty value", byTwos, []func(*v1alpha1.Skyhook){resume("")}, still},
		{"an upgrade of the operator", byTwos, []func(*v1alpha1.Skyhook){earlier}, still},
		{"an upgrade of the operator, and a new version", byTwos, []func(*v1alpha1.Skyhook){earlier, newVersion}, anew},
		{"a new version starts anew", byTwos, []func(*v1alpha1.Skyhook){newVersion}, anew},
		{"a new config starts anew", byTwos, []func(*v1alpha1.Skyhook){newConfig}, anew},
		{"a new version, if the policy lets it", never, []func(*v1alpha1.Skyhook){newVersion}, kept},
		{"the Skyhook's own option decides first: no", byTwos, []func(*v1alpha1.Skyhook){newVersion, option(false)}, kept},
		{"the Skyhook's own option decides first: yes", never, []func(*v1alpha1.Skyhook){newVersion, option(true)}, anew},
		{"an option that is unset leaves it to the policy", never, []func(*v1alpha1.Skyhook){newVersion, func(s *v1alpha1.Skyhook) {
			s.Spec.DeploymentPolicyOptions = &v1alpha1.DeploymentPolicyOptions{}
		}}, kept},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stopped(t)
			for _, f := range c.change {
				f(s)
			}
			status := rollout.Plan(rollout.Input{
				Skyhook: s, Policy: policy(t, c.policy), Now: now, Nodes: nodes("n1 erroring done=4/0; n2 erroring done=4/1; n3; n4; n5; n6"),
			})
			if got := stateText(t, status); got != c.want {
				t.Errorf("state\n     %s\nwant %s", got, c.want)
			}
			if isStopped := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionRolloutStopped); isStopped != (c.want == still) {
				t.Errorf("condition %s is %t", v1alpha1.ConditionRolloutStopped, isStopped)
			}
			if (len(status.Permits) == 0) != (c.want == still) {
				t.Errorf("permits %q", text(status.Permits))
			}
		})
	}
}

// TestRepairedInTime: what failed in a batch before the spec was repaired does not stop the repaired one.
func TestRepairedInTime(t *testing.T) {
	p := policy(t, "default: {budget: {count: 2}, strategy: {fixed: {initialBatch: 2, failureThreshold: 1}}}")
	s := withState(t, skyhook(0, permit("n1", 0), permit("n2", 1)), "{currentBatch: 1, batchSize: 2}")
	in := rollout.Input{Skyhook: s, Policy: p, Now: now, Nodes: nodes("n1 erroring; n2 in_progress; n3; n4")}
	s.Status = rollout.Plan(in)
	s.Generation++
	s.Status = rollout.Plan(in)
	in.Nodes = nodes("n1 erroring wait=WaitingForPermit done=4/0; n2 complete done=4/1; n3; n4")
	s.Status = rollout.Plan(in)
	if got := stateText(t, s.Status); got != "{currentBatch: 2, completedNodes: 1, lastBatchSize: 1, batchSize: 2, members: 2, 3}" {
		t.Errorf("state %s", got)
	}
}

// TestResumedOnce: one value of the annotation continues once, also one that is too long to be kept.
func TestResumedOnce(t *testing.T) {
	for _, value := range []string{"2026-03-01", strings.Repeat("ä", 100), strings.Repeat("x", 1000)} {
		s := stopped(t)
		s.Annotations = map[string]string{v1alpha1.AnnotationResume: value}
		in := rollout.Input{Skyhook: s, Policy: policy(t, byTwos), Now: now, Nodes: nodes("n1 erroring done=4/0; n2 erroring done=4/1; n3 held=NodeIgnored")}
		s.Status = rollout.Plan(in)
		if len(s.Status.Resumed) > 128 || !strings.HasPrefix(value, s.Status.Resumed) || s.Status.Resumed == "" {
			t.Fatalf("%q is kept as %q", value, s.Status.Resumed)
		}
		s.Status.CompartmentStatuses[rollout.DefaultCompartment].BatchState.ShouldStop = true
		s.Status = rollout.Plan(in)
		if !s.Status.CompartmentStatuses[rollout.DefaultCompartment].BatchState.ShouldStop {
			t.Errorf("%q continued twice", value)
		}
		delete(s.Annotations, v1alpha1.AnnotationResume)
		if got := rollout.Plan(in).Resumed; got != s.Status.Resumed {
			t.Errorf("without the annotation %q is kept, want %q", got, s.Status.Resumed)
		}
	}
}

func TestStoppedStatus(t *testing.T) {
	p := policy(t, `
default: {budget: {count: 3}, strategy: {fixed: {failureThreshold: 2}}}
compartments: [{name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {count: 1}}]`)
	for _, c := range []struct {
		name, nodes string
		status      v1alpha1.Status
		message     string
		stalled     string
	}{
		{
			"failing nodes", "n7 erroring; n1 erroring done=4/0 trouble=StepFailed; n2 erroring; n3 erroring; n4 erroring; n5 erroring; n6 erroring; n8; n9; a; b; c; d; e", v1alpha1.StatusErroring,
			"compartment __default__ is stopped because batch 2 was bad, the last of 2 bad batches in a row " +
				"(failing: n1, n2, n3, n4, n5, n6, n7)", "RolloutStopped",
		},
		{"the failing nodes are gone", "n8; n9", v1alpha1.StatusBlocked, "compartment __default__ is stopped because batch 2 was bad, the last of 2 bad batches in a row", "RolloutStopped"},
		{"another compartment continues", "n8; g tier=gpu", v1alpha1.StatusBlocked, "compartment __default__ is stopped because batch 2 was bad, the last of 2 bad batches in a row", ""},
		{"all nodes of the compartment are complete after all", "n8 complete; g tier=gpu", v1alpha1.StatusInProgress, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := rollout.Plan(rollout.Input{Skyhook: stopped(t), Policy: p, Now: now, Nodes: nodes(c.nodes)})
			if status.Status != c.status {
				t.Errorf("status %s, want %s", status.Status, c.status)
			}
			got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRolloutStopped)
			switch {
			case (got != nil) != (c.message != ""):
				t.Errorf("condition is %+v", got)
			case got != nil && (got.Reason != "FailureThreshold" || !strings.HasPrefix(got.Message, c.message+"; ") ||
				!strings.HasSuffix(got.Message, `--overwrite skyhook.nvidia.com/resume="$(date +%s)"`+"`")):
				t.Errorf("condition says %s: %s", got.Reason, got.Message)
			}
			stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
			if (stalled.Status == metav1.ConditionTrue) != (c.stalled != "") || c.stalled != "" && stalled.Reason != c.stalled {
				t.Errorf("Stalled is %s: %s", stalled.Status, stalled.Reason)
			}
			if strings.Contains(c.nodes, "trouble") && (len(status.Attention) == 0 || status.Attention[0].Node != "n1") {
				t.Errorf("attention is %+v", status.Attention)
			}
		})
	}
}

func TestCompartmentStatus(t *testing.T) {
	p := policy(t, `
default: {budget: {percent: 50}, strategy: {linear: {initialBatch: 2, failureThreshold: 2, safetyLimit: 60}}}
compartments:
- {name: gpu, selector: {matchLabels: {tier: gpu}}, budget: {count: 2}, strategy: {exponential: {}}}
- {name: empty, selector: {matchLabels: {tier: none}}, budget: {percent: 10}}
- {name: done, selector: {matchLabels: {tier: done}}, budget: {count: 3}}`)
	s := withState(t, skyhook(0, permit("g1", 0)), "")
	s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{
		"gpu":      {BatchState: &v1alpha1.BatchState{CurrentBatch: 3, LastBatchSize: 4, CompletedNodes: 1, BatchSize: 2}},
		"done":     {BatchState: &v1alpha1.BatchState{CurrentBatch: 2}},
		"vanished": {BatchState: &v1alpha1.BatchState{CurrentBatch: 2}},
	}
	status := rollout.Plan(rollout.Input{
		Skyhook: s, Policy: p, Now: now,
		Nodes: nodes("a; b; c complete; d complete; e held=NodeIgnored; g1 tier=gpu; g2 complete tier=gpu; g3 erroring done=4/3 tier=gpu; d1 complete tier=done; d2 complete tier=done"),
	})
	want := map[string]v1alpha1.CompartmentStatus{
		rollout.DefaultCompartment: {
			Matched: 5, Ceiling: 2, InProgress: 2, Completed: 2, ProgressPercent: 40, Strategy: "linear", NextBatchSize: 2,
			FailureThresholdEnforced: true, BatchState: &v1alpha1.BatchState{CurrentBatch: 1, CompletedNodes: 2, BatchSize: 2, Members: v1alpha1.Orders{1, 2}},
		},
		"gpu": {
			Matched: 3, Ceiling: 2, InProgress: 1, Erroring: 1, Completed: 1, ProgressPercent: 33, Strategy: "exponential", NextBatchSize: 1,
			FailureThresholdReason: "no failureThreshold is set",
			BatchState:             &v1alpha1.BatchState{CurrentBatch: 3, LastBatchSize: 4, CompletedNodes: 1, FailedNodes: 1, BatchSize: 2, Members: v1alpha1.Orders{0}, Succeeded: 1},
		},
		"empty": {
			Strategy: "linear", FailureThresholdEnforced: true, BatchState: &v1alpha1.BatchState{CurrentBatch: 1},
		},
		"done": {
			Matched: 2, Ceiling: 3, Completed: 2, ProgressPercent: 100, Strategy: "linear", NextBatchSize: 1,
			FailureThresholdReason: "progress 100 % reached the safetyLimit 60 %",
			BatchState:             &v1alpha1.BatchState{CurrentBatch: 2, CompletedNodes: 2},
		},
	}
	for name := range want {
		b := status.CompartmentStatuses[name].BatchState
		if b.Content != rollout.ContentOf(s) {
			t.Errorf("%s is of the content %q", name, b.Content)
		}
		b.Content, b.Generation, b.Granted = "", 0, nil
	}
	if diff := cmp.Diff(want, status.CompartmentStatuses); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	plain := rollout.Plan(rollout.Input{Skyhook: skyhook(2), Now: now, Nodes: nodes("a; b complete; c; d")})
	want = map[string]v1alpha1.CompartmentStatus{
		rollout.DefaultCompartment: {Matched: 4, Ceiling: 2, InProgress: 2, Completed: 1, ProgressPercent: 25},
	}
	if diff := cmp.Diff(want, plain.CompartmentStatuses); diff != "" {
		t.Errorf("without a policy, -want +got\n%s", diff)
	}
}

func TestPolicyMissing(t *testing.T) {
	s := withState(t, skyhook(0, permit("n1", 0)), stoppedState)
	all := nodes("n1 in_progress; n2 complete; n3; n4 held=NodeIgnored")
	in := rollout.Input{Skyhook: s, PolicyMissing: true, Nodes: all, Now: now}
	status := rollout.Plan(in)
	if status.Status != v1alpha1.StatusBlocked || text(status.Permits) != "n1:0" || stateText(t, status) != stoppedState {
		t.Errorf("status %s, permits %q, state %s", status.Status, text(status.Permits), stateText(t, status))
	}
	if want := (v1alpha1.NodeCounts{Total: 4, Complete: 1, Blocked: 3}); status.Nodes != want {
		t.Errorf("counts %+v", status.Nodes)
	}
	for _, kind := range []string{"DeploymentPolicyNotFound", "skyhook.nvidia.com/DeploymentPolicyNotFound", v1alpha1.ConditionStalled} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != "DeploymentPolicyNotFound" || !strings.Contains(c.Message, "DeploymentPolicy paced") {
			t.Errorf("%s is %+v", kind, c)
		}
	}
	if a := status.Attention; len(a) != 0 { // it is not the nodes'
		t.Errorf("attention %+v", a)
	}
	if w := status.Waiting; len(w) != 1 || w[0].Reason != "DeploymentPolicyNotFound" || w[0].Nodes != 3 {
		t.Errorf("waiting %+v", w)
	}
	if all[0].Hold != nil {
		t.Error("Plan changed its input")
	}

	s.Status, s.Generation = status, s.Generation+1 // a spec that still names it
	if got := stateText(t, rollout.Plan(in)); got != "{currentBatch: 3, failedNodes: 2, lastBatchSize: 2, lastBatchFailed: true}" {
		t.Errorf("a new spec continues what is stopped, also then: %s", got)
	}
	in.PolicyMissing, in.Policy = false, policy(t, byTwos)
	status = rollout.Plan(in)
	for _, kind := range []string{"DeploymentPolicyNotFound", "skyhook.nvidia.com/DeploymentPolicyNotFound"} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			t.Errorf("with the policy back there is %+v", c)
		}
	}
	if text(status.Permits) != "n1:0 n3:1@5" { // it is the first of the next batch
		t.Errorf("with the policy back: %q", text(status.Permits))
	}
}

func TestPolicyMissingRollUp(t *testing.T) {
	disabled := &situation.Hold{Status: v1alpha1.StatusDisabled, ReturnsPermit: true, Wait: record.Wait{Reason: v1alpha1.ReasonDisabled}}
	paused := &situation.Hold{Status: v1alpha1.StatusPaused, Wait: record.Wait{Reason: v1alpha1.ReasonPaused}}
	for _, c := range []struct {
		name    string
		nodes   string
		hold    *situation.Hold
		want    v1alpha1.Status
		ready   metav1.ConditionStatus
		stalled bool
	}{
		{"incomplete", "n1; n2 complete", nil, v1alpha1.StatusBlocked, metav1.ConditionFalse, true},
		{"a failing node", "n1 erroring", nil, v1alpha1.StatusBlocked, metav1.ConditionFalse, true},
		{"complete", "n1 complete", nil, v1alpha1.StatusBlocked, metav1.ConditionTrue, true},
		{"no nodes", "", nil, v1alpha1.StatusBlocked, metav1.ConditionTrue, true},
		{"paused", "n1", paused, v1alpha1.StatusPaused, metav1.ConditionFalse, false},
		{"disabled", "n1", disabled, v1alpha1.StatusDisabled, metav1.ConditionFalse, false},
		{"disabled and complete", "n1 complete", disabled, v1alpha1.StatusBlocked, metav1.ConditionTrue, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(0)
			s.Spec.DeploymentPolicy = "paced"
			status := rollout.Plan(rollout.Input{Skyhook: s, PolicyMissing: true, Hold: c.hold, Nodes: nodes(c.nodes), Now: now})
			ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).Status
			stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
			told := stalled.Status == metav1.ConditionTrue && stalled.Reason == v1alpha1.ReasonDeploymentPolicyNotFound
			if status.Status != c.want || ready != c.ready || told != c.stalled || len(status.Permits) > 0 {
				t.Errorf("status %s, Ready %s, Stalled %s %s, permits %q; want %s, %s, %t", status.Status, ready, stalled.Status, stalled.Reason,
					text(status.Permits), c.want, c.ready, c.stalled)
			}
		})
	}
}

// TestDeleting: a Skyhook that is being deleted continues as far as its ceilings let, whatever its batches say.
func TestDeleting(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  *rollout.Policy
		missing bool
		nodes   string
		want    string
	}{
		{"no batches and no stop", policy(t, byTwos), false, "n1 begun; n2 begun; n3 begun; n4 begun", "n1:2 n2:3 n3:4"},
		{"while others work", policy(t, byTwos), false, "w in_progress; n2 begun; n3 begun; n4 begun", "w:1 n2:2 n3:3"},
		{"without its policy one at a time", nil, true, "n1 begun; n2 begun", "n1:2"},
		{"without its policy, a failing node lets the next go", nil, true, "n1 erroring done=4/0; n2 begun", "n2:2"},
		{"without its policy, while one works", nil, true, "w in_progress; n1 begun", "w:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withState(t, skyhook(0, permit("w", 1)), stoppedState)
			status := rollout.Plan(rollout.Input{
				Skyhook: s, Policy: c.policy, PolicyMissing: c.missing, Deleting: true, Nodes: nodes(c.nodes), Now: now.Add(time.Second),
			})
			if got := text(status.Permits); got != c.want {
				t.Errorf("permits %q, want %q", got, c.want)
			}
			if meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRolloutStopped) != nil {
				t.Error("a deletion is never stopped")
			}
		})
	}
}

// TestPlainBudgetRevokesNothing: without a policy a failing node keeps its slot.
func TestPlainBudgetRevokesNothing(t *testing.T) {
	s := skyhook(2, v1alpha1.Permit{Node: "n1", Generation: generation, Revoked: true}, permit("n2", 1)) // as a policy left it
	status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: nodes("n1 erroring; n2 not-ready; n3"), Now: now})
	if got := text(status.Permits); got != "n1:0 n2:1" {
		t.Errorf("permits %q", got)
	}
}

// TestNodesThatNeedTheUserGetOnePermitPerSpec: what only another spec helps holds no slot, and gets none before there
// is one.
func TestNodesThatNeedTheUserGetOnePermitPerSpec(t *testing.T) {
	s := skyhook(0)
	s.Generation = 4
	one := 1
	s.Spec.InterruptionBudget.Count = &one
	stuck := nodes("a blocked=DependencyUninstalled")[0]
	other := rollout.Node{Name: "b", Created: now.Add(time.Second)}
	for _, c := range []struct {
		name, done string
		want       string
	}{
		{"it had its permit for this spec", "4/0", "b"},
		{"the spec is newer", "3/0", "a"},
		{"it never had one", "", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stuck.FinishedPermit = c.done
			status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: []rollout.Node{stuck, other}, Now: now})
			if len(status.Permits) != 1 || status.Permits[0].Node != c.want {
				t.Errorf("permits %v, want one for %s", status.Permits, c.want)
			}
			if c.want == "b" && (status.Nodes.Blocked != 1 || len(status.Attention) != 1 || status.Attention[0].Reason != v1alpha1.ReasonDependencyUninstalled) {
				t.Errorf("%d blocked, attention %+v", status.Nodes.Blocked, status.Attention)
			}
		})
	}
}

// TestRetryCountsAgainstTheCeiling: a node that gave its permit back, and whose retry runs now, is in progress all the
// same.
func TestRetryCountsAgainstTheCeiling(t *testing.T) {
	p := policy(t, "default: {budget: {count: 1}, strategy: {fixed: {initialBatch: 1}}}")
	retried := rollout.Node{Name: "a", Created: now, Situation: situation.Situation{Facts: situation.Facts{FailedRun: true, Failed: true, Begun: true}}, FinishedPermit: "1/0"}
	other := rollout.Node{Name: "b", Created: now.Add(time.Second)}
	plan := func() string {
		s := skyhook(0)
		s.Generation = 1
		return fmt.Sprint(rollout.Plan(rollout.Input{Skyhook: s, Policy: p, Nodes: []rollout.Node{retried, other}, Now: now}).Permits)
	}
	if got := plan(); got != "[b=1/0]" {
		t.Errorf("while it fails: %s", got)
	}
	retried.Facts = situation.Facts{InProgress: true}
	if got := plan(); got != "[a=1/0]" {
		t.Errorf("while it runs again, only it may continue: %s", got)
	}
}
