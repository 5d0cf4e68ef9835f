package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/drain"
)

// refill evicts a pod for good, and a ReplicaSet whose pods tolerate the cordon puts another one in its place.
type refill struct {
	w     *world
	count int
	// refuse and fail answer for a pod in place of the API server.
	refuse map[types.UID]string
	fail   error
}

func (f *refill) put() {
	f.count++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", f.count), UID: types.UID(fmt.Sprintf("uid-web-%d", f.count)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: nodeName, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
	}
	f.w.must(f.w.Client.Create(f.w.t.Context(), pod))
}

func (f *refill) Evict(
	ctx context.Context, pods []drain.Pod, _ drain.Options,
) (accepted []drain.Pod, refused map[types.UID]string, err error) {
	for _, p := range pods {
		if _, no := f.refuse[p.UID]; no {
			continue
		}
		accepted = append(accepted, p)
		if err := f.w.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}); err != nil {
			return nil, nil, err
		}
		f.put()
	}
	return accepted, f.refuse, f.fail
}

// rebooting is a node on which package a waits for its reboot.
func rebooting(t *testing.T) (*world, *refill) {
	t.Helper()
	s, n := newSkyhook("demo"), newNode()
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}}
	n.Spec.Unschedulable = true
	r := entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
	r.Cordoned = true
	remember(t, n, "demo", r)
	w := newWorld(t, n, s)
	f := &refill{w: w}
	w.Evictor = f
	f.put()
	return w, f
}

func (w *world) passes(n int) {
	w.t.Helper()
	for range n {
		w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
		w.must(func() error { _, err := w.Reconcile(w.t.Context(), request(nodeName)); return err }())
	}
}

// evictions are the events since the last call that tell of one.
func (w *world) evictions() []string {
	var all []string
	for len(w.events.Events) > 0 {
		if e := <-w.events.Events; strings.Contains(e, "evicted pod") {
			all = append(all, e[strings.LastIndex(e, " ")+1:])
		}
	}
	return all
}

// TestPodThatReturnsIsAReason: it is not evicted every five seconds, and people read who puts it there.
func TestPodThatReturnsIsAReason(t *testing.T) {
	w, f := rebooting(t)
	w.passes(20)
	if got, want := w.evictions(), []string{"shop/web-1", "shop/web-2", "shop/web-3"}; !slices.Equal(got, want) {
		t.Errorf("events of evictions: %v, want %v", got, want)
	}
	if f.count != 4 {
		t.Errorf("%d pods came", f.count)
	}
	wait := w.node().Annotations[v1alpha1.GroupName+"/wait_demo"]
	if !strings.Contains(wait, "PodReturns") || !strings.Contains(wait, "ReplicaSet shop/web") {
		t.Errorf("the node waits for %s", wait)
	}
	w.must(w.Client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-4"}}))
	w.passes(1)
	if len(w.drains.nodes) != 0 {
		t.Error("the node is clear, and its drain is remembered")
	}
}

// TestOnlyAcceptedEvictionsAreTold, also when something else went wrong in the same pass.
func TestOnlyAcceptedEvictionsAreTold(t *testing.T) {
	w, f := rebooting(t)
	f.put()
	f.refuse, f.fail = map[types.UID]string{"uid-web-1": "no"}, errors.New("etcd is away")
	w.clock.SetTime(start.Add(time.Second))
	if result, err := w.Reconcile(t.Context(), request(nodeName)); err != nil || result.RequeueAfter != retryBase {
		t.Errorf("looks again after %s, error %v", result.RequeueAfter, err)
	}
	if got := w.evictions(); !slices.Equal(got, []string{"shop/web-2"}) {
		t.Errorf("events of evictions: %v", got)
	}
}

// inTurns refuses every pod, and asks for half of them in a pass.
type inTurns struct{ passes int }

func (e *inTurns) Evict(
	_ context.Context, pods []drain.Pod, _ drain.Options,
) ([]drain.Pod, map[types.UID]string, error) {
	refused := map[types.UID]string{}
	for i, pod := range pods {
		if i%2 == e.passes%2 {
			refused[pod.UID] = "Cannot evict pod as it would violate the pod's disruption budget."
		}
	}
	e.passes++
	return nil, refused, nil
}

// TestManyRefusedPodsAreWrittenOnce: the node is not written in every pass because each asks for other pods.
func TestManyRefusedPodsAreWrittenOnce(t *testing.T) {
	w, _ := rebooting(t)
	w.Evictor = &inTurns{}
	for i := range 100 {
		w.must(w.Client.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprintf("api-%03d", i), UID: types.UID(fmt.Sprintf("uid-api-%d", i)),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "api", UID: "api", Controller: new(true)}},
			},
			Spec: corev1.PodSpec{NodeName: nodeName},
		}))
	}
	w.passes(4)
	before := len(w.bodies)
	w.passes(20)
	wait := w.node().Annotations[v1alpha1.AnnotationWaitPrefix+"demo"]
	if n := len(w.bodies) - before; n > 0 || !strings.Contains(wait, "and 94 more") {
		t.Errorf("in 20 passes in which nothing happened the node was written %d times; it tells %s", n, wait)
	}
}
