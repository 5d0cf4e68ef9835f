package main

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Pace says how long things take on a node.
type Pace struct {
	// Container is how long each container runs; Backoff, how long the kubelet waits before it starts one again; Reboot,
	// how long a node is away.
	Container, Backoff, Reboot time.Duration
}

// course says what is special about the pods of a node: the first attempt at each stage fails; interrupts are reboots.
type course struct{ Fails, Reboots bool }

// step is one write of a kubelet: after some time, the pod is as Shown says. Reboot takes the node away before it.
type step struct {
	After  time.Duration
	Shown  shown
	Reboot bool
}

// shown is what a kubelet shows of a pod.
type shown struct {
	// Done is how many init containers have ended well. The next one runs, or the main container if there is none.
	Done int
	// Crashed says that the next init container failed and waits to be started again; Restarts, how often it failed.
	Crashed  bool
	Restarts int32
	// Ended says that the main container ended.
	Ended bool
}

// relist is how often a kubelet looks at its containers, as its pod lifecycle event generator does.
const relist = time.Second

// script is the course of a pod if nobody deletes it. A kubelet looks at its containers once a second, so init
// containers that are shorter than that end in one write, and the main container, which starts then, in the next.
func script(pod *corev1.Pod, c course, p Pace) []step {
	inits := len(pod.Spec.InitContainers)
	all := time.Duration(inits) * p.Container
	end := []step{
		{After: all, Shown: shown{Done: inits}},
		{After: max(p.Container, relist), Shown: shown{Done: inits, Ended: true}},
	}
	begin := step{Shown: shown{}}
	switch {
	case inits == 0:
		return []step{begin} // a workload runs until it is evicted
	case c.Reboots && pod.Labels[v1alpha1.LabelInterrupt] == "True":
		return append([]step{begin, {After: p.Container, Reboot: true}}, end...)
	case c.Fails && inits > 1:
		return append([]step{
			begin,
			{After: 2 * p.Container, Shown: shown{Done: 1, Crashed: true, Restarts: 1}},
			{After: p.Backoff, Shown: shown{Done: 1, Restarts: 1}},
		}, end...)
	}
	return append([]step{begin}, end...)
}

// status of a pod as a kubelet writes it.
func status(pod *corev1.Pod, s shown, now time.Time) corev1.PodStatus {
	at, created := metav1.NewTime(now), pod.CreationTimestamp
	st := corev1.PodStatus{
		Phase: corev1.PodPending, StartTime: &created, HostIP: "10.0.0.1", PodIP: "10.0.0.1",
		PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
	}
	inits := len(pod.Spec.InitContainers)
	for i := range pod.Spec.InitContainers {
		c := containerStatus(&pod.Spec.InitContainers[i])
		switch {
		case i < s.Done:
			c.State.Terminated, c.Ready = terminated(0, created, at), true
		case i == s.Done && s.Crashed:
			c.State.Waiting = &corev1.ContainerStateWaiting{
				Reason: "CrashLoopBackOff", Message: "back-off restarting failed container",
			}
			c.LastTerminationState.Terminated, c.RestartCount = terminated(1, created, at), s.Restarts
		case i == s.Done:
			c.State.Running, c.RestartCount = &corev1.ContainerStateRunning{StartedAt: at}, s.Restarts
			if s.Restarts > 0 {
				c.LastTerminationState.Terminated = terminated(1, created, at)
			}
		default:
			c.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
		}
		st.InitContainerStatuses = append(st.InitContainerStatuses, c)
	}
	for i := range pod.Spec.Containers {
		c := containerStatus(&pod.Spec.Containers[i])
		switch {
		case s.Ended:
			c.State.Terminated, st.Phase = terminated(0, at, at), corev1.PodSucceeded
		case s.Done == inits:
			c.State.Running, c.Ready, st.Phase = &corev1.ContainerStateRunning{StartedAt: at}, true, corev1.PodRunning
		default:
			c.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
		}
		st.ContainerStatuses = append(st.ContainerStatuses, c)
	}
	st.Conditions = conditions(s.Done == inits, st.Phase == corev1.PodRunning, at)
	return st
}

func conditions(initialized, ready bool, at metav1.Time) []corev1.PodCondition {
	of := func(kind corev1.PodConditionType, ok bool) corev1.PodCondition {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: at}
		if ok {
			c.Status = corev1.ConditionTrue
		}
		return c
	}
	return []corev1.PodCondition{
		of(corev1.PodReadyToStartContainers, true), of(corev1.PodInitialized, initialized), of(corev1.PodReady, ready),
		of(corev1.ContainersReady, ready), of(corev1.PodScheduled, true),
	}
}

// someDigest is the digest that every image has.
var someDigest = "sha256:" + strings.Repeat("5c", 32)

func containerStatus(c *corev1.Container) corev1.ContainerStatus {
	image, _, _ := strings.Cut(c.Image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	repo := image[:len(image)-len(name)] + strings.SplitN(name, ":", 2)[0]
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: repo + "@" + someDigest, Started: ptr.To(false),
		ContainerID: "containerd://" + strings.Repeat("0d", 32),
	}
}

func terminated(code int32, from, to metav1.Time) *corev1.ContainerStateTerminated {
	t := &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: "Completed", StartedAt: from, FinishedAt: to,
		ContainerID: "containerd://" + strings.Repeat("0d", 32),
	}
	if code != 0 {
		t.Reason, t.Message = "Error", "step install.sh exited 1: the mirror did not answer"
	}
	return t
}
