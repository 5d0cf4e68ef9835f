package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/internal/agent/process"
)

const (
	runningFile = "running"
	// killPatience is the time for the kernel to end what was killed; within
	// stopMargin.
	killPatience = time.Second
	// leftoverPoll is how often to look whether a process is gone: nothing tells.
	leftoverPoll = 50 * time.Millisecond
)

// errUnkillable is behind failures that leave a process on the host.
var errUnkillable = errors.New("a process could not be killed")

// running is a command of a package at work on this host: a step, or one of an
// interrupt.
type running struct {
	process.Group
	Title string `json:"title"`
}

// noteRunning returns what notes a process that was just started, so that no
// other run of the package begins beside it, whatever becomes of the agent. A
// host that cannot take the note may need the command all the more.
func (a *agent) noteRunning(dir, title string) func(pid int) {
	return func(pid int) {
		// Also for a command that has ended by now: how fast it was must not show on the host.
		err := hostfs.MkdirAll(dir)
		group, there := a.table.Identify(pid)
		if !there {
			return
		}
		// A number and strings can always be encoded.
		raw, _ := json.Marshal(running{group, title})
		if err == nil {
			// Not synced: the process does not outlive the power either.
			err = os.WriteFile(filepath.Join(dir, runningFile), raw, 0o644)
		}
		if err != nil {
			a.warn("the process of %s could not be noted on the host: %v", title, err)
		}
	}
}

// forgetRunning takes the note back, unless something of the command is left.
func (a *agent) forgetRunning(dir string, result process.Result) {
	if len(result.Left) > 0 {
		return
	}
	if err := os.Remove(filepath.Join(dir, runningFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		a.warn("%v", err)
	}
}

// awaitEarlier waits until nothing is left of what an agent before this one
// has started and could not end, as long as a command has to stop.
func (a *agent) awaitEarlier(ctx context.Context, dir string) error {
	raw, err := os.ReadFile(filepath.Join(dir, runningFile))
	var earlier running
	if err != nil || json.Unmarshal(raw, &earlier) != nil {
		// No note, or half of one: the agent that wrote it was killed just then.
		return nil
	}
	// Nothing but the kernel keeps it: its agent is gone.
	a.table.Kill(earlier.Group)
	deadline, tick := time.NewTimer(a.StopPatience), time.NewTicker(leftoverPoll)
	defer deadline.Stop()
	defer tick.Stop()
	for told := false; ; told = true {
		left := a.table.Living(earlier.Group)
		if len(left) == 0 {
			a.forgetRunning(dir, process.Result{})
			return nil
		}
		if !told {
			a.say("%s of an earlier run is still there (%s); waiting until it ends", earlier.Title, where(left[0]))
		}
		stillThere := fmt.Sprintf("%s of an earlier run could not be killed and is still there (%s); "+
			"nothing of the package runs beside it. Find the device or file system that it waits for, or reboot the "+
			"host", earlier.Title, where(left[0]))
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", stillThere, errStopped)
		case <-deadline.C:
			return errors.New(stillThere)
		case <-tick.C:
		}
	}
}

// where leaves out the command line: arguments may be secret, and which ones
// only the agent knew that is gone.
func where(m process.Member) string { return fmt.Sprintf("process %d, state %s", m.PID, m.State) }
