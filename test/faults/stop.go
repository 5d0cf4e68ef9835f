package faults

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// stop is what stops all Skyhooks; nil for nothing.
func (w *World) stop() *corev1.ConfigMap {
	for _, cm := range w.cluster.ConfigMaps() {
		if cm.Namespace == namespace && cm.Name == v1alpha1.StopConfigMap {
			return cm
		}
	}
	return nil
}

// stopAll is a person who stops all Skyhooks, and most of the time ends what runs.
func (w *World) stopAll(r *rand.Rand) {
	w.trace.add(w, "user stops all Skyhooks")
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.StopConfigMap}})
	if r.IntN(3) == 0 {
		return
	}
	for _, pod := range w.cluster.Pods() {
		if _, ours := ownerOf(pod); ours && !finishedPod(pod) {
			w.watch.failed(pod)
			w.remove(pod.DeepCopy())
		}
	}
}

func (w *World) resumeAll() {
	if cm := w.stop(); cm != nil {
		w.trace.add(w, "user continues all Skyhooks")
		w.remove(cm.DeepCopy())
	}
}

// checkStopped: nothing starts while the operator's cache shows that all Skyhooks are stopped, or when they were stopped
// before the operator began.
func (c *watcher) checkStopped(pod *corev1.Pod, id identity) {
	now, o := c.w.stop(), c.w.acting
	if now == nil || o == nil {
		return
	}
	var seen corev1.ConfigMap
	read := o.replica.Client().Get(background, client.ObjectKeyFromObject(now), &seen) == nil && seen.UID == now.UID
	if began := o.stop != nil && o.stop.UID == now.UID; read || began {
		c.w.findClass("starts-while-stopped", string(id.Stage),
			"%s is created although all Skyhooks are stopped, and %s reads that (%t) or began later", pod.Name, o.name, read)
	}
}
