//go:build integration

package agent_test

import (
	"os"
	"strings"
	"testing"
)

func TestLegacyFormsReachTheSameModes(t *testing.T) {
	h := newHost(t)
	// Without a root mount it is /root of the container, which is no host here;
	// what counts is how the arguments are read.
	for _, args := range [][]string{{"apply", "relative"}, {"apply", "/root", "relative"}, {"apply", "/root", "relative", "data"}} {
		r := h.runArgs(args...)
		if r.Code != 1 || !strings.Contains(r.Stderr, "absolute path on the host, not relative") {
			t.Errorf("%q: exit %d\n%s", args, r.Code, r.Stderr)
		}
	}
}

func TestWrongNumberOfArgumentsPrintsUsage(t *testing.T) {
	h := newHost(t)
	for _, args := range [][]string{{}, {"apply"}, {"apply", "/root", "/copy", "data", "more"}, {"--aply", "/root", "/copy"}} {
		r := h.runArgs(args...)
		if r.Code != 2 || !strings.Contains(r.Stderr, "Usage:") || !strings.Contains(r.Stderr, "post-interrupt-check") {
			t.Errorf("%q: exit %d\n%s", args, r.Code, r.Stderr)
		}
	}
}

func TestWarningWhenRunningWithInvalidMode(t *testing.T) {
	h := newHost(t)
	for _, args := range [][]string{{"prepare", h.Root, copyDir}, {"prepare", copyDir}, {"Apply", h.Root, copyDir}} {
		r := h.runArgs(args...)
		if r.Code != 0 || !strings.Contains(r.Stderr, "WARNING: mode \""+args[0]+"\" is not supported") {
			t.Errorf("%q: exit %d\n%s", args, r.Code, r.Stderr)
		}
		for _, mode := range []string{"apply-check", "interrupt", "uninstall"} {
			if !strings.Contains(r.Stderr, mode) {
				t.Errorf("%s is not listed:\n%s", mode, r.Stderr)
			}
		}
	}
	if h.Has(stateDir) {
		t.Error("an unknown mode changed the host")
	}
}

func TestNoWarningWhenRunningWithValidMode(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.define("apply-check", h.Script("a.sh", ""))
	h.Must(os.Chmod(h.Path(copyDir, "skyhook_dir/a.sh"), 0o755))
	if r := h.succeed("apply"); r.Stderr != "" {
		t.Errorf("stderr %q", r.Stderr)
	}
}

// TestCompleteDoesNothing in a container that may have nothing mounted.
func TestCompleteDoesNothing(t *testing.T) {
	h := newHost(t)
	for _, args := range [][]string{{"complete", "/root", copyDir}, {"complete"}, {"complete", "/does/not/exist", "x", "y", "z"}} {
		if r := h.runArgs(args...); r.Code != 0 || r.Stdout+r.Stderr+r.message != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	h := newHost(t)
	for _, arg := range []string{"version", "--version", "-version"} {
		if r := h.runArgs(arg); r.Code != 0 || r.Stdout != "1.2.3-test\n" {
			t.Errorf("%s: %+v", arg, r)
		}
	}
	for _, arg := range []string{"help", "--help", "-h"} {
		if r := h.runArgs(arg); r.Code != 0 || !strings.Contains(r.Stdout, "use skyhook package") {
			t.Errorf("%s: %+v", arg, r)
		}
	}
}

// TestLogs prints what the steps of a run left, for kubectl skyhook logs, without a host's root.
func TestLogs(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "echo hello"))
	h.succeed("apply")
	dir := h.Root + "/var/log/skyhook"
	if r := h.runArgs("logs", dir); r.Code != 0 || !strings.Contains(r.Stdout, "/a.sh-") || !strings.Contains(r.Stdout, "hello\n") {
		t.Errorf("%+v", r)
	}
	if r := h.runArgs("logs", dir, "nonesuch"); r.Code != 0 || r.Stdout != "no logs are here\n" {
		t.Errorf("of another package: %+v", r)
	}
	for _, args := range [][]string{{"logs"}, {"logs", dir, "", "1"}} {
		if r := h.runArgs(args...); r.Code != 2 {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := h.runArgs("logs", dir+"/nonesuch"); r.Code != 1 || !strings.Contains(r.Stderr, "open the folder of logs") {
		t.Errorf("%+v", r)
	}
}

func TestBadVariablesAreWarnedOf(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_BUFFER_LIMIT"], h.Env["SKYHOOK_AGENT_STOP_SECONDS"], h.Env["OVERLAY_ALWAYS_RUN_STEP"] = "8k", "-1", "1"
	h.define("apply", h.Script("a.sh", ""))
	r := h.succeed("apply")
	for _, want := range []string{
		`SKYHOOK_AGENT_BUFFER_LIMIT="8k" is not a number of bytes, using 8192`, `SKYHOOK_AGENT_STOP_SECONDS="-1" is not`,
		`OVERLAY_ALWAYS_RUN_STEP="1" is neither true nor false, using false`,
	} {
		if !strings.Contains(r.Stderr, want) {
			t.Errorf("no %q in %s", want, r.Stderr)
		}
	}
	h.Env["SKYHOOK_ROOT_DIR"] = "relative"
	h.fail("apply", `SKYHOOK_ROOT_DIR must be an absolute path on the host, not "relative"`)
}

// TestCommandsOfAuthorsAreElsewhere: their old names say where.
func TestCommandsOfAuthorsAreElsewhere(t *testing.T) {
	h := newHost(t)
	for _, args := range [][]string{{"run", "--root", h.Root, "x", "apply"}, {"--run"}} {
		r := h.runArgs(args...)
		const want = "ERROR: skyhook-agent run is gone, because the agent only works on nodes: use skyhook package run\n"
		if r.Code != 2 || r.Stdout != "" || r.Stderr != want {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
