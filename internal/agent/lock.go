package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// lockPoll is how often to ask for a lock: a wait in the kernel would not end
// with SIGTERM.
const lockPoll = 100 * time.Millisecond

// lock keeps other agents of the package away until this process ends, however
// it does: the pod of a node that was lost for a while may still be at work
// when its successor comes. The file is beside the package's own folder, which
// is emptied by an uninstall.
func (a *agent) lock(ctx context.Context, name string) error {
	path := filepath.Join(a.RootDir, "packages", ".lock-"+name)
	if err := hostfs.MkdirAll(filepath.Dir(path)); err != nil {
		return fmt.Errorf("lock package %s: %w", name, err)
	}
	// Others must not be able to open it: whoever can may hold the lock.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("lock package %s: %w", name, err)
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for told := false; ; told = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			a.hold(file)
			return nil
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
			// Some network file systems have no locks; there it is up to luck.
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock package %s: %w", name, err)
		}
		other := holder(path)
		if !told {
			a.say("another agent (%s) is at work on package %s on this host; waiting for its end", other, name)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not begun: another agent (%s) is at work on package %s on this host: %w", a.Mode, other, name, errStopped)
		case <-tick.C:
		}
	}
}

// hold keeps the file open, and writes down who has it.
func (a *agent) hold(file *os.File) {
	a.lockFile = file
	// Only for people.
	if err := file.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(file, "%s, process %d", a.Mode, os.Getpid())
	}
}

// leave takes the name out of the file; the lock itself goes with the process.
func (a *agent) leave() {
	if a.lockFile != nil {
		_ = a.lockFile.Truncate(0)
	}
}

func holder(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil || len(raw) == 0 {
		return "not known which"
	}
	return string(raw)
}
