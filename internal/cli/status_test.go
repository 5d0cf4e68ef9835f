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
			"__default__": {Matched: 80, Completed: 36, InProgress: 4, Ceiling: 5, BatchState: &v1alpha1.BatchState{CurrentBatch: 9}},
			"rack-7":      {Matched: 20, Completed: 4, InProgress: 1, Ceiling: 1, BatchState: &v1alpha1.BatchState{CurrentBatch: 5, ShouldStop: true}},
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
	if err != nil || strings.Count(text, "nodes complete") != 2 || !strings.Contains(text, "40/100") || !strings.Contains(text, "100/100") {
		t.Errorf("%v\n%s", err, text)
	}
}
