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
	h.define("apply", h.Script("a.sh", "echo a >>/ran; while [[ ! -e /go ]]; do sleep 0.01; done; echo b >>/ran"))
	h.define("config", h.Script("b.sh", "echo c >>/ran"))
	first, _, _ := h.unread("apply")
	h.eventually("the first agent is at work", func() bool { return h.Has("/ran") })

	for name, args := range map[string][]string{
		"a stage": {"config", h.Root, copyDir}, "the same stage": {"apply", h.Root, copyDir}, "an interrupt": h.interruptArgs(restartTwo),
	} {
		second := h.command(args...)
		h.stopsInLine(second, "another agent (apply, process ")
		if code := second.ProcessState.ExitCode(); code != 143 || !strings.Contains(h.message(), args[0]+" was not started: another agent (apply, process ") {
			t.Errorf("%s: exit %d, message %q", name, code, h.message())
		}
	}

	third, _, _ := h.unread("config")
	h.Env["SKYHOOK_RESOURCE_ID"] = "demo-uid-1_other_1.1.0"
	h.succeed("config-check")
	h.Write("/go", "")
	h.endsWithin(60*time.Second, first)
	h.endsWithin(60*time.Second, third)
	h.ExpectLines("/ran", "a", "b", "c")
}

// TestLockOfAnAgentThatWasKilled holds nobody up.
func TestLockOfAnAgentThatWasKilled(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "echo a >>/ran; [[ -e /go ]] || sleep 60"))
	first, _, _ := h.unread("apply")
	h.eventually("the first agent is at work", func() bool { return h.Has("/ran") })
	h.Must(first.Process.Kill())
	_ = first.Wait()
	h.Write("/go", "")
	h.succeed("apply")
	h.ExpectLines("/ran", "a", "a")
}

// stopsInLine runs an agent until it says for whom it waits, and stops it.
func (h *host) stopsInLine(cmd *exec.Cmd, says string) {
	h.T.Helper()
	out, err := cmd.StdoutPipe()
	h.Must(err)
	h.Must(cmd.Start())
	silent := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	lines, told := bufio.NewScanner(out), false
	for !told && lines.Scan() {
		told = strings.HasPrefix(lines.Text(), says)
	}
	silent.Stop()
	if !told {
		h.T.Errorf("%q does not say %q", cmd.Args, says)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	stopped := time.Now()
	_, _ = io.Copy(io.Discard, out)
	h.endsWithin(30*time.Second, cmd)
	// Far below the time that a step has to stop.
	if took := time.Since(stopped); told && took > 15*time.Second {
		h.T.Errorf("%q ended %v after SIGTERM", cmd.Args, took)
	}
}
