package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestTimeLeftOfWhatEnds: no time is told where what is left fails or waits for that, neither anew nor of before.
func TestTimeLeftOfWhatEnds(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	r := remainder{left: &metav1.Duration{Duration: time.Minute}, estimated: now}
	for name, c := range map[string]struct {
		nodes v1alpha1.NodeCounts
		tells bool
	}{
		"in progress":              {v1alpha1.NodeCounts{Total: 3, InProgress: 1, Waiting: 2}, true},
		"about to begin":           {v1alpha1.NodeCounts{Total: 3, Waiting: 3}, true},
		"one fails, one works":     {v1alpha1.NodeCounts{Total: 3, InProgress: 1, Erroring: 1, Waiting: 1}, true},
		"one fails, the rest wait": {v1alpha1.NodeCounts{Total: 3, Erroring: 1, Waiting: 2}, false},
		"the rest is blocked":      {v1alpha1.NodeCounts{Total: 3, Complete: 2, Blocked: 1}, false},
	} {
		st := rolloutStatus{Rollout: board.Rollout{Status: v1alpha1.StatusInProgress, Nodes: c.nodes}}
		r.tell(&st, now)
		if (st.TimeLeft != nil) != c.tells || estimable(&st) != c.tells {
			t.Errorf("%s: time left %v", name, st.TimeLeft)
		}
	}
}

// TestBatchThatStopped: the number is that of the batch that was bad, as the condition says, and not of the next.
func TestBatchThatStopped(t *testing.T) {
	for want, state := range map[string]v1alpha1.BatchState{
		"2":         {CurrentBatch: 2},
		"1 stopped": {CurrentBatch: 2, ShouldStop: true},
	} {
		if got := batchOf(v1alpha1.CompartmentStatus{BatchState: &state}); got != want {
			t.Errorf("%+v is %q, want %q", state, got, want)
		}
	}
}

// TestPackagesOfANode: what has not begun is missing, too.
func TestPackagesOfANode(t *testing.T) {
	sk := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{
		"a": {Version: "1.0.0"}, "b": {Version: "1.0.0"}, "c": {Version: "1.0.0"},
		"gone": {Version: "1.0.0", Uninstall: &v1alpha1.Uninstall{Apply: true}},
	}}}
	o := onNode{record: record.Node{Packages: map[string]record.Entry{
		"a|1.0.0": {Name: "a", Version: "1.0.0", State: v1alpha1.StateComplete},
		"b|0.9.0": {Name: "b", Version: "0.9.0", State: v1alpha1.StateComplete},
		"x|1.0.0": {Name: "x", Version: "1.0.0", State: v1alpha1.StateComplete, Superseded: true},
	}}}
	if complete, total := o.progress(sk); complete != 1 || total != 3 {
		t.Errorf("%d/%d, want 1/3", complete, total)
	}
	if complete, total := o.progress(nil); complete != 2 || total != 2 {
		t.Errorf("without a Skyhook %d/%d, want 2/2", complete, total)
	}
}

// TestSinceTheStop: a stop is as old as the bad batch, however long other nodes worked after it.
func TestSinceTheStop(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	sk := &v1alpha1.Skyhook{}
	is := func(kind, reason string, age time.Duration) metav1.Condition {
		return metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "batch 1 was bad",
			LastTransitionTime: metav1.NewTime(now.Add(-age)),
		}
	}
	sk.Status.Conditions = []metav1.Condition{
		is(v1alpha1.ConditionStalled, v1alpha1.ReasonRolloutStopped, 27*time.Second),
		is(v1alpha1.ConditionRolloutStopped, v1alpha1.ReasonFailureThreshold, 102*time.Second),
	}
	all := explainer{}.conditions(sk, sk)
	if len(all) != 1 || now.Sub(all[0].Since.Time) != 102*time.Second {
		t.Errorf("told: %+v", all)
	}
}
