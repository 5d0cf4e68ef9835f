package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// phases are all there are.
var phases = []situation.Phase{
	situation.PhaseAbsent, situation.PhaseSuperseded, situation.PhaseRunning, situation.PhaseFailing,
	situation.PhaseExhausted,
	situation.PhaseConfigPending, situation.PhaseInterruptPending, situation.PhasePostInterruptPending,
	situation.PhaseUninstallPending,
	situation.PhaseSettled, situation.PhaseUnreadable,
}

// phaseRow says in which phase package a is, with an entry in the record.
type phaseRow struct {
	row
	want situation.Phase
}

func in(want situation.Phase, parts ...part) phaseRow { return phaseRow{see(parts...), want} }

// comes: the spec wants the package. Spec of the first column, record of the second.
var comes = []phaseRow{
	in(situation.PhaseAbsent, spec(pkg(a))),
	in(situation.PhaseAbsent, spec(pkg(a)), node(config.complete(b))),
	in(situation.PhaseAbsent, spec(pkg("a@1.1")), node(config.complete(a))),
	// It was on its way out, and is wanted again: what is left of it on the host nobody knows.
	in(situation.PhaseAbsent, spec(pkg(a)), node(uninstall.inProgress(a))),
	in(situation.PhaseAbsent, spec(pkg(a)), node(uninstall.erroring(a).reason(retriesExhausted))),
	in(situation.PhaseAbsent, spec(pkg(a)), node(uninstall.complete(a))),
	in(situation.PhaseAbsent, spec(pkg(a)), node(uninstallInterrupt.skipped(a).by(noop))),

	// Another version was worked on later.
	in(situation.PhaseSuperseded,
		spec(pkg("a@1.1")), node(config.complete("a@1.1").since(-2*hour), apply.inProgress(a))),
	in(situation.PhaseSuperseded, spec(pkg("a@1.1")), node(config.complete("a@1.1").since(-2*hour), config.complete(a))),
	in(situation.PhaseSuperseded, spec(pkg("a@1.1")), node(config.complete("a@1.1"), apply.inProgress(a))),
	in(situation.PhaseSuperseded,
		spec(pkg("a@1.1")), node(config.complete("a@1.1").superseded().since(0), config.complete(a))),
	in(situation.PhaseSuperseded, spec(pkg("a@1.1")), node(apply.skipped("a@1.1").superseded())),
	in(situation.PhaseSettled, spec(pkg("a@1.1")), node(config.complete("a@1.1"), config.complete(a).since(-2*hour))),
	in(situation.PhaseSettled, spec(pkg("a@1.1")), node(config.complete("a@1.1").sinceNever(), config.complete(a))),

	in(situation.PhaseRunning, spec(pkg(a)), node(apply.inProgress(a))),
	in(situation.PhaseRunning, spec(pkg(a)), node(upgrade.inProgress(a))),
	in(situation.PhaseRunning, spec(pkg(a)), node(config.inProgress(a))),
	in(situation.PhaseRunning, spec(pkg(a)), node(postInterrupt.inProgress(a))),
	in(situation.PhaseRunning, spec(pkg(a).config("k=2")), node(config.inProgress(a).config("k=1"))),
	in(situation.PhaseRunning, spec(pkg(a)), node(apply.inProgress("a@v1.0.0"))),

	in(situation.PhaseFailing, spec(pkg(a)), node(apply.erroring(a).reason(stepFailed))),
	in(situation.PhaseFailing, spec(pkg(a)), node(upgrade.erroring(a).reason("ImagePullBackOff"))),
	in(situation.PhaseFailing, spec(pkg(a)), node(config.erroring(a).reason("Evicted").restarts(3))),
	in(situation.PhaseFailing, spec(pkg(a).interrupt(noop)), node(postInterrupt.erroring(a).reason(stepFailed))),
	// the spec was edited since
	in(situation.PhaseFailing, spec(pkg(a)), node(apply.erroring(a).reason(stageTimeout).gen(6))),
	// the spec was edited since
	in(situation.PhaseFailing, spec(pkg(a)), node(apply.erroring(a).reason(retriesExhausted).gen(6))),

	in(situation.PhaseExhausted, spec(pkg(a)), node(apply.erroring(a).reason(stageTimeout))),
	in(situation.PhaseExhausted, spec(pkg(a)), node(upgrade.erroring(a).reason(retriesExhausted))),
	in(situation.PhaseExhausted, spec(pkg(a)), node(config.erroring(a).reason(retriesExhausted))),
	in(situation.PhaseExhausted,
		spec(pkg(a).interrupt(noop)), node(interrupt.erroring(a).reason(retriesExhausted).by(noop))),
	in(situation.PhaseExhausted,
		spec(pkg(a).interrupt(noop)), node(interrupt.erroring(a).reason(stageTimeout).by(noop))),

	in(situation.PhaseConfigPending, spec(pkg(a)), node(apply.complete(a))),
	in(situation.PhaseConfigPending, spec(pkg(a)), node(upgrade.complete(a))),
	in(situation.PhaseConfigPending, spec(pkg(a).config("k=2")), node(config.complete(a).config("k=1"))),
	in(situation.PhaseConfigPending, spec(pkg(a).config("k=2").interrupt(noop)), node(config.complete(a).config("k=1"))),
	in(situation.PhaseConfigPending,
		spec(pkg(a).config("k=2").interrupt(noop)), node(interrupt.complete(a).config("k=1").by(noop))),
	in(situation.PhaseConfigPending,
		spec(pkg(a).config("k=2").interrupt(noop)), node(postInterrupt.complete(a).config("k=1"))),
	// States that only other operators wrote.
	in(situation.PhaseRunning, spec(pkg(a)), node(apply.skipped(a))),
	in(situation.PhaseConfigPending, spec(pkg(a)), node(config.unknown(a))),
	in(situation.PhaseConfigPending, spec(pkg(a)), node(postInterrupt.skipped(a))),

	in(situation.PhaseInterruptPending, spec(pkg(a).interrupt(noop)), node(config.complete(a))),
	in(situation.PhaseInterruptPending, spec(pkg(a).config("k=2").on("k", noop)), node(config.complete(a).changed("k"))),
	in(situation.PhaseSettled, spec(pkg(a).config("k=2").on("k", noop)), node(config.complete(a).changed())),
	// its own is that of an install
	in(situation.PhaseSettled, spec(pkg(a).config("k=2").interrupt(noop)), node(config.complete(a).changed("k"))),
	in(situation.PhaseInterruptPending, spec(pkg(a).interrupt(noop)), node(interrupt.skipped(a).by(noop))),
	in(situation.PhaseInterruptPending, spec(pkg(a).interrupt(noop)), node(interrupt.unknown(a))),
	in(situation.PhaseInterruptPending,
		spec(pkg(a).interrupt(noop)), node(interrupt.erroring(a).reason(retriesExhausted).by(noop).gen(6))),
	// One that is in flight runs for all that were merged into it.
	in(situation.PhaseRunning, spec(pkg(a).interrupt(noop)), node(interrupt.inProgress(a).by(noop))),
	in(situation.PhaseFailing, spec(pkg(a).interrupt(noop)), node(interrupt.erroring(a).reason(stepFailed).by(noop))),
	in(situation.PhaseRunning,
		spec(pkg(a).interrupt(noop), pkg(b).interrupt(noop)),
		node(interrupt.skipped(a).by(noop), interrupt.inProgress(b).by(noop))),
	in(situation.PhaseInterruptPending,
		spec(pkg(a).interrupt(noop), pkg(b).interrupt(noop)),
		node(config.complete(a), interrupt.inProgress(b).by(noop))),

	in(situation.PhasePostInterruptPending, spec(pkg(a).interrupt(noop)), node(interrupt.complete(a).by(noop))),
	in(situation.PhasePostInterruptPending, spec(pkg(a)), node(interrupt.complete(a).by(noop))),
	in(situation.PhasePostInterruptPending, spec(pkg(a)), node(config.complete(a).changed().by(noop))),

	in(situation.PhaseSettled, spec(pkg(a)), node(config.complete(a))),
	in(situation.PhaseSettled, spec(pkg(a)), node(config.complete("a@v1.0.0"))),
	in(situation.PhaseSettled, spec(pkg(a).config("k=2")), node(config.complete(a).configUnknown())),
	in(situation.PhaseSettled, spec(pkg(a).interrupt(noop)), node(postInterrupt.complete(a))),
	in(situation.PhaseSettled, spec(pkg(a).interrupt(noop)), node(config.complete(a).configUnknown()), was(complete)),
	in(situation.PhaseInterruptPending,
		spec(pkg(a).interrupt(noop)), node(config.complete(a).configUnknown()), was(inProgress)),
}

