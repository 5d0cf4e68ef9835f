package lifecycle_test

import (
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
		delete []string
		clear  bool
		done   string
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
	} {
		t.Run(c.name, func(t *testing.T) {
			o := lifecycle.Observation{Pods: pods(t, c.pods), Now: now, Record: record.Node{
				Packages: entries(t, c.node, nil), Done: "5/1", Status: "in_progress",
			}}
			if c.permit {
				o.Permit = new(permit)
			}
			d := lifecycle.Leave(o)
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
		{"another version", "a@1.0", "a@1.1 config:complete", false},
		{"another spelling", "a@1.0", "a@v1.0.0 config:complete", true},
		{"one of two", "a@1.0; b@1.0", "a@1.0 config:complete", false},
		{"other entries do not matter", "a@1.0", "a@1.0 config:complete; a@0.9 apply:erroring; z@1.0 apply:in_progress", true},
		{"old config", "a@1.0{k=2}", "a@1.0 config:complete config{k=1}", false},
		{"unknown config", "a@1.0{k=2}", "a@1.0 config:complete config=unknown", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := packages(t, c.spec)
			if got := lifecycle.Complete(spec, record.Node{Packages: entries(t, c.node, spec)}); got != c.want {
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
			e, failed := lifecycle.FirstFailure(spec, record.Node{Packages: entries(t, c.node, spec)})
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
