package main

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
)

// Pace says how long things take on a node.
type Pace struct {
	// Container is how long each container runs; Backoff, how long the kubelet waits before it starts one again; Reboot,
	// how long a node is away.
	Container, Backoff, Reboot time.Duration
}

// course says what is special about the pods of a node: the first attempt at each stage fails; interrupts are reboots.
type course struct{ Fails, Reboots bool }

// step is one write of a kubelet: after some time, the pod is as Status says. Through says that its stage ended well just
// then. Reboot takes the node away instead.
type step struct {
	After   time.Duration
	Status  corev1.PodStatus
	Through bool
	Reboot  bool
}

// relist is how often a kubelet looks at its containers, as its pod lifecycle event generator does.
const relist = time.Second

// script is the course of a pod from now on if nobody deletes it. A kubelet looks at its containers once a second, so
// init containers that are shorter than that end in one write, and the main container, which starts then, in the next.
func script(pod *corev1.Pod, c course, p Pace, now time.Time) []step {
	pod = pod.DeepCopy()
	inits := len(pod.Spec.InitContainers)
	failing := c.Fails && inits > 1
	attempt := func(container int) podlife.Attempt {
		a := podlife.Attempt{Takes: p.Container, ImageID: imageID(pod, container)}
		switch {
		case inits == 0: // a workload runs until it is evicted
			a.Takes = podlife.Forever
		case container == inits:
			a.Takes = max(p.Container, relist)
		case container == 1 && failing:
			failing, a.Exit, a.Message = false, 1, "step install.sh exited 1: the mirror did not answer"
		}
		return a
	}
	var steps []step
	run, shown := podlife.Run{}, now
	for at := now; at != podlife.Never; at = run.Until {
		runs := run.State == podlife.Running
		run.Step(pod, at, attempt)
		if run.State == podlife.Paused {
			run.BackOff(&pod.Status)
			run.Until = at.Add(p.Backoff)
		}
		if runs && run.State == podlife.Running && run.At < inits {
			continue
		}
		if len(steps) == 1 && c.Reboots && pod.Labels[v1alpha1.LabelInterrupt] == "True" {
			steps = append(steps, step{After: p.Container, Reboot: true})
		}
		through := inits > 0 && run.At == inits && run.State == podlife.Running
		steps = append(steps, step{After: at.Sub(shown), Status: dressed(pod.Status, at), Through: through})
		shown = at
	}
	return steps
}

// ended is the status of a pod whose containers were told to end, as they do well.
func ended(pod *corev1.Pod, now time.Time) corev1.PodStatus {
	pod = pod.DeepCopy()
	for run := (podlife.Run{}); run.State != podlife.Over; {
		run.Step(pod, now, func(container int) podlife.Attempt { return podlife.Attempt{ImageID: imageID(pod, container)} })
	}
	return dressed(pod.Status, now)
}

// dressed is a status with all else that kubelets write.
func dressed(st corev1.PodStatus, now time.Time) corev1.PodStatus {
	st = *st.DeepCopy()
	st.HostIP, st.PodIP, st.PodIPs = "10.0.0.1", "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}
	st.Conditions = conditions(st.Phase != corev1.PodPending, st.Phase == corev1.PodRunning, metav1.NewTime(now))
	for _, all := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for i := range all {
			all[i].Started, all[i].ContainerID = ptr.To(false), someContainer
			for _, t := range []*corev1.ContainerStateTerminated{all[i].State.Terminated, all[i].LastTerminationState.Terminated} {
				if t != nil {
					t.ContainerID = someContainer
				}
			}
		}
	}
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

// someDigest is the digest that every image has, and someContainer the ID of every container.
var (
	someDigest    = "sha256:" + strings.Repeat("5c", 32)
	someContainer = "containerd://" + strings.Repeat("0d", 32)
)

// imageID is what a container runtime says of the image of a pod's container, the main one's behind the others.
func imageID(pod *corev1.Pod, container int) string {
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	image, _, _ := strings.Cut(all[container].Image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	return image[:len(image)-len(name)] + strings.SplitN(name, ":", 2)[0] + "@" + someDigest
}
