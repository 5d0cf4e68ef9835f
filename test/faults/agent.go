package faults

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
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
			cmp.Or(s.Version, id.Version) == id.Version && cmp.Or(s.Node, node) == node && cmp.Or(s.Stage, id.Stage) == id.Stage {
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
	switch r.State {
	case podlife.New:
		k.begin(pod, r)
	case podlife.Running:
		k.exited(pod, r)
	case podlife.Paused:
		k.w.watch.restarted(k, pod)
		k.start(pod, r)
	case podlife.Over:
		r.Until = podlife.Never
	}
}

// begin gets a pod as far as its first container.
func (k *kubelet) begin(pod *corev1.Pod, r *run) {
	if lacks := k.w.unmounted(pod); lacks != "" {
		r.mounts = true
		k.w.trace.add(k.w, "kubelet %s: pod %s waits for ConfigMap %s", k.plan.Name, pod.Name, lacks)
		k.w.podStatus(pod, func(st *corev1.PodStatus) { *st = podlife.Pending(pod) })
		return
	}
	r.mounts = false
	r.content = k.w.contentOf(pod)
	held := k.held(r)
	if r.stuck = held != ""; r.stuck {
		k.w.trace.add(k.w, "kubelet %s: pod %s is in %s", k.plan.Name, pod.Name, held)
	}
	// A pull that fails and half an hour without a start may have been a verdict, although the pod starts in the end.
	if held == "ImagePullBackOff" || k.w.watch.unstarted(k.plan.Name, r.content.id.Skyhook) {
		k.w.watch.ledger.blemish(k.plan.Name, r.content.id.Skyhook)
	}
	k.start(pod, r)
}

// held is why a pod does not begin; empty if it does.
func (k *kubelet) held(r *run) string {
	s := k.w.script(r.content.id, k.plan.Name)
	switch {
	case s == nil || k.w.resting:
		return ""
	case s.Kind == scriptPull:
		return "ImagePullBackOff"
	case s.Kind == scriptCreating:
		return "ContainerCreating"
	}
	return ""
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

// start starts the current container.
func (k *kubelet) start(pod *corev1.Pod, r *run) {
	k.step(pod, r)
	if !r.stuck && r.Attempt.Exit == 0 && r.At == len(pod.Spec.InitContainers)-1 && isInterruptStage(r.content.id.Stage) {
		k.interrupt(pod, r)
	}
}

// attempt draws how a container ends, and when.
func (k *kubelet) attempt(pod *corev1.Pod, r *run, container int) podlife.Attempt {
	if container == len(pod.Spec.InitContainers) {
		if k.w.chance(0.5) {
			return podlife.Attempt{}
		}
		return podlife.Attempt{Takes: podlife.Forever}
	}
	if r.State == podlife.New && r.stuck {
		return podlife.Attempt{Held: k.held(r)}
	}
	a := podlife.Attempt{Takes: k.w.seconds(0, 6), Message: "step failed", ImageID: k.w.pull(pod.Spec.InitContainers[container].Image)}
	if container == 0 { // it brings the package
		_, r.content.digest, _ = strings.Cut(a.ImageID, "@")
	}
	stage := isInterruptStage(r.content.id.Stage) || container == 1
	if !stage {
		return a
	}
	if k.host.poisoned(r.content) {
		a.Exit = 1
		return a
	}
	s := k.w.script(r.content.id, k.plan.Name)
	if s == nil || k.w.resting {
		return a
	}
	switch s.Kind {
	case scriptFails:
		if s.use(r.content.id, k.plan.Name) {
			a.Exit = 1
		}
	case scriptSlow:
		a.Takes = time.Duration(s.Times) * time.Second
	case scriptHangs:
		r.stuck = true
	case scriptKills:
		r.stuck = true
		k.dies()
	case scriptBreaks:
		r.stuck = true
		k.breaks()
	}
	return a
}

// envOf is what an interrupt's agent is told.
func envOf(pod *corev1.Pod) map[string]string {
	env := map[string]string{}
	for _, e := range pod.Spec.InitContainers[0].Env {
		env[e.Name] = e.Value
	}
	return env
}

// interrupt does what the agent does for a reboot: it asks for it once per run, and treats another boot as done.
func (k *kubelet) interrupt(pod *corev1.Pod, r *run) {
	if r.content.kind != nodeRestart {
		return
	}
	env := envOf(pod)
	if id, bound := env["SKYHOOK_BOOT_ID"]; bound && id != k.bootID {
		return
	}
	flag := env["SKYHOOK_RESOURCE_ID"] + "/" + env["SKYHOOK_RUN"]
	if k.host.done[flag] {
		return
	}
	k.host.done[flag] = true
	r.Until, r.stuck = podlife.Never, false // the agent waits for it
	k.w.watch.rebooting(k, pod)
	k.w.after(k.w.seconds(0, 10), "host "+k.plan.Name+" goes down for the reboot that "+pod.Name+" asked for", k.goDown)
}

// exited takes over how the current container ended.
func (k *kubelet) exited(pod *corev1.Pod, r *run) {
	r.stuck = false
	if k.unreported && !isInterruptStage(r.content.id.Stage) {
		r.Until = k.w.now.Add(time.Second) // real kubelets tell of their boot long before a package's stage is through
		return
	}
	if r.Attempt.Exit != 0 {
		k.failed(pod, r)
		return
	}
	if r.At == len(pod.Spec.InitContainers)-1 {
		k.finish(r.content)
		k.w.ended[r.content.id.Skyhook]++
	}
	k.w.trace.add(k.w, "kubelet %s: %s exits 0 in pod %s", k.plan.Name, pod.Spec.InitContainers[r.At].Name, pod.Name)
	k.step(pod, r)
}

// failed lets the container wait for its next attempt. What is spoiled by its content is not tried for ever in a world
// at rest: nothing new would come of it.
func (k *kubelet) failed(pod *corev1.Pod, r *run) {
	k.w.watch.failed(pod)
	k.w.watch.ledger.attempted(k.plan.Name, identityOf(pod))
	k.w.trace.add(k.w, "kubelet %s: %s exits %d in pod %s",
		k.plan.Name, pod.Spec.InitContainers[r.At].Name, r.Attempt.Exit, pod.Name)
	k.step(pod, r)
	if k.w.resting && pod.Status.InitContainerStatuses[r.At].RestartCount >= 5 && k.host.poisoned(r.content) {
		r.Until = podlife.Never
	}
}
