package record

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	notReadySuffix = "/NotReady"
	erroringSuffix = "/Erroring"
)

// Conditions returns the two node conditions that show a Skyhook's record to readers of the node. A condition whose
// reason did not change keeps its times, so that an unchanged record causes no write. There are none once every package is
// uninstalled.
func Conditions(skyhook string, n Node, have []corev1.NodeCondition, now metav1.Time) []corev1.NodeCondition {
	if n.bare() {
		return nil
	}
	ready := corev1.NodeCondition{
		Type: conditionType(skyhook, notReadySuffix), Status: corev1.ConditionTrue,
		Reason: "Incomplete", Message: "Skyhook " + skyhook + " Ready",
	}
	if n.Status == v1alpha1.StatusComplete {
		ready.Status, ready.Reason = corev1.ConditionFalse, "Complete"
	}
	erroring := corev1.NodeCondition{
		Type: conditionType(skyhook, erroringSuffix), Status: corev1.ConditionFalse,
		Reason: "Not Erroring", Message: "Skyhook " + skyhook + " Erroring",
	}
	if anyErroring(n) {
		erroring.Status, erroring.Reason = corev1.ConditionTrue, "Package(s) Erroring or Unknown"
	}
	return []corev1.NodeCondition{stamp(ready, have, now), stamp(erroring, have, now)}
}

// OwnsCondition reports whether a node condition belongs to the record of any Skyhook.
func OwnsCondition(t corev1.NodeConditionType) bool {
	name, ok := strings.CutPrefix(string(t), prefix)
	return ok && (strings.HasSuffix(name, notReadySuffix) || strings.HasSuffix(name, erroringSuffix))
}

// ConditionOf reports whether a node condition belongs to the given Skyhook's record.
func ConditionOf(skyhook string, t corev1.NodeConditionType) bool {
	return t == conditionType(skyhook, notReadySuffix) || t == conditionType(skyhook, erroringSuffix)
}

func conditionType(skyhook, suffix string) corev1.NodeConditionType {
	return corev1.NodeConditionType(prefix + skyhook + suffix)
}

func anyErroring(n Node) bool {
	for _, e := range n.Packages {
		if e.State == v1alpha1.StateErroring || e.State == v1alpha1.StateUnknown {
			return true
		}
	}
	return false
}

func stamp(c corev1.NodeCondition, have []corev1.NodeCondition, now metav1.Time) corev1.NodeCondition {
	for _, h := range have {
		if h.Type != c.Type {
			continue
		}
		if h.Status == c.Status && h.Reason == c.Reason {
			return h
		}
	}
	c.LastHeartbeatTime, c.LastTransitionTime = now, now
	return c
}
