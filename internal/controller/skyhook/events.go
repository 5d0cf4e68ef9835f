package skyhook

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// tellTransitions sends the events about what nodes went through since the last pass: one for each kind of it.
func (r *Reconciler) tellTransitions(s *v1alpha1.Skyhook) {
	for _, told := range r.Transitions.Take(s.Name) {
		// With the first node, so that a recorder does not take the next event of this kind for the same one.
		first := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: told.Nodes[0]}
		r.Events.Eventf(s, first, told.Type, told.Reason, state.Action(told.Stage, told.Package), "%s", transitionText(&told))
	}
}

func transitionText(told *state.Told) string {
	on := text.Count(len(told.Nodes), "node") + " (" + text.Names(told.Nodes) + ")"
	if len(told.Nodes) == 1 {
		on = "node " + told.Nodes[0]
	}
	if told.Type == corev1.EventTypeNormal && told.Reason == v1alpha1.EventApply {
		return fmt.Sprintf("stage %s of package [%s:%s] begins on %s", told.Stage, told.Package, told.Version, on)
	}
	if len(told.Nodes) == 1 {
		return on + ": " + told.Message
	}
	return fmt.Sprintf("%s; node %s: %s", on, told.Nodes[0], told.Message)
}
