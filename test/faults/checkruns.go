package faults

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// heldPatience is how long the operator may take to end what runs after somebody held it.
const heldPatience = 2 * time.Minute

// firstRest is the phase in which nobody edited anything since the world came to rest.
const firstRest = "rest 0"

// restarted: what is paused, disabled or ignored does not run again.
func (c *watcher) restarted(k *kubelet, pod *corev1.Pod) {
	id := identityOf(pod)
	s, n := c.skyhooks[id.Skyhook], c.w.node(k.plan.Name)
	if !c.w.resting || c.w.now.Sub(c.w.calmSince) < heldPatience || s == nil || n == nil || c.w.phase != firstRest {
		return
	}
	if k.bootedAt.After(c.w.calmSince) {
		return // the kubelet starts what it had as it comes up, before anybody can tell it not to
	}
	var how string
	switch {
	case c.w.stop() != nil:
		how = "stopped"
	case s.Annotations[v1alpha1.AnnotationPause] == "true":
		how = "paused"
	case s.Annotations[v1alpha1.AnnotationDisable] == "true":
		how = "disabled"
	case n.Labels[v1alpha1.LabelIgnore] == "true":
		how = "ignored"
	default:
		return
	}
	c.w.findClass("runs-while-held", how, "%s runs again on %s, although it is %s", pod.Name, k.plan.Name, how)
}

// stageBegan forgets when the first pod of a stage was created as soon as the package is in another one.
func (c *watcher) stageBegan(key string, was, now record.Entry) {
	if was.Stage != now.Stage || was.Version != now.Version || was.Generation != now.Generation {
		delete(c.firstPod, key)
	}
}

// checkTimeout: the limit of a stage counts from when its pod could run.
func (c *watcher) checkTimeout(key, s string, was, now record.Entry) {
	if now.Reason != "StageTimeout" || was.Reason == "StageTimeout" || !c.w.clocksAgree() {
		return
	}
	sky := c.skyhooks[s]
	if sky == nil {
		return
	}
	pkg, ok := sky.Spec.Packages[now.Name]
	if !ok || pkg.StageTimeout == nil || pkg.Version != now.Version {
		return
	}
	began, ran := c.firstPod[key]
	if ran = ran && c.w.now.Sub(began) >= pkg.StageTimeout.Duration-2*time.Second; !ran {
		c.w.findClass("timeout-early", string(now.Stage),
			"stage %s of %s timed out %s after its first pod (%t), its limit is %s", now.Stage, key,
			c.w.now.Sub(began), ran, pkg.StageTimeout.Duration)
	}
}
