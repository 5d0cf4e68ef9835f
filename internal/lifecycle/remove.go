package lifecycle

import (
	"slices"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Remove decides how a Skyhook that no longer targets a node, or is being deleted, is removed from it: pods first, then
// the record. A permit that the node holds is given back in the same write. Two things delay that: a pod that does not
// end, and a reboot that may be under way. The record says which of them does, and whether passes fail.
func Remove(o Observation) Decision {
	reboot, left := rebootOf(o)
	d := Decision{Record: o.Record, Removing: true, Clear: len(o.Pods) == 0 && reboot == nil, Force: o.Abandoned}
	d.Record.FinishedPermit, d.Record.Wait, d.Record.BootID = "", nil, ""
	d.InFlight = o.InFlight.Clone()
	if d.Clear && o.InFlight.OwnedBy(o.Skyhook) && o.Node.InterruptPods == 0 {
		d.InFlight = nil // not before: nothing starts beside a pod of it
	}
	if d.Clear && d.Record.Cordoned {
		d.Record.Cordoned = false
		if !o.Node.CordonedByOther {
			d.Unschedulable = new(bool)
		}
	}
	if d.Clear {
		d.Record = remaining(o, afterReboot(o, d.Record))
	}
	if o.Permit != nil && reboot == nil {
		d.Record.FinishedPermit = o.Permit.Token()
	}
	var stuck *record.Wait
	_, now := presentTimes(o.Record, o.Now)
	switch stuck, d.After = overdueEnd(o.Pods, o.Now); {
	case o.Failed != "":
		d.Record.Wait = FailedWait(o.Record.Wait, o.Failed, now)
	case reboot != nil: // a pod that does not end may wait for the kubelet, which comes with the boot
		d.Record.Wait = waitSince(*reboot, o.Record.Wait, now)
	case stuck != nil:
		d.Record.Wait = waitSince(*stuck, o.Record.Wait, now)
	}
	if d.Record.Wait != nil {
		d.Waits = []record.Wait{*d.Record.Wait}
	}
	if reboot != nil {
		d.After = left
		return d // its pod ends with the boot
	}
	for _, p := range o.Pods {
		if !p.Terminating || d.Force {
			d.Delete = append(d.Delete, p)
		}
	}
	return d
}

// rebootOf returns the wait for a reboot that the Skyhook asked for and that may be under way, and how long it may still
// take; nil for none. Until it is over the node must not be uncordoned, and it is nobody's reason to start over.
func rebootOf(o Observation) (*record.Wait, time.Duration) {
	p := newPass(o)
	e, running := p.interruptOwner()
	if !running || o.Abandoned || p.rebooted(e) {
		return nil, 0
	}
	pod, found := p.podOf(e)
	if found && pod.Outcome == Running && pod.Reason != "" && !pod.Terminating && p.Node.Ready && p.Node.BootID == e.BootID {
		return nil, 0 // no container of it has begun
	}
	at := p.asked(e)
	if found {
		at = p.began(e, pod)
	}
	if w := o.Record.Wait; w != nil && w.Reason == v1alpha1.ReasonWaitingForReboot && p.ahead(runStart(e)) && !w.Since.After(o.Now) {
		at = w.Since.Time // as the record, which a clock that was ahead wrote, is not written again until it goes
	}
	left := at.Add(p.rebootLimit(e)).Sub(p.Now)
	if left <= 0 || !p.underWay(e, pod, found) {
		return nil, 0
	}
	return p.rebootWait(e), left
}

// afterReboot completes what a reboot that is over was for: the node may come back to what its record keeps, and must
// not reboot again.
func afterReboot(o Observation, n record.Node) record.Node {
	p := newPass(o)
	owner, running := p.interruptOwner()
	if !running || !p.rebooted(owner) {
		return n
	}
	interrupts{p}.completeInterrupt(owner, Pod{}, false)
	n.Packages = p.out.Record.Packages
	return n
}

var removalReasons = []string{
	v1alpha1.ReasonWaitingForPodToEnd, v1alpha1.ReasonPassFailed, v1alpha1.ReasonWaitingForReboot,
}

// RemovalWait returns a recorded wait if Remove tells it. Any other is from before the removal, which it does not delay;
// then RemovalWait returns nil.
func RemovalWait(w *record.Wait) *record.Wait {
	if w == nil || !slices.Contains(removalReasons, w.Reason) {
		return nil
	}
	return w
}

// remaining is a record that stays on a node from which the Skyhook is removed: no interrupt is in flight any more, and no later
// boot is what it asked for. A Skyhook of that name that comes later has another spec, also of the same generation, and
// attempts of its own. A version of which nothing ran does not remain.
func remaining(o Observation, n record.Node) record.Node {
	entries := make(map[string]record.Entry, len(n.Packages))
	for key, e := range n.Packages {
		if o.neverBegan(e) {
			continue
		}
		e.Untouched = false // from here on nobody looks at its pods
		if record.IsInterrupt(e.Stage) && e.State != v1alpha1.StateComplete {
			e.State, e.BootID = v1alpha1.StateSkipped, ""
		}
		if e.State != v1alpha1.StateComplete {
			e.Generation, e.Attempts, e.AttemptsBefore = 0, 0, 0
		}
		entries[key] = e
	}
	n.Packages = entries
	return n
}
