package faults

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// Moments that a happening may wait for. What happens then is mostly about the pod that makes the moment.
const (
	whenRunning   = "running"   // a package pod is there
	whenInterrupt = "interrupt" // the pod of an interrupt is there
	whenFailing   = "failing"   // a package pod fails
	whenEnding    = "ending"    // a package pod is being deleted
)

// moment returns a pod that makes a moment, drawn with the happening's own seed; nil while there is none.
func (w *World) moment(h Happening) *corev1.Pod {
	var all []*corev1.Pod
	for _, pod := range w.cluster.Pods() {
		if _, ours := ownerOf(pod); ours && live(pod) && makes(pod, h.When) {
			all = append(all, pod)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return pick(rand.New(rand.NewPCG(h.R, 0xf0c5)), all...)
}

func makes(pod *corev1.Pod, when string) bool {
	switch when {
	case whenInterrupt:
		return isInterruptStage(identityOf(pod).Stage)
	case whenFailing:
		return failing(pod)
	case whenEnding:
		return pod.DeletionTimestamp != nil
	}
	return true
}

// happenDue lets everything happen whose step, and moment, has come.
func (w *World) happenDue() {
	var later []Happening
	for _, h := range w.pending {
		switch {
		case h.At > w.step:
			later = append(later, h)
		case h.When == "":
			w.focus = nil
			w.happen(h)
		default:
			if w.focus = w.moment(h); w.focus == nil {
				later = append(later, h)
				continue
			}
			w.trace.add(w, "while %s is %s:", w.focus.Name, h.When)
			w.happen(h)
		}
	}
	w.pending, w.focus = later, nil
}

// aim prefers what the moment is about.
func aim(r *rand.Rand, focus string, all []string) string {
	for _, name := range all {
		if name == focus && r.IntN(10) < 8 {
			return name
		}
	}
	return pick(r, all...)
}

func (w *World) focusOn() (skyhook, pkg, node string) {
	if w.focus == nil {
		return "", "", ""
	}
	id := identityOf(w.focus)
	return id.Skyhook, id.Name, w.focus.Spec.NodeName
}

// deselect makes a Skyhook select other nodes than the one that the moment is about.
func (e *edit) deselect() {
	_, _, name := e.w.focusOn()
	zone := "one"
	if n := e.w.node(name); n != nil && n.Labels["zone"] == "one" {
		zone = "two"
	}
	e.Spec.NodeSelectors.MatchLabels = map[string]string{"zone": zone}
}

// undermine asks for the uninstall of a package that the one at work depends on, and that one loses its pod.
func (w *World) undermine(r *rand.Rand) {
	if w.focus == nil {
		return
	}
	id := identityOf(w.focus)
	hit := false
	w.editSkyhook(id.Skyhook, func(s *v1alpha1.Skyhook) {
		for _, dep := range sortedKeys(s.Spec.Packages[id.Name].DependsOn) {
			pkg := s.Spec.Packages[dep]
			if pkg.Uninstall == nil {
				continue
			}
			pkg.Uninstall.Apply = true
			w.trace.add(w, "user asks to uninstall %s, on which %s depends", dep, id.Name)
			hit = true
			break
		}
	})
	if hit {
		w.hitPod(r, pick(r, "delete", "lose"))
	}
}

// editEarlier changes the config of a Skyhook that comes before the one that the moment is about.
func (w *World) editEarlier(r *rand.Rand) {
	name, _, _ := w.focusOn()
	later := w.skyhook(name)
	if later == nil {
		return
	}
	for _, s := range w.cluster.Skyhooks() {
		if rollout.Before(s, later) {
			w.editSkyhook(s.Name, func(s *v1alpha1.Skyhook) {
				for _, pkg := range sortedKeys(s.Spec.Packages) {
					e := &edit{Rand: r, w: w, Skyhook: s, name: pkg}
					w.trace.add(w, "user edits Skyhook %s, package %s", s.Name, pkg)
					e.version(pick(r, "2.1.0", "3.0.0", "3.1.0"))
				}
			})
			return
		}
	}
}
