//go:build integration

package operator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
)

// kubelet stands in for the kubelets of all nodes, since an API server alone runs no pods: every pod's init containers
// end at once, well or as verdict says, and a deleted pod goes.
type kubelet struct {
	client client.WithWatch
	// verdict says how a pod's stage ends: 0, or the exit code and message of its second init container; or, with
	// goesOn and cannotPull, that it does not end yet.
	mu      sync.Mutex
	verdict func(*corev1.Pod) (int32, string)
}

// Verdicts about stages that do not end by themselves; see attempt.
const (
	goesOn     = -1
	cannotPull = -2
)

func startKubelet(t *testing.T, c client.WithWatch, namespace string) *kubelet {
	t.Helper()
	k := &kubelet{client: c}
	w, err := c.Watch(context.WithoutCancel(t.Context()), &corev1.PodList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok && e.Type != watch.Deleted {
				k.handle(t, pod)
			}
		}
	}()
	t.Cleanup(func() { w.Stop(); <-done })
	return k
}

func (k *kubelet) judge(f func(*corev1.Pod) (int32, string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.verdict = f
}

func (k *kubelet) handle(t *testing.T, pod *corev1.Pod) {
	ctx := context.WithoutCancel(t.Context())
	if pod.DeletionTimestamp != nil {
		// Only this very pod: its successor has the same name.
		err := k.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			t.Errorf("kubelet: delete pod %s: %v", pod.Name, err)
		}
		return
	}
	if len(pod.Status.InitContainerStatuses) > 0 {
		return
	}
	k.mu.Lock()
	code, message := int32(0), ""
	if k.verdict != nil {
		code, message = k.verdict(pod)
	}
	k.mu.Unlock()
	k.show(t, pod, code, message)
}

// end lets the stage of a pod that goes on end well.
func (k *kubelet) end(t *testing.T, pod *corev1.Pod) { k.show(t, pod, 0, "") }

// show writes what a kubelet says of the pod after a quarter of a minute: a stage that fails has been tried twice then.
func (k *kubelet) show(t *testing.T, pod *corev1.Pod, code int32, message string) {
	pod = pod.DeepCopy()
	run, now := podlife.Run{}, time.Now()
	for at := now; at.Sub(now) < 15*time.Second; at = run.Until {
		run.Step(pod, at, func(container int) podlife.Attempt { return attempt(pod, container, code, message) })
	}
	run.BackOff(&pod.Status)
	err := k.client.Status().Update(context.WithoutCancel(t.Context()), pod)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		t.Errorf("kubelet: update pod %s: %v", pod.Name, err)
	}
}

// attempt is how a container of a pod fares by a verdict.
func attempt(pod *corev1.Pod, container int, code int32, message string) podlife.Attempt {
	switch {
	case code == cannotPull:
		return podlife.Attempt{Held: "ImagePullBackOff", Message: "no such image"}
	case code == goesOn, container == len(pod.Spec.InitContainers):
		return podlife.Attempt{Takes: podlife.Forever}
	case code != 0 && container == 1:
		return podlife.Attempt{Exit: code, Message: message}
	}
	return podlife.Attempt{}
}
