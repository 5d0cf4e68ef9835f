package lifecycle

import (
	"maps"
	"slices"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// machine is one pass over one node. It holds the observation and the decision as it grows.
type machine struct {
	Observation
	out Decision
	// claimed pods belong to a current run or are already handled; the rest is stale.
	claimed map[string]bool
	// leaving are the package versions that have to go, by the keys of their entries.
	leaving map[string]Leaving
	// revoked is the permit that the node has to give back; nil when none.
	revoked *v1alpha1.Permit
	// needCordon says that something that is to happen disturbs the node's other pods.
	needCordon bool
}

// Next decides what happens next on a node that the Skyhook selects.
func Next(o Observation) Decision {
	m := &machine{Observation: o, claimed: map[string]bool{}}
	m.out.Record = o.Record
	m.out.Record.Packages = maps.Clone(o.Record.Packages)
	if m.out.Record.Packages == nil {
		m.out.Record.Packages = map[string]record.Entry{}
	}
	if m.Permit != nil && record.PermitToken(*m.Permit) == o.Record.Done {
		m.Permit = nil // finished with; the operator takes it back
	}
	m.revoke()
	m.out.Record.Wait = nil
	m.leaving = m.Leaving(m.out.Record)
	m.reapply()
	m.breakOff()
	m.continueInterrupt()
	for _, key := range sortedKeys(m.leaving) {
		m.retire(key, m.leaving[key])
	}
	if !o.Deleting {
		for _, name := range o.Packages.names() {
			m.advance(name)
		}
	}
	m.beginInterrupt()
	m.deleteStale()
	m.summarize()
	return m.out
}

// Leave decides how a node gets rid of a Skyhook that no longer targets it or is being deleted: pods first, then the
// record. A permit that is still out is acknowledged in the same write and taken back after it.
func Leave(o Observation) Decision {
	d := Decision{Record: o.Record, Leaving: true, Clear: len(o.Pods) == 0, Force: o.Abandoned}
	d.Record.Done, d.Record.Wait, d.Record.BootID = "", nil, ""
	if d.Clear && d.Record.Cordoned {
		d.Record.Cordoned = false
		if !o.Node.CordonedByOther {
			d.Unschedulable = new(bool)
		}
	}
	if o.Permit != nil {
		d.Record.Done = record.PermitToken(*o.Permit)
	}
	for _, p := range o.Pods {
		if !p.Terminating || d.Force {
			d.Delete = append(d.Delete, p)
		}
	}
	return d
}

// revoke takes a permit out of use that the node has to give back. One whose node is cordoned or interrupted counts anyway,
// so it goes on.
func (m *machine) revoke() {
	_, interrupting := m.activeInterrupt()
	if m.Permit != nil && m.Permit.Revoked && !m.out.Record.Cordoned && !interrupting {
		m.revoked, m.Permit = m.Permit, nil
	}
}

// busy reports whether a pod is there that does not belong to what fails.
func (m *machine) busy() bool {
	failing := map[string]bool{}
	for _, e := range m.relevant(m.out.Record) {
		failing[e.Name] = e.State == v1alpha1.StateErroring
	}
	return slices.ContainsFunc(m.Pods, func(p Pod) bool { return !failing[p.Package] })
}

// reapply starts every package over after a reboot that was not ours, where the operator is set to do so.
func (m *machine) reapply() {
	last, now := m.out.Record.BootID, m.Node.BootID
	_, interrupting := m.activeInterrupt()
	if !m.Reapply || now == "" || !m.Node.Ready || interrupting {
		return
	}
	m.out.Record.BootID = now
	if last == "" || last == now {
		return
	}
	if m.Deleting {
		return
	}
	for key, e := range m.Record.Packages {
		if !m.onHost(key, e) {
			delete(m.out.Record.Packages, key)
		}
	}
	m.out.Changes = append(m.out.Changes, Change{Reason: ReasonReapply, Message: "the node rebooted; its packages are applied again"})
}

// onHost reports whether an entry outlives a reboot after which packages are applied again: what is to be undone, or only
// left alone, is still on the host.
func (m *machine) onHost(key string, e record.Entry) bool {
	_, leaves := m.leaving[key]
	pkg, inSpec := m.Packages[e.Name]
	_, held := m.NeedsUninstall(m.Record, e.Name)
	return leaves || !inSpec || pkg.applies() || held
}

// deleteStale removes pods that no entry asks for: another run, stage or version, or a package that left the spec.
func (m *machine) deleteStale() {
	for _, p := range m.Pods {
		if !m.claimed[p.Name] && !p.Terminating {
			m.out.Delete = append(m.out.Delete, p)
		}
	}
}

// summarize sets the node's status and gives the permit back when the node is done with it.
func (m *machine) summarize() {
	complete := Complete(m.Wanted, m.out.Record)
	m.out.Record.Status = m.status(complete)
	if m.Hold != nil && !complete {
		m.wait("", m.Hold.Reason, m.Hold.Message)
	}
	// While a pod is there, be it one that is being deleted, or an interrupt runs, the node is at work: it counts against
	// the budget and stays cordoned.
	_, interrupting := m.activeInterrupt()
	idle := len(m.Pods) == 0 && len(m.out.Start) == 0 && !interrupting
	stuck := idle && !complete && m.Hold == nil && m.needsUser()
	if stuck && m.out.Record.Status != v1alpha1.StatusErroring {
		m.out.Record.Status = v1alpha1.StatusBlocked
	}
	over := idle && (complete || stuck || m.Hold != nil && m.Hold.Release)
	m.cordon(!over && (m.needCordon || m.out.Record.Cordoned))
	switch {
	case m.Permit != nil && over:
		m.out.Record.Done = record.PermitToken(*m.Permit)
	case m.revoked != nil && !m.busy():
		m.out.Record.Done = record.PermitToken(*m.revoked)
	}
}

func (m *machine) status(complete bool) v1alpha1.Status {
	held := m.Hold != nil
	switch {
	case held && m.Hold.Status == v1alpha1.StatusPaused:
		return v1alpha1.StatusPaused
	case complete:
		return v1alpha1.StatusComplete
	case held && m.Hold.Status == v1alpha1.StatusDisabled:
		return v1alpha1.StatusDisabled
	case m.any(v1alpha1.StateErroring), m.Drain != nil && m.Drain.TimedOut && !m.Drain.Clear:
		return v1alpha1.StatusErroring
	case held:
		return m.Hold.Status
	case m.any(v1alpha1.StateInProgress) || m.Permit != nil:
		return v1alpha1.StatusInProgress
	default:
		return v1alpha1.StatusWaiting
	}
}

// any reports whether an entry that matters is in the given state.
func (m *machine) any(s v1alpha1.State) bool {
	return slices.ContainsFunc(m.relevant(m.out.Record), func(e record.Entry) bool { return e.State == s })
}

func (m *machine) wait(pkg, reason, message string) {
	m.out.Waits = append(m.out.Waits, Wait{Package: pkg, Reason: reason, Message: message})
}

// lookAgain asks for another pass after d; the earliest wins.
func (m *machine) lookAgain(d time.Duration) {
	if m.out.After == 0 || d < m.out.After {
		m.out.After = d
	}
}
