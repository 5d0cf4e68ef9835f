package lifecycle

import (
	"maps"
	"slices"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// view is what a decision goes by: what was observed, and the decision as far as it has come. Its methods only ask.
type view struct {
	Observation
	out Decision
	// now is the time that is recorded: it never goes back.
	now time.Time
	// removals are the package versions that have to be removed, by the keys of their entries.
	removals map[string]situation.Removal
	// needs are, by the names of those packages, all that each depends on.
	needs map[string]map[string]bool
	// revoked is the permit that the node has to give back; nil when none.
	revoked *v1alpha1.Permit
}

// pass is one decision as it grows. Its methods take steps.
type pass struct {
	view
	// claimed pods belong to a current run or are already handled; the rest is stale.
	claimed map[string]bool
	// withdrawing are the packages, by name, that wait for the end of a version that never ran.
	withdrawing map[string]bool
	// needCordon says that something that is to happen disturbs the node's other pods.
	needCordon bool
	// nodeWait is the first wait that the record shows in any case; nil when there is none.
	nodeWait *record.Wait
	// longRun is the first wait for a stage that has been running for long; nil when there is none.
	longRun *record.Wait
	// endlessPod is the wait for a pod that is deleted and does not end; nil when there is none.
	endlessPod *record.Wait
}

// Next decides what happens next on a node that the Skyhook selects: first the interrupt in flight, which everything
// else waits for, then each package version step by step, then the interrupt that is pending.
func Next(o Observation) Decision {
	p := newPass(o)
	p.acceptHost()
	p.acceptBoot()
	interrupts{p}.watchInterrupt()
	p.acceptBoot() // once more: an interrupt that is no reboot is seen to its end first
	p.withdraw()
	for _, u := range p.units() {
		for p.step(u) {
			continue
		}
	}
	interrupts{p}.beginInterrupt()
	return p.finish()
}

// step takes one package version from its phase one step further. True when the next one may follow in the same pass,
// so that both cost one write.
func (p *pass) step(u unit) bool {
	e := p.entryOf(u)
	if u.removed() && e == nil {
		return false // it was removed together with another version
	}
	if p.withdrawing[u.name] {
		return false
	}
	if !u.removed() {
		if w := p.removalFirst(u.name); w != nil {
			p.wait(w)
			return false
		}
	}
	switch p.phase(u, e) {
	case situation.PhaseRunning, situation.PhaseFailing, situation.PhaseExhausted:
		return p.watch(u, *e)
	case situation.PhaseAbsent, situation.PhaseSuperseded:
		p.install(u)
	case situation.PhaseConfigPending:
		p.beginStage(u, *e, v1alpha1.StageConfig)
	case situation.PhasePostInterruptPending:
		p.beginStage(u, *e, v1alpha1.StagePostInterrupt)
	case situation.PhaseUninstallPending:
		p.uninstall(u, *e)
	case situation.PhaseInterruptPending: // one for the whole node, when all else is idle: beginInterrupt
	case situation.PhaseUnreadable:
		p.wait(definitionMissing(*e))
	default: // Settled
		if u.removed() {
			p.uninstalled(*e)
		}
	}
	return false
}

func newPass(o Observation) *pass {
	p := &pass{view: view{Observation: o}, claimed: map[string]bool{}, withdrawing: map[string]bool{}}
	p.Record, p.now = presentTimes(o.Record, o.Now)
	p.out.Record = p.Record
	p.out.InFlight = o.InFlight.Clone()
	p.out.Record.Packages = maps.Clone(p.Record.Packages)
	if p.out.Record.Packages == nil {
		p.out.Record.Packages = map[string]record.Entry{}
	}
	if p.Permit != nil && p.Permit.Token() == p.Record.FinishedPermit {
		p.Permit = nil // finished; the Skyhook controller removes it from the status
	}
	p.revoke()
	p.out.Record.Wait = nil
	p.removals = p.Removals(p.out.Record)
	p.needs = p.allNeeds()
	return p
}

// unit is one package version that the pass takes further: one that is removed, or the spec's.
type unit struct {
	name string
	// key of the entry of a version that is removed; empty for the spec's, which is found by its version.
	key string
	pkg situation.Package
	// missing says that nobody knows how to uninstall it.
	missing bool
}

func (u unit) removed() bool { return u.key != "" }

// units are what the pass walks: first what is removed, then what the spec wants, each in order of the names.
func (v view) units() []unit { return append(v.leaving(), v.staying()...) }

func (v view) leaving() (all []unit) {
	for key, l := range situation.Sorted(v.removals) {
		if e, recorded := v.out.Record.Packages[key]; recorded {
			all = append(all, unit{name: e.Name, key: key, pkg: l.Package, missing: l.Missing})
		}
	}
	return all
}

func (v view) staying() (all []unit) {
	for name, pkg := range situation.Sorted(v.Packages) {
		if !v.Deleting && !pkg.UninstallAsked() {
			all = append(all, unit{name: name, pkg: pkg})
		}
	}
	return all
}

// entryOf is what the record says of a unit; nil when nothing.
func (p *pass) entryOf(u unit) *record.Entry {
	if u.removed() {
		if e, ok := p.out.Record.Packages[u.key]; ok {
			return &e
		}
		return nil
	}
	return p.adopt(u.name, u.pkg)
}

// revoke takes a permit out of use that the node has to give back. That of a drain which lasts too long on a node that
// somebody else cordoned stays in use: without a permit nobody would drain the node any more, nor tell what holds the
// drain.
func (p *pass) revoke() {
	overdue := p.Record.Wait != nil && p.Record.Wait.Overdue
	if p.Permit != nil && p.Permit.Revoked && (!overdue || p.Permit.Generation != p.Generation) {
		p.revoked, p.Permit = p.Permit, nil
	}
}

// finish sets the node's status, cordon and wait, and gives the permit back when the node is done with it.
func (p *pass) finish() Decision {
	p.deleteStale()
	interrupts{p}.releaseInterrupt()
	complete := situation.Complete(p.Wanted, p.out.Record)
	// While a pod is there, also one that is being deleted, or an interrupt is in flight, the node is in progress: it
	// counts against the budget and stays cordoned.
	idle := len(p.Pods) == 0 && len(p.out.Start) == 0 && !p.interrupting()
	blocked := idle && !complete && p.Hold == nil && !p.any(v1alpha1.StateErroring) && p.needsAuthor()
	p.out.Record.Begun = !complete && (situation.Begun(p.Wanted, p.out.Record) || len(p.out.Start) > 0 || p.interrupting())
	over := idle && (complete || blocked && !p.out.Record.Begun || p.leaves())
	if p.Hold != nil && !complete {
		p.waitHeld()
	}
	p.watchEnds()
	p.recordWait(complete)
	p.out.Record.Status = p.status()
	p.out.Erroring = p.any(v1alpha1.StateErroring) || p.any(v1alpha1.StateUnknown)
	p.cordon(!over && (p.needCordon || p.out.Record.Cordoned))
	switch {
	case p.Permit != nil && over:
		p.out.Record.FinishedPermit = p.Permit.Token()
	case p.revoked != nil && (over || !p.busy() && p.mayLeave()):
		p.out.Record.FinishedPermit = p.revoked.Token()
	}
	return p.out
}

// waitHeld waits for what holds the node. For a taint in the middle of work it does so also while a pod is there: how long
// that lasts counts.
func (p *pass) waitHeld() {
	w := new(p.Hold.Wait)
	if !p.out.Record.Begun || !p.Hold.Barred {
		p.wait(w)
		return
	}
	if p.nodeWait != nil && !p.nodeWait.Overdue {
		p.nodeWait = nil
	}
	p.waitNode(w)
}

// mayLeave reports whether a node may give a permit back that is asked back: it has no place to hold, or it failed and
// does not disturb anything. Who is only to wait for its turn keeps its place.
func (v view) mayLeave() bool {
	if v.out.Record.Cordoned || v.interrupting() {
		return false
	}
	return !v.out.Record.Begun || slices.ContainsFunc(v.Relevant(v.out.Record), v.FailedForGood)
}

// leaves reports whether the hold makes the node give its permit and its cordon back once nothing runs there.
func (v view) leaves() bool {
	return v.Hold != nil && (v.Hold.TakesOut || v.Hold.ReturnsPermit && !v.out.Record.Begun)
}

// status is that of the node after this decision.
func (v view) status() v1alpha1.Status {
	n := v.out.Record
	after := situation.Situation{
		Facts: situation.FactsOf(v.Skyhook, v.Wanted, n, v.out.InFlight, v.Node.Ready),
		Hold:  v.Hold, Permit: v.Permit != nil, Wait: n.Wait,
	}
	return after.Status()
}

// deleteStale removes pods that no entry asks for: another run, stage or version, or a package that left the spec.
func (p *pass) deleteStale() {
	for _, pod := range p.Pods {
		if !p.claimed[pod.Name] && !pod.Terminating {
			p.out.take(Step{Delete: &pod})
		}
	}
}

// busy reports whether a pod is there that does not belong to what fails, or that is about to end, be it from now on:
// what it runs may continue for as long as its grace period lasts.
func (v view) busy() bool {
	failing := map[string]bool{}
	for _, e := range v.Relevant(v.out.Record) {
		failing[e.Name] = e.State == v1alpha1.StateErroring
	}
	return slices.ContainsFunc(v.Pods, func(pod Pod) bool {
		ends := slices.ContainsFunc(v.out.Delete, func(d Pod) bool { return d.Name == pod.Name })
		return !failing[pod.Package] || ends || pod.Terminating && v.Now.Before(pod.Ends.Add(EndGrace))
	})
}

// any reports whether an entry that matters is in the given state.
func (v view) any(s v1alpha1.State) bool {
	return slices.ContainsFunc(v.Relevant(v.out.Record), func(e record.Entry) bool { return e.State == s })
}

func (v view) phase(u unit, e *record.Entry) situation.Phase {
	if e == nil && situation.Overtaken(v.out.Record, u.name, u.pkg.Version) {
		return situation.PhaseSuperseded
	}
	return situation.PhaseOf(e, situation.Aim{Package: u.pkg, Removed: u.removed(), Missing: u.missing, Generation: v.Generation},
		v.interrupting())
}
