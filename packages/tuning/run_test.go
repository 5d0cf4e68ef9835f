//go:build integration

package tuning_test

import (
	"os"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// result is how a run went.
type result = hostroot.Result

func (h *host) tool(name string, args ...string) {
	h.T.Helper()
	out, err := h.Command(append([]string{"/usr/bin/" + name}, args...)...).CombinedOutput()
	if err != nil {
		h.T.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// replace puts a script in the place of a tool, which becomes real-<name>. The
// tools are shared by all hosts, so it must not be written through.
func (h *host) replace(name, script string) {
	h.T.Helper()
	h.Must(os.Rename(h.Path("/usr/bin", name), h.Path("/usr/bin/real-"+name)))
	h.Must(hostroot.WriteProgram(h.Path("/usr/bin", name), []byte("#!/usr/bin/env bash\n"+script+"\n")))
}

// run runs a mode of the package.
func (h *host) run(mode string) result {
	h.T.Helper()
	return h.Run("/package/tuning.sh", mode)
}

// succeed runs modes that must succeed, and say nothing on standard error. It
// returns what they said on standard output.
func (h *host) succeed(modes ...string) string {
	h.T.Helper()
	var said strings.Builder
	for _, mode := range modes {
		r := h.run(mode)
		said.WriteString(r.Stdout)
		if r.Code != 0 || r.Stderr != "" {
			h.T.Fatalf("%s exited %d\n%s%s", mode, r.Code, r.Stdout, r.Stderr)
		}
	}
	return said.String()
}

// fail runs a mode that must fail, for this reason alone.
func (h *host) fail(mode, reason string) {
	h.T.Helper()
	r := h.run(mode)
	if r.Code != 1 || strings.TrimSpace(r.Stderr) != "tuning: "+reason {
		h.T.Fatalf("%s exited %d, want %q\n%s%s", mode, r.Code, reason, r.Stdout, r.Stderr)
	}
}

// configure gives the host a configMap, and proves that it is in place.
func (h *host) configure(configMap map[string]string) {
	h.T.Helper()
	h.configMap(configMap)
	h.succeed("config", "config-check")
}

func (h *host) uninstall() {
	h.T.Helper()
	h.succeed("uninstall", "uninstall-check")
}

// expect compares a file; "" means that there is none.
func (h *host) expect(name, want string) {
	h.T.Helper()
	got := ""
	if h.Has(name) {
		got = h.Read(name)
	}
	if got != want {
		h.T.Errorf("%s: got %q, want %q", name, got, want)
	}
}

// calls are the commands of the stand-ins that change something, since the
// last time this was asked.
func (h *host) calls() []string {
	h.T.Helper()
	var calls []string
	for line := range strings.Lines(h.Read("/run/calls")) {
		if !strings.HasPrefix(line, "systemctl show") && !strings.HasPrefix(line, "systemctl cat") {
			calls = append(calls, strings.TrimSpace(line))
		}
	}
	h.Write("/run/calls", "")
	return calls
}

func (h *host) expectCalls(want ...string) {
	h.T.Helper()
	if got := h.calls(); !slices.Equal(got, want) {
		h.T.Errorf("got the calls %q, want %q", got, want)
	}
}
