// Package process runs one command in a process group of its own, hands its
// output on while it runs, and ends the whole group when asked to.
//
// It must not know what the command is for, nor what its exit code means.
package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Command is what to run. Path is absolute, as are the rules of [exec.Cmd].
type Command struct {
	Path string
	Args []string
	Dir  string
	Env  []string
	// Stdout and Stderr get the output as it comes. Their errors are ignored:
	// trouble with a log must not break the command with a closed pipe.
	Stdout, Stderr io.Writer
	// Namespace is a mount namespace for the command to run in, with its root
	// directory; nil for those of this process.
	Namespace *os.File
	// Started, if given, is called with the number of the process, which leads
	// the group.
	Started func(pid int)
	// Table tells what SIGKILL does not end.
	Table Table
}

// Patience says how long to wait for what may never come.
type Patience struct {
	// Stop is the time between SIGTERM and SIGKILL for the process group.
	Stop time.Duration
	// Kill is the time to wait after SIGKILL: a process that waits for a device
	// or a file system does not end before that answers, if ever.
	Kill time.Duration
	// Output is the time to wait, after the command ended, for others that
	// still hold its output open, such as a daemon it started.
	Output time.Duration
}

// Result is how a command that was started has ended.
type Result struct {
	// Code is the exit code; -1 if a signal ended the command.
	Code int
	// Signal is the signal that ended the command, or zero.
	Signal syscall.Signal
	// Stopped says that the command was told to stop before it ended.
	Stopped bool
	// OutputHeld says that another process still held the output open when
	// the wait for it ended.
	OutputHeld bool
	// Left are the processes that were there when the wait after SIGKILL
	// ended. Code and Signal then tell nothing.
	Left []Member
}

// Run starts the command and waits until it ended. When ctx is done, the
// command's process group gets SIGTERM, and SIGKILL once p.Stop has passed;
// Run then waits for the end, at most for p.Kill. The error says why it did not
// start.
func Run(ctx context.Context, c Command, p Patience) (Result, error) {
	stdout, err := newDrain(c.Stdout)
	if err != nil {
		return Result{}, err
	}
	defer stdout.close()
	stderr, err := newDrain(c.Stderr)
	if err != nil {
		return Result{}, err
	}
	defer stderr.close()
	cmd := &exec.Cmd{
		Path: c.Path, Args: append([]string{c.Path}, c.Args...), Dir: c.Dir, Env: c.Env,
		Stdin: os.Stdin, Stdout: stdout.write, Stderr: stderr.write,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := start(cmd, c.Namespace); err != nil {
		return Result{}, err
	}
	stdout.start()
	stderr.start()
	if c.Started != nil {
		c.Started(cmd.Process.Pid)
	}
	stopped, left := wait(ctx, cmd, c.Table, p)
	if len(left) > 0 {
		// They hold the output, and nobody knows for how long.
		p.Output = 0
	}
	held := finish(p.Output, stdout, stderr)
	if len(left) > 0 {
		return Result{Code: -1, Stopped: stopped, OutputHeld: held, Left: left}, nil
	}
	return resultOf(cmd.ProcessState, stopped, held), nil
}

func resultOf(state *os.ProcessState, stopped, held bool) Result {
	result := Result{Code: state.ExitCode(), Stopped: stopped, OutputHeld: held}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		result.Signal = status.Signal()
	}
	return result
}

// wait returns when the command has ended, and, if it was told to stop, when
// nothing of its process group is left, or what is left cannot be killed.
func wait(ctx context.Context, cmd *exec.Cmd, table Table, p Patience) (stopped bool, left []Member) {
	ended := make(chan struct{})
	go func() {
		// The state says all there is to know about the end.
		_ = cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return false, nil
	case <-ctx.Done():
	}
	group := cmd.Process.Pid
	_ = syscall.Kill(-group, syscall.SIGTERM)
	deadline := time.NewTimer(p.Stop)
	defer deadline.Stop()
	select {
	case <-ended:
		awaitGroup(group, deadline.C)
	case <-deadline.C:
	}
	_ = syscall.Kill(-group, syscall.SIGKILL)
	return true, awaitKilled(group, ended, table, p.Kill)
}

// awaitKilled waits until the command and its process group have ended, and
// returns what has not.
func awaitKilled(group int, ended <-chan struct{}, table Table, patience time.Duration) []Member {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case <-ended:
	case <-deadline.C:
		if left := table.members(group); len(left) > 0 {
			return left
		}
		return []Member{{PID: group, State: "?", Command: "[its command is not known]"}}
	}
	ticker := time.NewTicker(groupPoll)
	defer ticker.Stop()
	for {
		left := table.members(group)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			return left
		}
	}
}

// groupPoll is how often to look whether a group is empty: nothing tells.
const groupPoll = 20 * time.Millisecond

func awaitGroup(group int, deadline <-chan time.Time) {
	ticker := time.NewTicker(groupPoll)
	defer ticker.Stop()
	for syscall.Kill(-group, 0) == nil {
		// Orphans are ours to reap if the agent is the first process here.
		_, _ = syscall.Wait4(-group, nil, syscall.WNOHANG, nil)
		select {
		case <-deadline:
			return
		case <-ticker.C:
		}
	}
}

// String renders how the command ended: "exited 3" or "was killed by SIGTERM".
func (r Result) String() string {
	if len(r.Left) > 0 {
		return fmt.Sprintf("could not be killed (state %s): process %d, %s",
			r.Left[0].State, r.Left[0].PID, r.Left[0].Command)
	}
	if r.Signal != 0 {
		return "was killed by " + signalName(r.Signal)
	}
	return fmt.Sprintf("exited %d", r.Code)
}
