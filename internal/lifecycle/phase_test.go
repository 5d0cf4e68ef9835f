package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// phases are all there are.
var phases = []lifecycle.Phase{
	lifecycle.PhaseAbsent, lifecycle.PhaseSuperseded, lifecycle.PhaseRunning, lifecycle.PhaseFailing,
	lifecycle.PhaseExhausted,
	lifecycle.PhaseConfigPending, lifecycle.PhaseInterruptPending, lifecycle.PhasePostInterruptPending,
	lifecycle.PhaseUninstallPending,
	lifecycle.PhaseSettled, lifecycle.PhaseUnreadable,
}

// phaseRow says in which phase package a is, with an entry in the record.
type phaseRow struct {
	spec, kept, node, gate string
	want                   lifecycle.Phase
}

// comes: the spec wants the package. Spec of the first column, record of the second.
var comes = []phaseRow{
	{spec: "a@1.0", want: "Absent"},
	{spec: "a@1.0", node: "b@1.0 config:complete", want: "Absent"},
	{spec: "a@1.1", node: "a@1.0 config:complete", want: "Absent"},
	// It was on its way out, and is wanted again: what is left of it on the host nobody knows.
	{spec: "a@1.0", node: "a@1.0 uninstall:in_progress", want: "Absent"},
	{spec: "a@1.0", node: "a@1.0 uninstall:erroring reason=RetriesExhausted", want: "Absent"},
	{spec: "a@1.0", node: "a@1.0 uninstall:complete", want: "Absent"},
	{spec: "a@1.0", node: "a@1.0 uninstall-interrupt:skipped interrupt=noop boot=b1", want: "Absent"},

	// Another version was worked on later.
	{spec: "a@1.1", node: "a@1.1 config:complete since=-2h; a@1.0 apply:in_progress", want: "Superseded"},
	{spec: "a@1.1", node: "a@1.1 config:complete since=-2h; a@1.0 config:complete", want: "Superseded"},
	{spec: "a@1.1", node: "a@1.1 config:complete; a@1.0 apply:in_progress", want: "Superseded"},
	{spec: "a@1.1", node: "a@1.1 config:complete superseded since=0s; a@1.0 config:complete", want: "Superseded"},
	{spec: "a@1.1", node: "a@1.1 apply:skipped superseded", want: "Superseded"},
	{spec: "a@1.1", node: "a@1.1 config:complete; a@1.0 config:complete since=-2h", want: "Settled"},
	{spec: "a@1.1", node: "a@1.1 config:complete since=never; a@1.0 config:complete", want: "Settled"},

	{spec: "a@1.0", node: "a@1.0 apply:in_progress", want: "Running"},
	{spec: "a@1.0", node: "a@1.0 upgrade:in_progress", want: "Running"},
	{spec: "a@1.0", node: "a@1.0 config:in_progress", want: "Running"},
	{spec: "a@1.0", node: "a@1.0 post-interrupt:in_progress", want: "Running"},
	{spec: "a@1.0 config{k=2}", node: "a@1.0 config:in_progress config{k=1}", want: "Running"},
	{spec: "a@1.0", node: "a@v1.0.0 apply:in_progress", want: "Running"},

	{spec: "a@1.0", node: "a@1.0 apply:erroring reason=StepFailed", want: "Failing"},
	{spec: "a@1.0", node: "a@1.0 upgrade:erroring reason=ImagePullBackOff", want: "Failing"},
	{spec: "a@1.0", node: "a@1.0 config:erroring reason=Evicted restarts=3", want: "Failing"},
	{spec: "a@1.0 interrupt=noop", node: "a@1.0 post-interrupt:erroring reason=StepFailed", want: "Failing"},
	// the spec was edited since
	{spec: "a@1.0", node: "a@1.0 apply:erroring reason=StageTimeout gen=6", want: "Failing"},
	// the spec was edited since
	{spec: "a@1.0", node: "a@1.0 apply:erroring reason=RetriesExhausted gen=6", want: "Failing"},

	{spec: "a@1.0", node: "a@1.0 apply:erroring reason=StageTimeout", want: "Exhausted"},
	{spec: "a@1.0", node: "a@1.0 upgrade:erroring reason=RetriesExhausted", want: "Exhausted"},
	{spec: "a@1.0", node: "a@1.0 config:erroring reason=RetriesExhausted", want: "Exhausted"},
	{
		spec: "a@1.0 interrupt=noop", node: "a@1.0 interrupt:erroring reason=RetriesExhausted interrupt=noop boot=b1",
		want: "Exhausted",
	},
	{
		spec: "a@1.0 interrupt=noop", node: "a@1.0 interrupt:erroring reason=StageTimeout interrupt=noop boot=b1",
		want: "Exhausted",
	},

	{spec: "a@1.0", node: "a@1.0 apply:complete", want: "ConfigPending"},
	{spec: "a@1.0", node: "a@1.0 upgrade:complete", want: "ConfigPending"},
	{spec: "a@1.0 config{k=2}", node: "a@1.0 config:complete config{k=1}", want: "ConfigPending"},
	{spec: "a@1.0 config{k=2} interrupt=noop", node: "a@1.0 config:complete config{k=1}", want: "ConfigPending"},
	{
		spec: "a@1.0 config{k=2} interrupt=noop", node: "a@1.0 interrupt:complete config{k=1} interrupt=noop boot=b1",
		want: "ConfigPending",
	},
	{spec: "a@1.0 config{k=2} interrupt=noop", node: "a@1.0 post-interrupt:complete config{k=1}", want: "ConfigPending"},
	// States that only other operators wrote.
	{spec: "a@1.0", node: "a@1.0 apply:skipped", want: "Running"},
	{spec: "a@1.0", node: "a@1.0 config:unknown", want: "ConfigPending"},
	{spec: "a@1.0", node: "a@1.0 post-interrupt:skipped", want: "ConfigPending"},

	{spec: "a@1.0 interrupt=noop", node: "a@1.0 config:complete", want: "InterruptPending"},
	{spec: "a@1.0 config{k=2} on:k=noop", node: "a@1.0 config:complete changed=k", want: "InterruptPending"},
	{spec: "a@1.0 config{k=2} on:k=noop", node: "a@1.0 config:complete changed=none", want: "Settled"},
	// its own is that of an install
	{spec: "a@1.0 config{k=2} interrupt=noop", node: "a@1.0 config:complete changed=k", want: "Settled"},
	{spec: "a@1.0 interrupt=noop", node: "a@1.0 interrupt:skipped interrupt=noop boot=b1", want: "InterruptPending"},
	{spec: "a@1.0 interrupt=noop", node: "a@1.0 interrupt:unknown", want: "InterruptPending"},
	{
		spec: "a@1.0 interrupt=noop", node: "a@1.0 interrupt:erroring reason=RetriesExhausted interrupt=noop boot=b1 gen=6",
		want: "InterruptPending",
	},
	// One that is in flight runs for all that were merged into it.
	{spec: "a@1.0 interrupt=noop", node: "a@1.0 interrupt:in_progress interrupt=noop boot=b1", want: "Running"},
	{
		spec: "a@1.0 interrupt=noop", node: "a@1.0 interrupt:erroring reason=StepFailed interrupt=noop boot=b1",
		want: "Failing",
	},
	{
		spec: "a@1.0 interrupt=noop; b@1.0 interrupt=noop",
		node: "a@1.0 interrupt:skipped interrupt=noop boot=b1; b@1.0 interrupt:in_progress interrupt=noop boot=b1",
		want: "Running",
	},
	{
		spec: "a@1.0 interrupt=noop; b@1.0 interrupt=noop",
		node: "a@1.0 config:complete; b@1.0 interrupt:in_progress interrupt=noop boot=b1", want: "InterruptPending",
	},

	{spec: "a@1.0 interrupt=noop", node: "a@1.0 interrupt:complete interrupt=noop boot=b1", want: "PostInterruptPending"},
	{spec: "a@1.0", node: "a@1.0 interrupt:complete interrupt=noop boot=b1", want: "PostInterruptPending"},
	{spec: "a@1.0", node: "a@1.0 config:complete changed=none interrupt=noop boot=b1", want: "PostInterruptPending"},

	{spec: "a@1.0", node: "a@1.0 config:complete", want: "Settled"},
	{spec: "a@1.0", node: "a@v1.0.0 config:complete", want: "Settled"},
	{spec: "a@1.0 config{k=2}", node: "a@1.0 config:complete config=unknown", want: "Settled"},
	{spec: "a@1.0 interrupt=noop", node: "a@1.0 post-interrupt:complete", want: "Settled"},
	{spec: "a@1.0 interrupt=noop", node: "a@1.0 config:complete config=unknown", gate: "status=complete", want: "Settled"},
	{
		spec: "a@1.0 interrupt=noop", node: "a@1.0 config:complete config=unknown", gate: "status=in_progress",
		want: "InterruptPending",
	},
}

