package lifecycle

import (
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// drainInterval is how often a node that is being drained is looked at: nothing announces that a foreign pod left.
const drainInterval = 5 * time.Second

const cordoning = "the node is being cordoned for an interrupt; work starts as soon as the API server shows the cordon"

// drain is the last gate: it has the node cordoned and drained, and reports whether it is: cordoned, as read back from
// the API, and free of all pods that have to leave.
func (p *pass) drain(name string) bool {
	p.needCordon = true
	if !p.Node.Unschedulable || p.Node.CordonUnread {
		p.wait(newWait(name, v1alpha1.ReasonCordoning, cordoning))
		return false
	}
	if p.Drain == nil {
		p.out.LookDrain = true
		return false
	}
	if !p.Drain.Clear {
		p.out.Evict = true
		p.waitNode(p.Drain.wait(name))
		p.out.lookAgain(drainInterval)
		return false
	}
	p.out.Drained = true
	return true
}

// wait says what holds the drain; people and workloads free it.
func (d *Drain) wait(name string) *record.Wait {
	w := &record.Wait{Package: name, Reason: d.Reason, Message: d.Message, Frees: record.FreesOther, Overdue: d.TimedOut, By: d.By}
	if d.TimedOut {
		w.Reason, w.Of = v1alpha1.ReasonDrainTimeout, d.Reason
		w.Message = "the drain takes longer than spec.drain.timeoutSeconds: " + d.Reason + ": " + d.Message
	}
	return w
}

// cordon brings the node's cordon to what this Skyhook needs. A cordon that stood before ours is used but never taken
// for our own, so it is never lifted; one that another Skyhook holds as well is left to it.
func (p *pass) cordon(wanted bool) {
	r := &p.out.Record
	switch {
	case wanted && !r.Cordoned && (!p.Node.Unschedulable || p.Node.CordonedByOther):
		r.Cordoned = true
		if !p.Node.Unschedulable {
			p.out.Unschedulable = new(true)
		}
	case wanted && r.Cordoned && !p.Node.Unschedulable:
		p.out.Unschedulable = new(true) // somebody lifted it while we need it
	case !wanted && r.Cordoned:
		r.Cordoned = false
		if !p.Node.CordonedByOther {
			p.out.Unschedulable = new(false)
		}
	}
}
