package rootdir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// Store is the directory for what one package of a Skyhook leaves on a host.
type Store struct {
	Dir string
	// Root is the host's root directory; "/" for a process that is in it.
	Root string
}

// originals is the directory for copies of what was replaced.
const originals = "originals"

// Install makes the host have the files in src, and no more of those that
// earlier calls put there: what was replaced by them comes back.
func (s Store) Install(src *os.Root) error {
	shipped, err := s.shippedBy(src)
	if err != nil {
		return err
	}
	m, err := s.read()
	if err != nil {
		return err
	}
	stale := func(path string) bool { return shipped[path] != m.Files[path].Kind }
	if err := s.drop(m, stale); err != nil {
		return err
	}
	if err := s.plan(shipped, m); err != nil {
		return err
	}
	if err := s.write(m); err != nil {
		return err
	}
	return hostfs.CopyTree(src, s.Root)
}

// Remove takes away all that Install has put on the host.
func (s Store) Remove() error {
	m, err := s.read()
	if err != nil {
		return err
	}
	return s.drop(m, func(string) bool { return true })
}

// shippedBy lists what is in src, by path on the host.
func (s Store) shippedBy(src *os.Root) (map[string]kind, error) {
	shipped := map[string]kind{}
	return shipped, fs.WalkDir(src.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		what := file
		switch {
		case d.IsDir():
			what = directory
		case d.Type() == fs.ModeSymlink:
			what = link
		}
		shipped[filepath.Join(s.Root, name)] = what
		return nil
	})
}

// plan adds to the manifest what will come to the host, after it has kept what
// is there now.
func (s Store) plan(shipped map[string]kind, m manifest) error {
	for path, what := range shipped {
		if _, known := m.Files[path]; known {
			continue
		}
		if what == directory {
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
				m.Files[path] = entry{Kind: directory}
			}
			continue
		}
		original, err := s.keep(path, what)
		if err != nil {
			return err
		}
		m.Files[path] = entry{Kind: what, Original: original}
	}
	return nil
}

// keep makes a copy of the file at path, if there is one, and returns its name.
func (s Store) keep(path string, what kind) (original string, err error) {
	if what == file {
		path = destination(path)
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		// The copy will refuse that, and say so better.
		return "", nil
	}
	sum := sha256.Sum256([]byte(path))
	original = filepath.Join(originals, hex.EncodeToString(sum[:]))
	return original, hostfs.Clone(path, filepath.Join(s.Dir, original))
}

// destination is the file that a copy to path ends up in: if the host has a
// link there, the link stays and its target gets the content.
func destination(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// drop undoes the entries that match, the longest paths first so that
// directories are empty when their turn comes.
func (s Store) drop(m manifest, matches func(path string) bool) error {
	before := len(m.Files)
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(m.Files))) {
		if !matches(path) {
			continue
		}
		if err := s.undo(path, m.Files[path]); err != nil {
			return err
		}
		delete(m.Files, path)
	}
	if len(m.Files) < before {
		if err := s.write(m); err != nil {
			return err
		}
	}
	return s.sweep(m)
}

// sweep removes the copies that the manifest does not name, or not any more.
func (s Store) sweep(m manifest) error {
	dir := filepath.Join(s.Dir, originals)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, e := range m.Files {
		named[e.Original] = true
	}
	for _, entry := range entries {
		original := filepath.Join(originals, entry.Name())
		if named[original] {
			continue
		}
		if err := hostfs.Remove(filepath.Join(s.Dir, original)); err != nil {
			return err
		}
	}
	return hostfs.RemoveEmpty(dir)
}

func (s Store) undo(path string, e entry) error {
	info, err := os.Lstat(path)
	switch {
	case e.Kind == directory:
		return hostfs.RemoveEmpty(path)
	case err == nil && info.IsDir():
		// Someone has put a directory there since; it is theirs.
		return nil
	case e.Original == "":
		return hostfs.Remove(path)
	}
	original := filepath.Join(s.Dir, e.Original)
	kept, err := os.Lstat(original)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("bring back what the package replaced at %s: its copy %s is gone; put the file back by hand and take its entry out of %s",
			path, original, s.manifestPath())
	}
	if err != nil {
		return err
	}
	if e.Kind == file && kept.Mode().IsRegular() {
		path = destination(path)
	}
	return hostfs.Clone(original, path)
}