// removed: the package has to be uninstalled from the node.
var removed = []phaseRow{
	in(situation.PhaseUninstallPending, spec(pkg(a).uninstall(on, asked)), node(apply.inProgress(a))),
	in(situation.PhaseUninstallPending,
		spec(pkg(a).uninstall(on, asked)), node(apply.erroring(a).reason(retriesExhausted))),
	in(situation.PhaseUninstallPending, spec(pkg(a).uninstall(on, asked)), node(config.complete(a))),
	in(situation.PhaseUninstallPending, spec(pkg(a).uninstall(on, asked).interrupt(noop)), node(config.complete(a))),
	in(situation.PhaseUninstallPending,
		spec(pkg(a).uninstall(on, asked).config("k=2")), node(config.complete(a).config("k=1"))),
	in(situation.PhaseUninstallPending,
		spec(pkg(a).uninstall(on, asked).interrupt(noop)), node(interrupt.skipped(a).by(noop))),
	in(situation.PhaseUninstallPending,
		spec(pkg(a).uninstall(on, asked).interrupt(noop)), node(interrupt.complete(a).by(noop))),
	in(situation.PhaseUninstallPending, spec(pkg(a).uninstall(on, asked)), node(uninstall.skipped(a))),
	in(situation.PhaseUninstallPending,
		kept(pkg(a).def("old").uninstall(on, auto)), node(config.complete(a).def("old"))),
	// An interrupt of its install that is in flight comes to its end first.
	in(situation.PhaseRunning,
		spec(pkg(a).uninstall(on, asked).interrupt(noop)), node(interrupt.inProgress(a).by(noop))),

	in(situation.PhaseRunning, spec(pkg(a).uninstall(on, asked)), node(uninstall.inProgress(a))),
	in(situation.PhaseFailing, spec(pkg(a).uninstall(on, asked)), node(uninstall.erroring(a).reason(stepFailed))),
	in(situation.PhaseFailing,
		spec(pkg(a).uninstall(on, asked)), node(uninstall.erroring(a).reason(retriesExhausted).gen(6))),
	in(situation.PhaseExhausted,
		spec(pkg(a).uninstall(on, asked)), node(uninstall.erroring(a).reason(retriesExhausted))),
	in(situation.PhaseInterruptPending, spec(pkg(a).uninstall(on, asked).interrupt(noop)), node(uninstall.complete(a))),
	in(situation.PhaseSettled, spec(pkg(a).uninstall(on, asked)), node(uninstall.complete(a))),

	in(situation.PhaseRunning,
		spec(pkg(a).uninstall(on, asked).interrupt(noop)), node(uninstallInterrupt.inProgress(a).by(noop))),
	in(situation.PhaseFailing,
		spec(pkg(a).uninstall(on, asked).interrupt(noop)),
		node(uninstallInterrupt.erroring(a).reason(stepFailed).by(noop))),
	in(situation.PhaseExhausted,
		spec(pkg(a).uninstall(on, asked).interrupt(noop)),
		node(uninstallInterrupt.erroring(a).reason(stageTimeout).by(noop))),
	in(situation.PhaseInterruptPending,
		spec(pkg(a).uninstall(on, asked).interrupt(noop)), node(uninstallInterrupt.skipped(a).by(noop))),
	in(situation.PhaseSettled,
		spec(pkg(a).uninstall(on, asked).interrupt(noop)), node(uninstallInterrupt.complete(a).by(noop))),

	in(situation.PhaseUnreadable, spec(pkg(a).uninstall(on, auto)), node(config.complete("a@1.1").def("lost"))),
	in(situation.PhaseUnreadable, spec(pkg(a).uninstall(on, asked)), node(uninstall.inProgress("a@1.1").def("lost"))),
}

