//go:build integration

package hostfs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

func TestCopyTree_ReplacedFilesKeepTheirOwner(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	put(t, filepath.Join(src, "f"), "new", 0o644)
	put(t, filepath.Join(dst, "f"), "old", 0o644)
	must(t, os.Chown(filepath.Join(dst, "f"), 12, 34))
	must(t, copyTree(t, src, dst))
	info, err := os.Stat(filepath.Join(dst, "f"))
	must(t, err)
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 12 || stat.Gid != 34 {
		t.Errorf("owner %d:%d", stat.Uid, stat.Gid)
	}
}

// TestFilesThatAreMountPoints get their content in place: hosts that are
// containers have /etc/hosts and /etc/resolv.conf so.
func TestFilesThatAreMountPoints(t *testing.T) {
	for before, now := range map[string]string{"long before": "new", "b": "new and longer"} {
		dir, src := t.TempDir(), t.TempDir()
		source, target := filepath.Join(t.TempDir(), "source"), filepath.Join(dir, "file")
		put(t, source, before, 0o600)
		must(t, os.Chown(source, 12, 34))
		put(t, target, "covered", 0o644)
		mount(t, source, target, "", unix.MS_BIND)
		put(t, filepath.Join(src, "file"), now, 0o640)
		must(t, copyTree(t, src, dir))
		if read(t, target) != now || read(t, source) != now || modeOf(t, target) != 0o640 {
			t.Errorf("%q, mode %v", read(t, target), modeOf(t, target))
		}
		info, err := os.Stat(target)
		must(t, err)
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 12 || stat.Gid != 34 || !info.ModTime().Equal(old) {
			t.Errorf("owner %d:%d, time %v", stat.Uid, stat.Gid, info.ModTime())
		}
		put(t, filepath.Join(src, "original"), before, 0o604)
		must(t, hostfs.Clone(filepath.Join(src, "original"), target))
		if read(t, target) != before || modeOf(t, target) != 0o604 {
			t.Errorf("cloned: %q, mode %v", read(t, target), modeOf(t, target))
		}
		noLeftovers(t, dir)
	}
}

// TestMountPointsThatCannotBeWritten are named, with what helps.
func TestMountPointsThatCannotBeWritten(t *testing.T) {
	tests := map[string]struct {
		ship     func(src string)
		readOnly bool
		want     string
	}{
		"read-only": {func(src string) { put(t, filepath.Join(src, "file"), "new", 0o644) }, true, "something is mounted there, read-only"},
		"a link":    {func(src string) { must(t, os.Symlink("x", filepath.Join(src, "file"))) }, false, "cannot take the place of"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, src := t.TempDir(), t.TempDir()
			source, target := filepath.Join(t.TempDir(), "source"), filepath.Join(dir, "file")
			put(t, source, "old", 0o600)
			put(t, target, "covered", 0o644)
			mount(t, source, target, "", unix.MS_BIND)
			if test.readOnly {
				must(t, unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			}
			test.ship(src)
			err := copyTree(t, src, dir)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), target) || !strings.Contains(err.Error(), "unmount it") {
				t.Errorf("got %v", err)
			}
			if read(t, target) != "old" || modeOf(t, target).Type() != fs.FileMode(0) {
				t.Errorf("now %q", read(t, target))
			}
			noLeftovers(t, dir)
		})
	}
}
