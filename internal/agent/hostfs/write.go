// Package hostfs writes files on a host so that a crash at any moment leaves
// either the old or the new content.
//
// It works on plain paths and must not know what the files mean. The agent
// calls it after it has entered the host's root, so that the kernel resolves
// every symbolic link of the host as the host itself would.
package hostfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// WriteFile replaces the file at path, creating missing parent directories
// (0755). It is atomic and durable when it returns without an error.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	if err := MkdirAll(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return replace(path, strings.NewReader(string(data)), attributes{mode: mode})
}

// attributes of a file to be written. A zero time means now; no owner, that of
// the file that is replaced.
type attributes struct {
	mode     os.FileMode
	modified time.Time
	owner    *syscall.Stat_t
	// extended are the extended attributes; no map leaves the SELinux label of
	// the file that is replaced.
	extended map[string][]byte
}

func replace(path string, content io.Reader, attr attributes) (err error) {
	temp, err := openTemp(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	// Closing it lets the next one write; until the rename nobody must.
	defer func() { _ = temp.Close() }()
	if err := fill(temp, path, content, attr); err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	boundary()
	err = os.Rename(temp.Name(), path)
	if errors.Is(err, syscall.EBUSY) {
		if err = overwrite(temp, path, attr); err == nil {
			return os.Remove(temp.Name())
		}
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	boundary()
	return syncDir(filepath.Dir(path))
}

func fill(temp *os.File, path string, content io.Reader, attr attributes) error {
	boundary()
	if _, err := io.Copy(temp, content); err != nil {
		return err
	}
	boundary()
	if err := inherit(temp, path); err != nil {
		return err
	}
	if attr.owner != nil {
		if err := temp.Chown(int(attr.owner.Uid), int(attr.owner.Gid)); err != nil {
			return err
		}
	}
	// After the owner: changing the owner clears set-user-id bits.
	if err := temp.Chmod(attr.mode); err != nil {
		return err
	}
	// After both: they drop capabilities and change access lists.
	if err := setExtended(temp, attr.extended); err != nil {
		return err
	}
	if !attr.modified.IsZero() {
		if err := os.Chtimes(temp.Name(), attr.modified, attr.modified); err != nil {
			return err
		}
	}
	return temp.Sync()
}

const selinuxLabel = "security.selinux"

// inherit gives a new file the owner and the SELinux label of the file it is
// about to replace, as writing into that file would have kept them.
func inherit(temp *os.File, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := temp.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	label := make([]byte, 256)
	// No label, or a file system without labels: there is nothing to keep.
	if n, err := unix.Getxattr(path, selinuxLabel, label); err == nil {
		_ = unix.Fsetxattr(int(temp.Fd()), selinuxLabel, label[:n], 0)
	}
	return nil
}

// Rename gives a file or directory another name in the same directory or
// another, durably. A file of that name is replaced.
func Rename(from, to string) error {
	boundary()
	if err := os.Rename(from, to); err != nil {
		return err
	}
	boundary()
	return syncDir(filepath.Dir(to))
}

// syncDir makes a rename inside dir durable.
func syncDir(dir string) error {
	handle, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Close() }()
	// Some file systems cannot sync a directory, and say so with EINVAL.
	if err := handle.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
