package skyhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

func ready(n *corev1.Node) *corev1.Node {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

func TestDepartedNodes(t *testing.T) {
	left, broken, dead := ready(newNode("left", "other")), ready(newNode("broken", "other")), newNode("dead", "other")
	begun := ready(newNode("begun", "other"))
	remember(t, begun, "demo", record.Node{Begun: true})
	for _, n := range []*corev1.Node{left, broken} {
		remember(t, n, "demo", record.Node{Status: v1alpha1.StatusWaiting, FinishedPermit: "1/3"})
	}
	broken.Annotations[v1alpha1.GroupName+"/nodeState_demo"] = "{"
	for _, c := range []struct {
		name    string
		holders []string
		want    map[string]rollout.Departed
	}{
		{"without permits nobody has to ask", nil, map[string]rollout.Departed{}},
		{"of a selected node", []string{"node-1"}, map[string]rollout.Departed{}},
		{"of one that left", []string{"left"}, map[string]rollout.Departed{"left": {Verdict: situation.Left, FinishedPermit: "1/3"}}},
		{"of one that left with a record that cannot be read", []string{"broken"}, map[string]rollout.Departed{"broken": {Verdict: situation.Bad, FinishedPermit: "1/3"}}},
		{"of one that left in the middle of work", []string{"begun"}, map[string]rollout.Departed{"begun": {Verdict: situation.Bad}}},
		{"of one that is away", []string{"dead"}, map[string]rollout.Departed{"dead": {Verdict: situation.Left, Unavailable: true}}},
		{"of one that is gone", []string{"gone"}, map[string]rollout.Departed{}},
		{"of nobody", []string{""}, map[string]rollout.Departed{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSkyhook("demo")
			for i, name := range c.holders {
				s.Status.Permits = append(s.Status.Permits, v1alpha1.Permit{Node: name, Order: int32(i), Generation: 1})
			}
			w := newWorld(t, s, left, broken, begun, dead, newNode("foreign", "other"), newNode("node-1", "gpu"))
			p := w.reads(s)
			if !maps.Equal(p.in.Departed, c.want) || p.unsure != nil {
				t.Errorf("departed: %v, %v", p.in.Departed, p.unsure)
			}
			if len(p.in.Nodes) != 1 || p.in.Nodes[0].Name != "node-1" || !p.in.Now.Equal(start) || p.in.Skyhook != s || p.in.Hold != nil {
				t.Errorf("input: %+v", p.in)
			}
		})
	}
}

// stuckWait is what a node tells that a Skyhook leaves and on which a pod does not end.
var stuckWait = record.Wait{
	Package: "a", Reason: v1alpha1.ReasonWaitingForPodToEnd, Since: metav1.NewTime(start.Add(-time.Hour)), Frees: record.FreesNode,
	Message: "a pod did not end within its grace period; look at it: `kubectl get pod -n skyhook x -o yaml`",
}

// TestPodThatDoesNotEndOnANodeThatTheSkyhookLeaves is told, and since when, whether the node still holds a permit or
// not.
func TestPodThatDoesNotEndOnANodeThatTheSkyhookLeaves(t *testing.T) {
	for _, c := range []struct {
		name    string
		pool    string
		permit  bool
		deleted bool
		notice  string
	}{
		{"it left with its permit", "other", true, false, "the node is no longer selected; "},
		{"it left without one", "other", false, false, "the node is no longer selected; "},
		{"the Skyhook is deleted", "gpu", false, true, ""},
		{"the Skyhook is deleted after the node left", "other", false, true, "the node is no longer selected; "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := newSkyhook("demo"), ready(newNode("left", c.pool))
			if c.permit {
				s.Status.Permits = []v1alpha1.Permit{{Node: "left", Generation: 1}}
			}
			if c.deleted {
				s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.Finalizer}
			}
			remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress, Wait: &stuckWait})
			w := newWorld(t, s, n)
			w.must(w.newPass(w.skyhook("demo")).reconcile(t.Context()))
			all := w.skyhook("demo").Status.Attention
			if len(all) != 1 {
				t.Fatalf("attention %+v", all)
			}
			if got := blockedBy(w); (got != "") != c.deleted || c.deleted && got != "node left: "+c.notice+stuckWait.Message {
				t.Errorf("the deletion is blocked by %q", got)
			}
			if a := all[0]; a.Node != "left" || a.Reason != stuckWait.Reason || a.Message != c.notice+stuckWait.Message || !a.Since.Equal(&stuckWait.Since) {
				t.Errorf("attention %+v", a)
			}
		})
	}
}

// lost cannot tell of nodes.
type lost struct{ client.Reader }

var errLost = errors.New("no route")

func (lost) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errLost
}

func (lost) List(context.Context, client.ObjectList, ...client.ListOption) error { return errLost }

