package hostfs

import (
	"encoding/hex"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// TempName is where the new version of path is made before it gets its name.
// It is the same every time, so that what a killed agent left there is used
// up by the next one; and short, because the final name may already be as long
// as the file system allows.
func TempName(path string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(filepath.Base(path)))
	return filepath.Join(filepath.Dir(path), ".skyhook-"+hex.EncodeToString(sum.Sum(nil)))
}

// maxRounds is how often to try for the one temporary file of a path.
const maxRounds = 5

// openTemp opens the empty temporary file for path. Whoever else writes the
// same path waits until it is closed.
func openTemp(path string) (*os.File, error) {
	name := TempName(path)
	for range maxRounds {
		boundary()
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EISDIR) {
			if err := RemoveAll(name); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if ours, err := takeTemp(file, name); ours {
			return file, nil
		} else if err != nil {
			_ = file.Close()
			return nil, err
		}
		_ = file.Close()
	}
	// A network file system may give every file another owner, for example.
	return os.CreateTemp(filepath.Dir(path), ".skyhook-*")
}

// takeTemp locks and empties the file of that name, and reports whether it is
// to be used. One that others may have a hand in is removed instead.
func takeTemp(file *os.File, name string) (ours bool, err error) {
	if err := flock(file, 0); err != nil {
		return false, err
	}
	switch named, trusted := look(file, name); {
	case named && trusted:
		err = file.Truncate(0)
		return err == nil, err
	case named:
		// Others may write into this directory, and may still hold it open.
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}

// look reports whether the file still has its name after the wait for it, and
// whether nobody else can have a hand in it.
func look(file *os.File, name string) (named, trusted bool) {
	mine, err := file.Stat()
	if err != nil {
		return false, false
	}
	there, err := os.Lstat(name)
	if err != nil || !os.SameFile(mine, there) {
		return false, false
	}
	stat, ok := mine.Sys().(*syscall.Stat_t)
	return true, ok && mine.Mode().IsRegular() && stat.Nlink == 1 && int(stat.Uid) == os.Geteuid()
}
