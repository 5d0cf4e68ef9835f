package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestContainersOf: those that did something, and the one that comes next where none did.
func TestContainersOf(t *testing.T) {
	done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	failed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	for _, tt := range []struct {
		name string
		init [3]corev1.ContainerState
		want string
	}{
		{"nothing began", [3]corev1.ContainerState{waiting, waiting, waiting}, "a-init"},
		{"the package is copied", [3]corev1.ContainerState{running, waiting, waiting}, "a-init"},
		{"the copy failed", [3]corev1.ContainerState{failed, waiting, waiting}, "a-init"},
		{"the stage is about to be seen", [3]corev1.ContainerState{done, waiting, waiting}, "a-apply"},
		{"the stage runs", [3]corev1.ContainerState{done, running, waiting}, "a-apply"},
		{"all is over", [3]corev1.ContainerState{done, done, done}, "a-apply a-applycheck"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := &corev1.Pod{}
			for i, name := range []string{"a-init", "a-apply", "a-applycheck"} {
				pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, State: tt.init[i]})
			}
			var names []string
			for _, c := range containersOf(pod) {
				names = append(names, c.Name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
