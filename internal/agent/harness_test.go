//go:build integration

package agent_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
	"github.com/skyhook-operator/skyhook/test/inputs"
)

// These tests drive the compiled agent against the root folder of a host made
// from the shell and tools of the machine they run on.

var (
	agentBinary  string
	faultyBinary string
	template     = hostroot.Template{Tools: []string{
		"bash", "sh", "cat", "chmod", "cp", "env", "grep", "head", "id", "ls", "mkdir", "mv",
		"readlink", "rm", "seq", "sleep", "stat", "touch", "tr", "wc",
	}}
)

func TestMain(m *testing.M) {
	os.Exit(template.Main(m, func(work, _ string) error {
		agentBinary, faultyBinary = filepath.Join(work, "skyhook-agent"), filepath.Join(work, "skyhook-agent-faults")
		return errors.Join(
			inputs.Build("../../cmd/skyhook-agent", agentBinary), inputs.Build("../../cmd/skyhook-agent", faultyBinary, "-tags", "faults"))
	}))
}

// host is the root folder of one host with one package on it. The container's
// environment has Env beside the defaults.
type host struct{ *hostroot.Package }

const (
	copyDir  = "/var/lib/skyhook/demo/tuning-1.1.0-uid-1"
	stateDir = "/var/lib/skyhook/demo"
	logsDir  = "/var/log/skyhook/demo"
)

func newHost(t testing.TB) *host {
	t.Helper()
	return &host{template.Host(t, map[string]string{
		"PATH":                          "/usr/bin",
		"COPY_RESOLV":                   "false",
		"SKYHOOK_ROOT_DIR":              stateDir,
		"SKYHOOK_LOG_DIR":               logsDir,
		"SKYHOOK_RESOURCE_ID":           "demo-uid-1_tuning_1.1.0",
		"SKYHOOK_AGENT_TERMINATION_LOG": filepath.Join(t.TempDir(), "termination-log"),
	}).Package(copyDir)}
}

// copyTree copies a folder of the host, as an init container does.
func (h *host) copyTree(from, to string) {
	h.T.Helper()
	if !h.Has(to) {
		h.Must(os.CopyFS(h.Path(to), os.DirFS(h.Path(from))))
	}
}

type step = hostroot.Step

// define sets the steps of a mode. Modes that need a check get one that
// always succeeds, unless they are given one.
func (h *host) define(mode string, steps ...step) {
	h.T.Helper()
	all := h.Modes()
	all[mode] = steps
	if check := mode + "-check"; !strings.HasSuffix(mode, "-check") && all[check] == nil && len(steps) > 0 {
		all[check] = []step{h.Script("ok_check.sh", "exit 0")}
	}
}

// result is how a run of the agent went.
type result struct {
	hostroot.Result
	// message is the container's termination message.
	message string
}

// command prepares a run of a stage.
func (h *host) command(args ...string) *exec.Cmd {
	cmd := exec.Command(agentBinary, args...)
	cmd.Env = h.Environ()
	return cmd
}

// run runs a stage of the package.
func (h *host) run(mode string) result {
	h.T.Helper()
	h.Save()
	return h.runArgs(mode, h.Root, copyDir)
}

func (h *host) runArgs(args ...string) result {
	h.T.Helper()
	return result{h.End(h.command(args...)), h.message()}
}

func (h *host) message() string {
	raw, err := os.ReadFile(h.Env["SKYHOOK_AGENT_TERMINATION_LOG"])
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.T.Fatal(err)
	}
	return string(raw)
}

// succeed runs a stage that must succeed.
func (h *host) succeed(mode string) result {
	h.T.Helper()
	r := h.run(mode)
	if r.Code != 0 {
		h.T.Fatalf("%s exited %d\n%s%s", mode, r.Code, r.Stdout, r.Stderr)
	}
	if r.message != "" {
		h.T.Errorf("%s succeeded with the message %q", mode, r.message)
	}
	return r
}

// fail runs a stage that must fail with 1, and with these words.
func (h *host) fail(mode string, words ...string) result {
	h.T.Helper()
	r := h.run(mode)
	if r.Code != 1 {
		h.T.Fatalf("%s exited %d\n%s%s", mode, r.Code, r.Stdout, r.Stderr)
	}
	for _, word := range words {
		if !strings.Contains(r.Stderr, word) || !strings.Contains(r.message, word) {
			h.T.Errorf("want %q in the error and in the message, got\n%s\n%s", word, r.Stderr, r.message)
		}
	}
	return r
}

// find lists what matches a pattern, as paths of the host.
func (h *host) find(pattern string) []string {
	h.T.Helper()
	matches, err := filepath.Glob(h.Path(pattern))
	h.Must(err)
	for i, match := range matches {
		matches[i] = strings.TrimPrefix(match, h.Root)
	}
	return matches
}
