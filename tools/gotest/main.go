// gotest runs every test once but those of nightly runs, and writes one stream of test2json events, so that gotestsum
// counts them all together. lanes.go says what runs when, and which results are kept.
//
// The API server and etcd are found in KUBEBUILDER_ASSETS. The build tags add what needs more than Go, see
// CONTRIBUTING.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "gotest: runs all tests and takes no arguments; for some of them, see CONTRIBUTING.md")
		os.Exit(2)
	}
	locked := lock(".") // before signals are caught, so that a run which waits for another can be interrupted
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if err := errors.Join(locked, setTimes(ctx, ".")); err != nil {
		fmt.Fprintln(os.Stderr, "gotest: results of other clones are of no use here:", err)
	}
	err := runAll(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

func runAll(ctx context.Context) error {
	packages, err := list(ctx, ".")
	if err != nil {
		return err
	}
	place, err := place()
	if err != nil {
		return err
	}
	return run(ctx, os.Stdout, commands(packages, place))
}

// run runs the commands one after the other. A failure stops nothing: one run tells all that is wrong.
func run(ctx context.Context, out io.Writer, commands []command) error {
	var failures error
	for _, c := range commands {
		failures = errors.Join(failures, c.run(ctx, out))
	}
	return failures
}

func (c command) run(ctx context.Context, out io.Writer) error {
	start := time.Now()
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	// "go test" and what it runs get the signal, and time to take down what they brought up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// "go test" waits for what it runs after this signal, and ends at once after others.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil { // it did not start
		return fmt.Errorf("%s: %w", c.name, err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Fprintf(out, "%s: %.0f s, processors worked %.0f s\n", c.name, time.Since(start).Seconds(), used.Seconds())
	if err != nil {
		return fmt.Errorf("%s: %w; one test alone: %s", c.name, err, c.alone)
	}
	return nil
}
