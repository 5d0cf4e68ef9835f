package hostfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Clone puts a copy of one file or symbolic link at another path, with its
// content, mode, modification time, owner and extended attributes, making
// missing directories.
func Clone(from, to string) error {
	if err := clone(from, to); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	return nil
}

func clone(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := MkdirAll(filepath.Dir(to)); err != nil {
		return err
	}
	if info.Mode().Type() == os.ModeSymlink {
		link, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return replaceLink(link, to)
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is neither a file nor a symbolic link")
	}
	if same(from, to, info) {
		return nil
	}
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	attr := attributes{mode: info.Mode() & modeBits, modified: info.ModTime()}
	if attr.extended, err = extendedOf(from); err != nil {
		return err
	}
	attr.owner, _ = info.Sys().(*syscall.Stat_t)
	return replace(to, file, attr)
}

// same reports whether a copy is in place already. On a read-only file system
// it could not be made again.
func same(from, to string, info os.FileInfo) bool {
	existing, err := os.Lstat(to)
	if err != nil || !existing.Mode().IsRegular() || !sameOwner(info, existing) {
		return false
	}
	file, err := os.Open(from)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	return inPlace(file, info, to, existing) && info.ModTime().Equal(existing.ModTime())
}

func sameOwner(a, b os.FileInfo) bool {
	one, okOne := a.Sys().(*syscall.Stat_t)
	two, okTwo := b.Sys().(*syscall.Stat_t)
	return okOne && okTwo && one.Uid == two.Uid && one.Gid == two.Gid
}