// removed: the package has to be uninstalled from the node.
var removed = []phaseRow{
	{spec: "a@1.0 uninstall=on,apply", node: "a@1.0 apply:in_progress", want: "UninstallPending"},
	{spec: "a@1.0 uninstall=on,apply", node: "a@1.0 apply:erroring reason=RetriesExhausted", want: "UninstallPending"},
	{spec: "a@1.0 uninstall=on,apply", node: "a@1.0 config:complete", want: "UninstallPending"},
	{spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 config:complete", want: "UninstallPending"},
	{spec: "a@1.0 uninstall=on,apply config{k=2}", node: "a@1.0 config:complete config{k=1}", want: "UninstallPending"},
	{
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 interrupt:skipped interrupt=noop boot=b1",
		want: "UninstallPending",
	},
	{
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 interrupt:complete interrupt=noop boot=b1",
		want: "UninstallPending",
	},
	{spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:skipped", want: "UninstallPending"},
	{kept: "old=a@1.0 uninstall=on,auto", node: "a@1.0 config:complete def=old", want: "UninstallPending"},
	// An interrupt of its install that is in flight comes to its end first.
	{
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 interrupt:in_progress interrupt=noop boot=b1",
		want: "Running",
	},

	{spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress", want: "Running"},
	{spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:erroring reason=StepFailed", want: "Failing"},
	{spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:erroring reason=RetriesExhausted gen=6", want: "Failing"},
	{spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:erroring reason=RetriesExhausted", want: "Exhausted"},
	{spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 uninstall:complete", want: "InterruptPending"},
	{spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:complete", want: "Settled"},

	{
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 uninstall-interrupt:in_progress interrupt=noop boot=b1",
		want: "Running",
	},
	{
		spec: "a@1.0 uninstall=on,apply interrupt=noop",
		node: "a@1.0 uninstall-interrupt:erroring reason=StepFailed interrupt=noop boot=b1", want: "Failing",
	},
	{
		spec: "a@1.0 uninstall=on,apply interrupt=noop",
		node: "a@1.0 uninstall-interrupt:erroring reason=StageTimeout interrupt=noop boot=b1", want: "Exhausted",
	},
	{
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 uninstall-interrupt:skipped interrupt=noop boot=b1",
		want: "InterruptPending",
	},
	{
		spec: "a@1.0 uninstall=on,apply interrupt=noop", node: "a@1.0 uninstall-interrupt:complete interrupt=noop boot=b1",
		want: "Settled",
	},

	{spec: "a@1.0 uninstall=on,auto", node: "a@1.1 config:complete def=lost", want: "Unreadable"},
	{spec: "a@1.0 uninstall=on,apply", node: "a@1.1 uninstall:in_progress def=lost", want: "Unreadable"},
}

// TestPhaseOf: every phase, each line what a record says of package a, and the phase that it is in.
func TestPhaseOf(t *testing.T) {
	seen := map[lifecycle.Phase]bool{}
	for _, rows := range [][]phaseRow{comes, removed} {
		for _, r := range rows {
			seen[r.want] = true
			t.Run(string(r.want)+" "+r.node, func(t *testing.T) {
				o := observation(t, row{spec: r.spec, kept: r.kept, node: r.node, gate: r.gate})
				if got := lifecycle.PhaseIn(o, "a"); got != r.want {
					t.Errorf("spec %s, node %s: got %q, want %s", r.spec, r.node, got, r.want)
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
		aim := lifecycle.Aim{
			Package: packages(t, anyPackage(t, "a"))["a"], Generation: generation,
			Removed: rapid.Bool().Draw(t, "leaves"), Missing: rapid.Bool().Draw(t, "missing"),
		}
		phase := lifecycle.PhaseOf(e, aim, rapid.Bool().Draw(t, "in flight"))
		if !slices.Contains(phases, phase) || phase == lifecycle.PhaseSuperseded {
			t.Fatalf("%+v with %+v is %q", e, aim, phase)
		}
		if (phase == lifecycle.PhaseAbsent) != (e == nil) {
			t.Fatalf("%+v is %s", e, phase)
		}
	})
}

// anyPackage draws a package in the language of the tables.
func anyPackage(t *rapid.T, name string) string {
	draw := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label+" of "+name) }
	return name + "@" + draw("version", "1.0", "1.0", "1.1", "v1.0.0", "latest") +
		draw("hash", "", "", " hash=2") + draw("definition", "", " def=old", " def=new") +
		draw("config", "", " config{k=1}", " config{k=2}", " config{k=1,l=1}") +
		draw("interrupt", "", "", " interrupt=noop", " interrupt=reboot", " interrupt=service(x)", " on:k=reboot",
			" on:*=service(x)") +
		draw("uninstall", "", "", " uninstall=on", " uninstall=on,apply", " uninstall=on,auto", " uninstall=on,auto,apply") +
		draw("limits", "", "", " timeout=5m", " retries=0", " retries=2") +
		draw("dependency", "", "", " needs=a@1.0", " needs=b@1.0", " needs=z@1.0")
}

// anyEntry draws an entry as some operator may have written it.
func anyEntry(t *rapid.T, name string) record.Entry {
	draw := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label+" of "+name) }
	e := record.Entry{
		Name: name, Version: draw("version", "1.0", "1.0", "1.1", "0.9", "v1.0.0", "latest"), Image: "img/" + name,
		Stage: v1alpha1.Stage(draw("stage", "apply", "upgrade", "config", "config", "interrupt", "interrupt",
			"post-interrupt", "uninstall", "uninstall-interrupt")),
		State: v1alpha1.State(draw("state", "in_progress", "in_progress", "erroring", "complete", "complete", "skipped",
			"unknown")),
		Run: draw("run", "r1", "r1", "", nowRun, "by-hand!"), Hash: draw("hash", "1", "1", "2", ""),
		Definition: draw("definition", "", "old", "new", "lost"),
		Generation: int64(rapid.IntRange(generation-1, generation).Draw(t, "generation")),
		Restarts:   int32(rapid.IntRange(0, 3).Draw(t, "restarts")),
		BootID:     draw("boot", "", "b1", "b1", "b0"),
		Superseded: rapid.IntRange(0, 9).Draw(t, "superseded") == 0,
	}
	if e.State == v1alpha1.StateErroring {
		e.Reason = draw("reason", "", "StepFailed", v1alpha1.ReasonRetriesExhausted, v1alpha1.ReasonStageTimeout,
			v1alpha1.ReasonRebootTimeout)
	}
	if hashes := draw("config", "unknown", "k=1", "k=1", "k=2", ""); hashes != "unknown" {
		e.Config = record.HashConfig(pairs(hashes))
	}
	if since := draw("since", "never", "-2h", "-1h", "-1h", "0s", "30s", "2h"); since != "never" {
		d, err := time.ParseDuration(since)
		if err != nil {
			t.Fatal(err)
		}
		e.Since = metav1.NewTime(now.Add(d))
	}
	switch changed := draw("changed", "install", "none", "k", "l"); changed {
	case "install":
	case "none":
		e.Changed = []string{}
	default:
		e.Changed = []string{changed}
	}
	if i := draw("interrupt", "", "noop", "reboot", "service(x)", "service(x)"); i != "" {
		e.Interrupt = interrupt(i)
	}
	return e
}
