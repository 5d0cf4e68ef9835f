package faults

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// checkEviction: only pods are evicted that have to leave a node which somebody drains, once it is cordoned.
func (c *watcher) checkEviction(pod *corev1.Pod) {
	n := c.w.node(pod.Spec.NodeName)
	if n == nil {
		return
	}
	drainers := c.drainers(n)
	every := func(holds func(*v1alpha1.Skyhook) bool) bool {
		return !slices.ContainsFunc(drainers, func(s *v1alpha1.Skyhook) bool { return !holds(s) })
	}
	wrong := func(class, why string) {
		c.w.findClass("evicts", class, "pod %s is evicted from %s, %s", pod.Name, n.Name, why)
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	switch {
	case len(drainers) == 0:
		wrong("nobody", "but no Skyhook has an interrupt to come there")
	case !c.w.acting.readCordon(n):
		wrong("uncordoned", "but the operator has not read that it is cordoned")
	case owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node"):
		wrong(owner.Kind, "but its controller creates it there again")
	case owner == nil && every(func(s *v1alpha1.Skyhook) bool {
		return s.Spec.Drain == nil || s.Spec.Drain.Force == nil || !*s.Spec.Drain.Force
	}):
		wrong("unmanaged", "but nobody creates it again, and nobody wants that by force")
	case every(protects) && pod.Labels[protectedLabel] != "":
		wrong("protected", "but it is protected")
	case every(protects) && c.protectedOn(n.Name):
		wrong("beside-protected", "but a protected pod is still there")
	case usesEmptyDir(pod) && every(keepsEmptyDir):
		wrong("emptydir", "but its data is to be kept")
	}
}

func protects(s *v1alpha1.Skyhook) bool { return len(s.Spec.PodNonInterruptLabels.MatchLabels) > 0 }

func keepsEmptyDir(s *v1alpha1.Skyhook) bool {
	return s.Spec.Drain != nil && s.Spec.Drain.DeleteEmptyDirData != nil && !*s.Spec.Drain.DeleteEmptyDirData
}

func usesEmptyDir(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}

// drainers are the specs of Skyhooks that may drain a node now: by one of those that somebody sees, something is to be
// done there, and a package interrupts nodes.
func (c *watcher) drainers(n *corev1.Node) []*v1alpha1.Skyhook {
	var list []*v1alpha1.Skyhook
	for _, s := range c.w.cluster.Skyhooks() {
		a := c.ledger.account(n.Name, s.Name)
		for _, v := range c.w.views(s) {
			forged := c.w.kubelet(n.Name).host.forged[s.Name] // what is recorded there may have to be removed
			if selects(v, n) && c.interruptsEver(s) &&
				(forged || c.ledger.lacks(a, v) != "" || a.uninstalled() || a.maybeInstalled(v) || c.w.plan.Reapply) {
				list = append(list, v)
			}
		}
	}
	return list
}

// interruptsEver reports whether a package of a Skyhook interrupts nodes, by any spec that it had.
func (c *watcher) interruptsEver(s *v1alpha1.Skyhook) bool {
	return slices.ContainsFunc(c.ledger.specs[s.UID], func(was *v1alpha1.Skyhook) bool {
		for _, pkg := range was.Spec.Packages {
			if pkg.Interrupt != nil || len(pkg.ConfigInterrupts) > 0 {
				return true
			}
		}
		return false
	})
}

// protectedOn reports whether a protected pod is on a node that came before this pass of the operator.
func (c *watcher) protectedOn(node string) bool {
	return slices.ContainsFunc(c.w.cluster.Pods(), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == node && pod.Labels[protectedLabel] != "" && !finishedPod(pod) &&
			pod.CreationTimestamp.Time.Before(c.w.now.Truncate(time.Second))
	})
}
