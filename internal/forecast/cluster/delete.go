package cluster

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// delete removes an object, or begins to: a pod on a node goes when its kubelet says so, and whatever has finalizers
// when they are gone.
func (c *Cluster) delete(t *table, verb string, old client.Object, options *client.DeleteOptions) error {
	if err := deletePrecondition(t.kind, old, options.Preconditions); err != nil {
		return err
	}
	o := t.fresh()
	t.shareTo(old, o)
	o.SetFinalizers(slices.Clone(o.GetFinalizers()))
	hold(o, ptr.Deref(options.PropagationPolicy, metav1.DeletePropagationBackground))
	if pod, ok := o.(*corev1.Pod); ok && !c.terminate(pod, options.GracePeriodSeconds) {
		return nil // it is under way, and ends no sooner
	}
	if ptr.Deref(o.GetDeletionGracePeriodSeconds(), 0) > 0 {
		c.commit(t, verb, old, o)
		return nil
	}
	if len(o.GetFinalizers()) == 0 {
		c.drop(t, verb, o)
		return nil
	}
	if old.GetDeletionTimestamp() == nil {
		o.SetDeletionTimestamp(ptr.To(c.time()))
		if t.custom {
			o.SetGeneration(o.GetGeneration() + 1)
		}
	} else if ptr.Deref(old.GetDeletionGracePeriodSeconds(), 0) == 0 && len(o.GetFinalizers()) == len(old.GetFinalizers()) {
		return nil
	}
	o.SetDeletionGracePeriodSeconds(ptr.To(int64(0)))
	c.commit(t, verb, old, o)
	return nil
}

func deletePrecondition(k *kind, old client.Object, want *metav1.Preconditions) error {
	if want == nil {
		return nil
	}
	fail := func(what, want, have string) error {
		return apierrors.NewConflict(k.resource, old.GetName(),
			fmt.Errorf("precondition failed: %s in precondition: %s, %s in object meta: %s", what, want, what, have))
	}
	if want.UID != nil && *want.UID != old.GetUID() {
		return fail("UID", string(*want.UID), string(old.GetUID()))
	}
	if want.ResourceVersion != nil && *want.ResourceVersion != old.GetResourceVersion() {
		return fail("ResourceVersion", *want.ResourceVersion, old.GetResourceVersion())
	}
	return nil
}

// hold adds the finalizer that stands for what happens to the objects that this one owns.
func hold(o client.Object, policy metav1.DeletionPropagation) {
	finalizer := ""
	switch policy {
	case metav1.DeletePropagationForeground:
		finalizer = metav1.FinalizerDeleteDependents
	case metav1.DeletePropagationOrphan:
		finalizer = metav1.FinalizerOrphanDependents
	case metav1.DeletePropagationBackground:
		return
	}
	if !slices.Contains(o.GetFinalizers(), finalizer) {
		o.SetFinalizers(append(o.GetFinalizers(), finalizer))
	}
}

// terminate sets when the containers of a pod have to have ended; false when that is no change. No time is left to a
// pod that no node has, or that ended already.
func (c *Cluster) terminate(pod *corev1.Pod, asked *int64) bool {
	if pod.DeletionTimestamp != nil {
		left := ptr.Deref(pod.DeletionGracePeriodSeconds, 0)
		if left == 0 {
			return true
		}
		if asked == nil || *asked >= left {
			return false
		}
		at := pod.DeletionTimestamp.Add(time.Duration(*asked-left) * time.Second)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(at)), ptr.To(*asked)
		return true
	}
	grace := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 0)
	if asked != nil {
		grace = *asked
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		grace = 0
	}
	if grace < 0 {
		grace = 1
	}
	if grace > 0 {
		at := c.time().Add(time.Duration(grace) * time.Second)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(at)), &grace
	}
	return true
}

// evict deletes a pod unless a disruption budget stands against it, which protects neither pods that have ended nor
// those that are ending.
func (c *Cluster) evict(key client.ObjectKey, options *client.DeleteOptions) error {
	t := c.tables[Pods]
	pod, ok := t.get(key).(*corev1.Pod)
	if !ok {
		return apierrors.NewNotFound(t.resource, key.Name)
	}
	if err := deletePrecondition(t.kind, pod, options.Preconditions); err != nil {
		return err
	}
	over := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed ||
		pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodPending
	if !over && c.Disrupt != nil {
		if sentence := c.Disrupt(pod); sentence != "" {
			err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "DisruptionBudget", Message: sentence}}
			return err
		}
	}
	return c.delete(t, "evict", pod, options)
}
