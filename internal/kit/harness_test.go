package kit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// These tests drive the compiled program. Trials run against the root folder of a host made from the shell and tools of the
// machine that the tests run on.

var (
	program  string
	template = hostroot.Template{Tools: []string{
		"bash", "sh", "cat", "chmod", "chown", "cp", "grep", "head", "ln", "ls", "mkdir", "mv", "readlink", "rm", "sleep", "touch", "tr",
	}}
)

func TestMain(m *testing.M) {
	os.Exit(template.Main(m, func(work, _ string) error {
		program = filepath.Join(work, "skyhook")
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -X main.version=1.2.3-test", "-o", program, "../../cmd/skyhook")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the program: %w\n%s", err, out)
		}
		return nil
	}))
}

// author has the root folder of a host, and a package in it.
type author struct {
	t    testing.TB
	root string
	// env is what the shell's environment has beside the defaults.
	env map[string]string
	// config is the package's config.json.
	config map[string]any
}

// packageDir is the package's folder below the root.
const packageDir = "/shell"

func newAuthor(t testing.TB) *author {
	t.Helper()
	return &author{t: t, root: template.New(t), env: map[string]string{"PATH": "/usr/bin"}, config: map[string]any{
		"schema_version": "v1", "package_name": "shell", "package_version": "1.1.0",
		"expected_config_files": []any{}, "modes": map[string]any{},
	}}
}

func (a *author) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// path is where a path of the host is on this machine.
func (a *author) path(elements ...string) string {
	return filepath.Join(a.root, filepath.Join(elements...))
}

func (a *author) write(name, content string) {
	a.t.Helper()
	a.must(os.MkdirAll(filepath.Dir(a.path(name)), 0o755))
	a.must(os.WriteFile(a.path(name), []byte(content), 0o644))
}

func (a *author) read(elements ...string) string {
	a.t.Helper()
	raw, err := os.ReadFile(a.path(elements...))
	a.must(err)
	return string(raw)
}

func (a *author) has(elements ...string) bool {
	_, err := os.Lstat(a.path(elements...))
	return err == nil
}

// expectLines compares the lines of a file of the host that the steps wrote.
func (a *author) expectLines(name string, want ...string) {
	a.t.Helper()
	if got := strings.Split(strings.TrimSuffix(a.read(name), "\n"), "\n"); !slices.Equal(got, want) {
		a.t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

// step is a step of config.json.
type step map[string]any

func newStep(path string) step {
	return step{
		"name": "step", "path": path, "arguments": []any{}, "returncodes": []any{0},
		"on_host": true, "idempotence": false, "upgrade_step": false,
	}
}

func (s step) with(key string, value any) step {
	s = maps.Clone(s)
	s[key] = value
	return s
}

// script writes an empty script of the package and returns a step that runs it.
func (a *author) script(name string) step {
	a.t.Helper()
	a.write(filepath.Join(packageDir, "skyhook_dir", name), "#!/bin/bash\n")
	return newStep(name)
}

func (a *author) define(mode string, steps ...step) {
	a.config["modes"].(map[string]any)[mode] = steps
}

func (a *author) writeConfig() {
	a.t.Helper()
	raw, err := json.Marshal(a.config)
	a.must(err)
	a.write(filepath.Join(packageDir, "config.json"), string(raw))
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
}

// command prepares `skyhook package`.
func (a *author) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"package"}, args...)...)
	for name, value := range a.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

func (a *author) run(args ...string) result {
	a.t.Helper()
	return a.end(a.command(args...))
}

func (a *author) end(cmd *exec.Cmd) result {
	a.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		a.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
