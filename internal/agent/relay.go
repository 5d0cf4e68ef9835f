package agent

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
)

const (
	// relayBuffer is how much of either output is kept for a reader that does
	// not keep up.
	relayBuffer = 1 << 20
	// stallPatience is how long a step waits for a slow reader; well below
	// outputPatience, in which the rest of its output is read.
	stallPatience = 200 * time.Millisecond
	// flushPatience is how long the agent stays for a reader that takes
	// nothing: a container runtime that is restarted may come back.
	flushPatience = 5 * time.Second
	// stoppedPatience is the same where the kubelet is about to kill the agent.
	stoppedPatience = 500 * time.Millisecond
	// stopMargin is the time, after that of a step is over, in which the agent
	// puts an end to everything by itself.
	stopMargin = 2 * time.Second
)

// relayed puts a buffer before both outputs of the container: who reads them,
// or does not, has no influence on the work. The function returned waits for
// the reader, within limits.
func (p Program) relayed() (relayed Program, flush func(context.Context)) {
	stdout := steplog.NewRelay(p.Stdout, relayBuffer, stallPatience)
	stderr := steplog.NewRelay(p.Stderr, relayBuffer, stallPatience)
	p.Stdout, p.Stderr = stdout, stderr
	// An output that was closed must not end the agent in the middle of a step.
	// The signal is caught and not ignored: steps would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return p, func(ctx context.Context) {
		patience := flushPatience
		if ctx.Err() != nil {
			patience = stoppedPatience
		}
		stdout.Flush(patience)
		stderr.Flush(patience)
	}
}

// runToTheEnd runs the mode, but returns within the time that is left after
// SIGTERM, whatever blocks: a disk that does not answer, for example. The
// process is over then, and with it what still blocks.
func (a *agent) runToTheEnd(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() {
		err := a.run(ctx)
		a.leave()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limit := a.StopPatience + stopMargin
	select {
	case err := <-ended:
		return err
	case <-time.After(limit):
		return fmt.Errorf("%s did not end within %v after it was told to stop: something blocks on this host; ps "+
			"-eo pid,stat,args shows processes in state D there: %w", a.Mode, limit, errStopped)
	}
}
