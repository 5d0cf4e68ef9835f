//go:build integration

package cli_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// rolling is a Skyhook in the middle of a rollout.
func rolling() *v1alpha1.Skyhook {
	s := gpu()
	s.Status = v1alpha1.SkyhookStatus{
		Status: v1alpha1.StatusErroring, CompleteNodes: "40/100",
		Nodes:   v1alpha1.NodeCounts{Total: 100, Complete: 40, InProgress: 4, Erroring: 1, Waiting: 55},
		Permits: []v1alpha1.Permit{{Node: "a", Generation: 1}, {Node: "b", Generation: 1, Order: 1}},
		Waiting: []v1alpha1.WaitingNodes{{Reason: "WaitingForPermit", Nodes: 55}},
		Attention: []v1alpha1.NodeAttention{{
			Node: "worker-7", Status: v1alpha1.StatusErroring, Reason: "StepFailed", Message: "tuning-apply exited with 2", Since: metav1.NewTime(today),
		}},
		CompartmentStatuses: map[string]v1alpha1.CompartmentStatus{
			"__default__": {Matched: 80, Completed: 36, InProgress: 4, Ceiling: 5, Strategy: "fixed", BatchState: &v1alpha1.BatchState{CurrentBatch: 9}},
			"rack-7":      {Matched: 20, Completed: 4, Erroring: 1, Ceiling: 1, BatchState: &v1alpha1.BatchState{CurrentBatch: 5, ShouldStop: true}},
		},
	}
	return s
}

func TestStatus(t *testing.T) {
	c := newCluster(t)
	c.put(rolling())
	for _, format := range []string{"table", "json", "name"} {
		out, _, err := c.run("", "status", "-o", format)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "status-rolling."+format, out)
	}
	out, _, err := c.run("", "dp", "show", "gpu", "-o", "wide")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "dp-show-rolling.wide", out)
}

// TestPolicyShow prints beside the compartments of a Skyhook who else uses its policy, and what is wrong with that.
func TestPolicyShow(t *testing.T) {
	c := newCluster(t)
	one := v1alpha1.Budget{Count: new(1)}
	p := &v1alpha1.DeploymentPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "careful"},
		Spec: v1alpha1.DeploymentPolicySpec{
			Default: v1alpha1.PolicyDefault{Budget: one, Strategy: v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{}}},
		},
		Status: v1alpha1.DeploymentPolicyStatus{
			ObservedGeneration: 1, Skyhooks: 102, UsedBy: []string{"gpu", "tuning"}, Nodes: 100, CompartmentList: "rack-7:20, __default__:80",
			Compartments: []v1alpha1.CompartmentNodes{{Name: "rack-7", Nodes: 20}, {Name: "__default__", Nodes: 80}},
			Conditions: []metav1.Condition{{
				Type: v1alpha1.ConditionCompartmentsUnmatched, Reason: v1alpha1.ConditionCompartmentsUnmatched, Status: metav1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(today), Message: "no compartment matches a node of Skyhook tuning",
			}},
		},
	}
	c.put(p)
	s := rolling()
	s.Spec.DeploymentPolicy = p.Name
	c.put(s)
	missing := gpu()
	missing.Name, missing.Spec.DeploymentPolicy = "alone", "gone"
	c.put(missing)
	for _, format := range []string{"table", "json", "yaml"} {
		out, _, err := c.run("", "dp", "show", "gpu", "-o", format)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "dp-show-policy."+format, out)
	}
	out, _, err := c.run("", "dp", "show", "alone")
	if err != nil || !strings.Contains(out, "Deployment policy: gone") {
		t.Errorf("%v\n%s", err, out)
	}
}

// screen is what is printed, and what happens when the first of it is seen.
type screen struct {
	bytes.Buffer
	seen func()
}

func (s *screen) Write(text []byte) (int, error) {
	if s.Len() == 0 {
		s.seen()
	}
	return s.Buffer.Write(text)
}

// TestWatch prints whenever something changed, and ends when all is complete.
func TestWatch(t *testing.T) {
	c := newCluster(t)
	c.put(rolling())
	out := &screen{seen: func() {
		s := c.stored("gpu")
		s.Status = v1alpha1.SkyhookStatus{
			Status: v1alpha1.StatusComplete, CompleteNodes: "100/100", Nodes: v1alpha1.NodeCounts{Total: 100, Complete: 100},
		}
		if err := c.Status().Update(c.t.Context(), s); err != nil {
			c.t.Error(err)
		}
	}}
	err := c.runTo(out, io.Discard, "", "status", "gpu", "--watch")
	text := out.String()
	if err != nil || strings.Count(text, "gpu  ") != 2 ||
		!strings.Contains(text, "40 of 100 nodes complete") || !strings.HasSuffix(text, "\n\ngpu  complete  100 nodes\n  nodes      100 complete\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
