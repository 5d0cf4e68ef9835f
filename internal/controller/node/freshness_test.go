package node

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestFreshness(t *testing.T) {
	wrote := func(list ...types.UID) (pods []writtenPod) {
		for _, uid := range list {
			pods = append(pods, writtenPod{string(uid), uid})
		}
		return pods
	}
	uids := func(list ...types.UID) []types.UID { return list }
	for _, c := range []struct {
		name   string
		wrote  written
		cached string
		pods   []types.UID
		later  time.Duration
		want   bool
		live   []types.UID
	}{
		{"all is shown", written{resourceVersion: "10"}, "10", nil, 0, false, nil},
		{"the node has gone on", written{resourceVersion: "10"}, "11", nil, 0, false, nil},
		{"the node is old", written{resourceVersion: "10"}, "9", nil, 0, true, nil},
		{"numbers, not texts, are compared", written{resourceVersion: "9"}, "10", nil, 0, false, nil},
		{"an old node is waited for without limit", written{resourceVersion: "10"}, "9", nil, time.Hour, true, nil},
		{"a created pod is not there yet", written{resourceVersion: "10", created: wrote("a", "b")}, "10", uids("a"), 9 * time.Second, true, nil},
		{"created pods are there", written{resourceVersion: "10", created: wrote("a", "b")}, "10", uids("c", "b", "a"), 0, false, nil},
		{"a created pod is deleted before it shows up", written{resourceVersion: "10", created: wrote("a")}, "10", nil, freshPatience, false, nil},
		{"a created pod is there, but the cache is slow", written{resourceVersion: "10", created: wrote("a")}, "10", nil, freshPatience, true, uids("a")},
		{"a removed pod is still there", written{resourceVersion: "10", removed: wrote("a")}, "10", uids("b", "a"), 9 * time.Second, true, nil},
		{"a removed pod is gone", written{resourceVersion: "10", removed: wrote("a")}, "10", uids("b"), 0, false, nil},
		{"a removed pod stays", written{resourceVersion: "10", removed: wrote("a")}, "10", uids("a"), freshPatience, false, uids("a")},
		{"a removed pod is gone, but the cache is slow", written{resourceVersion: "10", removed: wrote("a")}, "10", uids("a"), freshPatience, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f freshness
			c.wrote.at = start
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, UID: "uid", ResourceVersion: c.cached}}
			f.note(node, c.wrote)
			var pods []corev1.Pod
			for _, uid := range c.pods {
				pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}})
			}
			other := node.DeepCopy()
			other.Name = "other"
			exists := func(p writtenPod) (bool, error) { return slices.Contains(c.live, p.uid), nil }
			if behind, err := f.behind(other, nil, start, exists); err != nil || behind {
				t.Error("another node waits")
			}
			if got, err := f.behind(node, pods, start.Add(c.later), exists); err != nil || got != c.want {
				t.Errorf("behind: %t %v", got, err)
			}
			if _, kept := f.nodes[nodeName]; kept != c.want {
				t.Errorf("kept: %t; what is shown once must be forgotten, nothing else", kept)
			}
		})
	}
}

// TestFreshnessOfARecreatedNode: what was written to the node that had the name before says nothing about this one.
func TestFreshnessOfARecreatedNode(t *testing.T) {
	var f freshness
	f.note(newNode(), written{resourceVersion: "100", at: start})
	again := newNode()
	again.UID = "uid-again"
	if behind, err := f.behind(again, nil, start, nil); err != nil || behind || len(f.nodes) != 0 {
		t.Errorf("it waits, or the other one is remembered: %v %v", f.nodes, err)
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

// A pass that finds the cache behind decides and writes nothing.
func TestReconcileWaitsForTheCache(t *testing.T) {
	w := newWorld(t, newNode(), newSkyhook("demo"))
	w.fresh.note(newNode(), written{resourceVersion: "11", at: start})
	got, err := w.Reconcile(t.Context(), request(nodeName))
	if err != nil || got.RequeueAfter != freshRetry {
		t.Errorf("got %+v, %v", got, err)
	}
	if n := len(w.pods()) + len(w.bodies); n != 0 {
		t.Errorf("%d objects were written", n)
	}
	w.fresh.note(newNode(), written{resourceVersion: "10", at: start})
	if _, err := w.Reconcile(t.Context(), request(nodeName)); err != nil {
		t.Fatal(err)
	}
	if pods := w.pods(); len(pods) != 1 || len(w.fresh.nodes[nodeName].created) != 1 || w.fresh.nodes[nodeName].created[0].uid != pods[0].UID {
		t.Errorf("pods %v, noted %+v", pods, w.fresh.nodes)
	}
	if noted, now := w.fresh.nodes[nodeName].resourceVersion, w.node().ResourceVersion; noted != now {
		t.Errorf("noted resourceVersion %s, the node has %s", noted, now)
	}
}
