//go:build integration

package process_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/agent/process"
)

// otherNamespace starts a process with mounts of its own: a file system at dir
// with the file "inside". It returns that mount namespace.
func otherNamespace(t *testing.T, dir string) *os.File {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "mount -t tmpfs test "+dir+" && touch "+dir+"/inside && echo ready && read line")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", cmd.Process.Pid))
	must(t, err)
	t.Cleanup(func() { _ = namespace.Close() })
	return namespace
}

func TestRun_InAnotherMountNamespace(t *testing.T) {
	dir := t.TempDir()
	namespace := otherNamespace(t, dir)
	list := func(namespace *os.File) string {
		t.Helper()
		var out bytes.Buffer
		command := shell("ls; pwd", &out, &out)
		command.Dir, command.Namespace = dir, namespace
		if result, err := process.Run(t.Context(), command, patience); err != nil || result.Code != 0 {
			t.Fatal(result, err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	for range 3 {
		if got := list(namespace); got != "inside "+dir {
			t.Errorf("in the namespace: %q", got)
		}
		if got := list(nil); got != dir {
			t.Errorf("afterwards, outside of it: %q", got)
		}
	}
	command := shell("mkdir sub && mount -t tmpfs test sub && touch sub/mounted", &bytes.Buffer{}, &bytes.Buffer{})
	command.Dir, command.Namespace = dir, namespace
	if result, err := process.Run(t.Context(), command, patience); err != nil || result.Code != 0 {
		t.Fatal(result, err)
	}
	command = shell("test -e sub/mounted", &bytes.Buffer{}, &bytes.Buffer{})
	command.Dir, command.Namespace = dir, namespace
	if result, err := process.Run(t.Context(), command, patience); err != nil || result.Code != 0 {
		t.Error("what one command mounted the next one does not see", result, err)
	}
}

func TestRun_NotANamespace(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	must(t, err)
	defer func() { _ = file.Close() }()
	command := shell("exit 0", &bytes.Buffer{}, &bytes.Buffer{})
	command.Namespace = file
	if _, err := process.Run(t.Context(), command, patience); err == nil || !strings.Contains(err.Error(), "enter the mount namespace") {
		t.Errorf("got %v", err)
	}
}
