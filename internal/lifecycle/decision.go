package lifecycle

import (
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Decision is what has to happen, in this order: write the record, delete pods, start pods. A pod that is Done is
// deleted without grace, so that there are never two pods of a package on a node.
type Decision struct {
	// Steps were taken in this order; Record, Delete, Start and Changes follow from them.
	Steps  []Step
	Record record.Node
	Delete []Pod
	Start  []Start
	// Pin are the images that are pinned from now on, before anything else; when another node was first, the decision is
	// void. Moved are the pins whose tag this node found moved.
	Pin, Moved []Pin
	// Changes are the transitions of this pass, for events.
	Changes []Change
	// InFlight is the interrupt in flight on the node after this decision, whoever owns it; nil for none.
	InFlight *record.Interrupt
	// Waits tell why packages do not progress; the node's own wait has no package.
	Waits []record.Wait
	// Erroring says that a package which matters fails, or is in a state that nobody knows. A drain that takes too long
	// makes the node's status erroring, but no package.
	Erroring bool
	// Unschedulable is what spec.unschedulable of the node has to become; nil leaves it.
	Unschedulable *bool
	// LookDrain asks for Drain in the observation; Evict, to evict what can be evicted.
	LookDrain, Evict bool
	// Drained says that something starts for which the node had to be drained, and is.
	Drained bool
	// After is when to look again although nothing may have changed; 0 when an event will tell.
	After time.Duration
	// Removing says that the Skyhook is to be removed from the node; Clear, that its record can be removed now.
	Removing, Clear bool
	// Force deletes pods without waiting for the node to confirm it: the uninstall was abandoned on this node.
	Force bool
}

// Start asks for a pod.
type Start struct {
	Package string
	// Version as in the record's entry.
	Version string
	// Retained names the definition to take instead of the spec's; empty for the spec's.
	Retained string
	// Digest of the image that is pinned for the package; empty when none is, or when the definition has its own.
	Digest     string
	Stage      v1alpha1.Stage
	Run        string
	Generation int64
	// Exists says that there is a pod nevertheless if it is rejected: nobody will see it.
	Exists bool
	// Interrupt to run, in the stages that are interrupts, with the boot id that it is bound to and the run that the agent
	// knows it by: both stay the same when a lost pod is replaced.
	Interrupt            *v1alpha1.Interrupt
	BootID, InterruptRun string
}

// Change is one transition of one package.
type Change struct {
	Package string
	Version string
	Stage   v1alpha1.Stage
	State   v1alpha1.State
	Message string
	// Reason is set for what happened to the node rather than to a package.
	Reason string
}

// Step is one thing that a decision does. Exactly one of its fields is set.
type Step struct {
	// Write stores an entry; Announce also reports it as a transition.
	Write, Announce *record.Entry
	// RemoveEntry removes the entry with this key.
	RemoveEntry string
	// Delete removes a pod, and Start creates one.
	Delete *Pod
	Start  *Start
	// Tell reports what happened.
	Tell *Change
	// Pin and Moved are for the fields of the same names.
	Pin, Moved *Pin
}

// take adds a step. It is the only place where the record, the pods and the events of a decision change.
func (d *Decision) take(s Step) {
	d.Steps = append(d.Steps, s)
	switch {
	case s.Write != nil:
		d.Record.Packages[s.Write.Key()] = *s.Write
	case s.Announce != nil:
		e := *s.Announce
		d.Record.Packages[e.Key()] = e
		d.Changes = append(d.Changes,
			Change{Package: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Message: e.Message})
	case s.RemoveEntry != "":
		delete(d.Record.Packages, s.RemoveEntry)
	case s.Delete != nil:
		d.Delete = append(d.Delete, *s.Delete)
	case s.Start != nil:
		d.Start = append(d.Start, *s.Start)
	case s.Pin != nil:
		d.Pin = append(d.Pin, *s.Pin)
	case s.Moved != nil:
		d.Moved = append(d.Moved, *s.Moved)
	case s.Tell != nil:
		d.Changes = append(d.Changes, *s.Tell)
	}
}

// lookAgain asks for another pass after d; the earliest wins.
func (d *Decision) lookAgain(after time.Duration) {
	if d.After == 0 || after < d.After {
		d.After = after
	}
}
