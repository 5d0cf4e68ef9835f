package tryout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const overlayType = 0x794C7630

// openOverlay makes the folder ready, and keeps others out of it until unlock
// is called or the process ends.
func openOverlay(dir, lower string) (o overlay, unlock func(), err error) {
	o = overlay{Dir: dir, Lower: lower}
	if typeOf(dir) == overlayType {
		return o, nil, fmt.Errorf("the kernel cannot keep an overlay's changes in %s, as that is on an overlay itself "+
			"(as containers are); name a folder on a disk, or below /dev/shm", dir)
	}
	unlock, err = lock(dir)
	if err != nil {
		return o, nil, err
	}
	if err := o.prepare(); err != nil {
		unlock()
		return o, nil, err
	}
	return o, unlock, nil
}

func lock(dir string) (unlock func(), err error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the overlay's folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("the overlay %s is in use by another run; wait for it, or name another folder", dir)
	}
	return func() { _ = file.Close() }, nil
}

// prepare makes what is missing in the folder.
func (o overlay) prepare() error {
	switch origin, err := os.ReadFile(o.origin()); {
	case errors.Is(err, fs.ErrNotExist):
		if err := o.create(); err != nil {
			return fmt.Errorf("make the overlay: %w", err)
		}
	case err != nil:
		return fmt.Errorf("open the overlay: %w", err)
	case string(origin) != o.Lower:
		return fmt.Errorf("the overlay %s has changes of %s, and does not fit %s; name another folder",
			o.Dir, origin, o.Lower)
	}
	return nil
}

func (o overlay) create() error {
	found, err := os.ReadDir(o.Dir)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("the folder %s has other files in it; name an empty or a new one", o.Dir)
	}
	for _, dir := range []string{o.upper(), o.work(), o.mountPoint()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	// The upper folder's own mode and owner are those that the root will have.
	info, err := os.Stat(o.Lower)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := os.Chown(o.upper(), int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	if err := os.Chmod(o.upper(), info.Mode()); err != nil {
		return err
	}
	return os.WriteFile(o.origin(), []byte(o.Lower), 0o644)
}

// state reads what the overlay has at this time.
func (o overlay) state() (merged, error) {
	upper, err := readTree(o.upper(), true)
	return merged{upper: upper, lower: o.Lower}, err
}

// absolute is a folder's path without links, as the kernel will see it.
func absolute(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
