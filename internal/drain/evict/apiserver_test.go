//go:build integration

package evict_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/drain/evict"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m) }

// cluster is a real API server, without controllers and kubelets: the test does their part.
type cluster struct {
	client.Client
	evict.Evictor
	namespace string
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	config := apiserver.Start(t)
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{}
	if c.Client, err = client.New(config, client.Options{HTTPClient: http}); err != nil {
		t.Fatal(err)
	}
	if c.Evictor, err = evict.New(config, http); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "drain-"}}
	create(t, c, namespace)
	c.namespace = namespace.Name
	t.Cleanup(func() {
		all := []client.DeleteAllOfOption{client.InNamespace(c.namespace), client.GracePeriodSeconds(0)}
		for _, o := range []client.Object{&corev1.Pod{}, &policyv1.PodDisruptionBudget{}} {
			if err := c.DeleteAllOf(context.Background(), o, all...); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// runPod makes a pod of a ReplicaSet that runs on a node and is ready.
func (c cluster) runPod(t *testing.T, name, node string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.namespace, Name: name, Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	create(t, c, pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// budget makes a disruption budget that the disruption controller has not seen yet.
func (c cluster) budget(t *testing.T, name string) *policyv1.PodDisruptionBudget {
	t.Helper()
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
	create(t, c, b)
	return b
}

// allow does the part of the disruption controller.
func (c cluster) allow(t *testing.T, b *policyv1.PodDisruptionBudget, disruptions int32) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		t.Fatal(err)
	}
	b.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: b.Generation, DisruptionsAllowed: disruptions, CurrentHealthy: 1 + disruptions, DesiredHealthy: 1, ExpectedPods: 2,
	}
	if err := c.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// pass lists, decides and evicts as one pass does; it returns the state and the refusals for the next pass.
func (c cluster) pass(t *testing.T, node string, refused map[types.UID]string) (drain.State, map[types.UID]string) {
	t.Helper()
	pods, err := evict.ConfirmNode(t.Context(), c, node)
	if err != nil {
		t.Fatal(err)
	}
	state := drain.Classify(pods, drain.Options{}, refused, time.Now())
	_, refused, err = c.Evict(t.Context(), state.Evict, drain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return state, refused
}

func summary(s drain.State) string {
	reason, message, _ := s.Summary()
	return reason + " " + message
}

func id(p *corev1.Pod) drain.Pod {
	return drain.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

// TestDrainWaitsForBudgetThenForPods is the whole way of a drain: a budget refuses one of two pods until it is relaxed,
// and the node is clear only when the last pod object has left.
func TestDrainWaitsForBudgetThenForPods(t *testing.T) {
	c := newCluster(t)
	one, two := c.runPod(t, "web-1", "drained"), c.runPod(t, "web-2", "drained")
	other := c.runPod(t, "web-3", "other")
	b := c.budget(t, "web")
	c.allow(t, b, 1)

	_, refused := c.pass(t, "drained", nil)
	if refused[one.UID] != "" {
		one, two = two, one // both are asked for at once, so either may come first
	}
	if len(refused) != 1 || !strings.HasPrefix(refused[two.UID], "The disruption budget web ") {
		t.Fatalf("refused %v, want one of two pods", refused)
	}
	c.allow(t, b, 0) // the disruption controller sees one pod less
	_, refused = c.pass(t, "drained", refused)
	const sentence = "The disruption budget web needs 1 healthy pods and has 1 currently"
	for range 2 { // it is asked again in every pass, and says why in every pass
		var state drain.State
		state, refused = c.pass(t, "drained", refused)
		if got, want := summary(state), "EvictionRefused pod "+id(two).String()+": "+sentence; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}

	c.allow(t, b, 1)
	if _, refused = c.pass(t, "drained", refused); len(refused) > 0 {
		t.Fatalf("refused %v although the budget allows it", refused)
	}
	state, _ := c.pass(t, "drained", nil)
	want := fmt.Sprintf("PodTerminating pods %s/web-1, %[1]s/web-2: being deleted", c.namespace)
	if got := summary(state); got != want || state.Clear || len(state.Evict) > 0 {
		t.Fatalf("got %q, clear %t, evict %v; want %q", got, state.Clear, state.Evict, want)
	}

	c.kubeletConfirms(t, one)
	if state, _ = c.pass(t, "drained", nil); state.Clear {
		t.Fatal("clear while one pod object is left")
	}
	c.kubeletConfirms(t, two)
	if state, _ = c.pass(t, "drained", nil); !state.Clear {
		t.Fatalf("not clear: %s", summary(state))
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil || other.DeletionTimestamp != nil {
		t.Errorf("a pod of another node was touched: %v", err)
	}
}

// kubeletConfirms does the last part of the kubelet: the containers have stopped.
func (c cluster) kubeletConfirms(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if err := c.Delete(t.Context(), pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID}); err != nil {
		t.Fatal(err)
	}
}

// TestRefusalsOfTheRealServer covers the answers whose shape is easily misread: they must be refusals, at once.
func TestRefusalsOfTheRealServer(t *testing.T) {
	for _, test := range []struct {
		name  string
		setUp func(*testing.T, cluster)
		want  string
	}{
		{"used up", func(t *testing.T, c cluster) { t.Helper(); c.allow(t, c.budget(t, "web"), 0) }, "The disruption budget web needs 1 healthy pods and has 1 currently"},
		{"not computed yet", func(t *testing.T, c cluster) { t.Helper(); c.budget(t, "web") }, "The disruption budget web is still being processed by the server."},
		{
			"two budgets", func(t *testing.T, c cluster) { t.Helper(); c.budget(t, "web"); c.budget(t, "web-too") },
			"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			pod := c.runPod(t, "web-1", "refused")
			test.setUp(t, c)
			_, refused, err := c.Evict(t.Context(), []drain.Pod{id(pod)}, drain.Options{})
			if diff := cmp.Diff(map[types.UID]string{pod.UID: test.want}, refused); diff != "" || err != nil {
				t.Fatal(diff, err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || pod.DeletionTimestamp != nil {
				t.Errorf("the pod was evicted nevertheless: %v", err)
			}
		})
	}
}

func TestOtherPodOfTheNameIsSpared(t *testing.T) {
	c := newCluster(t)
	before := c.runPod(t, "web-1", "reused")
	c.kubeletConfirms(t, before)
	after := c.runPod(t, "web-1", "reused")
	gone := id(before)
	gone.Name = "web-0"
	_, refused, err := c.Evict(t.Context(), []drain.Pod{id(before), gone}, drain.Options{})
	if err != nil || len(refused) > 0 {
		t.Fatalf("refused %v, error %v", refused, err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(after), after); err != nil || after.DeletionTimestamp != nil {
		t.Errorf("the pod created later was evicted: %v", err)
	}
}

func TestGracePeriod(t *testing.T) {
	c := newCluster(t)
	own, short, none := c.runPod(t, "own", "grace"), c.runPod(t, "short", "grace"), c.runPod(t, "none", "grace")
	for pod, grace := range map[*corev1.Pod]*int64{own: nil, short: new(int64(7)), none: new(int64(0))} {
		if _, refused, err := c.Evict(t.Context(), []drain.Pod{id(pod)}, drain.Options{GracePeriodSeconds: grace}); err != nil || len(refused) > 0 {
			t.Fatalf("refused %v, error %v", refused, err)
		}
	}
	for pod, want := range map[*corev1.Pod]int64{own: corev1.DefaultTerminationGracePeriodSeconds, short: 7} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Fatal(err)
		}
		if pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds != want {
			t.Errorf("pod %s ends within %v s, want %d", pod.Name, pod.DeletionGracePeriodSeconds, want)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(none), none); !apierrors.IsNotFound(err) {
		t.Errorf("pod none is still there: %v", err)
	}
}

func TestListNode(t *testing.T) {
	c := newCluster(t)
	c.runPod(t, "here", "listed")
	c.runPod(t, "there", "listed-too")
	c.runPod(t, "nowhere", "")
	pods, err := evict.ConfirmNode(t.Context(), c, "listed")
	if err != nil || len(pods) != 1 || pods[0].Name != "here" {
		t.Errorf("got %v, %v", pods, err)
	}
	// The cheap list may be a moment behind.
	for deadline := time.Now().Add(10 * time.Second); ; {
		pods, err := evict.ListNode(t.Context(), c, "listed")
		if err == nil && len(pods) == 1 && pods[0].Name == "here" {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("got %v, %v", pods, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, list := range []func(context.Context, client.Reader, string) ([]corev1.Pod, error){evict.ListNode, evict.ConfirmNode} {
		if _, err := list(ctx, c, "listed"); err == nil || !strings.HasPrefix(err.Error(), "list the pods of node listed: ") {
			t.Errorf("got %v", err)
		}
	}
}
