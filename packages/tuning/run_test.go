package tuning_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// result is how a run went.
type result struct {
	code           int
	stdout, stderr string
}

// command prepares a run in the host's root.
func (h *host) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: h.root, Setpgid: true}
	for name, value := range h.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

func (h *host) tool(name string, args ...string) {
	h.t.Helper()
	out, err := h.command("/usr/bin/"+name, args...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// replace puts a script in the place of a tool, which becomes real-<name>. The
// tools are shared by all hosts, so it must not be written through.
func (h *host) replace(name, script string) {
	h.t.Helper()
	h.must(os.Rename(h.path("/usr/bin", name), h.path("/usr/bin/real-"+name)))
	h.must(hostroot.WriteProgram(h.path("/usr/bin", name), []byte("#!/usr/bin/env bash\n"+script+"\n")))
}

// run runs a mode of the package.
func (h *host) run(mode string) result {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := h.command("/package/tuning.sh", mode)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// succeed runs modes that must succeed, and say nothing on standard error. It
// returns what they said on standard output.
func (h *host) succeed(modes ...string) string {
	h.t.Helper()
	var said strings.Builder
	for _, mode := range modes {
		r := h.run(mode)
		said.WriteString(r.stdout)
		if r.code != 0 || r.stderr != "" {
			h.t.Fatalf("%s exited %d\n%s%s", mode, r.code, r.stdout, r.stderr)
		}
	}
	return said.String()
}

// fail runs a mode that must fail, for this reason alone.
func (h *host) fail(mode, reason string) {
	h.t.Helper()
	r := h.run(mode)
	if r.code != 1 || strings.TrimSpace(r.stderr) != "tuning: "+reason {
		h.t.Fatalf("%s exited %d, want %q\n%s%s", mode, r.code, reason, r.stdout, r.stderr)
	}
}

// configure gives the host a configMap, and proves that it is in place.
func (h *host) configure(configMap map[string]string) {
	h.t.Helper()
	h.configMap(configMap)
	h.succeed("config", "config-check")
}

func (h *host) uninstall() {
	h.t.Helper()
	h.succeed("uninstall", "uninstall-check")
}

// expect compares a file; "" means that there is none.
func (h *host) expect(name, want string) {
	h.t.Helper()
	got := ""
	if h.has(name) {
		got = h.read(name)
	}
	if got != want {
		h.t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

// calls are the commands of the stand-ins that change something, since the
// last time this was asked.
func (h *host) calls() []string {
	h.t.Helper()
	var calls []string
	for line := range strings.Lines(h.read("/run/calls")) {
		if !strings.HasPrefix(line, "systemctl show") && !strings.HasPrefix(line, "systemctl cat") {
			calls = append(calls, strings.TrimSpace(line))
		}
	}
	h.write("/run/calls", "")
	return calls
}

func (h *host) expectCalls(want ...string) {
	h.t.Helper()
	if got := h.calls(); !slices.Equal(got, want) {
		h.t.Errorf("got the calls %q, want %q", got, want)
	}
}
