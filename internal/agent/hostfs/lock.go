package hostfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often to ask for a lock: a wait in the kernel would not end
// with SIGTERM.
const lockPoll = 100 * time.Millisecond

// HeldLock is the lock of a file. It ends with the process at the latest.
type HeldLock struct{ file *os.File }

// AwaitLock waits for the lock of a file, and makes the file and its directory
// (0755) if they are missing. The file says who has the lock: holder. If that
// is someone else, busy is called with what they say, once.
func AwaitLock(ctx context.Context, path, holder string, busy func(other string)) (*HeldLock, error) {
	file, err := openLock(path)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for told := false; ; {
		switch err := flock(file, unix.LOCK_NB); {
		case err == nil:
			l := &HeldLock{file}
			l.say(holder)
			return l, nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !told {
			busy(holderIn(file))
			told = true
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("wait for lock %s: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}

// Disown takes the holder out of the file, but keeps the lock.
func (l *HeldLock) Disown() { l.say("") }

// say is only for people.
func (l *HeldLock) say(holder string) {
	if err := l.file.Truncate(0); err == nil {
		_, _ = l.file.WriteAt([]byte(holder), 0)
	}
}

func holderIn(file *os.File) string {
	raw, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<10))
	if err != nil || len(raw) == 0 {
		return "not known which"
	}
	return string(raw)
}

// DirLock is the file whose lock is that of a directory: a lock on the
// directory could be held by anybody who may read it.
func DirLock(dir string) string { return filepath.Join(dir, ".skyhook-lock") }

// Lock keeps other agents out of a directory until unlock is called, and makes
// the directory (0755) if it is missing. Nothing ends the wait: it is for what
// takes no longer than to write a file.
func Lock(dir string) (unlock func(), err error) {
	file, err := openLock(DirLock(dir))
	if err != nil {
		return nil, err
	}
	if err := flock(file, 0); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { _ = file.Close() }, nil
}

// openLock opens the file of a lock. Others must not be able to open it:
// whoever can may hold the lock.
func openLock(path string) (*os.File, error) {
	if err := MkdirAll(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}

// flock takes the lock of an open file. Some network file systems have no
// locks; there it is up to luck, as it is for agents in the field.
func flock(file *os.File, how int) error {
	for {
		switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|how); err {
		case unix.EINTR:
		case unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP:
			return nil
		default:
			return err
		}
	}
}
