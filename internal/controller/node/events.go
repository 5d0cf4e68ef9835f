package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/text"
)

const (
	// maxNote is the longest text of an event.
	maxNote = 1000
	// gatherFor is for how long the stages of a node are gathered for one event while there are more to come: one event
	// for each would be a quarter of all writes of a rollout.
	gatherFor = 10 * time.Second
)

// untold are stages of a Skyhook on a node that began or ended, and that no event tells of yet. A restart loses them.
type untold struct {
	// skyhook names it: the object has a line for each node with a permit, and this is kept for each of them.
	skyhook corev1.ObjectReference
	// action of the event.
	action string
	stages []string
	since  time.Time
}

// report logs what became of one Skyhook's decision, and sends the events of the node, after its writes: one for stages
// that began or ended, which is sent later if there are more to come, and one at once for each thing that is worth its
// own. Those of the Skyhook tell of many nodes at once, so it is only noted for them.
func (i *item) report(ctx context.Context) {
	p := i.pass
	logRecord(ctx, i)
	if slices.ContainsFunc(i.decision.Changes, func(c lifecycle.Change) bool { return !isStage(c) }) {
		p.tellStages(func(u *untold) bool { return u.skyhook.UID == i.skyhook.UID }) // they came before
	}
	for _, c := range i.decision.Changes {
		logChange(ctx, i, c)
		what := state.Transition{
			Type: corev1.EventTypeNormal, Reason: c.Reason, Stage: c.Stage, State: c.State, Package: c.Package,
			Version: c.Version,
		}
		switch {
		case c.Reason == v1alpha1.ReasonImageMoved: // somebody has to look at it
			what.Type = corev1.EventTypeWarning
			i.tell(what, c.Message)
		case c.Reason == v1alpha1.ReasonUninstalled: // what ends an uninstall; the Skyhook's event has the reason
			i.gather(c)
			p.Transitions.Add(i.skyhook.Name, p.node.Name, c.Message, what)
		case c.Reason != "":
			i.tell(what, c.Message)
		case c.State == v1alpha1.StateErroring:
			what.Type, what.Reason = corev1.EventTypeWarning, v1alpha1.EventError
			i.tell(what, fmt.Sprintf("stage %s of package [%s:%s] fails: %s", c.Stage, c.Package, c.Version, c.Message))
		default:
			i.gather(c)
			if c.State == v1alpha1.StateInProgress {
				what.Reason = v1alpha1.EventApply
				p.Transitions.Add(i.skyhook.Name, p.node.Name, "", what)
			}
		}
	}
}

// isStage reports whether a change says no more than that a stage began or ended well.
func isStage(c lifecycle.Change) bool {
	return c.Reason == v1alpha1.ReasonUninstalled || c.Reason == "" && c.State != v1alpha1.StateErroring
}

func stageText(c lifecycle.Change) string {
	if c.Reason != "" {
		return c.Message
	}
	if c.State == v1alpha1.StateInProgress {
		return fmt.Sprintf("stage %s of package [%s:%s] begins", c.Stage, c.Package, c.Version)
	}
	return fmt.Sprintf("stage %s of package [%s:%s] is %s", c.Stage, c.Package, c.Version, c.State)
}

// gather notes what an event is to tell of a stage.
func (i *item) gather(c lifecycle.Change) {
	of := func(u *untold) bool { return u.skyhook.UID == i.skyhook.UID }
	p, what := i.pass, stageText(c)
	p.tellStages(func(u *untold) bool { return of(u) && len(u.note())+len(what) >= maxNote })
	known := p.known
	at := slices.IndexFunc(known.untold, of)
	if at < 0 {
		at = len(known.untold)
		skyhook := corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Skyhook", Name: i.skyhook.Name, UID: i.skyhook.UID,
		}
		known.untold = append(known.untold, &untold{skyhook: skyhook, action: state.Action(c.Stage, c.Package), since: p.now})
	}
	known.untold[at].stages = append(known.untold[at].stages, what)
}

func (u *untold) note() string {
	return fmt.Sprintf("Skyhook %s: %s", u.skyhook.Name, strings.Join(u.stages, "; "))
}

// tellStages sends the events about those of the gathered stages that ok accepts.
func (p *pass) tellStages(ok func(*untold) bool) {
	p.known.untold = slices.DeleteFunc(p.known.untold, func(u *untold) bool {
		if !ok(u) {
			return false
		}
		p.Events.Eventf(p.node, &u.skyhook, corev1.EventTypeNormal, v1alpha1.EventApply, u.action, "%s",
			text.Cut(u.note(), maxNote))
		return true
	})
}

// tellGathered sends the events about stages that were gathered for long enough, or are followed by none for now. It
// returns when the next of the others is to be sent; 0 for never.
func (p *pass) tellGathered() (after time.Duration) {
	p.tellStages(func(u *untold) bool {
		follows := slices.ContainsFunc(p.items, func(i *item) bool {
			return i.skyhook.UID == u.skyhook.UID && i.decision.Record.Status == v1alpha1.StatusInProgress
		})
		return !follows || p.now.Sub(u.since) >= gatherFor
	})
	for _, u := range p.known.untold {
		if due := u.since.Add(gatherFor).Sub(p.now); after == 0 || due < after {
			after = due
		}
	}
	return after
}

// tell sends an event of the node, and notes it for the Skyhook.
func (i *item) tell(what state.Transition, message string) {
	p := i.pass
	p.Events.Eventf(p.node, i.skyhook, what.Type, what.Reason, state.Action(what.Stage, what.Package), "Skyhook %s: %s",
		i.skyhook.Name, message)
	p.Transitions.Add(i.skyhook.Name, p.node.Name, message, what)
}
