package hostfs

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Remove removes a file or an empty directory; one that is not there is fine.
// For a mount point it returns a [*MountedError].
func Remove(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil // a read-only file system would say something else
	}
	boundary()
	err := os.Remove(path)
	if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if errors.Is(err, syscall.EBUSY) {
		err = &MountedError{Mount: path}
	}
	return fmt.Errorf("remove %s: %w", path, err)
}

// MountedError says that something is mounted where something was to be
// removed. It is not the agent's to remove, nor to unmount.
type MountedError struct {
	// Mount is where: the path that was to be removed, or one below it.
	Mount string
}

func (e *MountedError) Error() string {
	return fmt.Sprintf("something is mounted at %q, and what is mounted is never removed; unmount it", e.Mount)
}

// Unwrap makes it the error that the kernel has for it.
func (e *MountedError) Unwrap() error { return syscall.EBUSY }

// MkdirAll makes a directory (0755) and its parents.
func MkdirAll(path string) error {
	boundary()
	return os.MkdirAll(path, 0o755)
}

// RemoveEmpty removes a directory, but leaves it alone if others have put
// something into it or something else in its place. For a mount point it
// returns a [*MountedError].
func RemoveEmpty(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil // a read-only file system would say something else
	}
	boundary()
	err := syscall.Rmdir(dir)
	for _, fine := range []error{nil, syscall.ENOENT, syscall.ENOTEMPTY, syscall.EEXIST, syscall.ENOTDIR} {
		if errors.Is(err, fine) {
			return nil
		}
	}
	if errors.Is(err, syscall.EBUSY) {
		err = &MountedError{Mount: dir}
	}
	return fmt.Errorf("remove %s: %w", dir, err)
}
