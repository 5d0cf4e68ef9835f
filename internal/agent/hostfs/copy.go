package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// modeBits are the bits of a mode that a copy keeps.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// CopyTree copies the content of src into the existing directory dst. Files
// keep their mode and modification time, symbolic links stay links, and new
// directories get the mode they have in src. What exists already keeps its
// owner, and an existing directory keeps its mode: a package must not change
// the permissions of the host's /etc by shipping one. A file that is in place
// already is not written again, and one that is [Masked] stays so.
func CopyTree(src *os.Root, dst string) error {
	return Walk(src, func(name string, entry fs.DirEntry) error {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(dst, name)
		switch info.Mode().Type() {
		case fs.ModeDir:
			return makeDir(target, info.Mode()&modeBits)
		case fs.ModeSymlink:
			return copyLink(src, name, target)
		case 0:
			return copyFile(src, name, target, info)
		default:
			return fmt.Errorf("copy %s: it is neither a file, a directory nor a symbolic link", name)
		}
	})
}

// Walk calls do for all that is in src, in the order of names, and for each
// directory before what is in it. Names need not be UTF-8, as they must for
// [fs.WalkDir].
func Walk(src *os.Root, do func(name string, entry fs.DirEntry) error) error {
	return walk(src, ".", do)
}

func walk(src *os.Root, dir string, do func(name string, entry fs.DirEntry) error) error {
	handle, err := src.Open(dir)
	if err != nil {
		return err
	}
	entries, err := handle.ReadDir(-1)
	_ = handle.Close()
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		if err := do(name, entry); err != nil {
			return err
		}
		if entry.IsDir() {
			if err := walk(src, name, do); err != nil {
				return err
			}
		}
	}
	return nil
}

func makeDir(target string, mode fs.FileMode) error {
	boundary()
	err := os.Mkdir(target, mode)
	if err == nil {
		// Mkdir's mode goes through the umask.
		return os.Chmod(target, mode)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("copy to %s: the package has a directory there, the host has a file", target)
	}
	return nil
}

func copyLink(src *os.Root, name, target string) error {
	link, err := src.Readlink(name)
	if err != nil {
		return err
	}
	if existing, err := os.Readlink(target); err == nil && existing == link {
		return nil
	}
	if info, err := os.Lstat(target); err == nil && info.IsDir() {
		return fmt.Errorf("copy to %s: the package has a symbolic link there, the host has a directory", target)
	}
	return replaceLink(link, target)
}

// replaceLink makes a symbolic link in place of whatever file is there: it
// cannot be created over another file, but it can be renamed over it.
func replaceLink(link, target string) error {
	temp := TempName(target)
	if err := Remove(temp); err != nil {
		return err
	}
	boundary()
	if err := os.Symlink(link, temp); err != nil {
		return err
	}
	err := Rename(temp, target)
	if errors.Is(err, syscall.EBUSY) {
		_ = os.Remove(temp)
		return fmt.Errorf("a symbolic link cannot take the place of what is mounted at %s; unmount it, or ship a "+
			"file: %w", target, syscall.EBUSY)
	}
	return err
}

func copyFile(src *os.Root, name, target string, info fs.FileInfo) error {
	if Masked(target) {
		return nil
	}
	target = Destination(target)
	existing, err := os.Stat(target)
	if err == nil && !existing.Mode().IsRegular() {
		return fmt.Errorf("copy to %s: the package has a file there, the host has %s", target, nameOf(existing))
	}
	file, err := src.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if existing != nil && inPlace(file, info, target, existing) {
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return replace(target, file, attributes{mode: info.Mode() & modeBits, modified: info.ModTime()})
}

// Destination is the file that a copy to path ends up in. The host may have a
// link there: the link stays and its target gets the content. One that leads
// nowhere is replaced.
func Destination(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// Masked reports whether path is a link to a device, such as /dev/null: so
// people turn off a file of a package, and so it has to stay.
func Masked(path string) bool {
	link, err := os.Lstat(path)
	if err != nil || link.Mode().Type() != fs.ModeSymlink {
		return false
	}
	target, err := os.Stat(path)
	return err == nil && target.Mode()&fs.ModeDevice != 0
}

func nameOf(info fs.FileInfo) string {
	if info.IsDir() {
		return "a directory"
	}
	return "neither a file nor a directory"
}

func inPlace(file io.Reader, info fs.FileInfo, target string, existing fs.FileInfo) bool {
	if existing.Size() != info.Size() || existing.Mode()&modeBits != info.Mode()&modeBits {
		return false
	}
	other, err := os.Open(target)
	if err != nil {
		return false
	}
	defer func() { _ = other.Close() }()
	a, b := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		n, errA := io.ReadFull(file, a)
		m, errB := io.ReadFull(other, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return ended(errA) && ended(errB)
		}
	}
}

func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
