package record

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Conditions returns the two node conditions that show a Skyhook's record to readers of the node; erroring says that a
// package which matters fails. A condition whose reason did not change stays as it is, with its times and its message,
// so that an unchanged record causes no write. There are none once every package is uninstalled.
func Conditions(skyhook string, n Node, erroring bool, have []corev1.NodeCondition,
	now metav1.Time,
) []corev1.NodeCondition {
	if n.bare() {
		return nil
	}
	ready := corev1.NodeCondition{
		Type: conditionType(skyhook, v1alpha1.NodeConditionNotReadySuffix), Status: corev1.ConditionTrue,
		Reason: v1alpha1.NodeReasonIncomplete,
		Message: fmt.Sprintf("Skyhook %s is not complete on this node; `kubectl describe skyhook %s` shows why", skyhook,
			skyhook),
	}
	if n.Status == v1alpha1.StatusComplete {
		ready.Status, ready.Reason = corev1.ConditionFalse, v1alpha1.NodeReasonComplete
		ready.Message = fmt.Sprintf("Skyhook %s is complete on this node", skyhook)
	}
	failing := corev1.NodeCondition{
		Type: conditionType(skyhook, v1alpha1.NodeConditionErroringSuffix), Status: corev1.ConditionFalse,
		Reason: v1alpha1.NodeReasonNotErroring, Message: fmt.Sprintf("no package of Skyhook %s fails on this node", skyhook),
	}
	if erroring {
		failing.Status, failing.Reason = corev1.ConditionTrue, v1alpha1.NodeReasonErroring
		failing.Message = fmt.Sprintf("a package of Skyhook %s fails on this node; `kubectl describe skyhook %s` shows why",
			skyhook, skyhook)
	}
	return []corev1.NodeCondition{stamp(ready, have, now), stamp(failing, have, now)}
}

// OwnsCondition reports whether a node condition belongs to the record of any Skyhook.
func OwnsCondition(t corev1.NodeConditionType) bool {
	name, ok := strings.CutPrefix(string(t), v1alpha1.KeyPrefix)
	return ok && (strings.HasSuffix(name, v1alpha1.NodeConditionNotReadySuffix) ||
		strings.HasSuffix(name, v1alpha1.NodeConditionErroringSuffix))
}

// ConditionOf reports whether a node condition belongs to the given Skyhook's record.
func ConditionOf(skyhook string, t corev1.NodeConditionType) bool {
	name, ours := strings.CutPrefix(string(t), v1alpha1.KeyPrefix)
	suffix, its := strings.CutPrefix(name, skyhook)
	return ours && its && (suffix == v1alpha1.NodeConditionNotReadySuffix || suffix == v1alpha1.NodeConditionErroringSuffix)
}

// Finished reports whether the node's conditions call a Skyhook complete whose status there is paused or disabled: other
// operators say so of nodes on which nothing was left to do.
func Finished(skyhook string, n Node, conditions []corev1.NodeCondition) bool {
	if n.Status != v1alpha1.StatusPaused && n.Status != v1alpha1.StatusDisabled {
		return false
	}
	return slices.ContainsFunc(conditions, func(c corev1.NodeCondition) bool {
		return c.Type == conditionType(skyhook, v1alpha1.NodeConditionNotReadySuffix) &&
			c.Status == corev1.ConditionFalse && c.Reason == v1alpha1.NodeReasonComplete
	})
}

func conditionType(skyhook, suffix string) corev1.NodeConditionType {
	return corev1.NodeConditionType(v1alpha1.KeyPrefix + skyhook + suffix)
}

// stamp gives a condition its times. Only another status is a transition: watchers count from it how long a node is not
// ready.
func stamp(c corev1.NodeCondition, have []corev1.NodeCondition, now metav1.Time) corev1.NodeCondition {
	c.LastHeartbeatTime, c.LastTransitionTime = now, now
	for _, h := range have {
		switch {
		case h.Type != c.Type || h.Status != c.Status:
		case h.Reason == c.Reason:
			return h
		case !h.LastTransitionTime.IsZero():
			c.LastTransitionTime = h.LastTransitionTime
		}
	}
	return c
}
