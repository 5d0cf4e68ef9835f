package state

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

var noonUTC = time.Date(2026, 11, 20, 12, 0, 0, 500000000, time.UTC)

func newInterrupt(t *testing.T) Interrupt {
	t.Helper()
	return Dir{Path: t.TempDir()}.Interrupt("demo-uid-1_tuning_1.1.0")
}

type file struct{ name, content string }

func (f file) put(t *testing.T, s Interrupt) {
	t.Helper()
	must(t, os.MkdirAll(s.Path, 0o755))
	must(t, os.WriteFile(filepath.Join(s.Path, f.name), []byte(f.content), 0o644))
}

func TestDone(t *testing.T) {
	reboot := Command{Name: "node_restart_0", Line: "reboot", BootID: "now"}
	restart := Command{Name: "service_restart_1", Line: "systemctl restart a"}
	field := "1763675000.5"
	tests := map[string]struct {
		flag    file
		command Command
		want    bool
	}{
		"none":                     {file{"other", ""}, restart, false},
		"of an agent in the field": {file{"service_restart_1.complete", field}, restart, true},
		"reboot in the field":      {file{"node_restart_0.complete", field}, reboot, true},
		"in the field, and a run":  {file{"node_restart_0.complete", field}, Command{Name: "node_restart_0", BootID: "now", Run: "r1"}, false},
		"ours, from before runs":   {file{"node_restart_0.complete", field + "\ncommand: reboot\nboot_id: before"}, Command{Name: "node_restart_0", Line: "reboot", BootID: "now", Run: "r1"}, true},
		"same command":             {file{"service_restart_1.complete", field + "\ncommand: systemctl restart a"}, restart, true},
		"another service":          {file{"service_restart_1.complete", field + "\ncommand: systemctl restart b"}, restart, false},
		"only begun":               {file{"service_restart_1.started", field + "\nattempts: 1"}, restart, false},
		"reboot of this boot":      {file{"node_restart_0.complete", field + "\ncommand: reboot\nboot_id: now"}, reboot, false},
		"reboot of another boot":   {file{"node_restart_0.complete", field + "\ncommand: reboot\nboot_id: before"}, reboot, true},
		"same run":                 {file{"node_restart_0.complete", field + "\nboot_id: before\nrun: r1"}, Command{Name: "node_restart_0", BootID: "now", Run: "r1"}, true},
		"another run":              {file{"node_restart_0.complete", field + "\nboot_id: before\nrun: r1"}, Command{Name: "node_restart_0", BootID: "now", Run: "r2"}, false},
		"boot id not known":        {file{"node_restart_0.complete", field + "\nboot_id: before"}, Command{Name: "node_restart_0", Line: "reboot"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			flags := newInterrupt(t)
			test.flag.put(t, flags)
			if got := flags.Done(test.command); got != test.want {
				t.Errorf("done: %v", got)
			}
		})
	}
}

func TestBeginCompleteForget(t *testing.T) {
	flags := newInterrupt(t)
	c := Command{Name: "service_restart_0", Line: "systemctl daemon-reload"}
	for want := range 3 {
		if lost := flags.Lost(c); lost != want {
			t.Errorf("lost %d, want %d", lost, want)
		}
		must(t, flags.Begin(c, noonUTC))
	}
	if lost := flags.Lost(Command{Name: c.Name, Line: "systemctl restart b"}); lost != 0 {
		t.Errorf("attempts of another command count: %d", lost)
	}
	must(t, flags.Forget(c))
	must(t, flags.Forget(c))
	if lost := flags.Lost(c); lost != 0 {
		t.Errorf("a failure counts as lost: %d", lost)
	}
	must(t, flags.Begin(c, noonUTC))
	must(t, flags.Complete(c, noonUTC))
	if !flags.Done(c) {
		t.Error("not done")
	}
	if lost := flags.Lost(c); lost != 0 {
		t.Errorf("a success counts as lost: %d", lost)
	}
	c.Run = "r1"
	must(t, flags.Begin(c, noonUTC))
	if lost := flags.Lost(c); lost != 1 {
		t.Errorf("lost %d", lost)
	}
	if c.Run = "r2"; flags.Lost(c) != 0 {
		t.Error("an attempt of another run counts")
	}
}

// TestFlagsStartWithTheTime, as those of agents in the field.
func TestFlagsStartWithTheTime(t *testing.T) {
	flags := newInterrupt(t)
	must(t, flags.Complete(Command{Name: "no_op"}, noonUTC))
	must(t, flags.Complete(Command{Name: "node_restart_0", Line: "reboot", BootID: "b"}, noonUTC))
	for name, want := range map[string]string{
		"no_op.complete":          `^1795176000\.500000$`,
		"node_restart_0.complete": `^1795176000\.500000\ncommand: reboot\nboot_id: b$`,
	} {
		raw, err := os.ReadFile(filepath.Join(flags.Path, name))
		if err != nil || !regexp.MustCompile(want).Match(raw) {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
}
