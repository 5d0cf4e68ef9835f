//go:build integration

package agent_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHostsInTrouble: whatever the agent cannot read or write fails the stage
// with a message that names it, and nothing counts as done.
func TestHostsInTrouble(t *testing.T) {
	file := func(name string) func(*host) {
		return func(h *host) { h.Write(name, "in the way") }
	}
	dir := func(name string) func(*host) {
		return func(h *host) { h.Must(os.MkdirAll(h.Path(name, "inner"), 0o755)) }
	}
	tests := map[string]struct {
		mode    string
		prepare func(*host)
		want    string
	}{
		"no flags directory":        {"apply", file(stateDir + "/flags"), stateDir + "/flags"},
		"flag cannot be written":    {"apply", file(stateDir + "/flags/shell"), stateDir + "/flags/shell"},
		"results cannot be written": {"apply-check", dir(stateDir + "/flags/check_results"), "check_results"},
		"verdict cannot be written": {"apply-check", dir(stateDir + "/flags/apply-check_ALL_CHECKED"), "ALL_CHECKED"},
		"no history directory":      {"apply-check", file(stateDir + "/history"), "record the version of shell"},
		"history is a directory":    {"upgrade", dir(history), "read the history of shell"},
		"flags cannot be forgotten": {"uninstall-check", file(stateDir + "/flags/shell"), "remove the flags of package shell"},
		"file instead of root_dir":  {"apply", file(copyDir + "/root_dir"), "copy the package's files from root_dir"},
		"root_dir does not fit": {"apply", func(h *host) {
			h.Write(copyDir+"/root_dir/etc/x/y", "")
			h.Write("/etc/x", "")
		}, "/etc/x: the package has a directory there, the host has a file"},
		"config.json is a directory": {"apply", func(h *host) {
			h.Must(os.Remove(h.Path(copyDir, "config.json")))
			dir(copyDir + "/config.json")(h)
		}, "config.json"},
		"package is a file": {"apply", func(h *host) {
			h.Must(os.RemoveAll(h.Path(copyDir)))
			file(copyDir)(h)
		}, "neither a package folder"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.define("apply", h.Script("a.sh", "echo a >>/ran"))
			h.define("upgrade", h.Script("a.sh", "echo a >>/ran"))
			h.Save()
			test.prepare(h)
			r := h.runArgs(test.mode, h.Root, copyDir)
			if r.Code != 1 || !strings.Contains(r.message, test.want) {
				t.Errorf("exit %d, message %q", r.Code, r.message)
			}
			if h.Has(flagsDir, "a.sh"+flagNoArgs) {
				t.Error("counts as done")
			}
		})
	}
}

func TestInterruptOfAHostInTrouble(t *testing.T) {
	for _, kind := range []string{"no_op", "node_restart", "service_restart"} {
		h := newInterruptHost(t)
		h.Write(stateDir+"/interrupts/flags", "in the way")
		if r := h.interrupt(`{"type":"` + kind + `"}`); r.Code != 1 || !strings.Contains(r.message, interruptFlags) || h.Has("/ran") {
			t.Errorf("%s: exit %d, message %q", kind, r.Code, r.message)
		}
	}
}

func TestSentenceOfTheMessageIsBounded(t *testing.T) {
	h := newHost(t)
	arguments := make([]any, 200)
	for i := range arguments {
		arguments[i] = "env:MISSING"
	}
	h.define("apply", h.Script("a.sh", "", arguments...))
	if r := h.fail("apply"); len(r.message) > 1100 || !strings.HasSuffix(r.message, " [...]") {
		t.Errorf("%d bytes: %q", len(r.message), r.message)
	}
}

func TestMessageFileThatCannotBeWrittenIsNoProblem(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_TERMINATION_LOG"] = "/does/not/exist"
	h.define("apply", h.Script("a.sh", "exit 1"))
	if r := h.run("apply"); r.Code != 1 || !strings.Contains(r.Stderr, "ERROR: step a.sh exited 1") {
		t.Errorf("exit %d\n%s", r.Code, r.Stderr)
	}
}

// TestKilledAtAnyMoment: after kill -9 the host has whole files only, and the
// next run ends right.
func TestKilledAtAnyMoment(t *testing.T) {
	h := newHost(t)
	h.define("upgrade", h.Script("a.sh", "echo a >>/ran"), h.Script("b.sh", "echo b >>/ran"))
	h.Write(copyDir+"/root_dir/etc/shipped", strings.Repeat("x", 1<<16))
	h.Save()
	for delay := time.Duration(0); delay < 40*time.Millisecond; delay += 2 * time.Millisecond {
		for _, mode := range []string{"upgrade", "upgrade-check"} {
			h.Must(os.RemoveAll(h.Path("/etc/shipped")))
			ctx, cancel := context.WithTimeout(t.Context(), delay)
			// exec.CommandContext kills with SIGKILL.
			cmd := exec.CommandContext(ctx, agentBinary, mode, h.Root, copyDir)
			cmd.Env = h.command().Env
			_ = cmd.Run()
			cancel()
			if h.Has("/etc/shipped") && len(h.Read("/etc/shipped")) != 1<<16 {
				t.Fatalf("%v: half a file of root_dir", delay)
			}
			for _, flag := range h.find(flagsDir + "/*") {
				// What had no name yet is no flag.
				if !strings.HasPrefix(filepath.Base(flag), ".") && !strings.Contains(h.Read(flag), "step_always_runs: ") {
					t.Fatalf("%v: half a flag %s", delay, flag)
				}
			}
			if h.Has(history) && !strings.HasSuffix(h.Read(history), "}]}") {
				t.Fatalf("%v: half a history", delay)
			}
		}
	}
	// Steps of agents that were killed may still be writing.
	h.Must(os.RemoveAll(h.Path(stateDir, "flags")))
	r := h.succeed("upgrade")
	h.succeed("upgrade-check")
	if strings.Count(r.Stdout, "\nSUCEEDED: ") != 2 || len(h.find(flagsDir+"/*")) != 2 { //nolint:misspell // as in the field
		t.Errorf("flags %q\n%s", h.find(flagsDir+"/*"), r.Stdout)
	}
	if got := h.Read(history); strings.Count(got, `"time"`) != 1 || h.Has(history+".backup") {
		t.Errorf("history %s", got)
	}
}
