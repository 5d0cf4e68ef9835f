package faults

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// checkWhole compares what a world at rest is told with what is on its hosts: what counts as complete has all that is
// asked for, and what has all of it, and nothing that holds it, counts as complete.
func (w *World) checkWhole() {
	for _, s := range w.cluster.Skyhooks() {
		if s.DeletionTimestamp != nil || s.Status.ObservedGeneration != s.Generation {
			continue // it says which spec it tells of, see open
		}
		whole, known := true, true
		for _, n := range w.selected(s) {
			lacks, sure := w.lacksAtRest(s, n)
			known = known && sure
			if whole = whole && lacks == ""; sure {
				w.checkLabel(s, n, lacks)
			}
		}
		free := w.heldBy(s) == "" && trueCondition(s, "RolloutStopped") == nil
		switch is := s.Status.Status == v1alpha1.StatusComplete; {
		case !known:
		case is && !whole:
			w.findClass("false-complete", "status", "Skyhook %s is complete, but not all of its nodes are", s.Name)
		case !is && whole && free && len(w.selected(s)) > 0 && w.allFree(s):
			w.findClass("complete-untold", "status", "all nodes of Skyhook %s have all of it, but it is %q: %s", s.Name, s.Status.Status, w.state())
		}
	}
}

// checkLabel compares what a node says with what is on its host.
func (w *World) checkLabel(s *v1alpha1.Skyhook, n *corev1.Node, lacks string) {
	says := n.Labels[v1alpha1.GroupName+"/status_"+s.Name]
	switch is := says == string(v1alpha1.StatusComplete); {
	case is && lacks != "":
		w.findClass("false-complete", "label", "node %s says that Skyhook %s is complete there, but it lacks %s: %v",
			n.Name, s.Name, lacks, w.kubelet(n.Name).host)
	case says == "" && w.bare(s, n): // nothing of it was ever there, or is any more
	case !is && lacks == "" && w.heldBy(s) == "" && w.free(n):
		w.findClass("complete-untold", "label", "node %s has all of Skyhook %s, but says %q: %s", n.Name, s.Name, says, w.state())
	}
}

// bare reports whether a host has nothing of a Skyhook.
func (w *World) bare(s *v1alpha1.Skyhook, n *corev1.Node) bool {
	return !slices.ContainsFunc(sortedKeys(w.kubelet(n.Name).host.installed), func(key string) bool {
		return strings.HasPrefix(key, s.Name+"/")
	})
}

// lacksAtRest is what a host lacks of what a Skyhook asks for, and whether that is known.
func (w *World) lacksAtRest(s *v1alpha1.Skyhook, n *corev1.Node) (lacks string, sure bool) {
	h, a := w.kubelet(n.Name).host, w.watch.ledger.account(n.Name, s.Name)
	lost := slices.ContainsFunc(sortedKeys(h.installed), func(key string) bool { return h.installed[key].forgotten })
	undoing := false // what may be half applied is undone, although nothing of it may be there
	r, _ := record.Read(s.Name, n.Annotations)
	for _, e := range r.Packages {
		fails := e.Stage == v1alpha1.StageUninstall && e.State == v1alpha1.StateErroring
		waits := !record.IsUninstall(e.Stage) && s.Spec.Packages[e.Name].Uninstall.Requested() // for its turn
		undoing = undoing || (fails || waits) && h.installed[s.Name+"/"+e.Name] == nil
		// Nobody knows that it ended after all, once its time was over.
		undoing = undoing || e.State == v1alpha1.StateErroring && e.Reason == v1alpha1.ReasonStageTimeout
	}
	for _, d := range a.debts { // others' reboot served an uninstall, which nobody has to know
		undoing = undoing || d.gone && d.paid
	}
	return w.watch.ledger.lacks(a, s), !h.forged[s.Name] && !a.tampered && !lost && !undoing && len(a.unseen) == 0 && !w.plan.Reapply
}

// heldBy is what a person or a spec keeps a Skyhook back with; empty for nothing.
func (w *World) heldBy(s *v1alpha1.Skyhook) string {
	switch {
	case w.stop() != nil:
		return "stopped"
	case s.Paused(), s.Disabled():
		return "held"
	case len(wholeReasons(s)) > 0:
		return wholeReasons(s)[0].reason
	}
	return ""
}

func (w *World) allFree(s *v1alpha1.Skyhook) bool {
	return !slices.ContainsFunc(w.selected(s), func(n *corev1.Node) bool { return !w.free(n) })
}

// free reports whether nobody keeps Skyhooks off a node.
func (w *World) free(n *corev1.Node) bool {
	return readyNode(n) && !v1alpha1.Ignored(n.Labels) && len(n.Spec.Taints) == 0
}
