package cli

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/text"
)

func (e explainer) onNode(o *outlook, sk *v1alpha1.Skyhook, n *corev1.Node) []cause {
	var all []cause
	r, err := record.Read(sk.Name, n.Annotations)
	if err == nil {
		all = e.failures(o.sight, sk.Name, n, r)
	}
	if !selects(sk, n) && !holds(sk, n.Name) && sk.DeletionTimestamp == nil {
		all = nil // nothing is tried again there
	}
	decided := cmp.Or(o.nodes[n.Name], n)
	_, why, _ := o.reason(sk.Name, decided)
	told := slices.Clone(all)
	for _, w := range o.forecast.Decided[forecast.NodeOf{Node: n.Name, Skyhook: sk.Name}] {
		switch {
		case slices.ContainsFunc(told, func(c cause) bool {
			return c.Package == w.Package && (c.Reason == w.Reason || w.Reason == v1alpha1.ReasonBackingOff)
		}):
			continue // a stage that failed for good also waits for a person, and one that is tried again for its pause
		case w.Reason != v1alpha1.ReasonWaitingForPermit:
		case why.Reason == v1alpha1.ReasonNodeNotReady:
			continue // it gets none
		default:
			w.Message = cmp.Or(permitMessage(sk), w.Message)
		}
		w = remembered(r.Wait, w)
		w.Since = sinceOf(o.view, sk.Name, n.Name, w)
		all = append(all, e.cause(sk.Name, w, n.Name))
	}
	all = e.because(o.sight, sk.Name, decided, r.Wait, all)
	for i := range all {
		switch c := &all[i]; {
		case c.Reason == v1alpha1.ReasonWaitingForPermit:
			c.by = o.home(sk, n.Name)
		case c.Reason == v1alpha1.ReasonNodeStateMalformed && sk.DeletionTimestamp != nil:
			c.Do = e.addressed(subject{skyhook: sk.Name, node: n.Name}.advice(v1alpha1.ReasonMalformedNodeState))
		}
	}
	return e.departed(sk, n, all)
}

// because adds to what is told of a node why it does not progress for a Skyhook, if nothing of that does, and takes the
// advice from what has to wait for that. known is what its record tells.
func (e explainer) because(see *sight, skyhook string, n *corev1.Node, known *record.Wait, told []cause) []cause {
	here, w, waits := see.reason(skyhook, n)
	if !waits {
		return told
	}
	w = remembered(known, w)
	i := slices.IndexFunc(told, func(c cause) bool { return c.Reason == w.Reason })
	held, _ := here.Held()
	switch {
	case i < 0:
		i = len(told)
		told = append(told, e.reason(see, skyhook, n, &here, w))
	case held: // it also tells what becomes of cordon and place
		told[i].Message = e.cause(skyhook, w, n.Name).Message
	case here.Away() && w.Reason != v1alpha1.ReasonNodeNotReady && w.Reason != v1alpha1.ReasonRebootTimeout:
		told[i].Message += "; the node is not Ready"
	}
	if here.Lost() { // before all that nobody can do anything about meanwhile
		first := told[i]
		told = slices.Insert(slices.Delete(told, i, i+1), 0, first)
	}
	postpone(told, &here, w.Reason)
	return told
}

// reason is why a node does not progress, with what the cluster knows of that.
func (e explainer) reason(see *sight, skyhook string, n *corev1.Node, here *situation.Situation, w record.Wait) cause {
	switch {
	case w.Reason == v1alpha1.ReasonWaitingForPermit:
		w.Message = cmp.Or(permitMessage(see.of[skyhook].skyhook), "the node waits until others have finished, or until the operator plans again")
	case w.Reason == v1alpha1.ReasonNodeNotReady && w.Since.IsZero():
		w.Since = metav1.NewTime(here.NotReadySince)
	}
	c := e.cause(skyhook, w, n.Name)
	for _, ready := range n.Status.Conditions {
		if w.Reason == v1alpha1.ReasonNodeNotReady && ready.Type == corev1.NodeReady && ready.Message != "" {
			c.Message += ": " + ready.Message
		}
	}
	return c
}

