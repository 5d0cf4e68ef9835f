// Package podlife models what a kubelet does with a pod whose work is done by init containers, one after the other: what
// the pod's status says at which moment, given how each container fares. Time and outcomes come in as values; who asks
// decides how often it looks, and carries what it gets to an API server, in memory or real.
package podlife

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Never is when happens what does not happen by itself.
var Never = time.Unix(1<<36, 0)

// Forever is how long a container takes that does not end by itself.
const Forever time.Duration = -1

// Attempt is how one start of a container fares.
type Attempt struct {
	// Held is why the container cannot be started, such as ImagePullBackOff, with Message; empty if it can.
	Held string
	// Takes is how long it runs, and Exit what it ends with; a message goes with a failure.
	Takes   time.Duration
	Exit    int32
	Message string
	// ImageID is what was pulled for it.
	ImageID string
}

// Script tells how the next start of a pod's container fares. Containers are counted in the order in which they run; the
// last are the main containers, which run together.
type Script func(container int) Attempt

// State is what goes on with a pod.
type State int

// The states, in the order in which a pod that fails once has them.
const (
	// New is a pod none of whose containers was started.
	New State = iota
	// Running has a container that runs.
	Running
	// Paused has one that failed, and waits for its next start.
	Paused
	// Over runs nothing any more.
	Over
)

// Run is a pod on its node. The zero value is one that the kubelet has yet to look at.
type Run struct {
	State State
	// At is the container that State is about.
	At int
	// Attempt is the one that it makes, or made last.
	Attempt Attempt
	// Until is when the next step is due.
	Until time.Time
}

// Step takes the next step with a pod, and brings its status to what the kubelet says of it then.
func (r *Run) Step(pod *corev1.Pod, now time.Time, script Script) {
	st := &pod.Status
	switch {
	case r.State == New:
		*st = Pending(pod)
		r.start(pod, now, script)
	case r.State == Paused:
		c := r.containers(st)
		if c[0].State.Terminated != nil {
			c[0].LastTerminationState = c[0].State
		}
		c[0].RestartCount++
		r.start(pod, now, script)
	case r.State == Running && r.Attempt.Exit != 0:
		restarts := r.end(st, now)
		r.State, r.Until = Paused, now.Add(min(10*time.Second<<min(restarts, 5), 5*time.Minute))
	case r.State == Running:
		r.end(st, now)
		if r.At == len(pod.Spec.InitContainers) {
			r.State, r.Until, st.Phase = Over, Never, corev1.PodSucceeded
			return
		}
		r.At++
		r.start(pod, now, script)
	}
}

// start starts the containers that it is about.
func (r *Run) start(pod *corev1.Pod, now time.Time, script Script) {
	r.Attempt, r.Until = script(r.At), Never
	all := r.containers(&pod.Status)
	if held := r.Attempt.Held; held != "" {
		all[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: held, Message: r.Attempt.Message}}
		return
	}
	if r.State = Running; r.Attempt.Takes != Forever {
		r.Until = now.Add(r.Attempt.Takes)
	}
	main := r.At == len(pod.Spec.InitContainers)
	for i := range all {
		all[i].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
		all[i].ImageID, all[i].Ready = r.Attempt.ImageID, main
	}
	if main {
		pod.Status.Phase = corev1.PodRunning
	}
}

// end ends the containers that it is about, and returns how often they were started again before.
func (r *Run) end(st *corev1.PodStatus, now time.Time) (restarts int32) {
	for i, all := 0, r.containers(st); i < len(all); i++ {
		c := &all[i]
		from := metav1.NewTime(now)
		if c.State.Running != nil {
			from = c.State.Running.StartedAt
		}
		c.State = terminated(r.Attempt.Exit, r.Attempt.Message)
		c.State.Terminated.StartedAt, c.State.Terminated.FinishedAt = from, metav1.NewTime(now)
		c.Ready, restarts = r.Attempt.Exit == 0 && r.At < len(st.InitContainerStatuses), c.RestartCount
	}
	return restarts
}

// containers are the ones that it is about.
func (r *Run) containers(st *corev1.PodStatus) []corev1.ContainerStatus {
	if r.At < len(st.InitContainerStatuses) {
		return st.InitContainerStatuses[r.At : r.At+1]
	}
	return st.ContainerStatuses
}

// BackOff has the status of a paused container say that it waits, instead of how it ended: a kubelet says both, one after
// the other.
func (r *Run) BackOff(st *corev1.PodStatus) {
	if r.State != Paused {
		return
	}
	c := &r.containers(st)[0]
	c.LastTerminationState = c.State
	c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off restarting failed container",
	}}
}

// Fail ends a pod for good without a result, as evictions for lack of resources and shutdowns of nodes do.
func (r *Run) Fail(st *corev1.PodStatus, reason, message string) {
	r.State, r.Until = Over, Never
	st.Phase, st.Reason, st.Message = corev1.PodFailed, reason, message
	for i := range st.InitContainerStatuses {
		if c := &st.InitContainerStatuses[i]; c.State.Running != nil {
			End(c, 143)
		}
	}
}

// End ends a container.
func End(c *corev1.ContainerStatus, exit int32) { c.State = terminated(exit, "") }

// Boot has a pod that the kubelet had begun with go on at a time, since its node booted: what ran is lost, and runs again
// from the first container.
func (r *Run) Boot(pod *corev1.Pod, st *corev1.PodStatus, at time.Time) {
	*r = Run{State: Paused, Until: at}
	first := st.InitContainerStatuses[0]
	*st = Pending(pod)
	c := &st.InitContainerStatuses[0]
	if c.RestartCount = first.RestartCount; first.State.Waiting == nil {
		c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown"}}
	}
}

// Pending is the status of a pod whose containers all wait.
func Pending(pod *corev1.Pod) corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodPending, StartTime: &pod.CreationTimestamp,
		InitContainerStatuses: waiting(pod.Spec.InitContainers), ContainerStatuses: waiting(pod.Spec.Containers),
	}
}

func waiting(containers []corev1.Container) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for i := range containers {
		all = append(all, corev1.ContainerStatus{
			Name: containers[i].Name, Image: containers[i].Image,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}},
		})
	}
	return all
}

func terminated(exit int32, message string) corev1.ContainerState {
	t := &corev1.ContainerStateTerminated{ExitCode: exit, Reason: "Completed"}
	if exit != 0 {
		t.Reason, t.Message = "Error", message
	}
	return corev1.ContainerState{Terminated: t}
}
