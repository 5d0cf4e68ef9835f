package hostfs

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Lock keeps other agents out of a directory until unlock is called, and makes
// the directory (0755) if it is missing. Several packages of a Skyhook may be
// at work on one host at the same time. The lock ends with the process.
func Lock(dir string) (unlock func(), err error) {
	if err := MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	// A file of its own that others cannot open: a lock on the directory could
	// be held by anybody who may read it.
	handle, err := os.OpenFile(filepath.Join(dir, ".skyhook-lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := flock(handle); err != nil {
		_ = handle.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { _ = handle.Close() }, nil
}

// flock waits for the lock of an open file. Some network file systems have no
// locks; there it is up to luck, as it is for agents in the field.
func flock(file *os.File) error {
	for {
		switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err {
		case unix.EINTR:
		case unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP:
			return nil
		default:
			return err
		}
	}
}
