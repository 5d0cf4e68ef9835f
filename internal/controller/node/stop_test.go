package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
)

// stopped is what stops all Skyhooks.
func stopped() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.StopConfigMap, UID: "stop"}}
}

// TestStopOfAll: nothing starts on a node while everything is stopped, whose cause the node shows; afterwards it does.
func TestStopOfAll(t *testing.T) {
	w := newWorld(t, newNode(), newSkyhook("demo"), stopped())
	w.reconcile()
	if pods := w.pods(); len(pods) > 0 {
		t.Errorf("pod %s started", pods[0].Name)
	}
	if r := w.record("demo"); r.Status != v1alpha1.StatusPaused || r.Wait == nil || r.Wait.Reason != v1alpha1.ReasonAllStopped {
		t.Errorf("the record says %q and waits for %+v", r.Status, r.Wait)
	}
	w.must(w.Client.Delete(t.Context(), stopped()))
	for range 3 {
		w.reconcile()
	}
	if pods := w.pods(); len(pods) != 1 {
		t.Errorf("%d pods run afterwards", len(pods))
	}
}

// TestStopThatTheCacheLacks: an operator that has just begun, whose cache is behind, starts nothing either.
func TestStopThatTheCacheLacks(t *testing.T) {
	w, server := newWorld(t, newNode(), newSkyhook("demo")), newWorld(t, stopped())
	w.Targets = &state.Index{Live: server.Client}
	for range 3 {
		w.reconcile()
	}
	if pods := w.pods(); len(pods) > 0 {
		t.Errorf("pod %s started", pods[0].Name)
	}
	w.must(server.Client.Delete(t.Context(), stopped()))
	for range 3 {
		w.reconcile()
	}
	if pods := w.pods(); len(pods) != 1 {
		t.Errorf("%d pods run afterwards", len(pods))
	}
}

// TestStopWakes: every node that a Skyhook has to do with, once; and no other ConfigMap does.
func TestStopWakes(t *testing.T) {
	theirs := newNode()
	theirs.Name, theirs.UID, theirs.Labels = "theirs", "uid-theirs", nil
	one, two := newSkyhook("one"), newSkyhook("two")
	for _, s := range []*v1alpha1.Skyhook{one, two} {
		s.Spec.NodeSelectors.MatchLabels = map[string]string{"gpu": "1"}
	}
	w := newWorld(t, newNode(), theirs, one, two)
	other := stopped()
	other.Name = "other"
	for cm, want := range map[*corev1.ConfigMap]string{stopped(): nodeName, other: ""} {
		got := queued(func(q state.Queue) {
			for _, s := range w.Sources() {
				if _, is := s.Object.(*corev1.ConfigMap); !is {
					continue
				}
				come := event.CreateEvent{Object: cm}
				passes := true
				for _, p := range s.Predicates {
					passes = passes && p.Create(come)
				}
				if passes {
					s.Handler.Create(t.Context(), come, q)
				}
			}
		})
		if got != want {
			t.Errorf("%s wakes %q, want %q", cm.Name, got, want)
		}
	}
}
