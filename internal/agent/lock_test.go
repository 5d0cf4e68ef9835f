package agent_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// TestTwoAgentsOfOnePackage, as of a pod that was deleted by force and of its
// successor: the second one waits for the first, and gives up on SIGTERM.
func TestTwoAgentsOfOnePackage(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", "echo a >>/ran; while [[ ! -e /go ]]; do sleep 0.01; done; echo b >>/ran"))
	h.define("config", h.script("b.sh", "echo c >>/ran"))
	first, _, _ := h.unread("apply")
	h.eventually("the first agent is at work", func() bool { return h.has("/ran") })

	for name, args := range map[string][]string{
		"a stage": {"config", h.root, copyDir}, "the same stage": {"apply", h.root, copyDir}, "an interrupt": h.interruptArgs(restartTwo),
	} {
		second := h.command(args...)
		h.stopsInLine(second, "another agent (apply, process ")
		if code := second.ProcessState.ExitCode(); code != 143 || !strings.Contains(h.message(), args[0]+" was not begun: another agent (apply, process ") {
			t.Errorf("%s: exit %d, message %q", name, code, h.message())
		}
	}

	third, _, _ := h.unread("config")
	h.env["SKYHOOK_RESOURCE_ID"] = "demo-uid-1_other_1.1.0"
	h.succeed("config-check")
	h.write("/go", "")
	h.endsWithin(60*time.Second, first)
	h.endsWithin(60*time.Second, third)
	h.expectLines("/ran", "a", "b", "c")
}

// TestLockOfAnAgentThatWasKilled holds nobody up.
func TestLockOfAnAgentThatWasKilled(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", "echo a >>/ran; [[ -e /go ]] || sleep 60"))
	first, _, _ := h.unread("apply")
	h.eventually("the first agent is at work", func() bool { return h.has("/ran") })
	h.must(first.Process.Kill())
	_ = first.Wait()
	h.write("/go", "")
	h.succeed("apply")
	h.expectLines("/ran", "a", "a")
}

// stopsInLine runs an agent until it says for whom it waits, and stops it.
func (h *host) stopsInLine(cmd *exec.Cmd, says string) {
	h.t.Helper()
	out, err := cmd.StdoutPipe()
	h.must(err)
	h.must(cmd.Start())
	silent := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	lines, told := bufio.NewScanner(out), false
	for !told && lines.Scan() {
		told = strings.HasPrefix(lines.Text(), says)
	}
	silent.Stop()
	if !told {
		h.t.Errorf("%q does not say %q", cmd.Args, says)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	stopped := time.Now()
	_, _ = io.Copy(io.Discard, out)
	h.endsWithin(30*time.Second, cmd)
	// Far below the time that a step has to stop.
	if took := time.Since(stopped); told && took > 15*time.Second {
		h.t.Errorf("%q ended %v after SIGTERM", cmd.Args, took)
	}
}

// TestPackagesTakeTurnsWithTheirFiles, say who has them, and do not wait beyond
// SIGTERM.
func TestPackagesTakeTurnsWithTheirFiles(t *testing.T) {
	h := newShippingHost(t)
	h.succeed("apply")
	h.write("/etc/motd", "an update")

	// The other package ships the same, and does not get on with it.
	temp, err := os.OpenFile(hostfs.TempName(h.path("/etc/motd")), os.O_RDWR|os.O_CREATE, 0o600)
	h.must(err)
	defer func() { _ = temp.Close() }()
	h.must(unix.Flock(int(temp.Fd()), unix.LOCK_EX))
	h.as("other")
	first, _, _ := h.unread("apply")
	other := fmt.Sprintf("another package of the Skyhook (apply of package other, process %d) is changing its ", first.Process.Pid)
	h.eventually("the other package is at its files", func() bool { return h.has(stateDir, "packages/other/root_dir.json") })

	h.as("tuning")
	for mode, what := range map[string]string{
		"config":          "copy the package's files from root_dir to the host",
		"uninstall":       "look at the package's files on the host",
		"uninstall-check": "remove the package's files from the host",
	} {
		second := h.command(mode, h.root, copyDir)
		h.stopsInLine(second, other+"files of root_dir on this host; waiting for its end")
		if code, want := second.ProcessState.ExitCode(), what+": "+other+"own: stopped by a signal"; code != 143 || h.message() != want {
			t.Errorf("%s: exit %d, message %q, want %q", mode, code, h.message(), want)
		}
	}

	third, _, stderr := h.unread("config")
	h.must(temp.Close())
	h.endsWithin(60*time.Second, first)
	h.endsWithin(60*time.Second, third)
	if first.ProcessState.ExitCode() != 0 || third.ProcessState.ExitCode() != 0 || h.read("/etc/motd") != "the package's" {
		t.Errorf("motd %q\n%s", h.read("/etc/motd"), stderr)
	}
	if left := h.read(stateDir, "packages/.skyhook-lock"); left != "" {
		t.Errorf("the lock says that %s has it", left)
	}
}
