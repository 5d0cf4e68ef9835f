package agent

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// lock keeps other agents of the package away until this process ends, however
// it does: the pod of a node that was lost for a while may still be at work
// when its successor comes.
func (a *agent) lock(ctx context.Context, name string) error {
	var other string
	says := fmt.Sprintf("%s, process %d", a.Mode, os.Getpid())
	held, err := hostfs.AwaitLock(ctx, a.state().LockFile(name), says, func(holder string) {
		other = holder
		a.say("another agent (%s) works on package %s on this host; waiting until it ends", other, name)
	})
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s was not started: another agent (%s) works on package %s on this host: %w",
			a.Mode, other, name, errStopped)
	}
	if err != nil {
		return fmt.Errorf("lock package %s: %w", name, err)
	}
	a.held = held
	return nil
}

// leave takes the name out of the package's lock; the lock itself goes with
// the process.
func (a *agent) leave() {
	if a.held != nil {
		a.held.Disown()
	}
}
