package podlife_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
)

var start = time.Unix(1_800_000_000, 0)

// newPod has two containers that work, and one that waits to be read.
func newPod() *corev1.Pod {
	p := &corev1.Pod{}
	for _, name := range []string{"copy", "apply"} {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name, Image: "x/" + name})
	}
	p.Spec.Containers = []corev1.Container{{Name: "done", Image: "x/done"}}
	return p
}

// told is a status in a line: its phase and each container, with how often it was started again.
func told(st corev1.PodStatus) string {
	var text strings.Builder
	text.WriteString(string(st.Phase) + st.Reason)
	for _, c := range append(st.InitContainerStatuses, st.ContainerStatuses...) {
		switch {
		case c.State.Running != nil:
			text.WriteString(" runs")
		case c.State.Terminated != nil:
			fmt.Fprintf(&text, " %d", c.State.Terminated.ExitCode)
		case c.State.Waiting != nil:
			text.WriteString(" " + strings.ToLower(strings.TrimSuffix(c.State.Waiting.Reason, "PodInitializing")))
		}
		if t := c.LastTerminationState.Terminated; t != nil {
			fmt.Fprintf(&text, "(was %d, %d)", t.ExitCode, c.RestartCount)
		}
	}
	return text.String()
}

// TestRun steps through the life of a pod whenever something is due, with what comes of each start.
func TestRun(t *testing.T) {
	well := podlife.Attempt{Takes: time.Second, ImageID: "x@sha256:1"}
	fails := podlife.Attempt{Takes: time.Second, Exit: 3, Message: "boom"}
	for name, c := range map[string]struct {
		attempts []podlife.Attempt
		want     []string
	}{
		"all ends well": {
			[]podlife.Attempt{well, well, well},
			[]string{"0s Pending runs  ", "1s Pending 0 runs ", "2s Running 0 0 runs", "3s Succeeded 0 0 0"},
		},
		"fails twice": {
			[]podlife.Attempt{well, fails, fails, well, {Takes: podlife.Forever}},
			[]string{
				"0s Pending runs  ", "1s Pending 0 runs ", "2s Pending 0 3 ", "12s Pending 0 runs(was 3, 1) ",
				"13s Pending 0 3(was 3, 1) ", "33s Pending 0 runs(was 3, 2) ", "34s Running 0 0(was 3, 2) runs",
			},
		},
		"cannot be pulled": {
			[]podlife.Attempt{{Held: "ImagePullBackOff", Message: "not found"}},
			[]string{"0s Pending imagepullbackoff  "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod, r, now, got := newPod(), podlife.Run{}, start, []string(nil)
			for now != podlife.Never {
				r.Step(pod, now, func(int) podlife.Attempt {
					next := c.attempts[0]
					c.attempts = c.attempts[1:]
					return next
				})
				got = append(got, now.Sub(start).String()+" "+told(pod.Status))
				now = r.Until
			}
			if g, w := strings.Join(got, "\n"), strings.Join(c.want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

// TestAccidents are what happens to a pod whose second container runs.
func TestAccidents(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(*podlife.Run, *corev1.Pod)
		want string
	}{
		"evicted": {
			func(r *podlife.Run, p *corev1.Pod) { r.Fail(&p.Status, "Evicted", "no memory") }, "FailedEvicted 0 143 ",
		},
		"its node boots": {
			func(r *podlife.Run, p *corev1.Pod) { r.Boot(p, &p.Status, start.Add(time.Minute)) }, "Pending 255  ",
		},
		"it is paused, and says so": {
			func(r *podlife.Run, p *corev1.Pod) {
				r.Attempt.Exit = 1
				r.Step(p, r.Until, nil)
				r.BackOff(&p.Status)
			}, "Pending 0 crashloopbackoff(was 1, 0) ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod, r := newPod(), podlife.Run{}
			for range 2 {
				r.Step(pod, start, func(int) podlife.Attempt { return podlife.Attempt{Takes: time.Second} })
			}
			c.act(&r, pod)
			if got := told(pod.Status); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for r.Until != podlife.Never { // it goes on from there
				r.Step(pod, r.Until, func(int) podlife.Attempt { return podlife.Attempt{} })
			}
			if over := pod.Status.Phase != corev1.PodPending; !over {
				t.Errorf("in the end it is %q", told(pod.Status))
			}
		})
	}
}
