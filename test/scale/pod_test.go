package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func stagePod(inits int) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "done", Image: "registry.example.com:5000/agent:1"}}}}
	for _, name := range []string{"init", "stage", "check"}[:inits] {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name, Image: "registry.example.com:5000/p@sha256:0"})
	}
	return p
}

func interruptPod() *corev1.Pod {
	p := stagePod(1)
	p.Labels = map[string]string{v1alpha1.LabelInterrupt: "True"}
	return p
}

// TestScripts tells the course of each pod as phases and states of containers, one letter each: waiting, crashed,
// running, ended.
func TestScripts(t *testing.T) {
	pace := Pace{Container: time.Second, Backoff: 10 * time.Second, Reboot: time.Minute}
	for _, c := range []struct {
		name   string
		pod    *corev1.Pod
		course course
		want   []string
	}{
		{"a stage", stagePod(3), course{}, []string{"0s Pending rww w", "3s Running eee r", "1s Succeeded eee e"}},
		{"the first attempt fails", stagePod(3), course{Fails: true}, []string{
			"0s Pending rww w", "2s Pending ecw w", "10s Pending erw w", "2s Running eee r", "1s Succeeded eee e",
		}},
		{"an interrupt never fails", interruptPod(), course{Fails: true}, []string{"0s Pending r w", "1s Running e r", "1s Succeeded e e"}},
		{"a reboot", interruptPod(), course{Reboots: true}, []string{
			"0s Pending r w", "1s reboot", "1s Running e r", "1s Succeeded e e",
		}},
		{"stages reboot nothing", stagePod(3), course{Reboots: true}, []string{"0s Pending rww w", "3s Running eee r", "1s Succeeded eee e"}},
		{"a workload runs on", stagePod(0), course{}, []string{"0s Running  r"}},
	} {
		var got []string
		for _, s := range script(c.pod, c.course, pace, time.Now()) {
			if s.Reboot {
				got = append(got, s.After.String()+" reboot")
				continue
			}
			st := s.Status
			got = append(got, s.After.String()+" "+string(st.Phase)+" "+letters(st.InitContainerStatuses)+" "+letters(st.ContainerStatuses))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func letters(all []corev1.ContainerStatus) string {
	text := ""
	for i := range all {
		s := all[i].State
		switch {
		case s.Running != nil:
			text += "r"
		case s.Terminated != nil:
			text += "e"
		case s.Waiting.Reason == "CrashLoopBackOff":
			text += "c"
		default:
			text += "w"
		}
	}
	return text
}

// TestFailedAttempt: the operator counts restarts, and reads why the last one was.
func TestFailedAttempt(t *testing.T) {
	steps := script(stagePod(3), course{Fails: true}, Pace{Container: time.Second, Backoff: time.Second}, time.Now())
	for i, restarts := range map[int]int32{1: 0, 2: 1, 3: 1} {
		c := steps[i].Status.InitContainerStatuses[1]
		if last := c.LastTerminationState.Terminated; c.RestartCount != restarts || last == nil || last.ExitCode != 1 || last.Message == "" {
			t.Errorf("step %d: %+v", i, c)
		}
	}
}

// TestThrough: a stage is through once, when its main container begins; a workload never is.
func TestThrough(t *testing.T) {
	for inits, want := range map[int][]bool{0: {false}, 1: {false, true, false}, 3: {false, true, false}} {
		var got []bool
		for _, s := range script(stagePod(inits), course{}, Pace{}, time.Now()) {
			got = append(got, s.Through)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d init containers: %v", inits, got)
		}
	}
}

// TestEnded: whatever a pod that is deleted did, its containers end.
func TestEnded(t *testing.T) {
	for _, inits := range []int{0, 1, 3} {
		st := ended(stagePod(inits), time.Now())
		if got := letters(st.InitContainerStatuses) + letters(st.ContainerStatuses); st.Phase != corev1.PodSucceeded || strings.Trim(got, "e") != "" {
			t.Errorf("%d init containers: %s %s", inits, st.Phase, got)
		}
	}
}

// TestImageID: what a container runtime says of an image that was pulled.
func TestImageID(t *testing.T) {
	for image, want := range map[string]string{
		"registry.example.com:5000/p:1.0.0":    "registry.example.com:5000/p@" + someDigest,
		"registry.example.com:5000/p@sha256:0": "registry.example.com:5000/p@" + someDigest,
		"p":                                    "p@" + someDigest,
	} {
		if got := imageID(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}, 0); got != want {
			t.Errorf("%s has ID %s, want %s", image, got, want)
		}
	}
}
