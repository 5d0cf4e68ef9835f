package node

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func wrotePods(uids ...types.UID) (pods []writtenPod) {
	for _, uid := range uids {
		pods = append(pods, writtenPod{string(uid), uid})
	}
	return pods
}

func TestFreshness(t *testing.T) {
	uids := func(list ...types.UID) []types.UID { return list }
	const goesOn, waits, tells = "goes on", "waits", "tells" // tells: waits, too, with growing pauses
	for _, c := range []struct {
		name   string
		wrote  written
		cached string
		pods   []types.UID
		later  time.Duration
		// live are the pods of the API server, which has the node with resourceVersion 10.
		live []types.UID
		want string
	}{
		{"all is shown", written{resourceVersion: "10"}, "10", nil, 0, nil, goesOn},
		{"the node has gone on", written{resourceVersion: "10"}, "11", nil, 0, nil, goesOn},
		{"the node is old", written{resourceVersion: "10"}, "9", nil, 9 * time.Second, nil, waits},
		{"numbers, not texts, are compared", written{resourceVersion: "9"}, "10", nil, 0, nil, goesOn},
		{"an old node is waited for without limit", written{resourceVersion: "10"}, "9", nil, time.Hour, nil, tells},
		{"a restored API server is believed", written{resourceVersion: "5000"}, "10", nil, freshPatience, nil, goesOn},
		{"but not at once", written{resourceVersion: "5000"}, "10", nil, 9 * time.Second, nil, waits},
		{"the cache has yet to see what was restored", written{resourceVersion: "5000"}, "9", nil, freshPatience, nil, tells},
		{"a created pod is not there yet", written{resourceVersion: "10", created: wrotePods("a", "b")}, "10", uids("a"), 9 * time.Second, nil, waits},
		{"created pods are there", written{resourceVersion: "10", created: wrotePods("a", "b")}, "10", uids("c", "b", "a"), 0, nil, goesOn},
		{"a created pod is deleted before it shows up", written{resourceVersion: "10", created: wrotePods("a")}, "10", nil, freshPatience, nil, goesOn},
		{"another one has its name", written{resourceVersion: "10", created: []writtenPod{{"b", "a"}}}, "10", nil, freshPatience, uids("b"), goesOn},
		{"a created pod is there, but the cache is slow", written{resourceVersion: "10", created: wrotePods("a")}, "10", nil, freshPatience, uids("a"), tells},
		{"a created pod lost its label", written{resourceVersion: "10", created: wrotePods("bare")}, "10", nil, freshPatience, uids("bare"), goesOn},
		{"a removed pod is still there", written{resourceVersion: "10", removed: wrotePods("a")}, "10", uids("b", "a"), 9 * time.Second, nil, waits},
		{"a removed pod is gone", written{resourceVersion: "10", removed: wrotePods("a")}, "10", uids("b"), 0, nil, goesOn},
		{"a removed pod stays", written{resourceVersion: "10", removed: wrotePods("a")}, "10", uids("a"), freshPatience, uids("a"), goesOn},
		{"a removed pod is gone, but the cache is slow", written{resourceVersion: "10", removed: wrotePods("a")}, "10", uids("a"), freshPatience, nil, tells},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects := []client.Object{newNode()}
			for _, uid := range c.live {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: string(uid), UID: uid}}
				if uid != "bare" {
					pod.Labels = map[string]string{v1alpha1.LabelName: "demo"}
				}
				objects = append(objects, pod)
			}
			w, node := newWorld(t, objects...), newNode()
			c.wrote.at, c.wrote.proved = start, true
			w.memory.Of(node).wrote = c.wrote
			node.ResourceVersion = c.cached
			var pods []*corev1.Pod
			for _, uid := range c.pods {
				pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}})
			}
			w.clock.SetTime(start.Add(c.later))
			for range 2 { // asking changes nothing
				behind, err := w.newPass(node, pods).behind(t.Context())
				if got := map[bool]string{false: goesOn, true: waits}[behind]; err != nil && (!behind || c.want != tells) || err == nil && got != c.want {
					t.Errorf("%s: %v", got, err)
				}
			}
			noted := w.memory.Of(node).wrote
			if kept := len(noted.created)+len(noted.removed) > 0; kept && c.want == goesOn {
				t.Errorf("pods are waited for still: %+v", noted)
			}
			if doubt := c.wrote.resourceVersion == "5000" || slices.Contains(c.live, "bare"); c.want == goesOn && noted.proved == doubt {
				t.Errorf("proved: %t", noted.proved)
			}
		})
	}
}

// TestFreshnessOfARecreatedNode: what was written to the node that had the name before says nothing about this one.
func TestFreshnessOfARecreatedNode(t *testing.T) {
	w := newWorld(t)
	w.memory.Of(newNode()).wrote = written{resourceVersion: "100", at: start, proved: true}
	again := newNode()
	again.UID = "uid-again"
	if behind, err := w.newPass(again, nil).behind(t.Context()); err != nil || behind || w.memory.Of(again).wrote.proved {
		t.Errorf("it waits, or the other one is remembered: %+v %v", w.memory.Of(again).wrote, err)
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		have, want string
		older      bool
	}{
		{"9", "10", true},
		{"10", "10", false},
		{"10", "9", false},
		{"18446744073709551614", "18446744073709551615", true},
		{"", "10", false},
		{"10", "", false},
		{"opaque", "10", false},
		{"9", "opaque", false},
	} {
		if got := older(c.have, c.want); got != c.older {
			t.Errorf("older(%q, %q) is %t", c.have, c.want, got)
		}
	}
}

