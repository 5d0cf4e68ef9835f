//go:build integration

package agent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
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
		return errors.Join(buildAgent(agentBinary), buildAgent(faultyBinary, "-tags", "faults"))
	}))
}

func buildAgent(target string, options ...string) error {
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w -X main.version=1.2.3-test", "-o", target}, options...)
	build := exec.Command("go", append(args, "../../cmd/skyhook-agent")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	return nil
}

// host is the root folder of one host with one package on it.
type host struct {
	t    testing.TB
	root string
	// env is what the container's environment has beside the defaults.
	env map[string]string
	// config is the package's config.json.
	config map[string]any
}

const (
	copyDir  = "/var/lib/skyhook/demo/tuning-1.1.0-uid-1"
	stateDir = "/var/lib/skyhook/demo"
	logsDir  = "/var/log/skyhook/demo"
)

func newHost(t testing.TB) *host {
	t.Helper()
	h := &host{t: t, root: template.New(t), env: map[string]string{
		"PATH":                          "/usr/bin",
		"COPY_RESOLV":                   "false",
		"SKYHOOK_ROOT_DIR":              stateDir,
		"SKYHOOK_LOG_DIR":               logsDir,
		"SKYHOOK_RESOURCE_ID":           "demo-uid-1_tuning_1.1.0",
		"SKYHOOK_AGENT_TERMINATION_LOG": filepath.Join(t.TempDir(), "termination-log"),
	}}
	h.config = map[string]any{
		"schema_version": "v1", "package_name": "shell", "package_version": "1.1.0",
		"expected_config_files": []any{}, "modes": map[string]any{},
	}
	return h
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// path is where a path of the host is on this machine.
func (h *host) path(elements ...string) string {
	return filepath.Join(h.root, filepath.Join(elements...))
}

func (h *host) write(name, content string) {
	h.t.Helper()
	h.must(os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
	h.must(os.WriteFile(h.path(name), []byte(content), 0o644))
}

// copyTree copies a folder of the host, as an init container does.
func (h *host) copyTree(from, to string) {
	h.t.Helper()
	if !h.has(to) {
		h.must(os.CopyFS(h.path(to), os.DirFS(h.path(from))))
	}
}

func (h *host) read(elements ...string) string {
	h.t.Helper()
	raw, err := os.ReadFile(h.path(elements...))
	h.must(err)
	return string(raw)
}

func (h *host) has(elements ...string) bool {
	_, err := os.Lstat(h.path(elements...))
	return err == nil
}

// step is a step of config.json; see the options.
type step map[string]any

// script writes a bash script for the package and returns a step that runs it.
func (h *host) script(name, body string, arguments ...any) step {
	h.t.Helper()
	h.write(filepath.Join(copyDir, "skyhook_dir", name), "#!/bin/bash\n"+body+"\n")
	return step{
		"name": "step", "path": name, "arguments": append([]any{}, arguments...), "returncodes": []any{0},
		"on_host": true, "idempotence": false, "upgrade_step": false,
	}
}

func (s step) with(key string, value any) step {
	s = maps.Clone(s)
	s[key] = value
	return s
}

// define sets the steps of a mode. Modes that need a check get one that
// always succeeds, unless they are given one.
func (h *host) define(mode string, steps ...step) {
	h.t.Helper()
	all := h.config["modes"].(map[string]any)
	all[mode] = steps
	if check := mode + "-check"; !strings.HasSuffix(mode, "-check") && all[check] == nil && len(steps) > 0 {
		all[check] = []step{h.script("ok_check.sh", "exit 0")}
	}
}

// result is how a run of the agent went.
type result struct {
	code           int
	stdout, stderr string
	// message is the container's termination message.
	message string
}

func (h *host) writeConfig() {
	h.t.Helper()
	raw, err := json.Marshal(h.config)
	h.must(err)
	h.write(filepath.Join(copyDir, "config.json"), string(raw))
}

// command prepares a run of a stage.
func (h *host) command(args ...string) *exec.Cmd {
	cmd := exec.Command(agentBinary, args...)
	for name, value := range h.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// run runs a stage of the package.
func (h *host) run(mode string) result {
	h.t.Helper()
	h.writeConfig()
	return h.runArgs(mode, h.root, copyDir)
}

func (h *host) runArgs(args ...string) result {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), h.message()}
}

func (h *host) message() string {
	raw, err := os.ReadFile(h.env["SKYHOOK_AGENT_TERMINATION_LOG"])
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.t.Fatal(err)
	}
	return string(raw)
}

// succeed runs a stage that must succeed.
func (h *host) succeed(mode string) result {
	h.t.Helper()
	r := h.run(mode)
	if r.code != 0 {
		h.t.Fatalf("%s exited %d\n%s%s", mode, r.code, r.stdout, r.stderr)
	}
	if r.message != "" {
		h.t.Errorf("%s succeeded with the message %q", mode, r.message)
	}
	return r
}

// fail runs a stage that must fail with 1, and with these words.
func (h *host) fail(mode string, words ...string) result {
	h.t.Helper()
	r := h.run(mode)
	if r.code != 1 {
		h.t.Fatalf("%s exited %d\n%s%s", mode, r.code, r.stdout, r.stderr)
	}
	for _, word := range words {
		if !strings.Contains(r.stderr, word) || !strings.Contains(r.message, word) {
			h.t.Errorf("want %q in the error and in the message, got\n%s\n%s", word, r.stderr, r.message)
		}
	}
	return r
}

// lines are the lines of a file of the host that the steps wrote, or none.
func (h *host) lines(name string) []string {
	if !h.has(name) {
		return nil
	}
	return strings.Split(strings.TrimSuffix(h.read(name), "\n"), "\n")
}

func (h *host) expectLines(name string, want ...string) {
	h.t.Helper()
	if got := h.lines(name); !slices.Equal(got, want) {
		h.t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

// find lists what matches a pattern, as paths of the host.
func (h *host) find(pattern string) []string {
	h.t.Helper()
	matches, err := filepath.Glob(h.path(pattern))
	h.must(err)
	for i, match := range matches {
		matches[i] = strings.TrimPrefix(match, h.root)
	}
	return matches
}
