package hostroot

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Host is the root folder of a pretended host, for one test. What goes wrong ends the test.
type Host struct {
	T    testing.TB
	Root string
	// Env is what commands find in their environment.
	Env map[string]string
}

// Host makes a host for one test.
func (t *Template) Host(test testing.TB, env map[string]string) *Host {
	test.Helper()
	return &Host{T: test, Root: t.New(test), Env: env}
}

// Each checks the rows of a table, each on a new host and beside the others.
func Each[H, Row any](
	t *testing.T, rows map[string]Row, newHost func(testing.TB) H, check func(t *testing.T, h H, row Row),
) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newHost(t), row)
		})
	}
}

// Must ends the test if there is an error.
func (h *Host) Must(err error) {
	h.T.Helper()
	if err != nil {
		h.T.Fatal(err)
	}
}

// Path is where a path of the host is on this machine.
func (h *Host) Path(elements ...string) string {
	return filepath.Join(h.Root, filepath.Join(elements...))
}

// Write writes a file, and makes the folder for it.
func (h *Host) Write(name, content string) {
	h.T.Helper()
	h.Must(os.MkdirAll(filepath.Dir(h.Path(name)), 0o755))
	h.Must(os.WriteFile(h.Path(name), []byte(content), 0o644))
}

// Remove removes a file, or a folder with all that is in it.
func (h *Host) Remove(name string) {
	h.T.Helper()
	h.Must(os.RemoveAll(h.Path(name)))
}

// Read returns what a file holds.
func (h *Host) Read(elements ...string) string {
	h.T.Helper()
	raw, err := os.ReadFile(h.Path(elements...))
	h.Must(err)
	return string(raw)
}

// Lines are those of a file that steps wrote; none without the file.
func (h *Host) Lines(name string) []string {
	h.T.Helper()
	if !h.Has(name) {
		return nil
	}
	return strings.Split(strings.TrimSuffix(h.Read(name), "\n"), "\n")
}

// ExpectLines compares them.
func (h *Host) ExpectLines(name string, want ...string) {
	h.T.Helper()
	if got := h.Lines(name); !slices.Equal(got, want) {
		h.T.Errorf("%s: got %q, want %q", name, got, want)
	}
}

// Has reports whether there is a file, folder or link.
func (h *Host) Has(elements ...string) bool {
	_, err := os.Lstat(h.Path(elements...))
	return err == nil
}

// ConfigMap lays out keys below dir as a copied mount of a ConfigMap has them, and nothing else.
func (h *Host) ConfigMap(dir string, keys map[string]string) {
	h.T.Helper()
	const version = "..2026_11_20"
	h.Remove(dir)
	h.Must(os.MkdirAll(h.Path(dir, version), 0o755))
	h.Must(os.Symlink(version, h.Path(dir, "..data")))
	for key, content := range keys {
		h.Write(filepath.Join(dir, version, key), content)
		h.Must(os.Symlink("..data/"+key, h.Path(dir, key)))
	}
}

// Result is how a command went.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Command prepares a command of the host: a program by its whole path, and its arguments.
func (h *Host) Command(args ...string) *exec.Cmd {
	cmd := &exec.Cmd{Path: args[0], Args: args, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Chroot: h.Root, Setpgid: true}}
	cmd.Env = h.Environ()
	return cmd
}

// Environ is Env as commands take it.
func (h *Host) Environ() (list []string) {
	for name, value := range h.Env {
		list = append(list, name+"="+value)
	}
	return list
}

// Run runs a command of the host.
func (h *Host) Run(args ...string) Result {
	h.T.Helper()
	return h.End(h.Command(args...))
}

// End runs any command to its end.
func (h *Host) End(cmd *exec.Cmd) Result {
	h.T.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		h.T.Fatal(err)
	}
	return Result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
