package faults

import (
	"encoding/json"
	"errors"

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
		var rollouts []struct {
			Generation int64       `json:"generation"`
			Ended      metav1.Time `json:"ended"`
		}
		var stages []struct {
			Stage string `json:"stage"`
			Count int    `json:"count"`
		}
		err := json.Unmarshal([]byte(cm.Data["rollouts"]), &rollouts)
		if err = errors.Join(err, json.Unmarshal([]byte(cm.Data["stages"]), &stages)); err != nil {
			w.find("history-malformed", "ConfigMap %s: %v: %v", cm.Name, err, cm.Data)
		}
		last := s.Generation + 1
		for _, r := range rollouts {
			if r.Generation >= last || r.Ended.IsZero() || len(rollouts) > 20 {
				w.find("history-wrong", "Skyhook %s of generation %d is complete, but its rollouts are %s",
					name, s.Generation, cm.Data["rollouts"])
				break
			}
			last = r.Generation
		}
		measured := 0
		for _, st := range stages {
			if st.Stage != "interrupt" && st.Stage != "uninstall-interrupt" { // a reboot ends without its pod
				measured += st.Count
			}
		}
		if measured > w.ended[name] {
			w.find("counted-twice", "of Skyhook %s %d stages ended, but %d are counted: %s",
				name, w.ended[name], measured, cm.Data["stages"])
		}
	}
}
