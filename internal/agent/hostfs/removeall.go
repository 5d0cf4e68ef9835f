package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Tests put other kernels in their place.
var (
	openat2    = unix.Openat2
	mountTable = mountinfo.GetMounts
)

// RemoveAll removes a file, or a directory with all that is in it; one that is
// not there is fine. Nothing is removed across a mount: a directory that has
// one, at itself or below, stays as it is, with a [*MountedError].
func RemoveAll(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil // a read-only file system would say something else
	}
	boundary()
	r := removal{path: path, enter: enter}
	if err := r.do(); err != nil {
		return fmt.Errorf("remove %q: %w", path, err)
	}
	return nil
}

// removal is one call of RemoveAll.
type removal struct {
	path string
	// enter opens what a directory has by a name, without crossing a mount.
	enter func(dir int, name string, flags int) (int, error)
}

func (r *removal) do() error {
	parent, err := unix.Open(filepath.Dir(r.path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(parent) }()
	name := filepath.Base(r.path)
	err = r.inspect(parent, name, r.path)
	if errors.Is(err, errors.ErrUnsupported) {
		// An old kernel: its table of mounts has to do. What is mounted after
		// this look is not seen, but for mounts on a file.
		r.enter, err = enterOld, inspectTable(r.path)
	}
	if err != nil {
		return err
	}
	return ignoreGone(r.remove(parent, name, r.path))
}

// ignoreGone: others may remove files as well.
func ignoreGone(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// enter opens an entry of a directory, and refuses to do so with EXDEV if
// something is mounted there.
func enter(dir int, name string, flags int) (int, error) {
	for {
		fd, err := openat2(dir, name, &unix.OpenHow{
			Flags:   uint64(flags | unix.O_NOFOLLOW | unix.O_CLOEXEC), //nolint:gosec // G115: flags are bits
			Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS,
		})
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			// Old container runtimes refuse system calls that they do not know.
			return -1, errors.ErrUnsupported
		}
		return fd, err
	}
}

func enterOld(dir int, name string, flags int) (int, error) {
	return unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// inspect looks for mounts at an entry of a directory and below it.
func (r *removal) inspect(dir int, name, path string) error {
	fd, err := r.enter(dir, name, unix.O_PATH)
	if errors.Is(err, unix.EXDEV) {
		return &MountedError{Mount: path}
	}
	if err != nil {
		return ignoreGone(err)
	}
	_ = unix.Close(fd)
	return r.each(dir, name, path, r.inspect)
}

// each calls do for what is in a directory; anything else has nothing in it.
func (r *removal) each(dir int, name, path string, do func(dir int, name, path string) error) error {
	fd, err := r.enter(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
	switch {
	case errors.Is(err, unix.EXDEV):
		return &MountedError{Mount: path}
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil
	case err != nil:
		return err
	}
	handle := os.NewFile(uintptr(fd), path)
	defer func() { _ = handle.Close() }()
	names, err := handle.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ignoreGone(do(fd, name, filepath.Join(path, name))); err != nil {
			return err
		}
	}
	return nil
}

// remove removes an entry of a directory. The kernel itself refuses to do so
// while something is mounted there.
func (r *removal) remove(dir int, name, path string) error {
	err := unix.Unlinkat(dir, name, 0)
	if errors.Is(err, unix.EISDIR) {
		if err = r.each(dir, name, path, r.remove); err == nil {
			err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
		}
	}
	if errors.Is(err, unix.EBUSY) {
		return &MountedError{Mount: path}
	}
	return err
}

// inspectTable looks for mounts in the kernel's table of them.
func inspectTable(path string) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return err
	}
	resolved := filepath.Join(parent, filepath.Base(path))
	found, err := mountTable(func(m *mountinfo.Info) (skip, stop bool) {
		return m.Mountpoint != resolved && !strings.HasPrefix(m.Mountpoint, resolved+"/"), false
	})
	if err != nil {
		return fmt.Errorf("find out whether something is mounted below it: %w", err)
	}
	if len(found) > 0 {
		return &MountedError{Mount: found[0].Mountpoint}
	}
	return nil
}
