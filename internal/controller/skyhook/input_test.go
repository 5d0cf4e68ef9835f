package skyhook

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

func TestInputOfANode(t *testing.T) {
	since := metav1.Time{Time: start.Add(-time.Hour)}
	entry := func(state v1alpha1.State) record.Node {
		e := record.Entry{Name: "a", Version: "1.0.0", Image: "x/a", Stage: v1alpha1.StageConfig, State: state, Since: since, Restarts: 2}
		if state == v1alpha1.StateErroring {
			e.Reason, e.Message = "StepFailed", "exit code 1"
		}
		return record.Node{Status: v1alpha1.StatusInProgress, FinishedPermit: "1/0", Packages: map[string]record.Entry{e.Key(): e}}
	}
	waits := entry(v1alpha1.StateInProgress)
	waits.Wait = &record.Wait{Package: "a", Reason: "ProtectedPod", Message: "pod x/y", Since: since, Frees: record.FreesOther}
	overdue := entry(v1alpha1.StateInProgress)
	overdue.Cordoned, overdue.Wait = true, &record.Wait{Package: "a", Reason: "ProtectedPod", Message: "pod x/y", Since: since, Frees: record.FreesOther, Overdue: true}
	stuck := entry(v1alpha1.StateComplete)
	stuck.Packages = map[string]record.Entry{}
	stuck.Wait = &record.Wait{Reason: "Any", Message: "edit", Since: since, Frees: record.FreesAuthor}
	done := entry(v1alpha1.StateComplete)
	done.Status = v1alpha1.StatusComplete
	for _, c := range []struct {
		name                string
		record              record.Node
		change              func(*corev1.Node)
		facts               situation.Facts
		hold, trouble, wait string
		states              int
	}{
		{name: "new", hold: "WaitingForSkyhook"},
		{name: "at work", record: entry(v1alpha1.StateInProgress), facts: situation.Facts{InProgress: true, Begun: true}, hold: "WaitingForSkyhook", states: 1},
		{name: "complete waits for nobody", record: done, facts: situation.Facts{Complete: true}, states: 1},
		{name: "erroring", record: entry(v1alpha1.StateErroring), facts: situation.Facts{FailedRun: true, Attempted: true, Begun: true}, hold: "WaitingForSkyhook", trouble: "StepFailed: package a stage config: exit code 1", states: 1},
		{name: "waits", record: waits, facts: situation.Facts{Begun: true}, hold: "WaitingForSkyhook", wait: "ProtectedPod: pod x/y", states: 1},
		{name: "waits for too long", record: overdue, facts: situation.Facts{FailedRun: true, Failed: true, Begun: true, Disturbed: true}, hold: "WaitingForSkyhook", wait: "ProtectedPod: pod x/y", states: 1},
		{name: "only another spec helps", record: stuck, facts: situation.Facts{NeedsAuthor: true}, hold: "WaitingForSkyhook", wait: "Any: edit"},
		{name: "interrupted by this one", record: entry(v1alpha1.StateInProgress), change: inFlight("demo"), facts: situation.Facts{InProgress: true, Begun: true, Disturbed: true, Interrupting: true}, hold: "WaitingForInterrupt", states: 1},
		{name: "set aside", record: entry(v1alpha1.StateInProgress), change: func(n *corev1.Node) { n.Labels[v1alpha1.LabelIgnore] = "true" }, facts: situation.Facts{InProgress: true, Begun: true}, hold: v1alpha1.ReasonNodeIgnored, states: 1},
		{name: "interrupted by an earlier one", record: entry(v1alpha1.StateInProgress), change: interruptedBy("before"), facts: situation.Facts{InProgress: true, Begun: true}, hold: "WaitingForSkyhook", states: 1},
		{name: "malformed", record: done, change: func(n *corev1.Node) { n.Annotations[v1alpha1.GroupName+"/nodeState_demo"] = "{" }, hold: v1alpha1.ReasonNodeStateMalformed},
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
			p := w.reads(s)
			got := p.in.Nodes[0]
			text := func(tr *record.Wait) string {
				if tr == nil {
					return ""
				}
				if !tr.Since.Equal(&since) {
					t.Errorf("%s since %s", tr.Reason, tr.Since)
				}
				return tr.Reason + ": " + tr.Message
			}
			hold := ""
			if got.Hold != nil {
				hold = got.Hold.Reason
			}
			if hold != c.hold || text(got.Failure) != c.trouble || text(got.Wait) != c.wait || len(got.States) != c.states {
				t.Errorf("hold %q, trouble %q, wait %q: %+v", hold, text(got.Failure), text(got.Wait), got)
			}
			c.facts.Unavailable = true // the nodes of these tests have no kubelet
			if got.Facts != c.facts {
				t.Errorf("facts %+v", got.Facts)
			}
			if got.FinishedPermit != c.record.FinishedPermit || !got.Created.Equal(since.Time) {
				t.Errorf("got %+v", got)
			}
			if hold == v1alpha1.ReasonNodeStateMalformed && (got.Hold.Status != v1alpha1.StatusUnknown || !strings.Contains(got.Hold.Message, "nodeState_demo")) {
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
		p := w.reads(s)
		if got := p.in.Nodes[0].States; len(got) != want {
			t.Errorf("%d nodes: %v", count, got)
		}
	}
}

// inFlight has an interrupt of a Skyhook on the node.
func inFlight(skyhook string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Annotations[v1alpha1.AnnotationInterrupt] = `{"skyhook":"` + skyhook + `","packages":["a|1.0.0"],"type":"reboot"}`
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
	p := w.reads(s)
	if h := p.in.Nodes[0].Hold; h != nil {
		t.Errorf("the node is held: %+v", h)
	}
}

// TestFailingNodeUnderABrokenPolicy: the status shows what the node's label does; nothing is tried again under such a
// policy.
func TestFailingNodeUnderABrokenPolicy(t *testing.T) {
	s := configured("2.0.0", "v")
	s.Spec.DeploymentPolicy = "paced"
	broken := &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: "paced"}} // without a strategy
	n := ready(newNode("node-1", "gpu"))
	remember(t, n, "demo", record.Node{Packages: map[string]record.Entry{"b|2.0.0": {
		Name: "b", Version: "2.0.0", Stage: v1alpha1.StageApply, State: v1alpha1.StateErroring, Reason: "StepFailed", Message: "no",
	}}})
	w := newWorld(t, s, broken, n)
	_, err := w.Reconcile(t.Context(), request("demo"))
	w.must(err)
	got := w.skyhook("demo").Status
	if got.NodeStatus["node-1"] != v1alpha1.StatusBlocked || got.Status != v1alpha1.StatusBlocked {
		t.Errorf("status %s, of the node %s", got.Status, got.NodeStatus["node-1"])
	}
	if len(got.Attention) != 1 || !strings.HasSuffix(got.Attention[0].Message, "before that: package b stage apply: no") {
		t.Errorf("attention %+v", got.Attention)
	}
}