// TestPhaseOf: every phase, each line what a record says of package a, and the phase that it is in.
func TestPhaseOf(t *testing.T) {
	seen := map[situation.Phase]bool{}
	for _, rows := range [][]phaseRow{comes, removed} {
		for _, r := range rows {
			seen[r.want] = true
			t.Run(string(r.want), func(t *testing.T) {
				if o := observation(r.row); lifecycle.PhaseIn(o, "a") != r.want {
					t.Errorf("got %q, want %s of %+v", lifecycle.PhaseIn(o, "a"), r.want, o.Record)
				}
			})
		}
	}
	for _, phase := range phases {
		if !seen[phase] {
			t.Errorf("no row is in phase %s", phase)
		}
	}
}

// TestPhaseOfIsTotal: whatever a record holds, it is in one of the phases.
func TestPhaseOfIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := new(anyEntry(t, "a"))
		if rapid.IntRange(0, 9).Draw(t, "entry") == 0 {
			e = nil
		}
		aim := situation.Aim{
			Package: packages(anyPackage(t, "a"))["a"], Generation: generation,
			Removed: rapid.Bool().Draw(t, "leaves"), Missing: rapid.Bool().Draw(t, "missing"),
		}
		phase := situation.PhaseOf(e, aim, rapid.Bool().Draw(t, "in flight"))
		if !slices.Contains(phases, phase) || phase == situation.PhaseSuperseded {
			t.Fatalf("%+v with %+v is %q", e, aim, phase)
		}
		if (phase == situation.PhaseAbsent) != (e == nil) {
			t.Fatalf("%+v is %s", e, phase)
		}
	})
}

