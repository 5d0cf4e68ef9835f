package faults

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeRestart is what agents call a reboot.
const nodeRestart = "node_restart"

// scriptState is a script and how often it still acts, by node and stage.
type scriptState struct {
	Script
	left map[string]int
}

// script finds what a pod does by accident.
func (w *World) script(id identity, node string) *scriptState {
	for i := range w.scripts {
		s := &w.scripts[i]
		if cmp.Or(s.Skyhook, id.Skyhook) == id.Skyhook && cmp.Or(s.Package, id.Name) == id.Name &&
			cmp.Or(s.Node, node) == node && cmp.Or(s.Stage, id.Stage) == id.Stage {
			return s
		}
	}
	return nil
}

// use counts one act of a script; false when it has acted often enough here.
func (s *scriptState) use(id identity, node string) bool {
	key := node + "/" + id.key() + "/" + string(id.Stage)
	if _, ok := s.left[key]; !ok {
		s.left[key] = s.Times
	}
	if s.left[key] == 0 {
		return false
	}
	s.left[key]--
	return true
}

// advance takes one step with a package pod.
func (k *kubelet) advance(pod *corev1.Pod, r *run) {
	switch r.state {
	case runNew:
		k.begin(pod, r)
	case runContainer:
		k.exited(pod, r)
	case runBackoff:
		k.start(pod, r, true)
	case runRebooting, runOver, runEnding:
		r.until = never
	}
}

// begin gets a pod as far as its first container.
func (k *kubelet) begin(pod *corev1.Pod, r *run) {
	if lacks := k.w.unmounted(pod); lacks != "" {
		r.mounts = true
		k.w.trace.add(k.w, "kubelet %s: pod %s waits for ConfigMap %s", k.plan.Name, pod.Name, lacks)
		k.w.podStatus(pod, func(st *corev1.PodStatus) { *st = pendingStatus(pod) })
		return
	}
	r.mounts = false
	r.content = k.w.contentOf(pod)
	s := k.w.script(r.content.id, k.plan.Name)
	if s != nil && !k.w.resting && (s.Kind == scriptPull || s.Kind == scriptCreating) {
		reason := "ContainerCreating"
		if s.Kind == scriptPull {
			reason = "ImagePullBackOff"
		}
		r.stuck = true
		k.w.trace.add(k.w, "kubelet %s: pod %s is in %s", k.plan.Name, pod.Name, reason)
		k.w.podStatus(pod, func(st *corev1.PodStatus) {
			*st = pendingStatus(pod)
			st.InitContainerStatuses[0].State.Waiting.Reason = reason
		})
		return
	}
	r.stuck = false
	k.start(pod, r, false)
}

// unmounted is a ConfigMap that a pod mounts and that is not there; empty for none.
func (w *World) unmounted(pod *corev1.Pod) string {
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap != nil && named(w.cluster.ConfigMaps(), pod.Namespace, v.ConfigMap.Name) == nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

func pendingStatus(pod *corev1.Pod) corev1.PodStatus {
	st := corev1.PodStatus{Phase: corev1.PodPending}
	for _, c := range pod.Spec.InitContainers {
		st.InitContainerStatuses = append(st.InitContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}},
		})
	}
	return st
}

// start runs the current container, again after a failure.
func (k *kubelet) start(pod *corev1.Pod, r *run, again bool) {
	r.state = runContainer
	k.decide(r)
	if again {
		k.w.watch.restarted(k, pod)
	}
	k.w.podStatus(pod, func(st *corev1.PodStatus) {
		if len(st.InitContainerStatuses) != len(pod.Spec.InitContainers) {
			*st = pendingStatus(pod)
		}
		c := &st.InitContainerStatuses[r.at]
		if again {
			if c.State.Terminated != nil {
				c.LastTerminationState = c.State
			}
			c.RestartCount++
		}
		c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		c.ImageID = k.w.pull(pod.Spec.InitContainers[r.at].Image)
		if r.at == 0 { // it brings the package
			_, r.content.digest, _ = strings.Cut(c.ImageID, "@")
		}
	})
	if r.exit == 0 && r.at == len(pod.Spec.InitContainers)-1 && isInterruptStage(r.content.id.Stage) {
		k.interrupt(pod, r)
	}
}

