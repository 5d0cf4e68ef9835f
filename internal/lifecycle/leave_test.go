package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestLeave(t *testing.T) {
	token := record.PermitToken(permit)
	for _, c := range []struct {
		name   string
		node   string
		pods   string
		permit bool
		gate   string
		delete []string
		clear  bool
		done   string
		cordon string
	}{
		{name: "nothing there", clear: true},
		{name: "complete", node: "a@1.0 config:complete", clear: true},
		{name: "a permit is out: acknowledged with the record", node: "a@1.0 config:complete", permit: true, clear: true, done: token},
		{
			name: "a pod runs: it goes first", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", permit: true,
			delete: []string{"a-apply"}, done: token,
		},
		{name: "a pod ends: it is waited for", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running terminating"},
		{
			name: "several pods, of whatever run", pods: "a@1.0 apply done run=r9; b@1.0 config failing; c@1.0 apply lost terminating",
			delete: []string{"a-apply", "b-config"},
		},
		{name: "11.2#17 our cordon goes with the record", node: "a@1.0 config:complete", gate: "ours", clear: true, cordon: "disown cordon; uncordon"},
		{
			name: "11.2#17 our cordon stays while a pod runs", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running", gate: "ours",
			delete: []string{"a-apply"},
		},
		{name: "11.2#21 a cordon that stood before stays", node: "a@1.0 config:complete", gate: "admins", clear: true},
		{name: "11.2#21 a cordon that another Skyhook holds is left to it", gate: "ours others", clear: true, cordon: "disown cordon"},
		{name: "11.2#21 another Skyhook's cordon alone", gate: "others", clear: true},
		{name: "an interrupt runs: its pod goes first", node: "a@1.0 interrupt:in_progress interrupt=reboot boot=b1", pods: "a@1.0 interrupt running", gate: "ours", delete: []string{"a-interrupt"}},
		{name: "a boot id and a reason to wait go, too", gate: "last-boot=b1 told=Evicting/-1m", clear: true, cordon: "boot "},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := lifecycle.Observation{Pods: pods(t, c.pods), Now: now, Record: record.Node{
				Packages: entries(t, c.node, lifecycle.Wanted{}), Done: "5/1", Status: "in_progress",
			}}
			if c.permit {
				o.Permit = new(permit)
			}
			for gate := range strings.FieldsSeq(c.gate) {
				passGate(t, &o, gate)
			}
			d := lifecycle.Leave(o)
			if diff := cmp.Diff(items(c.cordon), describeNode(o, d)); diff != "" {
				t.Errorf("the node, -want +got\n%s", diff)
			}
			if d.Record.Wait != nil {
				t.Errorf("the node still waits: %+v", d.Record.Wait)
			}
			if !d.Leaving || d.Clear != c.clear || len(d.Start) > 0 {
				t.Errorf("got leaving %t, clear %t, start %v; want true, %t, none", d.Leaving, d.Clear, d.Start, c.clear)
			}
			if d.Record.Done != c.done {
				t.Errorf("acknowledged %q, want %q", d.Record.Done, c.done)
			}
			var deleted []string
			for _, p := range d.Delete {
				deleted = append(deleted, p.Name)
			}
			if diff := cmp.Diff(c.delete, deleted); diff != "" {
				t.Errorf("deleted pods, -want +got\n%s", diff)
			}
			if diff := cmp.Diff(o.Record.Packages, d.Record.Packages); diff != "" {
				t.Errorf("package states changed, -before +after\n%s", diff)
			}
		})
	}
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
		{"interrupt owed", "a@1.0!noop", "a@1.0 config:complete", false},
		{"interrupted", "a@1.0!noop", "a@1.0 interrupt:complete", false},
		{"post-interrupt runs", "a@1.0!noop", "a@1.0 post-interrupt:in_progress", false},
		{"post-interrupt complete", "a@1.0!noop", "a@1.0 post-interrupt:complete", true},
		{"a change that owes no interrupt", "a@1.0{k=2}!noop", "a@1.0 config:complete changed=k", true},
		{"a change that owes an interrupt", "a@1.0{k=2}?k:noop", "a@1.0 config:complete changed=k", false},
		{"superseded by later work", "a@1.0", "a@1.0 config:complete; a@1.1 upgrade:in_progress since=-1m", false},
		{"another version", "a@1.0", "a@1.1 config:complete", false},
		{"another spelling", "a@1.0", "a@v1.0.0 config:complete", true},
		{"one of two", "a@1.0; b@1.0", "a@1.0 config:complete", false},
		{"other entries do not matter", "a@1.0", "a@1.0 config:complete; a@0.9 apply:erroring since=-2h; z@1.0 apply:in_progress", true},
		{"old config", "a@1.0{k=2}", "a@1.0 config:complete config{k=1}", false},
		{"unknown config", "a@1.0{k=2}", "a@1.0 config:complete config=unknown", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := packages(t, c.spec)
			if got := lifecycle.Complete(lifecycle.Wanted{Packages: spec}, record.Node{Packages: entries(t, c.node, lifecycle.Wanted{Packages: spec})}); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
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
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := packages(t, c.spec)
			e, failed := lifecycle.FirstFailure(lifecycle.Wanted{Packages: spec}, record.Node{Packages: entries(t, c.node, lifecycle.Wanted{Packages: spec})})
			if got := map[bool]string{true: e.Key()}[failed]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPrepare(t *testing.T) {
	spec := packages(t, "a@1.0#9{k=v}<b@2.0; b@2.0")
	a, b := spec["a"], spec["b"]
	if a.Hash != "9" || a.Image != "img/a" || a.Version != "1.0" || a.DependsOn["b"] != "2.0" {
		t.Errorf("a is %+v", a)
	}
	if diff := cmp.Diff(record.HashConfig(map[string]string{"k": "v"}), a.Config); diff != "" {
		t.Errorf("config of a, -want +got\n%s", diff)
	}
	if b.Config == nil || len(b.Config) != 0 {
		t.Errorf("config of b is %v; want empty, not nil, which means unknown", b.Config)
	}
}

func TestInterrupting(t *testing.T) {
	for _, c := range []struct {
		name string
		node string
		want bool
	}{
		{"nothing", "", false},
		{"other stages", "a@1.0 config:in_progress; b@1.0 post-interrupt:erroring", false},
		{"runs", "a@1.0 config:complete; b@1.0 interrupt:in_progress", true},
		{"fails", "a@1.0 interrupt:erroring", true},
		{"merged into one that is gone", "a@1.0 interrupt:skipped", false},
		{"done", "a@1.0 interrupt:complete", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lifecycle.Interrupting(record.Node{Packages: entries(t, c.node, lifecycle.Wanted{})}); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
