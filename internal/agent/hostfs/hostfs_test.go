package hostfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

var old = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// put writes a file with an exact mode, and its directories.
func put(t *testing.T, name, content string, mode fs.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(content), 0o600), os.Chmod(name, mode), os.Chtimes(name, old, old))
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	must(t, err)
	return string(raw)
}

func modeOf(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	must(t, err)
	return info.Mode()
}

func inode(t *testing.T, name string) uint64 {
	t.Helper()
	info, err := os.Stat(name)
	must(t, err)
	return info.Sys().(*syscall.Stat_t).Ino
}

// noLeftovers fails if a temporary file stayed anywhere below dir.
func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".skyhook-") {
			t.Errorf("left behind: %s", path)
		}
		return err
	}))
}

func copyTree(t *testing.T, src, dst string) error {
	t.Helper()
	root, err := os.OpenRoot(src)
	must(t, err)
	defer func() { _ = root.Close() }()
	return hostfs.CopyTree(root, dst)
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a/b/file")
	must(t, hostfs.WriteFile(name, []byte("one"), 0o640))
	must(t, hostfs.WriteFile(name, []byte("two"), 0o600))
	if read(t, name) != "two" || modeOf(t, name).Perm() != 0o600 {
		t.Errorf("%q, %v", read(t, name), modeOf(t, name))
	}
	noLeftovers(t, dir)
}

func TestWriteFile_FailureLeavesTheOldContent(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "taken/inner"), 0o755))
	if err := hostfs.WriteFile(filepath.Join(dir, "taken"), []byte("x"), 0o644); err == nil {
		t.Error("a directory was replaced")
	}
	put(t, filepath.Join(dir, "file"), "old", 0o644)
	if err := hostfs.WriteFile(filepath.Join(dir, "file/below"), nil, 0o644); err == nil {
		t.Error("a file was taken for a directory")
	}
	if err := hostfs.WriteFile(filepath.Join(dir, strings.Repeat("x", 256)), nil, 0o644); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("too long a name: %v", err)
	}
	if read(t, filepath.Join(dir, "file")) != "old" {
		t.Error("content changed")
	}
	noLeftovers(t, dir)
}

// TestCopyTree_ModesOfExistingDirectoriesStay is what keeps a package with
// root_dir/etc at 0700 from locking everybody out of the host's /etc.
func TestCopyTree_ModesOfExistingDirectoriesStay(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	put(t, filepath.Join(src, "etc/new.d/a.conf"), "a", 0o640)
	must(t, os.Chmod(filepath.Join(src, "etc"), 0o700), os.Chmod(filepath.Join(src, "etc/new.d"), 0o750), os.Chmod(src, 0o711))
	must(t, os.Mkdir(filepath.Join(dst, "etc"), 0o755), os.Chmod(dst, 0o755))

	must(t, copyTree(t, src, dst))
	for name, want := range map[string]fs.FileMode{"": 0o755, "etc": 0o755, "etc/new.d": 0o750, "etc/new.d/a.conf": 0o640} {
		if got := modeOf(t, filepath.Join(dst, name)).Perm(); got != want {
			t.Errorf("%q: mode %v, want %v", name, got, want)
		}
	}
}

func TestCopyTree_FilesKeepModeAndTime(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	put(t, filepath.Join(src, "tool"), "x", 0o755|fs.ModeSetuid)
	must(t, os.Chtimes(filepath.Join(src, "tool"), old, old))
	put(t, filepath.Join(dst, "tool"), "before", 0o600)
	must(t, copyTree(t, src, dst))
	info, err := os.Stat(filepath.Join(dst, "tool"))
	must(t, err)
	if info.Mode() != 0o755|fs.ModeSetuid || !info.ModTime().Equal(old) || read(t, filepath.Join(dst, "tool")) != "x" {
		t.Errorf("mode %v, time %v", info.Mode(), info.ModTime())
	}
	noLeftovers(t, dst)
}

