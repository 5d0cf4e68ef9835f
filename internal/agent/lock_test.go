//go:build integration

package agent_test

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
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
		if code := second.ProcessState.ExitCode(); code != 143 || !strings.Contains(h.message(), args[0]+" was not started: another agent (apply, process ") {
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