// postpone takes the advice from what nothing helps against before something else has ended: on a node that is away that
// is everything else, and on one that is held what failed there. What a reboot left is for somebody at the host.
func postpone(all []cause, here *situation.Situation, first string) {
	held, _ := here.Held()
	for i := range all {
		c := &all[i]
		c.begun = here.Facts.Begun
		ignored := c.Reason == v1alpha1.ReasonNodeIgnored && here.Facts.InProgress && !here.Facts.Interrupting
		switch {
		case c.Reason == first && held && here.Lost(): // what holds it ends nothing while its host is away
			c.later, c.Do = true, "Nothing before the node is Ready: "+situation.BringBack(c.Nodes[0])+"."
		case c.Reason == first && ignored:
			c.later, c.Do = true, fmt.Sprintf("To end what runs there, which may leave the host half changed: `kubectl skyhook node "+
				"exclude %s`. To include the node again: `kubectl label node %[1]s %s-`.", c.Nodes[0], v1alpha1.LabelIgnore)
		case c.Reason == v1alpha1.ReasonTaintNotTolerable && c.begun && !untaints(c.Reason, c.by):
			c.Do = "Find out who set the taint, and why: the work of the Skyhook there may be the cause. Whoever set the taint " +
				"removes it when the host is healthy."
		case c.Reason == first, c.Reason == v1alpha1.ReasonRebootTimeout:
		case here.Lost():
			c.later, c.behind, c.Do = true, true, "Nothing before the node is Ready."
		case held && c.stage != "":
			c.later, c.behind, c.Do = true, true, "Nothing before "+first+" has ended."+c.logs
		}
	}
}

// remembered is a wait as the operator told it, if it knows more of it than a look at the cluster tells: that pods came
// back takes several looks.
func remembered(told *record.Wait, w record.Wait) record.Wait {
	after := []string{ // of which the operator tells only where no pod comes back
		v1alpha1.ReasonPodUnmanaged, v1alpha1.ReasonPodUsesEmptyDir, v1alpha1.ReasonPodTerminating, v1alpha1.ReasonEvicting,
	}
	if told == nil || cmp.Or(told.Of, told.Reason) != v1alpha1.ReasonPodReturns || told.Package != w.Package ||
		!slices.Contains(after, cmp.Or(w.Of, w.Reason)) {
		return w
	}
	known := *told
	known.By = w.By
	return known
}

// failing is a stage that failed, with the last lines of what it printed.
func (e explainer) failing(skyhook, node string, entry record.Entry) cause {
	w := record.Wait{Package: entry.Name, Reason: entry.Reason, Since: entry.Since}
	w.Message = fmt.Sprintf("%s of %s %s failed", entry.Stage, entry.Name, entry.Version)
	if entry.Restarts > 0 {
		w.Message += ", " + text.Count(int(entry.Restarts), "time")
	}
	w.Message += ": " + entry.Message
	c := e.cause(skyhook, w, node)
	c.Message, c.stage = w.Message, entry.Stage // what scripts print is not the operator's advice
	_, never := ofKubelet[entry.Reason]
	switch {
	case never, entry.Reason == v1alpha1.ReasonPodRejected:
		return c // no container started, so that there is no output
	case c.Do == "" && !entry.Attempted(): // the kubelet refused or ended the pod
		w.Reason = v1alpha1.ReasonPodLost
		lost := e.cause(skyhook, w, node)
		c.Do, c.EndedBy, c.lost = lost.Do, lost.EndedBy, true
		return c
	case record.IsUninstall(entry.Stage) && situation.Exhausted(entry):
		c.Do = "Fix the package, or raise its limit: any edit of the spec retries the stage."
	case c.Do == "", entry.Reason == v1alpha1.ReasonStepFailed:
		c.Do = "Correct the script, the configuration or the host. The step is retried with growing pauses"
		if !record.IsUninstall(entry.Stage) && !record.IsInterrupt(entry.Stage) {
			c.Do += ", and at once when the package is run again"
		}
		c.Do += "."
	}
	c.logs = e.addressed(fmt.Sprintf(" `kubectl skyhook package logs %s --skyhook %s --node %s --stage %s` prints its output.",
		entry.Name, skyhook, node, entry.Stage))
	c.Do += c.logs
	return c
}