// TestPermitOfANodeThatTheCacheLacks: it is dropped only when the API server says that the node is gone.
func TestPermitOfANodeThatTheCacheLacks(t *testing.T) {
	done := newNode("n00", "gpu")
	remember(t, done, "demo", record.Node{FinishedPermit: "1/0"})
	for _, count := range []int{1, maxLooks + 1} { // one by one, or all in a list
		for _, c := range []struct {
			name string
			live client.Reader
			want int // permits left
		}{
			{"the API server has it", newWorld(t, newSkyhook("demo"), newNode("n00", "gpu")).Client, 1},
			{"the API server has it, and it is through", newWorld(t, newSkyhook("demo"), done).Client, 0},
			{"the API server does not have it", newWorld(t, newSkyhook("demo")).Client, 0},
			{"nobody knows", lost{}, count},
		} {
			t.Run(fmt.Sprint(count, " ", c.name), func(t *testing.T) {
				s := newSkyhook("demo")
				for i := range count {
					s.Status.Permits = append(s.Status.Permits, v1alpha1.Permit{Node: fmt.Sprintf("n%02d", i), Order: int32(i), Generation: 1})
				}
				w := newWorld(t, s)
				w.Live = c.live
				err := w.newPass(w.skyhook("demo")).reconcile(t.Context())
				if errors.Is(err, errLost) != (c.name == "nobody knows") {
					t.Errorf("error %v", err)
				}
				if got := w.skyhook("demo").Status.Permits; len(got) != c.want {
					t.Errorf("permits %v, want %d", got, c.want)
				}
			})
		}
	}
}

// TestPodThatOutlivesItsNode: a finalizer keeps it, and with it the permit of a node that is gone. People hear of it once
// the pod should have ended.
func TestPodThatOutlivesItsNode(t *testing.T) {
	s := newSkyhook("demo")
	s.Spec.InterruptionBudget.Count = new(1)
	s.Status.Permits = []v1alpha1.Permit{{Node: "gone", Generation: 1}}
	pod := podOf(t, s, "a", "gone")
	pod.DeletionTimestamp, pod.Finalizers = new(metav1.NewTime(start)), []string{"theirs.io/keep"}
	w := newWorld(t, s, pod, ready(newNode("node-1", "gpu")))
	look := func(after time.Duration) (v1alpha1.SkyhookStatus, time.Duration) {
		w.clock.SetTime(start.Add(after))
		result, err := w.Reconcile(t.Context(), request("demo"))
		w.must(err)
		return w.skyhook("demo").Status, result.RequeueAfter
	}
	if status, again := look(0); len(status.Attention) != 0 || len(status.Permits) != 1 || again == 0 || again > lifecycle.EndGrace {
		t.Errorf("at first: attention %+v, permits %v, looks again in %s", status.Attention, status.Permits, again)
	}
	status, _ := look(lifecycle.EndGrace)
	if len(status.Permits) != 1 || len(status.Attention) != 1 {
		t.Fatalf("attention %+v, permits %v", status.Attention, status.Permits)
	}
	if a := status.Attention[0]; a.Node != "gone" || a.Reason != v1alpha1.ReasonWaitingForPodToEnd ||
		!strings.HasPrefix(a.Message, "the node is gone; ") || !strings.Contains(a.Message, "`kubectl get pod -n skyhook "+pod.Name) {
		t.Errorf("attention %+v", a)
	}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("condition Stalled %+v", c)
	}
	pod.Finalizers = nil
	w.must(w.Client.Patch(t.Context(), pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	if status, _ := look(time.Hour); len(status.Attention) != 0 || len(status.Permits) != 1 || status.Permits[0].Node != "node-1" {
		t.Errorf("without the pod: attention %+v, permits %v", status.Attention, status.Permits)
	}
}

// TestDeletionThatAPodOfAGoneNodeKeeps: it is told whether or not the pod has ended or its node holds a permit, which one
// that has ended does not need.
func TestDeletionThatAPodOfAGoneNodeKeeps(t *testing.T) {
	for _, ended := range []bool{false, true} {
		for _, permit := range []bool{false, true} {
			s := deleted()
			if permit {
				s.Status.Permits = []v1alpha1.Permit{{Node: "gone", Generation: 1}}
			}
			pod := podOf(t, s, "a", "gone")
			pod.DeletionTimestamp, pod.Finalizers = new(metav1.NewTime(start)), []string{"theirs.io/keep"}
			if ended {
				pod.Status.Phase = corev1.PodFailed // as the garbage collection of pods leaves it
			}
			w := newWorld(t, s, pod, ready(newNode("node-1", "gpu")))
			result, err := w.Reconcile(t.Context(), request("demo"))
			w.must(err)
			if blocked := blockedBy(w); blocked != "" || result.RequeueAfter == 0 || result.RequeueAfter > lifecycle.EndGrace {
				t.Errorf("ended %t, permit %t: at first blocked by %q, looks again in %s", ended, permit, blocked, result.RequeueAfter)
			}
			w.clock.SetTime(start.Add(lifecycle.EndGrace))
			_, err = w.Reconcile(t.Context(), request("demo"))
			w.must(err)
			status := w.skyhook("demo").Status
			if len(status.Attention) != 1 || status.Attention[0].Node != "gone" || !strings.Contains(blockedBy(w), pod.Name) ||
				!meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled) {
				t.Errorf("ended %t, permit %t: attention %+v, conditions %+v", ended, permit, status.Attention, status.Conditions)
			}
			if keeps := len(status.Permits) > 0; keeps != (permit && !ended) {
				t.Errorf("ended %t, permit %t: permits %v", ended, permit, status.Permits)
			}
		}
	}
}

