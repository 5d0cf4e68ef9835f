package node

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// metaOf is the metadata ConfigMap of a node.
func metaOf(t *testing.T, skyhook, node string) *corev1.ConfigMap {
	t.Helper()
	n := newNode()
	n.Name = node
	cm, err := options.NodeMeta(newSkyhook(skyhook), n)
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

// TestNodeGone: what was kept for a node goes with it, and nothing else.
func TestNodeGone(t *testing.T) {
	theirs, claimed := metaOf(t, "x", nodeName), metaOf(t, "y", nodeName)
	theirs.OwnerReferences = nil
	claimed.OwnerReferences[0].APIVersion = "example.com/v1"
	elsewhere := metaOf(t, "z", nodeName)
	elsewhere.Namespace = "shop"
	pkg := options.PackageConfigMap(newSkyhook("demo"), "a")
	pkg.Annotations["skyhook.nvidia.com/Node.name"] = nodeName
	before := metaOf(t, "demo", nodeName)
	before.Name = "named-by-an-earlier-operator"
	stay := []*corev1.ConfigMap{metaOf(t, "demo", "node-2"), metaOf(t, "demo", "node-10"), theirs, claimed, elsewhere, pkg}
	go1, go2 := metaOf(t, "demo", nodeName), metaOf(t, "other", nodeName)
	objects := []client.Object{go1, go2, before, newSkyhook("demo"), newSkyhook("other"), newSkyhook("x"), newSkyhook("y"), newSkyhook("z")}
	var want []string
	for _, cm := range stay {
		objects, want = append(objects, cm), append(want, cm.Name)
	}
	w := newWorld(t, objects...)
	w.memory.Of(newNode()).wrote = written{resourceVersion: "10", at: start}
	w.reconcile()
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	w.must(w.Client.List(t.Context(), left))
	var got []string
	for _, cm := range left.Items {
		got = append(got, cm.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("left: %v\nwant: %v", got, want)
	}
	if !strings.Contains(strings.Join(w.deletes, ", "), "uid=") {
		t.Errorf("deletes without a precondition: %v", w.deletes)
	}
	if w.memory.Len() != 0 {
		t.Error("it is remembered")
	}
	w.reconcile()
	if len(w.deletes) != 3 {
		t.Errorf("deletes %v", w.deletes)
	}
}

// TestRecordsOfGoneNodeAreForgotten: of one that no Skyhook targets, whose end wakes none. A record that is still known
// is not decoded again.
func TestRecordsOfGoneNodeAreForgotten(t *testing.T) {
	node, s := newNode(), newSkyhook("demo")
	s.Spec.NodeSelectors.MatchLabels = map[string]string{"pool": "other"}
	w := newWorld(t, node, s)
	w.reconcile()
	read := func() uintptr {
		n, err := w.Records.Read(s.Name, node)
		w.must(err)
		return reflect.ValueOf(n.Packages).Pointer()
	}
	known := read()
	if read() != known {
		t.Fatal("it is decoded twice")
	}
	for _, source := range w.Sources() {
		if _, ok := source.Object.(*corev1.Node); ok {
			queued(func(q state.Queue) { source.Handler.Delete(t.Context(), event.DeleteEvent{Object: node}, q) })
		}
	}
	if read() == known {
		t.Error("it is remembered")
	}
}

// TestMetaWakesItsNode: one that went while no operator ran is found by what was kept for it.
func TestMetaWakesItsNode(t *testing.T) {
	for _, c := range []struct {
		cm   *corev1.ConfigMap
		want string
	}{{metaOf(t, "demo", "node-7"), "node-7"}, {options.PackageConfigMap(newSkyhook("demo"), "a"), ""}, {&corev1.ConfigMap{}, ""}} {
		if got := names(nodeOfMeta(t.Context(), c.cm)); got != c.want || workload.NodeOfMeta(c.cm) != c.want {
			t.Errorf("%s wakes %q", c.cm.Name, got)
		}
	}
	p, cm := appeared(), metaOf(t, "demo", "node-7")
	if !p.Create(event.CreateEvent{Object: cm}) || p.Update(event.UpdateEvent{ObjectOld: cm, ObjectNew: cm}) ||
		p.Delete(event.DeleteEvent{Object: cm}) || p.Generic(event.GenericEvent{Object: cm}) {
		t.Error("only what appears may wake a node: it writes them itself")
	}
}

// TestNodeThatGoesMeanwhile: its deletion comes to the cache in a moment, and nothing failed.
func TestNodeThatGoesMeanwhile(t *testing.T) {
	w := newWorld(t, newSkyhook("demo"), newNode())
	gone := apierrors.NewNotFound(corev1.Resource("nodes"), nodeName)
	w.change(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return gone
		},
		SubResourcePatch: func(
			context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
		) error {
			return gone
		},
	})
	ctx, lines := logged(t)
	got, err := w.Reconcile(ctx, request(nodeName))
	if err != nil || got.RequeueAfter != conflictRetry {
		t.Errorf("looks again in %s, %v", got.RequeueAfter, err)
	}
	if text := lines(); strings.Contains(text, "failed") {
		t.Errorf("the log tells %s", text)
	}
	if pods := len(w.pods()); pods > 0 {
		t.Errorf("%d pods were created", pods)
	}
	for _, want := range []time.Duration{
		2 * conflictRetry, 4 * conflictRetry, 8 * conflictRetry, 16 * conflictRetry, freshRetryMost, freshRetryMost,
	} { // a watch that stalls must not be answered by ever more writes
		if got, err = w.Reconcile(ctx, request(nodeName)); err != nil || got.RequeueAfter != want {
			t.Errorf("looks again in %s, %v; want %s", got.RequeueAfter, err, want)
		}
	}
}
