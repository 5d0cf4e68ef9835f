//go:build integration

package operator_test

import (
	"context"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// Verdicts about stages that do not end by themselves; see kubelet.end.
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
	k.show(t, pod, statuses(pod, code, message))
}

// end lets the stage of a pod that goes on end well.
func (k *kubelet) end(t *testing.T, pod *corev1.Pod) { k.show(t, pod, statuses(pod, 0, "")) }

func (k *kubelet) show(t *testing.T, pod *corev1.Pod, list []corev1.ContainerStatus) {
	pod = pod.DeepCopy()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &pod.CreationTimestamp
	pod.Status.InitContainerStatuses = list
	err := k.client.Status().Update(context.WithoutCancel(t.Context()), pod)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		t.Errorf("kubelet: update pod %s: %v", pod.Name, err)
	}
}

func statuses(pod *corev1.Pod, code int32, message string) []corev1.ContainerStatus {
	ended := func(code int32, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.Now()}}
	}
	if code < 0 {
		return unfinished(pod, code)
	}
	var list []corev1.ContainerStatus
	for i, c := range pod.Spec.InitContainers {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: ended(0, "")}
		switch {
		case code != 0 && i == 1:
			s.RestartCount, s.LastTerminationState = 1, ended(code, message)
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		case code != 0 && i > 1:
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		}
		list = append(list, s)
	}
	return list
}

// unfinished shows the first container at work, or waiting for its image.
func unfinished(pod *corev1.Pod, code int32) []corev1.ContainerStatus {
	var list []corev1.ContainerStatus
	for i, c := range pod.Spec.InitContainers {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
		switch {
		case i == 0 && code == goesOn:
			s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
		case i == 0:
			s.State.Waiting.Reason, s.State.Waiting.Message = "ImagePullBackOff", "no such image"
		}
		list = append(list, s)
	}
	return list
}
