package skyhook

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

func deleted() *v1alpha1.Skyhook {
	s := newSkyhook("demo")
	s.Finalizers, s.DeletionTimestamp = []string{Finalizer, "x/y"}, &metav1.Time{Time: start}
	return s
}

func TestFinalize(t *testing.T) {
	working := func(name string) client.Object {
		n := newNode(name, "other")
		remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress})
		return n
	}
	other := newNode("other", "gpu")
	remember(t, other, "demo2", record.Node{Status: v1alpha1.StatusInProgress})
	foreign := podOf(t, newSkyhook("demo"), "a", "node-3")
	foreign.OwnerReferences = nil
	many := make([]client.Object, 12)
	for i := range many {
		many[i] = working(fmt.Sprintf("n%02d", i))
	}
	pod := podOf(t, newSkyhook("demo"), "a", "node-2")
	for _, c := range []struct {
		name         string
		cached, live []client.Object
		want         string // of the message; empty when the finalizer goes
	}{
		{"nothing is left", []client.Object{newNode("node-1", "gpu")}, nil, ""},
		{"only what is others'", []client.Object{other, foreign}, nil, ""},
		{"a node's record", []client.Object{working("node-1")}, nil, "1 nodes are being freed of this Skyhook: node-1"},
		{"a pod", []client.Object{pod}, nil, "1 nodes are being freed of this Skyhook: node-2"},
		{"both, on nodes in any order", []client.Object{pod, working("node-2"), working("node-1")}, nil, "2 nodes are being freed of this Skyhook: node-1, node-2"},
		{"more than anybody reads", many, nil, "12 nodes are being freed of this Skyhook: n00, n01, n02, n03, n04, n05, n06, n07, n08, n09"},
		{"the cache does not show a record yet", nil, []client.Object{working("node-1")}, "1 nodes are being freed of this Skyhook: node-1"},
		{"the cache does not show a pod yet", nil, []client.Object{pod}, "1 nodes are being freed of this Skyhook: node-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, append(c.cached, deleted())...)
			if c.live != nil {
				w.Live = newWorld(t, c.live...).Client
			}
			w.must(w.finalize(t.Context(), w.skyhook("demo")))
			now := w.skyhook("demo")
			if waits := strings.Contains(strings.Join(now.Finalizers, " "), Finalizer); waits != (c.want != "") {
				t.Errorf("finalizers %v", now.Finalizers)
			}
			message := ""
			if condition := meta.FindStatusCondition(now.Status.Conditions, rollout.ConditionReconciling); condition != nil {
				message = condition.Message
			}
			if message != c.want {
				t.Errorf("the status says %q", message)
			}
		})
	}
}

func TestFinalizeWritesOnce(t *testing.T) {
	n := newNode("node-1", "gpu")
	remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress})
	w := newWorld(t, n, deleted())
	for _, want := range []string{"patch status Skyhook demo", ""} {
		w.must(w.finalize(t.Context(), w.skyhook("demo")))
		if got := w.took(); got != want {
			t.Errorf("wrote %q, want %q", got, want)
		}
	}
	w.must(w.Client.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}))
	w.pacer.wait("uid-demo", 1, start)
	w.took()
	last := deleted()
	last.Finalizers = []string{Finalizer}
	w.must(w.finalize(t.Context(), w.skyhook("demo")))
	if got := w.took(); got != "patch Skyhook demo" || len(w.pacer.last) != 0 {
		t.Errorf("wrote %q, the pacer remembers %v", got, w.pacer.last)
	}
	w.must(w.finalize(t.Context(), w.skyhook("demo")))
	if got := w.took(); got != "" {
		t.Errorf("others' finalizers are left, and it writes %q", got)
	}
	gone := newWorld(t, last)
	gone.must(gone.finalize(t.Context(), gone.skyhook("demo")))
	if err := gone.Client.Get(t.Context(), client.ObjectKey{Name: "demo"}, &v1alpha1.Skyhook{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Skyhook is still there: %v", err)
	}
}
