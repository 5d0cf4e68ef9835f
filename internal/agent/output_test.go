//go:build integration

package agent_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unread starts a stage whose standard output nobody reads, as when the
// container runtime is stopped.
func (h *host) unread(mode string) (cmd *exec.Cmd, stdout *os.File, stderr *bytes.Buffer) {
	h.T.Helper()
	h.Save()
	cmd, stderr = h.command(mode, h.Root, copyDir), &bytes.Buffer{}
	read, write, err := os.Pipe()
	h.Must(err)
	h.T.Cleanup(func() { _ = read.Close() })
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = write, stderr, time.Second
	h.Must(cmd.Start())
	h.Must(write.Close())
	return cmd, read, stderr
}

// endsWithin waits for the end of the agent, and kills one that does not end.
func (h *host) endsWithin(limit time.Duration, cmd *exec.Cmd) {
	h.T.Helper()
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() < 0 {
		h.T.Fatalf("the agent did not end within %v", limit)
	}
}

// eventually waits until a condition holds.
func (h *host) eventually(what string, holds func() bool) {
	h.T.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			h.T.Fatalf("in vain waited until %s", what)
		case <-tick.C:
		}
	}
}

// TestOutputThatNobodyReads: neither the step nor the reason of its failure
// depends on who reads the container's output.
func TestOutputThatNobodyReads(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", `for i in $(seq 1 20); do printf '%0100000d\n' "$i"; done; echo "the reason"; exit 7`))
	cmd, _, stderr := h.unread("apply")
	h.endsWithin(60*time.Second, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(h.message(), "step a.sh exited 7") || !strings.HasSuffix(h.message(), "\nthe reason") {
		t.Errorf("exit %d, message %q", code, h.message())
	}
	if log := h.Read(h.find(logsDir + "/shell/1.1.0/a.sh-*.log")[0]); strings.Count(log, "\n") != 21 || !strings.HasSuffix(log, " the reason\n") {
		t.Errorf("the log has %d lines in %d bytes", strings.Count(log, "\n"), len(log))
	}
	if !strings.Contains(stderr.String(), "ERROR: step a.sh exited 7") {
		t.Errorf("stderr %q", stderr)
	}
}

// TestOutputThatIsReadLate tells of the gap, and has what came last.
func TestOutputThatIsReadLate(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", `for i in $(seq 1 40); do printf '%0100000d\n' "$i"; done; touch /printed; while [[ ! -e /go ]]; do sleep 0.01; done; echo "the reason"; exit 7`))
	cmd, stdout, _ := h.unread("apply")
	h.eventually("the step has printed", func() bool { return h.Has("/printed") })
	h.Write("/go", "")
	text := make(chan string)
	go func() {
		all, _ := io.ReadAll(stdout)
		text <- string(all)
	}()
	h.endsWithin(60*time.Second, cmd)
	got := <-text
	if !strings.Contains(got, " the reason\n") || !strings.Contains(got, "FAILED: a.sh 7\n") || !strings.Contains(got, "are missing here: nobody read them in time") {
		t.Errorf("%d bytes, the end %q", len(got), got[max(0, len(got)-300):])
	}
}

// TestSigtermWhileNobodyReadsTheOutput: as when a step stops the container
// runtime that reads it.
func TestSigtermWhileNobodyReadsTheOutput(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_STOP_SECONDS"] = "0.2"
	h.define("apply", h.Script("a.sh", `trap '' TERM; touch /began; while :; do printf '%01000d\n' 1; done`))
	cmd, _, _ := h.unread("apply")
	h.eventually("the step has begun", func() bool { return h.Has("/began") })
	h.Must(cmd.Process.Signal(syscall.SIGTERM))
	h.endsWithin(60*time.Second, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 143 || !strings.Contains(h.message(), "step a.sh was killed by SIGKILL after the agent was told to stop") {
		t.Errorf("exit %d, message %q", code, h.message())
	}
}

// TestSigtermEndsTheAgentWhateverBlocks: here it is a package whose file is a
// pipe that nobody writes to.
func TestSigtermEndsTheAgentWhateverBlocks(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_STOP_SECONDS"] = "0.2"
	h.define("apply", h.Script("a.sh", ""))
	h.Save()
	h.Must(os.MkdirAll(h.Path(copyDir, "node-metadata"), 0o755))
	h.Must(os.Mkdir(h.Path(copyDir, "root_dir"), 0o755))
	h.Must(syscall.Mkfifo(h.Path(copyDir, "node-metadata/packages.json"), 0o644))
	cmd := h.command("apply", h.Root, copyDir)
	out, err := cmd.StdoutPipe()
	h.Must(err)
	h.Must(cmd.Start())
	// The banner comes before anything of the package is used.
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "history_file: ") {
	}
	h.Must(cmd.Process.Signal(syscall.SIGTERM))
	_, _ = io.Copy(io.Discard, out)
	h.endsWithin(60*time.Second, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 143 || !strings.Contains(h.message(), "did not end within") {
		t.Errorf("exit %d, message %q", code, h.message())
	}
}

// TestOutputThatIsClosed: the reader is gone for good. The step learns nothing
// of it, and has the usual signals.
func TestOutputThatIsClosed(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", `echo one; echo two >&2; while [[ ! -e /go ]]; do sleep 0.01; done; seq 1 100000 | head -n 1; echo "${PIPESTATUS[0]}" >>/ran; exit 7`))
	h.Save()
	cmd := h.command("apply", h.Root, copyDir)
	read, write, err := os.Pipe()
	h.Must(err)
	cmd.Stdout, cmd.Stderr = write, write
	h.Must(cmd.Start())
	h.Must(write.Close())
	h.Must(read.Close())
	h.Write("/go", "")
	h.endsWithin(60*time.Second, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(h.message(), "step a.sh exited 7") {
		t.Errorf("exit %d, message %q", code, h.message())
	}
	h.ExpectLines("/ran", "141")
}

// TestLogOfALoopingStepIsBounded, on a disk that pods share; what came first
// and what came last is there.
func TestLogOfALoopingStepIsBounded(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_LOG_LIMIT"] = "65536"
	h.define("apply", h.Script("a.sh", `echo "the start"; seq 1 50000; seq 1 50000 >&2; echo "the reason"; echo "the reason" >&2; exit 7`))
	h.fail("apply", "exited 7")
	for _, log := range h.find(logsDir + "/shell/1.1.0/a.sh-*") {
		text := h.Read(log)
		if len(text) > 65536+100 || !strings.HasSuffix(text, " the reason\n") || !strings.Contains(text, " bytes are left out here: the log is limited to 65536 ...]\n") {
			t.Errorf("%s: %d bytes, the end %q", log, len(text), text[max(0, len(text)-100):])
		}
		if strings.HasSuffix(log, ".log") && !strings.Contains(text, " the start\n") {
			t.Error("the start is missing")
		}
	}
}

// TestSizesOutOfRange are named, with what is used in their place.
func TestSizesOutOfRange(t *testing.T) {
	for name, c := range map[string]struct{ variable, value, want string }{
		"no number":     {"SKYHOOK_AGENT_BUFFER_LIMIT", "8k", `="8k" is not a number of bytes, using 8192`},
		"none":          {"SKYHOOK_AGENT_BUFFER_LIMIT", "0", `="0" is not a number of bytes, using 8192`},
		"all memory":    {"SKYHOOK_AGENT_BUFFER_LIMIT", "1073741824", "=1073741824 is not between 1 and 1048576 bytes, using 1048576"},
		"beyond memory": {"SKYHOOK_AGENT_BUFFER_LIMIT", "99999999999999999999", "is not between 1 and 1048576 bytes, using 1048576"},
		"tiny log":      {"SKYHOOK_AGENT_LOG_LIMIT", "10", "=10 is not between 65536 and 2147483647 bytes, using 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.Env[c.variable] = c.value
			h.define("apply", h.Script("a.sh", ""))
			if r := h.succeed("apply"); !strings.Contains(r.Stderr, "WARNING: "+c.variable+"=") || !strings.Contains(r.Stderr, c.want) {
				t.Errorf("stderr\n%s", r.Stderr)
			}
		})
	}
}
