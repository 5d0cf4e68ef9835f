//go:build integration

package hostfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// mount mounts until the test is over.
func mount(t *testing.T, source, target, kind string, flags uintptr) {
	t.Helper()
	must(t, unix.Mount(source, target, kind, flags, ""))
	t.Cleanup(func() { must(t, unix.Unmount(target, unix.MNT_DETACH)) })
}

// mounts are the ways in which something can be mounted below a folder; each
// returns the mount point and a file behind it.
var mounts = map[string]func(t *testing.T, dir string) (point, behind string){
	"another file system": func(t *testing.T, dir string) (string, string) {
		point := filepath.Join(dir, "a/b")
		mount(t, "tmpfs", point, "tmpfs", 0)
		put(t, filepath.Join(point, "data"), "theirs", 0o644)
		return point, filepath.Join(point, "data")
	},
	"a folder of the same file system": func(t *testing.T, dir string) (string, string) {
		point, source := filepath.Join(dir, "a/b"), t.TempDir()
		put(t, filepath.Join(source, "data"), "theirs", 0o644)
		mount(t, source, point, "", unix.MS_BIND)
		return point, filepath.Join(source, "data")
	},
	"a file": func(t *testing.T, dir string) (string, string) {
		point, source := filepath.Join(dir, "a/file"), filepath.Join(t.TempDir(), "data")
		put(t, source, "theirs", 0o644)
		mount(t, source, point, "", unix.MS_BIND)
		return point, source
	},
	"the folder itself": func(t *testing.T, dir string) (string, string) {
		source := t.TempDir()
		put(t, filepath.Join(source, "data"), "theirs", 0o644)
		mount(t, source, dir, "", unix.MS_BIND)
		return dir, filepath.Join(source, "data")
	},
}

// kernels are the ways to find mounts.
var kernels = map[string]func(t *testing.T){
	"since 5.6": func(*testing.T) {},
	"before":    hostfs.WithoutOpenat2,
}

func newTree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a folder\twith\\odd\nnames")
	put(t, filepath.Join(dir, "a/file"), "x", 0o400)
	put(t, filepath.Join(dir, "a/b/c"), "x", 0o644)
	put(t, filepath.Join(dir, "z/last"), "x", 0o644)
	must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Mkdir(filepath.Join(dir, "empty"), 0o500))
	return dir
}

// TestRemoveAll_StopsAtMounts: what is mounted below a folder is not the
// folder's, and nothing of the folder goes either.
func TestRemoveAll_StopsAtMounts(t *testing.T) {
	for kernel, use := range kernels {
		for name, prepare := range mounts {
			t.Run(kernel+"/"+name, func(t *testing.T) {
				use(t)
				dir := newTree(t)
				point, behind := prepare(t, dir)
				err := hostfs.RemoveAll(dir)
				var mounted *hostfs.MountedError
				if !errors.As(err, &mounted) || mounted.Mount != point || !strings.Contains(err.Error(), fmt.Sprintf("%q", point)) {
					t.Errorf("got %v", err)
				}
				if read(t, behind) != "theirs" {
					t.Error("what was mounted is gone")
				}
				if _, err := os.Lstat(filepath.Join(dir, "z/last")); err != nil && point != dir {
					t.Error("half of the folder is gone")
				}
			})
		}
	}
}

func TestRemoveAll(t *testing.T) {
	for kernel, use := range kernels {
		t.Run(kernel, func(t *testing.T) {
			use(t)
			dir, elsewhere := newTree(t), t.TempDir()
			put(t, filepath.Join(elsewhere, "data"), "theirs", 0o644)
			must(t, os.Symlink(elsewhere, filepath.Join(dir, "a/link")), os.Symlink(dir, filepath.Join(elsewhere, "here")))
			// A mount beside it, and one that its name is the beginning of.
			must(t, os.Mkdir(dir+"-2", 0o755))
			mount(t, "tmpfs", dir+"-2", "tmpfs", 0)
			must(t, hostfs.RemoveAll(filepath.Join(elsewhere, "here")), hostfs.RemoveAll(filepath.Join(dir, "a/file")))
			if _, err := os.Lstat(dir); err != nil {
				t.Fatal("a link was followed")
			}
			must(t, hostfs.RemoveAll(dir), hostfs.RemoveAll(dir), hostfs.RemoveAll(filepath.Join(dir, "none/below")))
			if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is still there: %v", err)
			}
			if read(t, filepath.Join(elsewhere, "data")) != "theirs" {
				t.Error("a link was followed")
			}
		})
	}
}

// TestRemoveAll_BehindALinkOfTheHost: hosts keep their state elsewhere.
func TestRemoveAll_BehindALinkOfTheHost(t *testing.T) {
	for kernel, use := range kernels {
		t.Run(kernel, func(t *testing.T) {
			use(t)
			dir, link := newTree(t), filepath.Join(t.TempDir(), "link")
			must(t, os.Symlink(filepath.Dir(dir), link))
			point := filepath.Join(dir, "a/b")
			mount(t, "tmpfs", point, "tmpfs", 0)
			var mounted *hostfs.MountedError
			if err := hostfs.RemoveAll(filepath.Join(link, filepath.Base(dir))); !errors.As(err, &mounted) {
				t.Errorf("got %v", err)
			}
			_ = read(t, filepath.Join(dir, "z/last"))
		})
	}
}

// TestRemoveAll_NothingTellsOfMounts: then nothing goes.
func TestRemoveAll_NothingTellsOfMounts(t *testing.T) {
	hostfs.WithoutOpenat2(t)
	hostfs.WithMountTable(t, func(mountinfo.FilterFunc) ([]*mountinfo.Info, error) { return nil, os.ErrNotExist })
	dir := newTree(t)
	if err := hostfs.RemoveAll(dir); err == nil || !strings.Contains(err.Error(), "whether something is mounted below it") {
		t.Errorf("got %v", err)
	}
	if read(t, filepath.Join(dir, "z/last")) != "x" {
		t.Error("it is gone")
	}
}