// decide draws how the current container ends, and when.
func (k *kubelet) decide(r *run) {
	r.exit, r.until = 0, k.w.now.Add(k.w.seconds(0, 6))
	stage := isInterruptStage(r.content.id.Stage) || r.at == 1
	if !stage {
		return
	}
	if k.host.poisoned(r.content) {
		r.exit = 1
		return
	}
	s := k.w.script(r.content.id, k.plan.Name)
	if s == nil || k.w.resting {
		return
	}
	switch s.Kind {
	case scriptFails:
		if s.use(r.content.id, k.plan.Name) {
			r.exit = 1
		}
	case scriptSlow:
		r.until = k.w.now.Add(time.Duration(s.Times) * time.Second)
	case scriptHangs:
		r.stuck = true
	}
}

// interrupt does what the agent does for a reboot: it asks for it once per run, and treats another boot as done.
func (k *kubelet) interrupt(pod *corev1.Pod, r *run) {
	if r.content.kind != nodeRestart {
		return
	}
	env := map[string]string{}
	for _, e := range pod.Spec.InitContainers[0].Env {
		env[e.Name] = e.Value
	}
	if id, bound := env["SKYHOOK_BOOT_ID"]; bound && id != k.bootID {
		return
	}
	flag := env["SKYHOOK_RESOURCE_ID"] + "/" + env["SKYHOOK_RUN"]
	if k.host.done[flag] {
		return
	}
	k.host.done[flag] = true
	r.state, r.until, r.stuck = runRebooting, never, false
	k.w.watch.rebooting(k, pod)
	k.w.after(k.w.seconds(0, 10), "host "+k.plan.Name+" goes down for the reboot that "+pod.Name+" asked for", k.goDown)
}

// exited takes over how the current container ended.
func (k *kubelet) exited(pod *corev1.Pod, r *run) {
	r.stuck = false
	if k.unreported && !isInterruptStage(r.content.id.Stage) {
		r.until = k.w.now.Add(time.Second) // real kubelets tell of their boot long before a package's stage is through
		return
	}
	if r.exit != 0 {
		k.failed(pod, r)
		return
	}
	last := len(pod.Spec.InitContainers) - 1
	at := r.at
	if r.at == last {
		r.state, r.until = runOver, never
		k.host.finish(r.content)
		k.w.ended[r.content.id.Skyhook]++
	}
	k.w.trace.add(k.w, "kubelet %s: %s exits 0 in pod %s", k.plan.Name, pod.Spec.InitContainers[at].Name, pod.Name)
	if at != last {
		r.at, r.state = at+1, runContainer
		k.decide(r)
	}
	k.w.podStatus(pod, func(st *corev1.PodStatus) {
		st.StartTime = &pod.CreationTimestamp
		st.InitContainerStatuses[at].State = terminated(0, "")
		st.InitContainerStatuses[at].State.Terminated.FinishedAt = metav1.NewTime(k.w.now)
		st.InitContainerStatuses[at].Ready = true
		switch {
		case at != last:
			st.InitContainerStatuses[at+1].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		case k.w.chance(0.5):
			st.Phase = corev1.PodSucceeded
		}
	})
}

// failed lets the container wait for its next attempt. What is spoiled by its content is not tried for ever in a world
// at rest: nothing new would come of it.
func (k *kubelet) failed(pod *corev1.Pod, r *run) {
	restarts := pod.Status.InitContainerStatuses[r.at].RestartCount
	pause := min(10*time.Second<<min(restarts, 5), 5*time.Minute)
	r.state, r.until = runBackoff, k.w.now.Add(pause)
	if k.w.resting && restarts >= 5 && k.host.poisoned(r.content) {
		r.until = never
	}
	k.w.watch.failed(pod)
	k.w.trace.add(k.w, "kubelet %s: %s exits %d in pod %s",
		k.plan.Name, pod.Spec.InitContainers[r.at].Name, r.exit, pod.Name)
	k.w.podStatus(pod, func(st *corev1.PodStatus) {
		c := &st.InitContainerStatuses[r.at]
		c.State = terminated(r.exit, "step failed")
		if k.w.chance(0.5) {
			c.LastTerminationState = c.State
			c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		}
	})
}
