//go:build integration

package cli_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
)

// statusIs is a Skyhook that has a status.
func statusIs(name string, status v1alpha1.Status) *v1alpha1.Skyhook {
	return heldUp(name, func(s *v1alpha1.Skyhook) {
		s.Status = v1alpha1.SkyhookStatus{Status: status, CompleteNodes: "0/1", Nodes: v1alpha1.NodeCounts{Total: 1}}
	})
}

// TestBoardChooses what needs somebody, whatever its name.
func TestBoardChooses(t *testing.T) {
	c := newCluster(t)
	c.put(statusIs("a-done", v1alpha1.StatusComplete))
	b := c.board()
	first := b.page("")
	first.until("the only one", func() bool { return first.board.Name == "a-done" && first.board.Skyhook != nil })
	for _, s := range []struct {
		name   string
		status v1alpha1.Status
	}{
		{"b-off", v1alpha1.StatusDisabled},
		{"c-runs", v1alpha1.StatusInProgress},
		{"d-blocked", v1alpha1.StatusBlocked},
		{"e-fails", v1alpha1.StatusErroring},
	} {
		c.put(statusIs(s.name, s.status))
		first.until("it is known", func() bool {
			return slices.Contains(first.board.Skyhooks, board.Overview{Name: s.name, Status: s.status, Far: "0 of 1 nodes complete"})
		})
		p := b.page("")
		p.until(s.name, func() bool { return p.board.Skyhook != nil && p.board.Skyhook.Name == s.name })
	}
	if first.board.Name != "a-done" || first.boards != 1 {
		t.Errorf("the first page turned to %s", first.board.Name)
	}
}

// TestBoardWithoutOperator: what nobody works at is not shown as if it progressed.
func TestBoardWithoutOperator(t *testing.T) {
	c := newCluster(t)
	c.put(statusIs("left", v1alpha1.StatusInProgress))
	p := c.board("--namespace", "default").page("")
	p.until("no operator", func() bool { return strings.HasPrefix(p.board.Warning, "there is no operator in namespace default") })
	d := operator()
	c.put(d)
	p.until("an operator that is not ready", func() bool { return strings.HasPrefix(p.board.Warning, "no replica of the operator") })
	d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}
	if err := c.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	p.until("an operator", func() bool { return p.board.Warning == "" })
}

// TestBoardOfAnEdit: the picture is of the spec before, until the operator has planned it.
func TestBoardOfAnEdit(t *testing.T) {
	c := newCluster(t)
	s := statusIs("edited", v1alpha1.StatusComplete)
	s.Status.ObservedGeneration = 1
	c.put(s)
	p := c.board("--namespace", "default").page("")
	p.until("the Skyhook", func() bool { return p.board.Skyhook != nil && p.board.Warning == "" })
	s = c.stored("edited")
	s.Spec.Priority = 77
	if err := c.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	const want = "Skyhook edited: the operator has not planned the last edit yet; the status is of generation 1, and the spec of generation 2"
	p.until("the warning", func() bool { return strings.HasPrefix(p.board.Warning, want) })
	s.Status.ObservedGeneration = 2
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	p.until("no warning", func() bool { return p.board.Warning == "" })
}

// TestBoardOfAWhole: what holds up a Skyhook on all nodes is told without looking at one of them.
func TestBoardOfAWhole(t *testing.T) {
	c := newCluster(t)
	stalled := func(reason, message string) metav1.Condition {
		return metav1.Condition{
			Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(today.Add(-time.Hour)),
		}
	}
	s := statusIs("whole", v1alpha1.StatusBlocked)
	s.Status.Conditions = []metav1.Condition{stalled(v1alpha1.ReasonRolloutStopped, "bad batches stopped compartment edge")}
	s.Finalizers = []string{"example.com/stays"}
	c.put(s)
	defer func() {
		s := c.stored("whole")
		s.Finalizers = nil
		_ = c.Update(t.Context(), s)
	}()
	p := c.board("--namespace", "default").page("")
	p.until("the cause", func() bool { return p.board.Skyhook != nil && len(p.board.Skyhook.Causes) == 1 })
	got := p.board.Skyhook.Causes[0]
	if got.Reason != v1alpha1.ReasonRolloutStopped || got.Message != "bad batches stopped compartment edge" || got.Do == "" || got.Since.IsZero() {
		t.Errorf("got %+v", got)
	}

	s = c.stored("whole")
	s.Status.Conditions = []metav1.Condition{stalled(v1alpha1.ReasonDeploymentPolicyNotFound, "there is no such policy")}
	s.Status.Waiting = []v1alpha1.WaitingNodes{{Reason: v1alpha1.ReasonDeploymentPolicyNotFound, Nodes: 1, Message: "there is no such policy"}}
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	p.until("a message that is told once", func() bool {
		return p.board.Skyhook.Causes[0].Reason == v1alpha1.ReasonDeploymentPolicyNotFound && p.board.Skyhook.Causes[0].Message == ""
	})
	if err := c.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	p.until("the deletion", func() bool {
		all := p.board.Skyhook.Causes
		return all[len(all)-1].Reason == v1alpha1.ReasonDeleting && all[len(all)-1].Message == "the Skyhook is being deleted"
	})
}

// TestBoardTellsWhatRuns: a script that hangs is what most rollouts that hang wait for.
func TestBoardTellsWhatRuns(t *testing.T) {
	c := newCluster(t)
	c.put(heldUp("hangs", nil))
	c.put(atWork("hangs", "hangs-1", "in_progress"))
	pod := c.runStage(c.stored("hangs"), "hangs-1")
	var d board.Details
	if err := json.Unmarshal(c.board("--namespace", "default").get("/api/node?skyhook=hangs&node=hangs-1"), &d); err != nil {
		t.Fatal(err)
	}
	want := []board.Run{{
		Package: "tuning", Version: "2.1.0", Stage: v1alpha1.StageApply, Since: pod.CreationTimestamp,
		Command: "kubectl skyhook logs hangs --package tuning --stage apply --node hangs-1 -n default --context test",
	}}
	if diff := cmp.Diff(want, d.Running); diff != "" || len(d.Causes) > 0 {
		t.Errorf("causes %v, running (-want +got):\n%s", d.Causes, diff)
	}
}
