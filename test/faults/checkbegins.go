package faults

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// begin is a stage that a record tells of since the pass of an operator.
type begin struct {
	by    *operator
	step  int
	entry record.Entry
}

// noteBegin notes that a pass began a stage of a package. A stage that begins over, since its pod got lost or the spec
// changed meanwhile, is no new one: what it disturbs was out of its way once, and the interrupt asks for that again.
func (c *watcher) noteBegin(key string, was, now record.Entry) {
	over := was.Active() && (was.Stage == now.Stage || was.Stage == v1alpha1.StagePostInterrupt && now.Stage == v1alpha1.StageConfig)
	if c.w.acting != nil && now.Active() && was.Run != now.Run && !over {
		c.begins[key] = begin{by: c.w.acting, step: c.w.step, entry: now}
	}
}

// checkBegin: a package that is going to interrupt its node disturbs it from the first pod of a stage on. That one
// starts only when the operator has read that the node is cordoned, and the pods that have to leave are gone. What
// changed since that pass, a user's cordon or a pod that was bound by force, nobody promised anything about.
func (c *watcher) checkBegin(pod *corev1.Pod, id identity) {
	b, began := c.begins[podKey(pod.Spec.NodeName, id)]
	n, s := c.w.node(pod.Spec.NodeName), c.w.skyhook(id.Skyhook)
	if !began || b.by != c.w.acting || b.step != c.w.step || b.entry.Run != runOf(pod) || n == nil || s == nil ||
		!c.interrupts(b.entry, s) {
		return
	}
	if !b.by.readCordon(n) {
		c.w.findClass("begins-uncordoned", string(id.Stage), "%s is created, and its package will interrupt node %s, but %s has not read that it is cordoned", pod.Name, n.Name, b.by.name)
	}
	if other := c.hasToLeave(s, n); other != nil {
		c.w.findClass("begins-undrained", string(id.Stage),
			"%s is created, and its package will interrupt node %s, while %s is there", pod.Name, n.Name, other.Name)
	}
}

// readCordon reports whether the operator has read that a node is cordoned: what it only decided, or wrote in this
// pass, its cache does not show yet, and until it is written the scheduler may bind any pod to the node.
func (o *operator) readCordon(n *corev1.Node) bool {
	var read corev1.Node
	err := o.replica.Client().Get(background, client.ObjectKeyFromObject(n), &read)
	return err == nil && read.Spec.Unschedulable
}

// interrupts reports whether an interrupt follows what the entry tells of, by the spec that the acting operator sees.
func (c *watcher) interrupts(e record.Entry, s *v1alpha1.Skyhook) bool {
	var seen v1alpha1.Skyhook
	if err := c.w.acting.replica.Client().Get(background, client.ObjectKeyFromObject(s), &seen); err != nil {
		return false
	}
	pkg, ok := seen.Spec.Packages[e.Name]
	switch {
	case !ok || pkg.Version != e.Version: // it goes by a definition that was kept
		return false
	case e.Stage == v1alpha1.StagePostInterrupt:
		return false
	case e.Stage == v1alpha1.StageUninstall || e.Changed == nil:
		return pkg.Interrupt != nil
	}
	for _, key := range e.Changed {
		if _, ok := pkg.ConfigInterrupts[key]; ok { // worlds have no globs
			return true
		}
	}
	return false
}

// hasToLeave returns a pod that has to be gone before a Skyhook interrupts a node; nil when there is none.
func (c *watcher) hasToLeave(s *v1alpha1.Skyhook, n *corev1.Node) *corev1.Pod {
	protects := len(s.Spec.PodNonInterruptLabels.MatchLabels) > 0
	for _, pod := range c.w.cluster.Pods() {
		if pod.Namespace != workloads || pod.Spec.NodeName != n.Name || finishedPod(pod) {
			continue
		}
		guarded := protects && pod.Labels[protectedLabel] != ""
		owner := metav1.GetControllerOfNoCopy(pod)
		stays := owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node")
		if guarded || !stays {
			return pod
		}
	}
	return nil
}
