package process_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/process"
)

// patience is far above what any of the tests needs.
var patience = process.Patience{Stop: time.Minute, Kill: time.Minute, Output: time.Minute}

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func shell(script string, stdout, stderr io.Writer) process.Command {
	return process.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "A=b c"}, Stdout: stdout, Stderr: stderr}
}

func TestRun_CodesAndSignals(t *testing.T) {
	tests := map[string]struct {
		script string
		code   int
		signal syscall.Signal
		text   string
	}{
		"success": {"exit 0", 0, 0, "exited 0"},
		"code":    {"exit 3", 3, 0, "exited 3"},
		"largest": {"exit 255", 255, 0, "exited 255"},
		"killed":  {"kill -KILL $$", -1, syscall.SIGKILL, "was killed by SIGKILL"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := process.Run(t.Context(), shell(test.script, io.Discard, io.Discard), patience)
			if err != nil || result.Code != test.code || result.Signal != test.signal || result.String() != test.text {
				t.Errorf("%+v (%s), %v", result, result, err)
			}
		})
	}
}

func TestRun_StreamsDirectoryAndEnvironment(t *testing.T) {
	var stdout, stderr bytes.Buffer
	command := shell(`pwd; echo "$A"; echo "$0"; echo bad >&2`, &stdout, &stderr)
	command.Dir = "/usr"
	if _, err := process.Run(t.Context(), command, patience); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != "/usr\nb c\n/bin/sh\n" || stderr.String() != "bad\n" {
		t.Errorf("%q, %q", stdout.String(), stderr.String())
	}
}

func TestRun_AllOutputArrives(t *testing.T) {
	var stdout bytes.Buffer
	if _, err := process.Run(t.Context(), shell("head -c 3000000 /dev/zero", &stdout, io.Discard), patience); err != nil {
		t.Fatal(err)
	}
	if stdout.Len() != 3_000_000 {
		t.Errorf("%d bytes", stdout.Len())
	}
}

func TestRun_BrokenWriterDoesNotStopTheCommand(t *testing.T) {
	var stderr bytes.Buffer
	result, err := process.Run(t.Context(), shell("head -c 300000 /dev/zero && echo done >&2", broken{}, &stderr), patience)
	if err != nil || result.Code != 0 || stderr.String() != "done\n" {
		t.Errorf("%+v, %v, %q", result, err, stderr.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestRun_NotStarted(t *testing.T) {
	_, err := process.Run(t.Context(), process.Command{Path: "/does/not/exist", Stdout: io.Discard, Stderr: io.Discard}, patience)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestRun_DoesNotWaitForBackgroundChildren(t *testing.T) {
	var stdout bytes.Buffer
	began := time.Now()
	result, err := process.Run(t.Context(), shell("sleep 300 & echo $!", &stdout, io.Discard),
		process.Patience{Stop: time.Minute, Output: 50 * time.Millisecond})
	if err != nil || result.Code != 0 || !result.OutputHeld {
		t.Errorf("%+v, %v", result, err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	child := pid(t, stdout.String())
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Errorf("the background child should have been left alone: %v", err)
	}
}

func pid(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	must(t, err)
	return n
}

// stopAfterLine runs a script and stops it once it has printed a line. It
// returns that line too.
func stopAfterLine(t *testing.T, script string, p process.Patience) (process.Result, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, writer := io.Pipe()
	lines := make(chan string, 1)
	go func() {
		buffered := bufio.NewReader(reader)
		line, _ := buffered.ReadString('\n')
		lines <- line
		cancel()
		_, _ = io.Copy(io.Discard, buffered)
	}()
	result, err := process.Run(ctx, shell(script, writer, io.Discard), p)
	_ = writer.Close()
	must(t, err)
	return result, <-lines
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestRun_StopReachesTheWholeGroup(t *testing.T) {
	result, line := stopAfterLine(t, "sleep 300 & echo $!; wait", patience)
	if result.Signal != syscall.SIGTERM {
		t.Errorf("%+v", result)
	}
	eventuallyGone(t, pid(t, line))
}

func TestRun_StopLetsTheCommandCleanUp(t *testing.T) {
	result, _ := stopAfterLine(t, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`, patience)
	if result.Code != 7 {
		t.Errorf("%+v", result)
	}
}

func TestRun_StopKillsWhatIgnoresIt(t *testing.T) {
	result, line := stopAfterLine(t, `trap '' TERM; sleep 300 & echo $!; while :; do sleep 0.01; done`,
		process.Patience{Stop: 100 * time.Millisecond, Kill: time.Minute, Output: time.Minute})
	if result.Signal != syscall.SIGKILL {
		t.Errorf("%+v", result)
	}
	eventuallyGone(t, pid(t, line))
}

// TestRun_StopWaitsForTheRestOfTheGroup covers a shell that dies at once
// while the tool it called still cleans up.
func TestRun_StopWaitsForTheRestOfTheGroup(t *testing.T) {
	done := t.TempDir() + "/done"
	script := `sh -c 'trap "sleep 0.3; touch ` + done + `; exit" TERM; echo ready; while :; do sleep 0.01; done' & wait`
	result, _ := stopAfterLine(t, script, patience)
	if result.Signal != syscall.SIGTERM {
		t.Errorf("%+v", result)
	}
	if err := syscall.Access(done, 0); err != nil {
		t.Error("the child was not given the time to clean up")
	}
}

// eventuallyGone waits until init has reaped an orphan.
func eventuallyGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !gone(pid) {
		select {
		case <-deadline:
			t.Fatalf("process %d is still there", pid)
		case <-tick.C:
		}
	}
}