func blockedBy(w *world) string {
	if c := meta.FindStatusCondition(w.skyhook("demo").Status.Conditions, v1alpha1.ConditionDeletionBlocked); c != nil {
		return c.Message
	}
	return ""
}

// TestPodsOnAGoneNodeByTheirEnd: the one that is told of is the one that has to end first, so that another hides nothing.
func TestPodsOnAGoneNodeByTheirEnd(t *testing.T) {
	pod := func(name string, ends time.Duration, phase corev1.PodPhase) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: phase}}
		if ends != 0 {
			p.DeletionTimestamp = new(metav1.NewTime(start.Add(ends)))
		}
		return p
	}
	inOrder := []*corev1.Pod{
		pod("z", -time.Hour, corev1.PodRunning), pod("y", time.Hour, corev1.PodPending), pod("w", 0, corev1.PodRunning),
		pod("x", 0, corev1.PodRunning), pod("v", -2*time.Hour, corev1.PodFailed), pod("u", -time.Hour, corev1.PodSucceeded),
		pod("t", 0, corev1.PodFailed),
	}
	for i, a := range inOrder {
		for k, b := range inOrder {
			if got := compareEnds(a, b); got != cmp.Compare(i, k) {
				t.Errorf("%s and %s compare as %d", a.Name, b.Name, got)
			}
		}
	}
}

// TestNodeOfWhichNobodyCanTell whether it is gone counts as there, and is not said to be gone.
func TestNodeOfWhichNobodyCanTell(t *testing.T) {
	s := newSkyhook("demo")
	s.Spec.InterruptionBudget.Count = new(1)
	s.Status.Permits = []v1alpha1.Permit{{Node: "there", Generation: 1}}
	pod := podOf(t, s, "a", "there")
	pod.DeletionTimestamp, pod.Finalizers = new(metav1.NewTime(start.Add(-time.Hour))), []string{"theirs.io/keep"}
	w := newWorld(t, s, pod, ready(newNode("node-1", "gpu")))
	w.Live = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if key.Name == "there" {
				return errors.New("the API server is busy")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	for i := range 5 {
		w.clock.SetTime(start.Add(time.Duration(i) * time.Minute))
		result, err := w.Reconcile(t.Context(), request("demo"))
		if err == nil && result.RequeueAfter != obstacleRetry {
			t.Errorf("looks again after %s", result.RequeueAfter)
		}
		if a := w.skyhook("demo").Status.Attention; i == 0 && len(a) > 0 {
			t.Errorf("at first: attention %+v", a)
		}
	}
	status := w.skyhook("demo").Status
	if len(status.Permits) != 1 || len(status.Attention) != 1 || status.Attention[0].Reason != v1alpha1.ReasonPassFailed ||
		!strings.Contains(status.Attention[0].Message, "whether it is gone is not known: the API server is busy; the operator retries") {
		t.Errorf("permits %v, attention %+v", status.Permits, status.Attention)
	}
}

// TestDeadNodeThatLeft: nobody acknowledges its permit, so that people must hear of it.
func TestDeadNodeThatLeft(t *testing.T) {
	s := newSkyhook("demo")
	s.Spec.InterruptionBudget.Count = new(1)
	s.Status.Permits = []v1alpha1.Permit{{Node: "dead", Generation: 1}}
	w := newWorld(t, s, newNode("dead", "other"), ready(newNode("node-1", "gpu")))
	w.must(w.newPass(w.skyhook("demo")).reconcile(t.Context()))
	status := w.skyhook("demo").Status
	if len(status.Permits) != 1 || len(status.Attention) != 1 {
		t.Fatalf("permits %v, attention %+v", status.Permits, status.Attention)
	}
	if a := status.Attention[0]; a.Node != "dead" || a.Reason != "DepartedNotReady" || !strings.Contains(a.Message, "`kubectl delete node dead`") {
		t.Errorf("attention %+v", a)
	}
	if c := meta.FindStatusCondition(status.Conditions, "DepartedNotReady"); c == nil || !strings.Contains(c.Message, "node dead") {
		t.Errorf("condition %+v", c)
	}
	var node corev1.Node
	w.must(w.Client.Get(t.Context(), client.ObjectKey{Name: "dead"}, &node))
	w.must(w.Client.Delete(t.Context(), &node))
	w.must(w.newPass(w.skyhook("demo")).reconcile(t.Context()))
	status = w.skyhook("demo").Status
	if len(status.Permits) != 1 || status.Permits[0].Node != "node-1" || len(status.Attention) != 0 || meta.FindStatusCondition(status.Conditions, "DepartedNotReady") != nil {
		t.Errorf("when it is deleted: permits %v, attention %+v", status.Permits, status.Attention)
	}
}
