package lifecycle

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// quiet reports whether the node is cordoned, as read back from the API, and free of all pods that have to leave. It
// asks for what is missing.
func (m *machine) quiet(name string) bool {
	m.needCordon = true
	if !m.Node.Unschedulable {
		m.wait(name, ReasonCordon, "the node is being cordoned")
		return false
	}
	if m.Drain == nil {
		m.out.LookDrain = true
		return false
	}
	if !m.Drain.Clear {
		m.out.Evict = true
		reason, message := m.Drain.Reason, m.Drain.Message
		if m.Drain.TimedOut {
			reason, message = ReasonDrainTimeout, m.Drain.Reason+": "+message
		}
		m.waitNode(name, reason, message)
		m.lookAgain(drainInterval)
		return false
	}
	return true
}

// cordon brings the node's cordon to what this Skyhook needs. A cordon that stood before ours is used but never taken
// for our own, so it is never lifted; one that another Skyhook holds as well is left to it.
func (m *machine) cordon(wanted bool) {
	r, yes, no := &m.out.Record, true, false
	switch {
	case wanted && !r.Cordoned && (!m.Node.Unschedulable || m.Node.CordonedByOther):
		r.Cordoned = true
		if !m.Node.Unschedulable {
			m.out.Unschedulable = &yes
		}
	case wanted && r.Cordoned && !m.Node.Unschedulable:
		m.out.Unschedulable = &yes // somebody lifted it while we need it
	case !wanted && r.Cordoned:
		r.Cordoned = false
		if !m.Node.CordonedByOther {
			m.out.Unschedulable = &no
		}
	}
}

// waitNode records a wait of the whole node, which people see in the Skyhook's status.
func (m *machine) waitNode(name, reason, message string) {
	m.wait(name, reason, message)
	m.tellNode(reason, message)
}

// tellNode records a wait of the whole node.
func (m *machine) tellNode(reason, message string) {
	if m.out.Record.Wait != nil {
		return // the first reason counts
	}
	w := &record.Wait{Reason: reason, Message: record.TrimMessage(message), Since: metav1.NewTime(m.Now)}
	if before := m.Record.Wait; before != nil && sameWait(before.Reason, reason) {
		w.Since = before.Since
	}
	m.out.Record.Wait = w
}

// sameWait reports whether one wait goes on although its reason changed: a drain does while its pods leave one after the
// other, so that its time limit counts from its start. The wait for protected pods has no limit and is one of its own.
func sameWait(before, now string) bool {
	return before == now || slices.Contains(draining, before) && slices.Contains(draining, now)
}

// draining are the reasons of a drain that makes progress, or should.
var draining = []string{
	drain.ReasonEvictionRefused, drain.ReasonPodUnmanaged, drain.ReasonPodUsesEmptyDir, drain.ReasonPodTerminating,
	drain.ReasonEvicting, ReasonDrainTimeout,
}
