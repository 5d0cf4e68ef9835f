package tryout

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// seed makes digests comparable within this process.
var seed = maphash.MakeSeed()

// readEntry looks at one file without following links. With content, a regular
// file is read, too.
func readEntry(path string, content bool) (entry, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return entry{}, err
	}
	e := entry{mode: info.Mode()}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return e, fmt.Errorf("look at %s: no owner", path)
	}
	e.uid, e.gid, e.volume = stat.Uid, stat.Gid, stat.Dev
	e.stamp = stamp{stat.Mtim.Nano(), stat.Ctim.Nano(), stat.Ino}
	switch e.mode.Type() {
	case 0:
		e.size = info.Size()
		if content {
			e.digest, e.digested = digest(path)
		}
	case fs.ModeSymlink:
		e.link, err = os.Readlink(path)
	case fs.ModeDir:
		e.opaque = isOpaque(path)
	default:
		e.device = stat.Rdev
	}
	return e, err
}

func digest(path string) (sum uint64, ok bool) {
	file, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer func() { _ = file.Close() }()
	var h maphash.Hash
	h.SetSeed(seed)
	_, err = io.Copy(&h, file)
	return h.Sum64(), err == nil
}

// isOpaque reads the mark that overlayfs puts on directories in its upper layer.
func isOpaque(path string) bool {
	value := make([]byte, 2)
	n, err := syscall.Getxattr(path, "trusted.overlay.opaque", value)
	return err == nil && string(value[:n]) == "y"
}

// readTree takes a snapshot. Files that disappear meanwhile are left out, as
// are those on file systems that are none of this machine's disks or memory.
func readTree(root string, content bool) (tree, error) {
	t, local := tree{}, volumes{}
	err := filepath.WalkDir(root, func(file string, dir fs.DirEntry, err error) error {
		path := "/" + strings.TrimPrefix(strings.TrimPrefix(file, root), "/")
		if err == nil && (isBelow(path, ownFolders) || isBelow(path, mountFolders)) {
			return skip(dir)
		}
		var e entry
		if err == nil {
			e, err = readEntry(file, content)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.mode.IsDir() && !local.has(e.volume, file):
			return fs.SkipDir
		}
		t[path] = e
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take a snapshot of %s: %w", root, err)
	}
	return t, nil
}

func skip(dir fs.DirEntry) error {
	if dir.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// volumes says of file systems, by device number, whether they are local. The
// first that is asked for always is: someone wants it.
type volumes map[uint64]bool

func (v volumes) has(volume uint64, dir string) bool {
	local, known := v[volume]
	if !known {
		local = len(v) == 0 || slices.Contains(localFileSystems, typeOf(dir))
		v[volume] = local
	}
	return local
}

// localFileSystems by the number that statfs gives, see statfs(2). Walking the
// others may take forever, or mean nothing.
var localFileSystems = []int64{
	0xEF53,     // ext2 to ext4
	0x58465342, // xfs
	0x9123683E, // btrfs
	0x2FC12FC1, // zfs
	0xF2F52010, // f2fs
	0x4D44,     // fat, as of /boot/efi
	0x01021994, // tmpfs
	overlayType,
}

func typeOf(dir string) int64 {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0
	}
	return int64(stat.Type) //nolint:unconvert // the type depends on the architecture
}

// merged is an overlay as it was when its upper layer was read.
type merged struct {
	upper tree
	lower string
}

func (m merged) at(path string) (entry, bool) {
	if e, ok := m.upper[path]; ok {
		return e, !e.whiteout()
	}
	for dir := path; dir != "/"; {
		dir = filepath.Dir(dir)
		if e, ok := m.upper[dir]; ok && e.hides() {
			return entry{}, false
		}
	}
	e, err := readEntry(filepath.Join(m.lower, path), true)
	return e, err == nil
}

// hides says that nothing of the lower layer shows below this file.
func (e entry) hides() bool { return !e.mode.IsDir() || e.opaque }

// paths are those that may differ between two states of the same overlay: what
// either has in its upper layer, and what the later hides of the lower one.
func (m merged) paths(before merged) ([]string, error) {
	paths := m.upper.paths(before.upper)
	for path, e := range m.upper {
		if was, ok := before.at(path); !ok || !was.mode.IsDir() || !e.hides() {
			continue
		}
		hidden, err := readTree(filepath.Join(m.lower, path), false)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for below := range hidden {
			paths = append(paths, filepath.Join(path, below))
		}
	}
	return paths, nil
}
