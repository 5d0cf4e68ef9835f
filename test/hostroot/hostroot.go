// Package hostroot makes small root folders of hosts for tests that enter them
// with chroot. Their shell and tools are those of the machine that runs the
// tests.
package hostroot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Template is a root that hosts are copies of.
type Template struct {
	// Tools are looked up on this machine, and come with their libraries.
	Tools []string
	// Dirs are made beside those that each root has.
	Dirs []string

	root string
	make func() error
}

// Main runs the tests, and returns their exit code. The first test that needs
// the template makes it, with what fill adds to it in a work folder: go test
// does not see what is opened before the tests run.
func (t *Template) Main(m *testing.M, fill func(work, root string) error) int {
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "these tests enter a host's root with chroot: run them as root")
		return 1
	}
	work, err := os.MkdirTemp("", "hostroot-")
	if err == nil {
		defer func() { _ = os.RemoveAll(work) }()
		t.root = filepath.Join(work, "host")
		t.make = sync.OnceValue(func() error { return errors.Join(t.build(), fill(work, t.root)) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

var (
	dirs    = []string{"usr/bin", "dev", "etc", "proc", "tmp", "root", "var/lib", "var/log"}
	library = regexp.MustCompile(`/[^ ]+`)
)

func (t *Template) build() error {
	for _, dir := range append(dirs, t.Dirs...) {
		if err := os.MkdirAll(filepath.Join(t.root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink("usr/bin", filepath.Join(t.root, "bin")); err != nil {
		return err
	}
	for _, tool := range t.Tools {
		if err := t.install(tool); err != nil {
			return fmt.Errorf("make the root of a host: %w", err)
		}
	}
	return nil
}

func (t *Template) install(tool string) error {
	found, err := exec.LookPath(tool)
	if err != nil {
		return err
	}
	if err := CopyFile(found, filepath.Join(t.root, "usr/bin", tool)); err != nil {
		return err
	}
	// It fails for a static program, which needs none.
	libraries, _ := exec.Command("ldd", found).Output()
	for _, lib := range library.FindAllString(string(libraries), -1) {
		if err := CopyFile(lib, filepath.Join(t.root, lib)); err != nil {
			return err
		}
	}
	return nil
}

// Make makes the template, unless a test did.
func (t *Template) Make(test testing.TB) {
	test.Helper()
	if err := t.make(); err != nil {
		test.Fatal(err)
	}
}

// New makes the root of a host for one test, with a /dev/null.
func (t *Template) New(test testing.TB) (root string) {
	test.Helper()
	t.Make(test)
	root = filepath.Join(test.TempDir(), "root")
	if err := Link(t.root, root, func(fs.FileInfo) bool { return true }); err != nil {
		test.Fatal(err)
	}
	if err := syscall.Mknod(filepath.Join(root, "dev/null"), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		test.Fatal(err)
	}
	return root
}

// Clone makes a copy of a root as it is now.
func Clone(test testing.TB, from string) (root string) {
	test.Helper()
	root = filepath.Join(test.TempDir(), "root")
	// What has a second name came from the template, and nobody writes to it.
	shared := func(info fs.FileInfo) bool {
		stat, ok := info.Sys().(*syscall.Stat_t)
		return ok && stat.Nlink > 1
	}
	if err := Link(from, root, shared); err != nil {
		test.Fatal(err)
	}
	return root
}

// Link copies folders, symbolic links, devices and files; files that are
// shared only get a second name.
func Link(from, to string, shared func(fs.FileInfo) bool) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(link, target))
		case !entry.Type().IsRegular():
			stat, _ := info.Sys().(*syscall.Stat_t)
			return syscall.Mknod(target, stat.Mode, int(stat.Rdev)) // a device number of this machine
		case shared(info):
			return os.Link(path, target)
		default:
			return errors.Join(CopyFile(path, target), os.Chmod(target, info.Mode()))
		}
	})
}

// CopyFile copies an executable file, and makes the folder for it.
func CopyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return WriteProgram(to, raw)
}

// WriteProgram writes an executable file. A process that another test starts meanwhile would inherit the open file, and
// until it has become its own program this one would be busy.
func WriteProgram(name string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(name, content, 0o755)
}
