package node

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// maxNote is the longest text of an event.
const maxNote = 1000

// report logs what became of one Skyhook's decision, and sends the events of the node, after its writes: one for all
// stages that began or ended, and one for each thing that is worth its own. Those of the Skyhook tell of many nodes at
// once, so it is only noted for them.
func (r *Reconciler) report(ctx context.Context, node *corev1.Node, i *item) {
	logRecord(ctx, node.Name, i)
	var stages []string
	var first lifecycle.Change
	for _, c := range i.decision.Changes {
		logChange(ctx, node.Name, i, c)
		what := state.Transition{
			Type: corev1.EventTypeNormal, Reason: c.Reason, Stage: c.Stage, State: c.State, Package: c.Package, Version: c.Version,
		}
		switch {
		case c.Reason == v1alpha1.ReasonImageMoved: // somebody has to look at it
			what.Type = corev1.EventTypeWarning
			r.tell(node, i, what, c.Message)
		case c.Reason != "":
			r.tell(node, i, what, c.Message)
		case c.State == v1alpha1.StateErroring:
			what.Type, what.Reason = corev1.EventTypeWarning, v1alpha1.EventError
			r.tell(node, i, what, fmt.Sprintf("stage %s of package [%s:%s] fails: %s", c.Stage, c.Package, c.Version, c.Message))
		default:
			if stages == nil {
				first = c
			}
			stages = append(stages, stageText(c))
			if c.State == v1alpha1.StateInProgress {
				what.Reason = v1alpha1.EventApply
				r.Transitions.Add(i.skyhook.Name, node.Name, "", what)
			}
		}
	}
	if stages != nil {
		r.Events.Eventf(node, i.skyhook, corev1.EventTypeNormal, v1alpha1.EventApply, string(first.Stage), "Skyhook %s: %s",
			i.skyhook.Name, text.Cut(strings.Join(stages, "; "), maxNote))
	}
}

func stageText(c lifecycle.Change) string {
	if c.State == v1alpha1.StateInProgress {
		return fmt.Sprintf("stage %s of package [%s:%s] begins", c.Stage, c.Package, c.Version)
	}
	return fmt.Sprintf("stage %s of package [%s:%s] is %s", c.Stage, c.Package, c.Version, c.State)
}

// tell sends an event of the node, and notes it for the Skyhook.
func (r *Reconciler) tell(node *corev1.Node, i *item, what state.Transition, message string) {
	r.Events.Eventf(node, i.skyhook, what.Type, what.Reason, string(what.Stage), "Skyhook %s: %s", i.skyhook.Name, message)
	r.Transitions.Add(i.skyhook.Name, node.Name, message, what)
}