// A pass that finds the cache behind decides and writes nothing, and looks again at once only for a while.
func TestReconcileWaitsForTheCache(t *testing.T) {
	w := newWorld(t, newNode(), newSkyhook("demo"))
	w.must(w.Client.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a", Labels: map[string]string{v1alpha1.LabelName: "demo"}}}))
	w.memory.Of(newNode()).wrote = written{created: []writtenPod{{"a", "uid-a"}}, at: start}
	for _, c := range []struct{ after, again time.Duration }{{0, freshRetry}, {300 * time.Millisecond, 300 * time.Millisecond}, {9 * time.Second, freshRetryMost}, {10 * time.Second, time.Second}, {11 * time.Second, 2 * time.Second}} {
		w.clock.SetTime(start.Add(c.after))
		if got := w.reconcile(); got.RequeueAfter != c.again {
			t.Errorf("after %s: got %+v", c.after, got)
		}
	}
	if n := len(w.pods()) - 1 + len(w.bodies); n != 0 {
		t.Errorf("%d objects were written", n)
	}
	if told := w.told("PassFailed Nothing is done on node"); len(told) != 2 {
		t.Errorf("events tell %q, want one for each pass after ten seconds", told)
	}
	w.must(w.Client.Delete(t.Context(), &w.pods()[0]))
	w.reconcile()
	pods, noted := w.pods(), w.memory.Of(newNode()).wrote
	if len(pods) != 1 || len(noted.created) != 1 || noted.created[0].uid != pods[0].UID {
		t.Errorf("pods %v, noted %+v", pods, noted)
	}
	if now := w.node().ResourceVersion; noted.resourceVersion != now {
		t.Errorf("noted resourceVersion %s, the node has %s", noted.resourceVersion, now)
	}
}

func second[T any](_ T, err error) error { return err }

// cacheByLabel lets the cache show only pods with the label that it selects, as that of the operator does.
func (w *world) cacheByLabel() {
	w.change(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.PodList); ok {
				opts = append(opts, client.HasLabels{v1alpha1.LabelName})
			}
			return c.List(ctx, list, opts...)
		},
	})
}

// TestPodWithoutItsLabel: a pod that no cache will ever show keeps nobody in suspense. People read why, and how to
// help; nothing is started beside it, and when it is gone all goes on.
func TestPodWithoutItsLabel(t *testing.T) {
	for name, c := range map[string]struct {
		cached bool
		strips bool
	}{
		"a webhook strips new pods":            {strips: true},
		"somebody takes it from one that runs": {cached: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, n := newSkyhook("demo"), newNode()
			w := newWorld(t, s, n)
			if c.strips {
				w.change(interceptor.Funcs{
					Create: func(ctx context.Context, cl client.WithWatch, o client.Object, opts ...client.CreateOption) error {
						if _, ok := o.(*corev1.Pod); ok && c.strips {
							o.SetLabels(nil)
						}
						return cl.Create(ctx, o, opts...)
					},
				})
			}
			unfiltered := w.Client
			w.cacheByLabel()
			w.reconcile()
			if c.cached {
				w.reconcile()
				pod := &w.pods()[0]
				pod.Labels = nil
				w.must(unfiltered.Update(t.Context(), pod))
				w.departures.went(pod, true) // so a watch by the label tells
			}
			var left corev1.PodList
			for range 20 {
				w.clock.SetTime(w.clock.Now().Add(15 * time.Second))
				result := w.reconcile()
				w.must(unfiltered.List(t.Context(), &left))
				if len(left.Items) > 1 || result.RequeueAfter > 0 && result.RequeueAfter < time.Second {
					t.Fatalf("%d pods, looks again after %s", len(left.Items), result.RequeueAfter)
				}
			}
			r := w.record("demo")
			if r.Wait == nil || r.Wait.Reason != v1alpha1.ReasonWaitingForOtherPods || !tellsOf(r.Wait.Message, left.Items[0].Name, v1alpha1.LabelName, "stop what removes the label") {
				t.Errorf("after five minutes it waits for %+v", r.Wait)
			}
			c.strips = false
			w.must(unfiltered.Delete(t.Context(), &left.Items[0]))
			w.clock.SetTime(w.clock.Now().Add(10 * time.Minute))
			for range 2 {
				w.reconcile()
			}
			if r = w.record("demo"); len(w.pods()) != 1 || r.Wait != nil && r.Wait.Reason == v1alpha1.ReasonWaitingForOtherPods {
				t.Errorf("when it is gone there are %d pods, and it waits for %+v", len(w.pods()), r.Wait)
			}
		})
	}
}
