package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestRetriedPullWritesNothing: the kubelet tells of an image that cannot be pulled by turns in two ways, for as long
// as it takes. The node is written once.
func TestRetriedPullWritesNothing(t *testing.T) {
	const backOff = `Back-off pulling image "x/a:1.0.0"`
	for _, c := range []struct{ name, paused string }{
		{"a kubelet that repeats the cause", backOff + ": ErrImagePull: not found"},
		{"a kubelet before 1.32", backOff},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := newSkyhook("demo"), newNode()
			remember(t, n, s.Name, entry("apply", "in_progress"))
			pod := podOf(t, s)
			pod.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour))
			w := newWorld(t, s, n, pod)
			for turn := range 6 {
				waiting := corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}
				if turn%2 == 1 {
					waiting = corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: c.paused}
				}
				now := w.pods()[0]
				now.Status = corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{
					Name: "a-init", State: corev1.ContainerState{Waiting: &waiting},
				}}}
				w.must(w.Client.Status().Update(t.Context(), &now))
				w.clock.SetTime(w.clock.Now().Add(time.Minute))
				w.reconcile()
				if turn == 0 {
					w.order = nil
				}
			}
			if len(w.order) > 0 {
				t.Errorf("written after the first time: %v\n%v", w.order, w.bodies)
			}
			if e := w.record(s.Name).Packages["a|1.0.0"]; e.State != v1alpha1.StateErroring || e.Reason != "ImagePullBackOff" || e.Message != "not found" {
				t.Errorf("entry %+v", e)
			}
		})
	}
}
