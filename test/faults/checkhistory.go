package faults

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// checkHistory: of a Skyhook that is complete no rollout is open, none is listed twice, and no stage is counted twice.
func (w *World) checkHistory() {
	for _, cm := range w.cluster.ConfigMaps() {
		name, ours := cm.Labels[v1alpha1.GroupName+"/history"]
		s := w.skyhook(name)
		if !ours {
			continue
		}
		if s == nil || !metav1.IsControlledBy(cm, s) {
			w.find("leaked-history", "ConfigMap %s is there, but not the Skyhook that it belongs to", cm.Name)
			continue
		}
		w.checkRollouts(cm, s)
		w.checkMeasured(cm, name)
	}
}

func (w *World) checkRollouts(cm *corev1.ConfigMap, s *v1alpha1.Skyhook) {
	var rollouts []struct {
		Generation int64       `json:"generation"`
		Ended      metav1.Time `json:"ended"`
	}
	err := json.Unmarshal([]byte(cm.Data["rollouts"]), &rollouts)
	wrong, last := err != nil || len(rollouts) > 20, s.Generation+1
	for _, r := range rollouts {
		wrong = wrong || r.Generation >= last || r.Ended.IsZero()
		last = r.Generation
	}
	if wrong {
		w.find("history-wrong", "Skyhook %s of generation %d is complete, but its rollouts are %s (%v)",
			s.Name, s.Generation, cm.Data["rollouts"], err)
	}
}

func (w *World) checkMeasured(cm *corev1.ConfigMap, skyhook string) {
	var stages []struct {
		Stage string `json:"stage"`
		Count int    `json:"count"`
	}
	err := json.Unmarshal([]byte(cm.Data["stages"]), &stages)
	measured := 0
	for _, st := range stages {
		if st.Stage != "interrupt" && st.Stage != "uninstall-interrupt" { // a reboot ends without its pod
			measured += st.Count
		}
	}
	if err != nil || measured > w.ended[skyhook] {
		w.find("counted-twice", "of Skyhook %s %d stages ended, but %d are counted: %s (%v)",
			skyhook, w.ended[skyhook], measured, cm.Data["stages"], err)
	}
}
