package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

var completeTables = []group{
	{"other operators", others},
}

// others are records of another operator, which kept no hashes.
var others = []row{
	{
		name: "complete: no interrupt is pending, its config is taken as current",
		spec: "a@1.0 config{k=2} interrupt=reboot", node: "a@1.0 config:complete config=unknown run= hash= gen=0",
		gate: "status=complete acknowledged",
		want: "rename a@1.0; is complete",
	},
	{
		name: "complete after an interrupt",
		spec: "a@1.0 config{k=2} interrupt=reboot", node: "a@1.0 post-interrupt:complete config=unknown run=",
		gate: "status=complete acknowledged",
		want: "rename a@1.0; is complete",
	},
	{
		name: "the node was not complete, and the package waits for its interrupt",
		spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete config=unknown run=",
		gate: "status=in_progress ours clear",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; is in_progress",
	},
	{
		name: "complete with another config: what changed since then is applied",
		spec: "a@1.0 config{k=2} interrupt=reboot", node: "a@1.0 post-interrupt:complete config=unknown run=",
		gate: "status=complete configured=k/1",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "complete with the config that the spec has",
		spec: "a@1.0 config{k=2} interrupt=reboot", node: "a@1.0 post-interrupt:complete config=unknown run=",
		gate: "status=complete acknowledged configured=k/2",
		want: "rename a@1.0; is complete",
	},
	{
		name: "config is done with another config, and the interrupt of the install pends: that covers the change",
		spec: "a@1.0 config{k=2} interrupt=reboot", node: "a@1.0 config:complete config=unknown run=",
		gate: "status=in_progress configured=k/1 ours clear",
		want: "a@1.0 config:in_progress run=now; start a config; is in_progress",
	},
	{
		name: "complete when it was paused: no interrupt is pending",
		spec: "a@1.0 config{k=2} interrupt=reboot", node: "a@1.0 config:complete config=unknown run=",
		gate: "status=paused finished acknowledged",
		want: "rename a@1.0; is complete",
	},
	{
		name: "complete when it was paused, and edited since",
		spec: "a@1.0 config{k=2} interrupt=reboot", node: "a@1.0 config:complete config=unknown run=",
		gate: "status=paused finished configured=k/1",
		want: "a@1.0 config:in_progress run=now changed=k; start a config; is in_progress",
	},
	{
		name: "paused before its interrupt",
		spec: "a@1.0 config{k=2} interrupt=reboot", node: "a@1.0 config:complete config=unknown run=",
		gate: "status=paused ours clear",
		want: "a@1.0 interrupt:in_progress run=now by reboot boot=b1; start a interrupt reboot; is in_progress",
	},
	{
		name: "an interrupt runs, and its pod is there: it decides",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress config=unknown run= hash=",
		pods: "a@1.0 interrupt done run= hash=", gate: "status=in_progress ours",
		want: "a@1.0 interrupt:complete; a@1.0 post-interrupt:in_progress run=now; delete a-interrupt; " +
			"start a post-interrupt; is in_progress",
	},
	{
		name: "an interrupt was to run, and its pod is gone: it is run anew",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:in_progress config=unknown run= hash=",
		gate: "status=in_progress ours clear",
		want: "a@1.0 interrupt:skipped; a@1.0 interrupt:in_progress run=now by service(x) boot=b1; " +
			"start a interrupt service(x); is in_progress",
	},
	{
		name: "skipped, while nothing runs: run anew",
		spec: "a@1.0 interrupt=service(x)", node: "a@1.0 interrupt:skipped config=unknown run= hash=",
		gate: "status=in_progress ours clear",
		want: "a@1.0 interrupt:in_progress run=now by service(x) boot=b1; start a interrupt service(x); is in_progress",
	},
	{
		name: "on its way out, with an interrupt: it is installed anew",
		spec: "a@1.0", node: "a@1.0 uninstall-interrupt:in_progress config=unknown run=", gate: "status=in_progress",
		want: "a@1.0 uninstall-interrupt:skipped; a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		name string
		spec string
		node string
		want bool
	}{
		{"no packages", "", "", true},
		{"absent", "a@1.0", "", false},
		{"applied", "a@1.0", "a@1.0 apply:complete", false},
		{"config runs", "a@1.0", "a@1.0 config:in_progress", false},
		{"configured", "a@1.0", "a@1.0 config:complete", true},
		{"interrupt pending", "a@1.0 interrupt=noop", "a@1.0 config:complete", false},
		{"interrupted", "a@1.0 interrupt=noop", "a@1.0 interrupt:complete", false},
		{"post-interrupt runs", "a@1.0 interrupt=noop", "a@1.0 post-interrupt:in_progress", false},
		{"post-interrupt complete", "a@1.0 interrupt=noop", "a@1.0 post-interrupt:complete", true},
		{"a change that needs no interrupt", "a@1.0 config{k=2} interrupt=noop", "a@1.0 config:complete changed=k", true},
		{"a change that needs an interrupt", "a@1.0 config{k=2} on:k=noop", "a@1.0 config:complete changed=k", false},
		{"superseded by later work", "a@1.0", "a@1.0 config:complete; a@1.1 upgrade:in_progress since=-1m", false},
		{"another version", "a@1.0", "a@1.1 config:complete", false},
		{"another spelling", "a@1.0", "a@v1.0.0 config:complete", true},
		{"one of two", "a@1.0; b@1.0", "a@1.0 config:complete", false},
		{
			"other entries do not matter", "a@1.0",
			"a@1.0 config:complete; a@0.9 apply:erroring since=-2h; z@1.0 apply:in_progress", true,
		},
		{"old config", "a@1.0 config{k=2}", "a@1.0 config:complete config{k=1}", false},
		{"unknown config", "a@1.0 config{k=2}", "a@1.0 config:complete config=unknown", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := packages(t, c.spec)
			if got := lifecycle.Complete(lifecycle.Wanted{Packages: spec},
				record.Node{Packages: entries(t, c.node, lifecycle.Wanted{Packages: spec})}); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

// TestFailureOfAnInterruptThatIsHeld: it is suspended when something holds the node, and is a failure that people hear
// of all the same, until it begins again.
func TestFailureOfAnInterruptThatIsHeld(t *testing.T) {
	o := observation(t, row{
		spec: "a@1.0 interrupt=service(x)",
		node: "a@1.0 interrupt:erroring restarts=1 reason=StepFailed interrupt=service(x) boot=b1",
		pods: "a@1.0 interrupt failing restarts=1 reason=StepFailed", gate: "ours clear paused",
	})
	o.Record = lifecycle.Next(o).Record
	if e, failed := lifecycle.FirstFailure(o.Wanted, o.Record); !failed || e.State != "skipped" ||
		e.Message != message("StepFailed") {
		t.Errorf("while it is held: %t, %+v", failed, e)
	}
	if f := lifecycle.FactsOf("", o.Wanted, o.Record, nil, true); f.FailedRun {
		t.Errorf("it counts as a failed run: %+v", f)
	}
	o.Pods, o.Hold, o.InFlight = nil, nil, nil
	o.Record = lifecycle.Next(o).Record
	if e, failed := lifecycle.FirstFailure(o.Wanted, o.Record); failed ||
		o.Record.Packages["a|1.0"].State != "in_progress" {
		t.Errorf("when it begins again: %t, %+v", failed, e)
	}
}

func TestFirstFailure(t *testing.T) {
	for _, c := range []struct {
		name string
		spec string
		node string
		want string
	}{
		{"none", "a@1.0; b@1.0", "a@1.0 config:complete; b@1.0 apply:in_progress", ""},
		{"the first by name", "a@1.0; b@1.0; c@1.0", "b@1.0 apply:erroring; c@1.0 apply:erroring", "b|1.0"},
		{"only of the spec's versions", "a@1.1; b@1.0", "a@1.0 apply:erroring; b@1.0 config:erroring", "b|1.0"},
		{
			"an interrupt that was suspended", "a@1.0 interrupt=reboot",
			"a@1.0 interrupt:skipped interrupt=reboot boot=b1 reason=StepFailed", "a|1.0",
		},
		{
			"of one that is to be uninstalled now it is past", "a@1.0 interrupt=reboot uninstall=on,apply",
			"a@1.0 interrupt:skipped interrupt=reboot boot=b1 reason=StepFailed", "",
		},
		{
			"that of an uninstall", "a@1.0 interrupt=reboot uninstall=on,apply",
			"a@1.0 uninstall-interrupt:skipped interrupt=reboot boot=b1 reason=StepFailed", "a|1.0",
		},
		{
			"of one that is wanted again it is past", "a@1.0 interrupt=reboot uninstall=on",
			"a@1.0 uninstall-interrupt:skipped interrupt=reboot boot=b1 reason=StepFailed", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := packages(t, c.spec)
			e, failed := lifecycle.FirstFailure(lifecycle.Wanted{Packages: spec},
				record.Node{Packages: entries(t, c.node, lifecycle.Wanted{Packages: spec})})
			if got := map[bool]string{true: e.Key()}[failed]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestUninstalling: what is told about packages that go.
func TestUninstalling(t *testing.T) {
	for _, c := range []struct {
		name           string
		spec, node     string
		gate           string
		uninstalling   []string
		failure        string
		packageOfAOver bool
	}{
		{name: "installed", spec: "a@1.0 uninstall=on", node: "a@1.0 config:complete", packageOfAOver: true},
		{name: "asked for, not begun", spec: "a@1.0 uninstall=on,apply", node: "a@1.0 config:complete", packageOfAOver: true},
		{
			name: "it runs", spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:in_progress",
			uninstalling: []string{"a|1.0"},
		},
		{
			name: "it fails", spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:erroring",
			uninstalling: []string{"a|1.0"},
			failure:      "a|1.0",
		},
		{
			name: "its interrupt runs", spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall-interrupt:in_progress",
			uninstalling: []string{"a|1.0"},
		},
		{name: "it is cancelled", spec: "a@1.0 uninstall=on", node: "a@1.0 uninstall:erroring"},
		{
			name: "it is cancelled, but its interrupt runs", spec: "a@1.0 uninstall=on",
			node: "a@1.0 uninstall-interrupt:in_progress", uninstalling: []string{"a|1.0"},
		},
		{name: "abandoned", spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:erroring", gate: "abandoned"},
		{
			name: "abandoned at deletion", spec: "a@1.0 uninstall=on,apply", node: "a@1.0 uninstall:erroring",
			gate: "abandoned deleting",
		},
		{
			name: "deletion: only what is removed", spec: "a@1.0; b@1.0 uninstall=on; c@1.0 uninstall=on", gate: "deleting",
			node:         "a@1.0 apply:erroring; b@1.0 uninstall:in_progress; c@1.0 uninstall:erroring",
			uninstalling: []string{"b|1.0", "c|1.0"}, failure: "c|1.0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(t, row{spec: c.spec, node: c.node, gate: c.gate})
			var uninstalling []string
			for _, e := range lifecycle.Uninstalling(o.Wanted, o.Record) {
				uninstalling = append(uninstalling, e.Key())
			}
			if diff := cmp.Diff(c.uninstalling, uninstalling); diff != "" {
				t.Errorf("uninstalling, -want +got\n%s", diff)
			}
			failure, failed := lifecycle.FirstFailure(o.Wanted, o.Record)
			if failed != (c.failure != "") || failed && failure.Key() != c.failure {
				t.Errorf("failure %t %s, want %q", failed, failure.Key(), c.failure)
			}
			if got := o.PackageComplete(o.Record, "a"); got != c.packageOfAOver {
				t.Errorf("a is complete: %t", got)
			}
		})
	}
}
