package skyhook

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestEarlierWaitBlocksNoDeletion: what a node waited for before the deletion is over with its next pass.
func TestEarlierWaitBlocksNoDeletion(t *testing.T) {
	for _, how := range []string{"", "pause"} {
		s := newSkyhook("demo")
		if how != "" {
			s.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
		}
		s.Status.Permits = []v1alpha1.Permit{{Node: "node-1", Generation: 1}}
		n := ready(newNode("node-1", "gpu"))
		remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress, Cordoned: true, Wait: &record.Wait{
			Package: "a", Reason: v1alpha1.ReasonEvicting, Frees: record.FreesOther, Since: metav1.NewTime(start.Add(-time.Minute)),
			Message: "pod shop/web-0 cannot be evicted: its PodDisruptionBudget allows none",
		}})
		s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.Finalizer}
		w := newWorld(t, s, n)
		_, err := w.Reconcile(t.Context(), request("demo"))
		w.must(err)
		now := w.skyhook("demo")
		for _, kind := range []string{v1alpha1.ConditionDeletionBlocked, v1alpha1.ConditionStalled} {
			if meta.IsStatusConditionTrue(now.Status.Conditions, kind) {
				t.Errorf("%s although the node has not yet had a pass since the deletion", kind)
			}
		}
	}
}

// TestDeadNodeThatLeftBlocksNoDeletion: no pod is there, and its record goes without a kubelet.
func TestDeadNodeThatLeftBlocksNoDeletion(t *testing.T) {
	s := newSkyhook("demo")
	s.Status.Permits = []v1alpha1.Permit{{Node: "left", Generation: 1}}
	n := newNode("left", "other")
	remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress, Cordoned: true})
	s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.Finalizer}
	w := newWorld(t, s, n)
	_, err := w.Reconcile(t.Context(), request("demo"))
	w.must(err)
	if meta.IsStatusConditionTrue(w.skyhook("demo").Status.Conditions, v1alpha1.ConditionDeletionBlocked) {
		t.Error("blocked by a kubelet that nobody needs: no pod is there, and the record goes by itself")
	}
}

// TestPausedDeletionThatCannotEnd: whether something is left is not known, and not that it is paused keeps the Skyhook.
func TestPausedDeletionThatCannotEnd(t *testing.T) {
	for _, how := range []string{v1alpha1.AnnotationPause, v1alpha1.AnnotationDisable} {
		s := deleted()
		s.Annotations = map[string]string{how: "true"}
		w := newWorld(t, ready(newNode("node-1", "gpu")), s)
		inner, _ := w.Client.(client.WithWatch)
		w.Live = interceptor.NewClient(inner, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return errAway },
		})
		w.tries(12)
		c := meta.FindStatusCondition(w.skyhook("demo").Status.Conditions, v1alpha1.ConditionStalled)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonPassFailed {
			t.Errorf("%s: %+v", how, c)
		}
	}
}

// TestDeletionOfUnreadableStatesTellsOfAPod that stays on a node on which the uninstall was abandoned.
func TestDeletionOfUnreadableStatesTellsOfAPod(t *testing.T) {
	s := newSkyhook("demo")
	s.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: "node-1"}
	s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.Finalizer}
	n := ready(newNode("node-1", "gpu"))
	remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress, Wait: &stuckWait})
	n.Annotations[v1alpha1.AnnotationNodeStatePrefix+"demo"] = "{"
	pod := podOf(t, s, "a", "node-1")
	pod.DeletionTimestamp, pod.Finalizers = new(metav1.NewTime(start.Add(-time.Hour))), []string{"theirs.io/keep"}
	w := newWorld(t, s, n, pod)
	for i := range 3 {
		w.clock.SetTime(start.Add(time.Duration(i) * time.Minute))
		_, err := w.Reconcile(t.Context(), request("demo"))
		w.must(err)
	}
	now := w.skyhook("demo")
	if !meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionDeletionBlocked) {
		t.Error("nobody says what keeps the Skyhook, though the node does")
	}
}

// TestNodeThatGoesMeanwhileIsToldOnce: the list of nodes has it, and a look at it does not.
func TestNodeThatGoesMeanwhileIsToldOnce(t *testing.T) {
	s := newSkyhook("demo")
	s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.Finalizer}
	n := ready(newNode("node-1", "gpu"))
	remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress, Wait: &stuckWait})
	pod := podOf(t, s, "a", "node-1")
	pod.DeletionTimestamp, pod.Finalizers = new(metav1.NewTime(start.Add(-time.Hour))), []string{"theirs.io/keep"}
	w := newWorld(t, s, n, pod)
	inner, _ := w.Client.(client.WithWatch)
	gone := interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			_, node := o.(*corev1.Node)
			if m, ok := o.(*metav1.PartialObjectMetadata); node || ok && m.Kind == "Node" {
				return apierrors.NewNotFound(corev1.Resource("nodes"), k.Name)
			}
			return c.Get(ctx, k, o, opts...)
		},
	})
	w.Client, w.Live = gone, gone
	_, err := w.Reconcile(t.Context(), request("demo"))
	w.must(err)
	seen := map[string]int{}
	for _, a := range w.skyhook("demo").Status.Attention {
		seen[a.Node]++
		if seen[a.Node] > 1 {
			t.Errorf("node %s is in the list twice, which an API server refuses", a.Node)
		}
	}
}
