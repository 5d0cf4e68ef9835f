package skyhook

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

func TestDepartedNodes(t *testing.T) {
	left, broken := newNode("left", "other"), newNode("broken", "other")
	for _, n := range []*corev1.Node{left, broken} {
		remember(t, n, "demo", record.Node{Status: v1alpha1.StatusWaiting, Done: "1/3"})
	}
	broken.Annotations[v1alpha1.GroupName+"/nodeState_demo"] = "{"
	for _, c := range []struct {
		name    string
		permits []v1alpha1.Permit
		want    map[string]string
	}{
		{"without permits nobody has to ask", nil, map[string]string{}},
		{
			"with permits",
			[]v1alpha1.Permit{{Node: "left", Order: 3, Generation: 1}},
			map[string]string{"left": "1/3", "broken": "1/3", "foreign": ""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSkyhook("demo")
			s.Status.Permits = c.permits
			w := newWorld(t, s, left, broken, newNode("foreign", "other"), newNode("node-1", "gpu"))
			in, err := w.input(t.Context(), s, w.Targets.Of(s))
			w.must(err)
			if !maps.Equal(in.Departed, c.want) {
				t.Errorf("departed: %v", in.Departed)
			}
			if len(in.Nodes) != 1 || in.Nodes[0].Name != "node-1" || !in.Now.Equal(start) || in.Skyhook != s || in.Hold != nil {
				t.Errorf("input: %+v", in)
			}
		})
	}
}

func TestInputOfANode(t *testing.T) {
	since := metav1.Time{Time: start.Add(-time.Hour)}
	entry := func(state v1alpha1.State) record.Node {
		e := record.Entry{Name: "a", Version: "1.0.0", Image: "x/a", Stage: v1alpha1.StageConfig, State: state, Since: since, Restarts: 2}
		if state == v1alpha1.StateErroring {
			e.Reason, e.Message = "StepFailed", "exit code 1"
		}
		return record.Node{Status: v1alpha1.StatusInProgress, Done: "1/0", Packages: map[string]record.Entry{e.Key(): e}}
	}
	waits := entry(v1alpha1.StateInProgress)
	waits.Wait = &record.Wait{Reason: "ProtectedPod", Message: "pod x/y", Since: since}
	done := entry(v1alpha1.StateComplete)
	done.Status = v1alpha1.StatusComplete
	for _, c := range []struct {
		name                string
		record              record.Node
		change              func(*corev1.Node)
		complete            bool
		hold, trouble, wait string
		states              int
	}{
		{name: "new", hold: "WaitingForSkyhook"},
		{name: "at work", record: entry(v1alpha1.StateInProgress), hold: "WaitingForSkyhook", states: 1},
		{name: "complete waits for nobody", record: done, complete: true, states: 1},
		{name: "erroring", record: entry(v1alpha1.StateErroring), hold: "WaitingForSkyhook", trouble: "StepFailed: package a stage config: exit code 1", states: 1},
		{name: "waits", record: waits, hold: "WaitingForSkyhook", wait: "ProtectedPod: pod x/y", states: 1},
		{name: "set aside", record: entry(v1alpha1.StateInProgress), change: func(n *corev1.Node) { n.Labels[rollout.LabelIgnore] = "true" }, hold: rollout.ReasonIgnored, states: 1},
		{name: "interrupted by another", record: entry(v1alpha1.StateInProgress), change: interruptedBy("before"), hold: "WaitingForInterrupt", states: 1},
		{name: "malformed", record: done, change: func(n *corev1.Node) { n.Annotations[v1alpha1.GroupName+"/nodeState_demo"] = "{" }, hold: rollout.ReasonMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode("node-1", "gpu")
			n.Status.NodeInfo.BootID, n.CreationTimestamp = "boot-1", since
			remember(t, n, "demo", c.record)
			if c.change != nil {
				c.change(n)
			}
			s, before := newSkyhook("demo"), newSkyhook("before")
			s.Spec.Priority = 1
			w := newWorld(t, n, s, before)
			in, err := w.input(t.Context(), s, w.Targets.Of(s))
			w.must(err)
			got := in.Nodes[0]
			text := func(tr *rollout.Trouble) string {
				if tr == nil {
					return ""
				}
				if !tr.Since.Equal(since.Time) {
					t.Errorf("%s since %s", tr.Reason, tr.Since)
				}
				return tr.Reason + ": " + tr.Message
			}
			hold := ""
			if got.Hold != nil {
				hold = got.Hold.Reason
			}
			if hold != c.hold || text(got.Trouble) != c.trouble || text(got.Wait) != c.wait || got.Complete != c.complete || len(got.States) != c.states {
				t.Errorf("hold %q, trouble %q, wait %q: %+v", hold, text(got.Trouble), text(got.Wait), got)
			}
			if got.Done != c.record.Done || got.Status != c.record.Status || !got.Created.Equal(since.Time) || got.Ready {
				t.Errorf("got %+v", got)
			}
			if hold == rollout.ReasonMalformed && (got.Hold.Status != v1alpha1.StatusBlocked || !strings.Contains(got.Hold.Message, "nodeState_demo")) {
				t.Errorf("hold %+v", got.Hold)
			}
		})
	}
}

func TestStatesOnlyForSmallFleets(t *testing.T) {
	for count, want := range map[int]int{rollout.DetailLimit: 1, rollout.DetailLimit + 1: 0} {
		s := newSkyhook("demo")
		w := newWorld(t, s)
		for i := range count {
			n := newNode(fmt.Sprint("n", i), "gpu")
			e := record.Entry{Name: "a", Version: "1.0.0", Stage: v1alpha1.StageApply, State: v1alpha1.StateInProgress, Image: "x/a", Restarts: 1}
			remember(t, n, "demo", record.Node{Packages: map[string]record.Entry{e.Key(): e}})
			w.must(w.Client.Create(t.Context(), n))
		}
		in, err := w.input(t.Context(), s, w.Targets.Of(s))
		w.must(err)
		if got := in.Nodes[0].States; len(got) != want {
			t.Errorf("%d nodes: %v", count, got)
		}
	}
}

// interruptedBy lets an interrupt of a Skyhook run on the node.
func interruptedBy(skyhook string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Annotations[v1alpha1.GroupName+"/nodeState_"+skyhook] = `{"a|1.0.0":{"name":"a","version":"1.0.0","image":"x/a","stage":"interrupt","state":"in_progress"}}`
	}
}

// TestInterruptOfANodeThatLeft: what the record says of a Skyhook that no longer selects the node holds nobody.
func TestInterruptOfANodeThatLeft(t *testing.T) {
	n := newNode("node-1", "gpu")
	s, before := newSkyhook("demo"), newSkyhook("before")
	before.Spec.Priority, s.Spec.Priority = 1, 2
	before.Spec.NodeSelectors.MatchLabels["pool"] = "cpu"
	interruptedBy("before")(n)
	w := newWorld(t, n, s, before)
	in, err := w.input(t.Context(), s, w.Targets.Of(s))
	w.must(err)
	if h := in.Nodes[0].Hold; h != nil {
		t.Errorf("the node is held: %+v", h)
	}
}
