//go:build integration

package v1alpha1_test

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func typedClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(apiserver.Start(t), client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

func fullStatus() v1alpha1.SkyhookStatus {
	now := metav1.NewTime(time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC).Local())
	return v1alpha1.SkyhookStatus{
		ObservedGeneration: 3,
		Status:             v1alpha1.StatusInProgress,
		Conditions:         []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Progressing", LastTransitionTime: now}},
		Permits:            []v1alpha1.Permit{{Node: "n1", Order: 0, Generation: 3}, {Node: "n2", Order: 1, Generation: 3, Round: 1, Revoked: true}},
		NextOrder:          2,
		Nodes:              v1alpha1.NodeCounts{Total: 3, Complete: 1, InProgress: 1, Erroring: 1},
		Attention:          []v1alpha1.NodeAttention{{Node: "n2", Status: v1alpha1.StatusErroring, Reason: "StepFailed", Message: "exit code 3", Since: now}},
		Waiting:            []v1alpha1.WaitingNodes{{Reason: "WaitingForPermit", Nodes: 1, Message: "budget 2 is used by n1, n2"}},
		NodesInProgress:    2,
		CompleteNodes:      "1/3",
		PackageList:        "tuning:1.1.0",
		NodeState: map[string]map[string]v1alpha1.PackageStatus{"n1": {"tuning|1.1.0": {
			Name: "tuning", Version: "1.1.0", Image: "r/a", ContainerSHA: digest,
			Stage: v1alpha1.StagePostInterrupt, State: v1alpha1.StateErroring, Restarts: 2,
		}}},
		NodeStatus:      map[string]v1alpha1.Status{"n1": v1alpha1.StatusErroring},
		NodeBootIDs:     map[string]string{"n1": "boot"},
		NodePriority:    map[string]metav1.Time{"n1": now},
		FirstRound:      1,
		NextRound:       2,
		Resumed:         "once",
		NodeOrderOffset: 2,
		ConfigUpdates:   map[string][]string{"tuning": {"apply.sh"}},
		CompartmentStatuses: map[string]v1alpha1.CompartmentStatus{"__default__": {
			Matched: 3, Ceiling: 2, InProgress: 1, Erroring: 1, Completed: 1, ProgressPercent: 33,
			Strategy: "linear", NextBatchSize: 2, FailureThresholdEnforced: true, FailureThresholdReason: "-",
			BatchState: &v1alpha1.BatchState{CurrentBatch: 2, ConsecutiveFailures: 1, CompletedNodes: 1, FailedNodes: 1, ShouldStop: true, LastBatchSize: 2, LastBatchFailed: true, BatchSize: 1},
		}},
	}
}

func TestStatusIsKept(t *testing.T) {
	c := typedClient(t)
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "status"}}
	if err := c.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	deleteAfter(t, c, s)
	// Tools that go by it take what has none for done, as kstatus does.
	if want := (v1alpha1.SkyhookStatus{ObservedGeneration: -1}); !reflect.DeepEqual(s.Status, want) {
		t.Errorf("a new Skyhook has the status %+v", s.Status)
	}
	want := fullStatus()
	s.Status = want
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.Status, want) {
		t.Errorf("got  %+v\nwant %+v", s.Status, want)
	}
	if s.Generation != 1 {
		t.Errorf("the status changed the generation to %d", s.Generation)
	}
}

func TestSpecDefaults(t *testing.T) {
	c := typedClient(t)
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "defaults"}, Spec: v1alpha1.SkyhookSpec{Serial: true}}
	if err := c.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	deleteAfter(t, c, s)
	if s.Spec.Priority != 200 || s.Spec.Sequencing != v1alpha1.SequencingNode {
		t.Errorf("priority %d and sequencing %q, want 200 and node", s.Spec.Priority, s.Spec.Sequencing)
	}
}

func TestStrategyDefaults(t *testing.T) {
	c := strictClient(t)
	stored, err := create(t, c, readManifest(t, validManifests+"/policy-defaults.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := &v1alpha1.DeploymentPolicy{}
	if err := typedClient(t).Get(t.Context(), client.ObjectKeyFromObject(stored), p); err != nil {
		t.Fatal(err)
	}
	e := p.Spec.Default.Strategy.Exponential
	if *e.InitialBatch != 1 || *e.BatchThreshold != 100 || *e.SafetyLimit != 50 || *e.GrowthFactor != 2 || e.FailureThreshold != nil {
		t.Errorf("strategy is %+v", e)
	}
	if !*p.Spec.ResetBatchStateOnCompletion {
		t.Error("resetBatchStateOnCompletion is false, want true")
	}
}
