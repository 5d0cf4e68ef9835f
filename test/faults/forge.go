package faults

import (
	"encoding/json"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// forgeRecord has the kubelet of a node that workloads are kept off claim that all of a Skyhook is there.
func (w *World) forgeRecord(r *rand.Rand) {
	type target struct{ node, skyhook string }
	var all []target
	for _, name := range names(w.cluster.Skyhooks()) {
		s := w.skyhook(name)
		for _, n := range w.selected(s) {
			if s.Spec.RuntimeRequired && taint.Has(n, runtimeTaint) {
				all = append(all, target{n.Name, name})
			}
		}
	}
	if len(all) == 0 {
		return
	}
	t := pick(r, all...)
	w.trace.add(w, "kubelet %s forges its record of %s", t.node, t.skyhook)
	w.editNode(t.node, func(n *corev1.Node) { w.forge(n, w.skyhook(t.skyhook)) })
}

// forgeNode has a node go, and come back with a record of its own making.
func (k *kubelet) forgeNode() {
	k.forges = true
	k.deleteNode()
}

func (w *World) forge(n *corev1.Node, s *v1alpha1.Skyhook) {
	entries := map[string]record.Entry{}
	for name, pkg := range s.Spec.Packages {
		e := record.Entry{
			Name: name, Version: pkg.Version, Image: pkg.Image, Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete,
			Run: "forged", Since: metav1.NewTime(w.now), Config: record.HashConfig(pkg.ConfigMap), Generation: s.Generation,
		}
		if pkg.Interrupt != nil {
			e.Stage = v1alpha1.StagePostInterrupt
		}
		entries[e.Key()] = e
	}
	states, err := json.Marshal(entries)
	w.must(err)
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Annotations[v1alpha1.AnnotationNodeStatePrefix+s.Name] = string(states)
	n.Annotations[v1alpha1.AnnotationStatusPrefix+s.Name] = string(v1alpha1.StatusComplete)
	w.kubelet(n.Name).host.forged[s.Name] = true
}

// forgeAll is what a node that comes back claims.
func (w *World) forgeAll(n *corev1.Node) {
	for _, name := range names(w.cluster.Skyhooks()) {
		if s := w.skyhook(name); s.Spec.RuntimeRequired {
			w.forge(n, s)
		}
	}
}

// believes forgets forged records that are gone.
func (h *host) believes(n *corev1.Node) {
	for name := range h.forged {
		if _, there := n.Annotations[v1alpha1.AnnotationNodeStatePrefix+name]; !there {
			delete(h.forged, name)
		}
	}
}

// checkTaint: workloads come only where everything ran that they wait for, whatever the node says: the taint goes no
// sooner, and a new node gets it with the first that the operator says of it.
func (c *watcher) checkTaint(old, now *corev1.Node) {
	had, has := taint.Has(old, runtimeTaint), taint.Has(now, runtimeTaint)
	if c.w.acting == nil || has {
		return
	}
	met := !record.AnySeal(old.Labels) && record.AnySeal(now.Labels) && now.Labels[v1alpha1.LabelIgnore] != "true"
	h := c.w.kubelet(now.Name).host
	for _, s := range c.w.cluster.Skyhooks() {
		targets := slices.ContainsFunc(c.w.selected(s), func(n *corev1.Node) bool { return n.Name == now.Name })
		if !s.Spec.RuntimeRequired || s.DeletionTimestamp != nil || !targets || c.behind(s) {
			continue
		}
		lacks, facts := h.lacks(s)
		joined := s.CreationTimestamp.Before(&now.CreationTimestamp)
		switch {
		case lacks == "":
		case had:
			c.w.findClass("taint-early", facts, "workloads may come to node %s, but %s of %s is not there: %v",
				now.Name, lacks, s.Name, h)
		case met && joined && s.Spec.AutoTaintNewNodes:
			c.w.findClass("taint-missing", facts, "node %s is new and has no taint, but %s of %s is not there: %v",
				now.Name, lacks, s.Name, h)
		}
	}
}

// lacks is the first package of a Skyhook that is not on the disk, and what is there of it; empty when none is missing.
func (h *host) lacks(s *v1alpha1.Skyhook) (name, facts string) {
	for _, name := range sortedKeys(s.Spec.Packages) {
		pkg, on := s.Spec.Packages[name], h.installed[s.Name+"/"+name]
		leaves := pkg.Uninstall != nil && pkg.Uninstall.Apply
		if !leaves && (on == nil || on.version != pkg.Version || on.configured != pkg.Version) {
			return name, hostFacts(on, pkg)
		}
	}
	return "", ""
}
