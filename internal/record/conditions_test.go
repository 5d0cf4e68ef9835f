package record_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestConditions(t *testing.T) {
	with := func(status v1alpha1.Status, states ...v1alpha1.State) record.Node {
		n := record.Node{Status: status, Packages: map[string]record.Entry{}}
		for i, s := range states {
			n.Packages[string(rune('a'+i))+"|1"] = record.Entry{State: s}
		}
		return n
	}
	const (
		incomplete = "skyhook.nvidia.com/demo/NotReady True Incomplete: Skyhook demo is not complete on this node; " +
			"`kubectl describe skyhook demo` shows why"
		complete = "skyhook.nvidia.com/demo/NotReady False Complete: Skyhook demo is complete on this node"
		erroring = "skyhook.nvidia.com/demo/Erroring True Package(s) Erroring or Unknown: a package of Skyhook demo fails " +
			"on this node; " +
			"`kubectl describe skyhook demo` shows why"
		fine = "skyhook.nvidia.com/demo/Erroring False Not Erroring: no package of Skyhook demo fails on this node"
	)
	for _, c := range []struct {
		name     string
		node     record.Node
		erroring bool
		want     []string
	}{
		{"new", with(""), false, []string{incomplete, fine}},
		{"in progress", with(v1alpha1.StatusInProgress, v1alpha1.StateInProgress), false, []string{incomplete, fine}},
		{
			"erroring", with(v1alpha1.StatusErroring, v1alpha1.StateComplete, v1alpha1.StateErroring), true,
			[]string{incomplete, erroring},
		},
		{
			"a package that left the spec fails", with(v1alpha1.StatusInProgress, v1alpha1.StateErroring), false,
			[]string{incomplete, fine},
		},
		{"complete", with(v1alpha1.StatusComplete, v1alpha1.StateComplete), false, []string{complete, fine}},
		{"paused", with(v1alpha1.StatusPaused, v1alpha1.StateComplete), false, []string{incomplete, fine}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, x := range record.Conditions("demo", c.node, c.erroring, nil, since) {
				got = append(got, string(x.Type)+" "+string(x.Status)+" "+x.Reason+": "+x.Message)
				if x.LastHeartbeatTime != since || x.LastTransitionTime != since {
					t.Errorf("%s: times are %s and %s", x.Type, x.LastHeartbeatTime, x.LastTransitionTime)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestConditionsKeepTheirTimes: an unchanged condition is the one that is there, so that nothing is written.
func TestConditionsKeepTheirTimes(t *testing.T) {
	complete := record.Node{
		Status:   v1alpha1.StatusComplete,
		Packages: map[string]record.Entry{"a|1": {State: v1alpha1.StateComplete}},
	}
	if got := record.Conditions("demo", record.Node{Status: v1alpha1.StatusComplete}, false, nil, since); len(got) != 0 {
		t.Errorf("everything is uninstalled, but there is %v", got)
	}
	have := append([]corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		record.Conditions("demo", complete, false, nil, since)...)
	later := metav1.NewTime(since.Add(time.Hour))
	if diff := cmp.Diff(have[1:], record.Conditions("demo", complete, false, have, later)); diff != "" {
		t.Errorf("unchanged conditions changed, -before +after\n%s", diff)
	}
	got := record.Conditions("demo", record.Node{Status: v1alpha1.StatusInProgress}, false, have, later)
	if got[0].LastTransitionTime != later || got[1].LastTransitionTime != since {
		t.Errorf("only NotReady changed, but the times are %s and %s", got[0].LastTransitionTime, got[1].LastTransitionTime)
	}
	if got := record.Conditions("other", complete, false, have, later); got[0].LastTransitionTime != later {
		t.Error("another Skyhook's condition was taken")
	}
}

// TestAnotherReasonIsNoTransition: only another status is one, also for conditions that somebody else wrote with
// reasons of their own.
func TestAnotherReasonIsNoTransition(t *testing.T) {
	later := metav1.NewTime(since.Add(time.Hour))
	for _, c := range []struct {
		name string
		have corev1.NodeCondition
		want metav1.Time
	}{
		{
			"another reason",
			corev1.NodeCondition{Status: corev1.ConditionTrue, Reason: "Pending", LastTransitionTime: since},
			since,
		},
		{
			"another status",
			corev1.NodeCondition{Status: corev1.ConditionFalse, Reason: "Complete", LastTransitionTime: since},
			later,
		},
		{"never stamped", corev1.NodeCondition{Status: corev1.ConditionTrue, Reason: "Pending"}, later},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.have.Type, c.have.LastHeartbeatTime = "skyhook.nvidia.com/demo/NotReady", since
			got := record.Conditions("demo", record.Node{Status: v1alpha1.StatusInProgress}, false,
				[]corev1.NodeCondition{c.have}, later)[0]
			if got.Reason != "Incomplete" || got.LastHeartbeatTime != later || got.LastTransitionTime != c.want {
				t.Errorf("got %s, heard of %s, since %s; want the transition at %s", got.Reason, got.LastHeartbeatTime,
					got.LastTransitionTime, c.want)
			}
		})
	}
}

func TestConditionOwnership(t *testing.T) {
	for _, c := range []struct {
		kind      corev1.NodeConditionType
		any, demo bool
	}{
		{"skyhook.nvidia.com/demo/NotReady", true, true},
		{"skyhook.nvidia.com/demo/Erroring", true, true},
		{"skyhook.nvidia.com/demo2/Erroring", true, false},
		{"skyhook.nvidia.com/demo/Other", false, false},
		{"example.com/demo/NotReady", false, false},
		{corev1.NodeReady, false, false},
	} {
		if record.OwnsCondition(c.kind) != c.any || record.ConditionOf("demo", c.kind) != c.demo {
			t.Errorf("%s: owned %t, demo's %t", c.kind, record.OwnsCondition(c.kind), record.ConditionOf("demo", c.kind))
		}
	}
}

// TestFinished: other operators show complete nodes of a paused or disabled Skyhook as paused or disabled.
func TestFinished(t *testing.T) {
	condition := func(status corev1.ConditionStatus, reason string) []corev1.NodeCondition {
		return []corev1.NodeCondition{
			{Type: "Ready", Status: corev1.ConditionTrue},
			{Type: "skyhook.nvidia.com/demo/NotReady", Status: status, Reason: reason},
		}
	}
	complete, incomplete := condition(corev1.ConditionFalse, "Complete"), condition(corev1.ConditionTrue, "Incomplete")
	for _, c := range []struct {
		name, skyhook string
		status        v1alpha1.Status
		conditions    []corev1.NodeCondition
		want          bool
	}{
		{"paused", "demo", v1alpha1.StatusPaused, complete, true},
		{"disabled", "demo", v1alpha1.StatusDisabled, complete, true},
		{"paused in the middle", "demo", v1alpha1.StatusPaused, incomplete, false},
		{"the condition is out of date", "demo", v1alpha1.StatusInProgress, complete, false},
		{"that of another Skyhook", "other", v1alpha1.StatusPaused, complete, false},
		{"none", "demo", v1alpha1.StatusPaused, nil, false},
	} {
		if got := record.Finished(c.skyhook, record.Node{Status: c.status}, c.conditions); got != c.want {
			t.Errorf("%s: finished %t, want %t", c.name, got, c.want)
		}
	}
}
