package cluster_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
)

func key(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
}

func names(requests []reconcile.Request) string {
	var list []string
	for _, r := range requests {
		list = append(list, r.Name)
	}
	return strings.Join(list, " ")
}

func TestQueue(t *testing.T) {
	now := start
	q := cluster.NewQueue(func() time.Time { return now })
	later := func(d time.Duration) func() { return func() { now = now.Add(d) } }
	finish := func(name string, after time.Duration, err error) func() {
		return func() { q.Finish(key(name), reconcile.Result{RequeueAfter: after}, err) }
	}
	failed := errors.New("failed")
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"keys are there once", func() { q.Add(key("b")); q.Add(key("a")); q.Add(key("b")) }, "b a"},
		{"a worker takes any", func() { q.Take(key("a")) }, "b"},
		{"a key at work waits", func() { q.Add(key("a")) }, "b"},
		{"until it is done", finish("a", 0, nil), "b a"},
		{"taken in order", func() { q.Get(); q.Get() }, ""},
		{"done", func() { finish("a", 0, nil)(); finish("b", time.Minute, nil)() }, ""},
		{"before its time", later(59 * time.Second), ""},
		{"in time", later(time.Second), "b"},
		{"taken", func() { q.Take(key("b")) }, ""},
		{"it fails", finish("b", 0, failed), ""},
		{"5 ms later", later(5 * time.Millisecond), "b"},
		{"it fails again", func() { q.Take(key("b")); finish("b", 0, failed)() }, ""},
		{"9 ms later", later(9 * time.Millisecond), ""},
		{"10 ms later", later(time.Millisecond), "b"},
		{"it succeeds", func() { q.Take(key("b")); finish("b", 0, nil)() }, ""},
		{"two timers", func() { q.AddAfter(key("c"), time.Minute); q.AddAfter(key("d"), time.Second) }, ""},
		{"an earlier one counts, a later one does not", func() { q.AddAfter(key("c"), time.Second); q.AddAfter(key("d"), time.Hour) }, ""},
		{"a second later", later(time.Second), "d c"},
		{"at once", func() { q.AddAfter(key("e"), 0) }, "d c e"},
	} {
		step.do()
		if got := names(q.Ready()); got != step.want {
			t.Errorf("%s: %q is ready, want %q", step.name, got, step.want)
		}
	}
	if _, ok := q.Next(); ok || q.NumRequeues(key("b")) != 0 || q.Len() != 3 {
		t.Error("a timer or a failure is left")
	}
	if q.Take(key("absent")) {
		t.Error("a key that is not ready was taken")
	}
	q.AddAfter(key("f"), time.Minute)
	if at, ok := q.Next(); !ok || !at.Equal(now.Add(time.Minute)) {
		t.Errorf("the next timer is at %v", at)
	}
	for range 40 {
		q.AddRateLimited(key("g"))
	}
	now = now.Add(1000 * time.Second)
	if got := names(q.Ready()[3:]); got != "g f" && got != "f g" {
		t.Errorf("%q is ready after the longest delay", got)
	}
}

// TestWake sends events through the sources of their kinds, their predicates and handlers.
func TestWake(t *testing.T) {
	q := cluster.NewQueue(func() time.Time { return start })
	odd := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()["odd"] != "" })
	mark := func(what string) handler.EventHandler {
		add := func(o client.Object) { q.Add(key(what + "-" + o.GetName())) }
		return handler.Funcs{
			CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { add(e.Object) },
			UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { add(e.ObjectNew) },
			DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { add(e.Object) },
		}
	}
	sources := []state.Source{
		state.Keyed(&corev1.Node{}), state.Watched(&corev1.Node{}, mark("odd"), odd), state.Watched(&corev1.Pod{}, mark("pod")),
	}
	plain := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	labeled := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"odd": "1"}}}
	for _, test := range []struct {
		event cluster.Event
		want  string
	}{
		{cluster.Event{Type: cluster.Created, Kind: cluster.Nodes, New: plain}, "n"},
		{cluster.Event{Type: cluster.Created, Kind: cluster.Nodes, New: labeled}, "n odd-n"},
		{cluster.Event{Type: cluster.Updated, Kind: cluster.Nodes, Old: labeled, New: plain}, "n"},
		{cluster.Event{Type: cluster.Updated, Kind: cluster.Nodes, Old: plain, New: labeled}, "n odd-n"},
		{cluster.Event{Type: cluster.Deleted, Kind: cluster.Nodes, Old: labeled}, "n odd-n"},
		{cluster.Event{Type: cluster.Deleted, Kind: cluster.Nodes, Old: plain}, "n"},
		{cluster.Event{Type: cluster.Created, Kind: cluster.Pods, New: newPod("p", "n")}, "pod-p"},
		{cluster.Event{Type: cluster.Created, Kind: cluster.ConfigMaps, New: &corev1.ConfigMap{}}, ""},
	} {
		test.event.Wake(t.Context(), sources, q)
		if got := names(q.Ready()); got != test.want {
			t.Errorf("%s of a %s wakes %q, want %q", test.event.Type, test.event.Kind, got, test.want)
		}
		for q.Len() > 0 {
			r, _ := q.Get()
			q.Done(r)
		}
	}
}