func any1[V any](t *rapid.T, label string, of ...V) V { return rapid.SampledFrom(of).Draw(t, label) }

// anyPackage draws a package.
func anyPackage(t *rapid.T, name string) definition {
	d := pkg(idOf(name, any1(t, "version of "+name, "1.0", "1.0", "1.1", "v1.0.0", "latest")))
	d = d.hash(any1(t, "hash of "+name, "1", "1", "2")).def(any1(t, "definition of "+name, "", "old", "new"))
	if data := any1(t, "config of "+name, "", "k=1", "k=2", "k=1 l=1"); data != "" {
		d = d.config(strings.Fields(data)...)
	}
	d = kinds[any1(t, "interrupt of "+name, "none", "none", "noop", "reboot", "service", "reboot for k",
		"service for all")](d)
	if said := any1(t, "uninstall of "+name, nil, nil, []int{on}, []int{on, asked}, []int{on, auto},
		[]int{on, auto, asked}); said != nil {
		d = d.uninstall(said...)
	}
	if after := any1(t, "timeout of "+name, 0, 0, 0, 0, 5*minute); after > 0 {
		d = d.timeout(after)
	}
	if retries := any1[int32](t, "retries of "+name, -1, -1, -1, 0, 2); retries >= 0 {
		d = d.retries(retries)
	}
	if other := any1[id](t, "dependency of "+name, "", "", a, b, "z@1.0"); other != "" {
		d = d.needs(other)
	}
	return d
}

// anyEntry draws an entry as some operator may have written it.
func anyEntry(t *rapid.T, name string) record.Entry {
	draw := func(label string, of ...string) string { return any1(t, label+" of "+name, of...) }
	e := record.Entry{
		Name: name, Version: draw("version", "1.0", "1.0", "1.1", "0.9", "v1.0.0", "latest"), Image: "img/" + name,
		Stage: v1alpha1.Stage(any1(t, "stage of "+name, apply, upgrade, config, config, interrupt, interrupt, postInterrupt,
			uninstall, uninstallInterrupt)),
		State: any1(t, "state of "+name, v1alpha1.StateInProgress, v1alpha1.StateInProgress, v1alpha1.StateErroring,
			v1alpha1.StateComplete, v1alpha1.StateComplete, v1alpha1.StateSkipped, v1alpha1.StateUnknown),
		Run: draw("run", "r1", "r1", "", nowRun, "by-hand!"), Hash: draw("hash", "1", "1", "2", ""),
		Definition: draw("definition", "", "old", "new", "lost"),
		Generation: int64(rapid.IntRange(generation-1, generation).Draw(t, "generation")),
		Restarts:   int32(rapid.IntRange(0, 3).Draw(t, "restarts")),
		BootID:     draw("boot", "", "b1", "b1", "b0"),
		Superseded: rapid.IntRange(0, 9).Draw(t, "superseded") == 0,
	}
	if e.State == v1alpha1.StateErroring {
		e.Reason = draw("reason", "", stepFailed, retriesExhausted, stageTimeout, rebootTimeout)
	}
	if hashes := draw("config", "unknown", "k=1", "k=1", "k=2", ""); hashes != "unknown" {
		e.Config = record.HashConfig(dataOf(strings.Fields(hashes)))
	}
	const never = 1
	if since := any1(t, "since of "+name, never, -2*hour, -hour, -hour, 0, 30*second, 2*hour); since != never {
		e.Since = at(since)
	}
	switch changed := draw("changed", "install", "none", "k", "l"); changed {
	case "install":
	case "none":
		e.Changed = []string{}
	default:
		e.Changed = []string{changed}
	}
	if i := any1(t, "interrupt of "+name, v1alpha1.Interrupt{}, noop, reboot, service("x"), service("x")); i.Type != "" {
		e.Interrupt = &i
	}
	return e
}
