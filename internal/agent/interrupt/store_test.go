package interrupt_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/interrupt"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 500000000, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newStore(t *testing.T) interrupt.Store {
	t.Helper()
	return interrupt.Store{Dir: filepath.Join(t.TempDir(), "flags/demo-uid-1_tuning_1.1.0")}
}

type flag struct{ name, content string }

func (f flag) put(t *testing.T, s interrupt.Store) {
	t.Helper()
	must(t, os.MkdirAll(s.Dir, 0o755))
	must(t, os.WriteFile(filepath.Join(s.Dir, f.name), []byte(f.content), 0o644))
}

func TestDone(t *testing.T) {
	reboot := interrupt.Command{Name: "node_restart_0", Line: "reboot", BootID: "now"}
	restart := interrupt.Command{Name: "service_restart_1", Line: "systemctl restart a"}
	field := "1763675000.5"
	tests := map[string]struct {
		flag    flag
		command interrupt.Command
		want    bool
	}{
		"none":                     {flag{"other", ""}, restart, false},
		"of an agent in the field": {flag{"service_restart_1.complete", field}, restart, true},
		"reboot in the field":      {flag{"node_restart_0.complete", field}, reboot, true},
		"same command":             {flag{"service_restart_1.complete", field + "\ncommand: systemctl restart a"}, restart, true},
		"another service":          {flag{"service_restart_1.complete", field + "\ncommand: systemctl restart b"}, restart, false},
		"only begun":               {flag{"service_restart_1.started", field + "\nattempts: 1"}, restart, false},
		"reboot of this boot":      {flag{"node_restart_0.complete", field + "\ncommand: reboot\nboot_id: now"}, reboot, false},
		"reboot of another boot":   {flag{"node_restart_0.complete", field + "\ncommand: reboot\nboot_id: before"}, reboot, true},
		"same run":                 {flag{"node_restart_0.complete", field + "\nboot_id: before\nrun: r1"}, interrupt.Command{Name: "node_restart_0", BootID: "now", Run: "r1"}, true},
		"another run":              {flag{"node_restart_0.complete", field + "\nboot_id: before\nrun: r1"}, interrupt.Command{Name: "node_restart_0", BootID: "now", Run: "r2"}, false},
		"boot id not known":        {flag{"node_restart_0.complete", field + "\nboot_id: before"}, interrupt.Command{Name: "node_restart_0", Line: "reboot"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			test.flag.put(t, store)
			if got := store.Done(test.command); got != test.want {
				t.Errorf("done: %v", got)
			}
		})
	}
}

func TestBeginCompleteFailed(t *testing.T) {
	store := newStore(t)
	c := interrupt.Command{Name: "service_restart_0", Line: "systemctl daemon-reload"}
	for want := range 3 {
		if lost := store.Lost(c); lost != want {
			t.Errorf("lost %d, want %d", lost, want)
		}
		must(t, store.Begin(c, noon))
	}
	if lost := store.Lost(interrupt.Command{Name: c.Name, Line: "systemctl restart b"}); lost != 0 {
		t.Errorf("attempts of another command count: %d", lost)
	}
	must(t, store.Failed(c))
	must(t, store.Failed(c))
	if lost := store.Lost(c); lost != 0 {
		t.Errorf("a failure counts as lost: %d", lost)
	}
	must(t, store.Begin(c, noon))
	must(t, store.Complete(c, noon))
	if !store.Done(c) {
		t.Error("not done")
	}
	if lost := store.Lost(c); lost != 0 {
		t.Errorf("a success counts as lost: %d", lost)
	}
	c.Run = "r1"
	must(t, store.Begin(c, noon))
	if lost := store.Lost(c); lost != 1 {
		t.Errorf("lost %d", lost)
	}
	if c.Run = "r2"; store.Lost(c) != 0 {
		t.Error("an attempt of another run counts")
	}
}

// TestFlagsStartWithTheTime, as those of agents in the field.
func TestFlagsStartWithTheTime(t *testing.T) {
	store := newStore(t)
	must(t, store.CompleteNoop(noon))
	must(t, store.Complete(interrupt.Command{Name: "node_restart_0", Line: "reboot", BootID: "b"}, noon))
	for name, want := range map[string]string{
		"no_op.complete":          `^1795176000\.500000$`,
		"node_restart_0.complete": `^1795176000\.500000\ncommand: reboot\nboot_id: b$`,
	} {
		raw, err := os.ReadFile(filepath.Join(store.Dir, name))
		if err != nil || !regexp.MustCompile(want).Match(raw) {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
}
