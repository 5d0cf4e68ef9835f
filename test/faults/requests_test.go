package faults

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/controller/node"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/drain/evict"
)

// asking is a world with one node and the operator that may be hindered.
func asking(t *testing.T) (*World, *operator, *node.Reconciler) {
	t.Helper()
	w := newWorld(&Plan{Nodes: []NodePlan{{Name: "a"}}}, false, true)
	controller, ok := w.operators[0].Nodes.Reconciler.(*node.Reconciler)
	if !ok {
		t.Fatal("the controller of nodes is another one")
	}
	return w, w.operators[0], controller
}

func label(value string) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"x":%q}}}`, value))
}

func TestWritesThatFail(t *testing.T) {
	w, o, operator := asking(t)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	before := w.cluster.Writes()
	w.faults.failBefore = 1
	if err := operator.Client.Patch(t.Context(), n, label("1")); err == nil || w.cluster.Writes() != before {
		t.Errorf("got %v after %d writes", err, w.cluster.Writes()-before)
	}
	w.faults.failAfter = 1
	if err := operator.Client.Patch(t.Context(), n, label("2")); err == nil || w.node("a").Labels["x"] != "2" || n.ResourceVersion != "" {
		t.Errorf("got %v; the node is %v, and the caller knows version %q", err, w.node("a").Labels, n.ResourceVersion)
	}
	if err := operator.Client.Patch(t.Context(), n, label("3")); err != nil || n.Labels["x"] != "3" {
		t.Errorf("got %v; the caller knows %v", err, n.Labels)
	}
	w.faults.crashAfter = 1
	defer func() {
		if _, crash := recover().(crashed); !crash || w.node("a").Labels["x"] != "4" {
			t.Errorf("no crash after the write of %v", w.node("a").Labels)
		}
	}()
	_ = operator.Client.Patch(t.Context(), n, label("4"))
	t.Errorf("%s goes on", o.name)
}

func TestReadsThatFail(t *testing.T) {
	w, _, operator := asking(t)
	w.faults.failLists = 1
	var pods corev1.PodList
	if err := operator.Live.List(t.Context(), &pods); !apierrors.IsInternalError(err) {
		t.Errorf("a live list: %v", err)
	}
	w.faults.failLists = 1
	err := errors.Join(operator.Client.List(t.Context(), &pods), operator.Live.List(t.Context(), &corev1.NodeList{}))
	if err != nil {
		t.Errorf("reads of caches and other kinds: %v", err)
	}
}

// TestListsMayBeOld: one with resourceVersion 0 is as old as the API server's cache, any other is not.
func TestListsMayBeOld(t *testing.T) {
	w, _, operator := asking(t)
	for i := range 100 {
		w.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: workloads, Name: fmt.Sprint(i)}, Spec: corev1.PodSpec{NodeName: "a"}})
	}
	w.plan.Lag = 9
	var counts []int
	for range 50 {
		old, err := evict.ListNode(t.Context(), operator.Live, "a")
		now, err2 := evict.ConfirmNode(t.Context(), operator.Live, "a")
		if err := errors.Join(err, err2); err != nil || len(now) != 100 {
			t.Fatalf("%v, %d pods now", err, len(now))
		}
		counts = append(counts, len(old))
	}
	if slices.Min(counts) >= 100 || slices.Min(counts) < 100-18 || slices.Max(counts) != 100 {
		t.Errorf("lists of %d to %d pods", slices.Min(counts), slices.Max(counts))
	}
	if n := len(w.past.behind("Pod", 1000)); n < 100-remembered || n > 100-remembered/2 {
		t.Errorf("as far back as is known there are %d pods", n)
	}
}

func TestEvictionsThatFail(t *testing.T) {
	w, _, operator := asking(t)
	var pods []drain.Pod
	for _, name := range []string{"a", "b"} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: workloads, Name: name}, Spec: corev1.PodSpec{NodeName: "a"}}
		w.create(p)
		pods = append(pods, drain.Pod{Namespace: workloads, Name: name, UID: w.workload(name).UID})
	}
	w.faults.failBefore = 1
	accepted, _, err := operator.Evictor.Evict(t.Context(), pods, drain.Options{})
	if err == nil || len(accepted) != 1 || accepted[0].Name != "b" || w.workload("a").DeletionTimestamp != nil {
		t.Errorf("accepted %v, %v", accepted, err)
	}
}

// TestReadersThatChangeWhatIsShared are found.
func TestReadersThatChangeWhatIsShared(t *testing.T) {
	w, _, operator := asking(t)
	w.editNode("a", func(n *corev1.Node) { n.Annotations = map[string]string{"a": "1"} })
	w.operators[0].catchUp("Node")
	var list corev1.NodeList
	w.must(operator.Client.List(t.Context(), &list))
	list.Items[0].Name, list.Items[0].Labels = "other", map[string]string{"x": "1"}
	if altered := w.audit.altered(); len(altered) > 0 {
		t.Errorf("%v counts as changed", altered)
	}
	list.Items[0].Annotations["a"] = "changed"
	if got := w.audit.altered(); len(got) != 1 {
		t.Errorf("changed are %s", got)
	}
}
