package lifecycle_test

import (
	"fmt"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// row is one line of the state machine: what is seen, and what happens next.
type row struct {
	name     string
	packages []definition
	kept     []definition
	entries  []entry
	pods     []pod
	gates    []func(*lifecycle.Observation)
	want     []words
	// also is what becomes of the interrupt in flight, and what interrupts are bound to; nil where a row is not about
	// that.
	also []words
}

// part is a part of a row.
type part func(*row)

func when(name string, parts ...part) row {
	r := row{name: name}
	for _, p := range parts {
		p(&r)
	}
	return r
}

// see is a row without a name.
func see(parts ...part) row { return when("", parts...) }

// like has all parts of another row.
func like(other row) part {
	return func(r *row) {
		spec(other.packages...)(r)
		kept(other.kept...)(r)
		node(other.entries...)(r)
		pods(other.pods...)(r)
		r.gates = append(r.gates, other.gates...)
	}
}

func spec(list ...definition) part { return func(r *row) { r.packages = append(r.packages, list...) } }
func kept(list ...definition) part { return func(r *row) { r.kept = append(r.kept, list...) } }
func node(list ...entry) part      { return func(r *row) { r.entries = append(r.entries, list...) } }
func pods(list ...pod) part        { return func(r *row) { r.pods = append(r.pods, list...) } }

// want is what is decided; the order of the lines is that of describe.
func want(lines ...fmt.Stringer) part {
	return func(r *row) {
		for _, l := range lines {
			r.want = append(r.want, words(l.String()))
		}
	}
}

func also(lines ...words) part {
	return func(r *row) { r.also = append(r.also, lines...) }
}

func (r row) wanted() situation.Wanted {
	return situation.Wanted{Packages: packages(r.packages...), Retained: retained(r.kept...), Generation: generation}
}

func (r row) record() record.Node { return record.Node{Packages: entries(r.wanted(), r.entries...)} }

func observation(r row) lifecycle.Observation {
	o := lifecycle.Observation{
		Wanted: r.wanted(), Pods: livePods(r.pods...), Permit: new(permit), ConfigReady: map[string]bool{},
		RetainedReady: map[string]bool{}, Now: now, Record: r.record(),
		Node: lifecycle.Node{Ready: true, BootID: "b1"},
	}
	for name := range o.Packages {
		o.ConfigReady[name] = true
	}
	for name := range o.Retained {
		o.RetainedReady[name] = true
	}
	o.InFlight = lifecycle.InFlightOf("", o.Record)
	for _, g := range r.gates {
		g(&o)
	}
	return o
}

// gate is what stands between a node and new work, or what else is seen.
func gate(change func(*lifecycle.Observation)) part {
	return func(r *row) { r.gates = append(r.gates, change) }
}

var (
	noPermit      = gate(func(o *lifecycle.Observation) { o.Permit = nil })
	revokedPermit = gate(func(o *lifecycle.Observation) { o.Permit.Revoked = true })
	acknowledged  = gate(func(o *lifecycle.Observation) { o.Record.FinishedPermit = permit.Token() })
	// returnedOneBefore: the record acknowledges the permit before this one.
	returnedOneBefore = gate(func(o *lifecycle.Observation) {
		before := permit
		before.Order--
		o.Record.FinishedPermit = before.Token()
	})

	pausedNode   = holds(paused, record.FreesAdministrator, reasonPaused, false)
	disabledNode = holds(disabled, record.FreesAdministrator, reasonDisabled, true)
	taintedNode  = holds(blocked, record.FreesAdministrator, "Taint", true)
	invalidSpec  = holds(blocked, record.FreesAuthor, specInvalid, false)
	ignoredNode  = holds(blocked, record.FreesAdministrator, nodeIgnored, true)
	// interruptedByOther: another Skyhook's interrupt is in flight, see flightOfAnother.
	interruptedByOther = holds(waiting, record.FreesOther, waitingForInterrupt, true)
	earlierSkyhook     = holds(waiting, record.FreesOther, waitingForSkyhook, true)

	// noConfigMap: that of a is not there yet; noRetainedConfigMap: that of the retained definition named old.
	noConfigMap         = gate(func(o *lifecycle.Observation) { o.ConfigReady["a"] = false })
	noRetainedConfigMap = gate(func(o *lifecycle.Observation) { o.RetainedReady["old"] = false })

	deleting   = gate(func(o *lifecycle.Observation) { o.Deleting = true })
	failedPass = gate(func(o *lifecycle.Observation) { o.Failed = "forbidden" })
	abandoned  = gate(func(o *lifecycle.Observation) { o.Abandoned = true })
	serial     = gate(func(o *lifecycle.Observation) { o.Serial = true })
	reapply    = gate(func(o *lifecycle.Observation) { o.Reapply.Reboots = true })
	detect     = gate(func(o *lifecycle.Observation) { o.Reapply.Hosts = true })
	finished   = gate(func(o *lifecycle.Observation) { o.Finished = true })
	ownReboot  = gate(func(o *lifecycle.Observation) { o.Node.OwnReboot = true })
	notReady   = gate(func(o *lifecycle.Observation) { o.Node.Ready = false })

	// The cordon: ours; ours, but somebody lifted it; somebody else's; another Skyhook's, with or without ours; decided
	// in the same pass.
	ourCordon     = gate(func(o *lifecycle.Observation) { o.Record.Cordoned, o.Node.Unschedulable = true, true })
	liftedCordon  = gate(func(o *lifecycle.Observation) { o.Record.Cordoned = true })
	foreignCordon = gate(func(o *lifecycle.Observation) { o.Node.Unschedulable = true })
	unreadCordon  = gate(func(o *lifecycle.Observation) { o.Node.CordonUnread = true })
	othersCordon  = gate(func(o *lifecycle.Observation) { o.Node.Unschedulable, o.Node.CordonedByOther = true, true })

	// The drain: not looked at unless it is drained, drainLeft or drainLate.
	drained = gate(func(o *lifecycle.Observation) { o.Drain = &lifecycle.Drain{Clear: true} })
)

func drainLeft(reason string) part {
	return gate(func(o *lifecycle.Observation) {
		o.Drain = &lifecycle.Drain{Reason: reason, Message: message(reason)}
	})
}

func drainLate(reason string) part {
	return gate(func(o *lifecycle.Observation) {
		o.Drain = &lifecycle.Drain{Reason: reason, Message: message(reason), TimedOut: true}
	})
}

// holds is a gate that holds the node; returns says that the node gives its permit back.
func holds(status v1alpha1.Status, frees record.Frees, reason string, returns bool) part {
	return gate(func(o *lifecycle.Observation) {
		o.Hold = &situation.Hold{
			Status: status, ReturnsPermit: returns, Wait: record.Wait{Frees: frees, Reason: reason, Message: "-"},
		}
		o.Hold.TakesOut = status == v1alpha1.StatusDisabled || reason == v1alpha1.ReasonNodeIgnored
	})
}

func booted(b string) part        { return gate(func(o *lifecycle.Observation) { o.Node.BootID = b }) }
func machine(m string) part       { return gate(func(o *lifecycle.Observation) { o.Node.MachineID = m }) }
func lastHost(h record.Host) part { return gate(func(o *lifecycle.Observation) { o.Record.Host = h }) }
func lastBoot(b string) part      { return gate(func(o *lifecycle.Observation) { o.Record.BootID = b }) }
func otherPods(n int) part        { return gate(func(o *lifecycle.Observation) { o.Node.OtherPods = n }) }

func was(s v1alpha1.Status) part { return gate(func(o *lifecycle.Observation) { o.Record.Status = s }) }

func specGeneration(n int64) part { return gate(func(o *lifecycle.Observation) { o.Generation = n }) }

// configuredWith is what another operator configured package a with.
func configuredWith(pairs ...string) part {
	return gate(func(o *lifecycle.Observation) {
		o.Configured = map[string]map[string]string{"a": record.HashConfig(dataOf(pairs))}
	})
}

// flight: the interrupt in flight is not the one that the record tells of, but this of package a.
func flight(i v1alpha1.Interrupt, boot, run string) part {
	return gate(func(o *lifecycle.Observation) {
		o.InFlight = &record.Interrupt{
			Packages: []string{"a|1.0"}, Type: i.Type, Services: i.Services, BootID: boot, Run: run,
		}
	})
}

func flightOfAnother(i v1alpha1.Interrupt, boot string) part {
	return gate(func(o *lifecycle.Observation) {
		o.InFlight = &record.Interrupt{Skyhook: "another", Type: i.Type, Services: i.Services, BootID: boot}
	})
}

// told is what the record says that the node waits for, since when, and since when the drain lasts.
func told(reason string, since time.Duration, drain ...time.Duration) part {
	return gate(func(o *lifecycle.Observation) {
		o.Record.Wait = &record.Wait{
			Reason: reason, Message: message(reason), Since: at(since), Overdue: reason == drainTimeout,
		}
		for _, d := range drain {
			o.Record.Wait.DrainSince = at(d)
		}
	})
}
