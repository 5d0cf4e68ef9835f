package faults

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// The facts below tell findings of one check apart: they say what is to be seen, never why.

// restlessness tells what goes on in a world that does not come to rest.
func (w *World) restlessness() string {
	var parts []string
	if w.watch.restReboots > sameStates {
		parts = append(parts, "reboots")
	}
	for _, what := range sortedKeys(w.watch.activity) {
		if w.watch.activity[what] >= sameStates-1 {
			parts = append(parts, what)
		}
	}
	for _, s := range w.foreign {
		if pod := w.workload(s.name); pod != nil && w.comesBack(s.Name) && w.cordoned(pod.Spec.NodeName) {
			parts = append(parts, "returning")
			break
		}
	}
	return strings.Join(parts, "+")
}

func (w *World) cordoned(node string) bool {
	n := w.node(node)
	return n != nil && n.Spec.Unschedulable
}

// silence tells what is to be seen of a Skyhook on a node that says nothing.
func (w *World) silence(s *v1alpha1.Skyhook, node string) string {
	facts := map[string]bool{}
	if s.Status.ObservedGeneration != s.Generation {
		facts["unobserved"] = true
	}
	if s.DeletionTimestamp != nil {
		facts["deleting"] = true
	}
	for key, text := range w.errors {
		if key == "skyhook/"+s.Name || key == "node/"+node || node == "" && strings.HasPrefix(key, "node/") {
			facts["error:"+text] = true
		}
	}
	if n := w.node(node); n != nil {
		w.entryFacts(s, n, facts)
	}
	return strings.Join(sortedKeys(facts), "+")
}

func (w *World) entryFacts(s *v1alpha1.Skyhook, n *corev1.Node, facts map[string]bool) {
	r, err := record.Read(s.Name, n.Annotations)
	if err != nil {
		facts["malformed"] = true
	}
	if !slices.ContainsFunc(s.Status.Permits, func(p v1alpha1.Permit) bool { return p.Node == n.Name }) {
		facts["no-permit"] = true
	}
	for _, e := range r.Packages {
		if e.State == v1alpha1.StateComplete {
			continue
		}
		facts[fmt.Sprintf("%s/%s%s", e.Stage, e.State, w.podFacts(s, n.Name, e.Name))] = true
	}
	for _, pod := range w.cluster.Pods() {
		owner, ours := ownerOf(pod)
		if ours && pod.Spec.NodeName == n.Name && owner.UID != s.UID {
			facts["other:"+containerState(pod)] = true
		}
	}
}

func (w *World) podFacts(s *v1alpha1.Skyhook, node, pkg string) string {
	for _, pod := range w.cluster.Pods() {
		owner, ours := ownerOf(pod)
		if ours && pod.Spec.NodeName == node && owner.UID == s.UID && identityOf(pod).Name == pkg {
			return ":" + containerState(pod)
		}
	}
	return ":no-pod"
}

// vainFacts tell about an edit that did not help.
func (w *World) vainFacts(r reason) string {
	text := r.reason
	if r.pkg != "" {
		text = string(r.stage) + "/" + w.watch.cured
		if s := w.skyhook(r.skyhook); s != nil && s.DeletionTimestamp != nil {
			text += "/deleting"
		}
	}
	return text
}

// stuckFacts tell what is left after many edits: what a package fails at, if any does.
func (w *World) stuckFacts(open []reason) string {
	for _, r := range open {
		if r.pkg != "" {
			return w.vainFacts(r)
		}
	}
	return open[0].reason
}

// holderFacts tell what is to be seen of interrupts on a node.
func (w *World) holderFacts(node string) string {
	n := w.node(node)
	if n == nil {
		return ""
	}
	facts := map[string]bool{}
	for _, name := range record.Skyhooks(n.Annotations, n.Labels) {
		r, _ := record.Read(name, n.Annotations)
		for _, e := range r.Packages {
			if isInterruptStage(e.Stage) && e.Active() {
				fact := fmt.Sprintf("/%s/%s/%s", e.Stage, e.State, e.Reason)
				if s := w.skyhook(name); s != nil {
					fact += "/" + string(s.Status.Status)
				}
				facts[fact] = true
			}
		}
	}
	return strings.Join(sortedKeys(facts), "+")
}

// aloneFacts tell two pods on one node apart.
func (c *watcher) aloneFacts(pod, other *corev1.Pod) string {
	is := identityOf(other)
	facts := string(is.Stage)
	if other.DeletionTimestamp != nil {
		facts += "/terminating"
	}
	mine, _ := ownerOf(pod)
	theirs, _ := ownerOf(other)
	if mine.UID != theirs.UID {
		facts += "/other-skyhook"
	}
	s := c.w.skyhook(is.Skyhook)
	switch {
	case s == nil:
		facts += "/gone"
	case s.UID != theirs.UID:
		facts += "/recreated"
	case !slices.ContainsFunc(c.w.selected(s), func(n *corev1.Node) bool { return n.Name == other.Spec.NodeName }):
		facts += "/unselected"
	case s.DeletionTimestamp != nil:
		facts += "/deleting"
	}
	return facts
}

// errorKind is an error of a pass in one word.
func errorKind(err error) string {
	text := err.Error()
	for _, k := range [][2]string{
		{"does not belong", "name-taken"},
		{"already exists", "already-exists"},
		{"too large", "too-large"},
		{"too long", "too-large"},
		{"1048576", "too-large"},
		{"forbidden", "forbidden"},
		{"conflict", "conflict"},
		{"injected", "injected"},
		{"invalid", "invalid"},
	} {
		if strings.Contains(strings.ToLower(text), k[0]) {
			return k[1]
		}
	}
	return "other"
}
