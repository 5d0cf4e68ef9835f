package skyhook

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
)

// stopped is what stops all Skyhooks.
func stopped() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: v1alpha1.StopConfigMap, UID: "stop"},
		Data:       map[string]string{v1alpha1.StopBy: "jo"},
	}
}

// TestStopOfAll: no node gets a permit while everything is stopped, and the status says so; afterwards one does.
func TestStopOfAll(t *testing.T) {
	n := newNode("node-1", "gpu")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w := newWorld(t, newSkyhook("demo"), n, stopped())
	pass := func() v1alpha1.SkyhookStatus {
		for range 2 {
			_, err := w.Reconcile(t.Context(), request("demo"))
			w.must(err)
			w.clock.SetTime(w.clock.Now().Add(2 * passInterval))
		}
		return w.skyhook("demo").Status
	}
	status := pass()
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if len(status.Permits) > 0 || status.Status != v1alpha1.StatusPaused || ready == nil || ready.Reason != v1alpha1.ReasonAllStopped ||
		!strings.Contains(ready.Message, "by jo; continue with `kubectl skyhook resume --all`") {
		t.Errorf("status %q, permits %v, ready %+v", status.Status, status.Permits, ready)
	}
	if len(status.Waiting) != 1 || status.Waiting[0].Reason != v1alpha1.ReasonAllStopped || status.Waiting[0].Nodes != 1 {
		t.Errorf("waiting: %+v", status.Waiting)
	}
	w.must(w.Client.Delete(t.Context(), stopped()))
	if status := pass(); len(status.Permits) != 1 || status.Status == v1alpha1.StatusPaused {
		t.Errorf("afterwards status %q, permits %v", status.Status, status.Permits)
	}
}

// TestStopWakesAll: when it comes, when it changes, and when it goes.
func TestStopWakesAll(t *testing.T) {
	w := newWorld(t, newSkyhook("a"), newSkyhook("b"))
	other := stopped()
	other.Name = "other"
	for _, c := range []struct {
		before, after client.Object
		want          string
	}{
		{nil, stopped(), "a b"}, {stopped(), nil, "a b"}, {stopped(), stopped(), "a b"}, {nil, other, ""},
	} {
		var got []string
		for _, s := range w.Sources() {
			if _, is := s.Object.(*corev1.ConfigMap); is {
				got = append(got, wakes(t, state.Source{Object: s.Object, Handler: s.Handler, Predicates: s.Predicates}, c.before, c.after))
			}
		}
		if strings.TrimSpace(strings.Join(got, " ")) != c.want {
			t.Errorf("wakes %q, want %q", got, c.want)
		}
	}
}