func TestCopyTree_FilesInPlaceAreNotWrittenAgain(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	content := map[string]string{"same": strings.Repeat("x", 100_000), "longer": "abcd", "other": "abc", "mode": "m", "empty": ""}
	for name, text := range content {
		put(t, filepath.Join(src, name), text, 0o644)
	}
	put(t, filepath.Join(dst, "same"), content["same"], 0o644)
	put(t, filepath.Join(dst, "longer"), "abc", 0o644)
	put(t, filepath.Join(dst, "other"), "abd", 0o644)
	put(t, filepath.Join(dst, "mode"), "m", 0o600)
	put(t, filepath.Join(dst, "empty"), "", 0o644)
	before := map[string]uint64{}
	for name := range content {
		before[name] = inode(t, filepath.Join(dst, name))
	}
	must(t, copyTree(t, src, dst))
	for name, text := range content {
		if read(t, filepath.Join(dst, name)) != text {
			t.Errorf("%s: wrong content", name)
		}
		kept := inode(t, filepath.Join(dst, name)) == before[name]
		if want := name == "same" || name == "empty"; kept != want {
			t.Errorf("%s: kept %v", name, kept)
		}
	}
}

func TestCopyTree_SymbolicLinks(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	must(t, os.Mkdir(filepath.Join(src, "lib"), 0o755))
	must(t, os.Symlink("/usr/lib/x", filepath.Join(src, "absolute")),
		os.Symlink("../gone", filepath.Join(src, "dangling")),
		os.Symlink("b", filepath.Join(src, "replaced")),
		os.Symlink("b", filepath.Join(src, "same")))
	put(t, filepath.Join(src, "lib/file"), "f", 0o644)
	put(t, filepath.Join(dst, "replaced"), "a file", 0o644)
	must(t, os.Mkdir(filepath.Join(dst, "usr-lib"), 0o755), os.Symlink("usr-lib", filepath.Join(dst, "lib")), os.Symlink("b", filepath.Join(dst, "same")))

	must(t, copyTree(t, src, dst))
	for name, want := range map[string]string{"absolute": "/usr/lib/x", "dangling": "../gone", "replaced": "b", "same": "b", "lib": "usr-lib"} {
		if got, err := os.Readlink(filepath.Join(dst, name)); err != nil || got != want {
			t.Errorf("%s leads to %q, %v", name, got, err)
		}
	}
	if read(t, filepath.Join(dst, "usr-lib/file")) != "f" {
		t.Error("the host's linked directory did not get the file")
	}
	noLeftovers(t, dst)
}

func TestCopyTree_FileOverALinkOfTheHost(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	put(t, filepath.Join(src, "linked"), "new", 0o644)
	put(t, filepath.Join(src, "dangling"), "new", 0o644)
	put(t, filepath.Join(dst, "target"), "old", 0o644)
	must(t, os.Symlink("target", filepath.Join(dst, "linked")), os.Symlink("nowhere", filepath.Join(dst, "dangling")))
	must(t, copyTree(t, src, dst))
	if read(t, filepath.Join(dst, "target")) != "new" || modeOf(t, filepath.Join(dst, "linked")).Type() != fs.ModeSymlink {
		t.Error("the link's target should have got the content")
	}
	if read(t, filepath.Join(dst, "dangling")) != "new" {
		t.Error("the dangling link should have been replaced")
	}
}

func TestCopyTree_Conflicts(t *testing.T) {
	tests := map[string]struct {
		prepare func(t *testing.T, src, dst string)
		want    string
	}{
		"directory over a file": {func(t *testing.T, src, dst string) {
			put(t, filepath.Join(src, "x/y"), "", 0o644)
			put(t, filepath.Join(dst, "x"), "", 0o644)
		}, "the host has a file"},
		"file over a directory": {func(t *testing.T, src, dst string) {
			put(t, filepath.Join(src, "x"), "", 0o644)
			must(t, os.Mkdir(filepath.Join(dst, "x"), 0o755))
		}, "the host has a directory"},
		"link over a directory": {func(t *testing.T, src, dst string) {
			must(t, os.Symlink("y", filepath.Join(src, "x")), os.Mkdir(filepath.Join(dst, "x"), 0o755))
		}, "the host has a directory"},
		"pipe": {func(t *testing.T, src, _ string) {
			must(t, syscall.Mkfifo(filepath.Join(src, "x"), 0o600))
		}, "neither a file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src, dst := t.TempDir(), t.TempDir()
			test.prepare(t, src, dst)
			if err := copyTree(t, src, dst); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
