// gotest runs every test once, what does not hinder each other side by side, and writes one stream of test2json events,
// so that gotestsum counts them all together. The lanes of lanes.go say what runs when.
//
// The API server and etcd are found in KUBEBUILDER_ASSETS. The build tags add what needs more than Go, see
// CONTRIBUTING.md.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if err := setTimes(ctx, "."); err != nil {
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
	return run(ctx, os.Stdout, lanes(packages, place))
}

// run runs the lanes side by side and the commands of each one after the other. A failure stops nothing: one run tells
// all that is wrong.
func run(ctx context.Context, out io.Writer, lanes [][]command) error {
	lines := &merger{out: out}
	var wg sync.WaitGroup
	failures := make([]error, len(lanes))
	for i, lane := range lanes {
		wg.Go(func() {
			for _, c := range lane {
				failures[i] = errors.Join(failures[i], c.run(ctx, lines))
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}

func (c command) run(ctx context.Context, lines *merger) error {
	start := time.Now()
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	// "go test" and what it runs get the signal, and time to take down what they brought up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = errors.Join(lines.copy(stdout), cmd.Wait())
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Fprintf(os.Stderr, "%s: %.0f s, processors worked %.0f s\n", c.name, time.Since(start).Seconds(), used.Seconds())
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// merger writes the lines of several streams as whole lines.
type merger struct {
	mu  sync.Mutex
	out io.Writer
}

func (m *merger) copy(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if line[len(line)-1] != '\n' {
				line = append(line, '\n')
			}
			m.mu.Lock()
			_, failed := m.out.Write(line)
			m.mu.Unlock()
			if failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
