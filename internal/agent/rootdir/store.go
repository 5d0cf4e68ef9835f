package rootdir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// Store is the directory for what one package of a Skyhook leaves on a host,
// beside those of the Skyhook's other packages.
type Store struct {
	Dir string
	// Root is the host's root directory; "/" for a process that is in it.
	Root string
	// Living are the names of the Skyhook's packages. Others that once were
	// there, and left without an uninstall, do not count; nil lets all count.
	Living []string
	// Copies are the folders with what versions of the package ship.
	Copies []string
	// Warn gets a sentence about each file that was not taken back, and why.
	Warn func(format string, args ...any)
	// Holder is what the Skyhook's other packages read while they wait for this
	// one. Busy gets what this one reads before it waits for them.
	Holder string
	Busy   func(other string)
}

// Install makes the host have the files in src, and no more of those that
// earlier calls put there: what was replaced by them comes back. From then on
// the package is at work, until Settle.
func (s Store) Install(ctx context.Context, src *os.Root) error {
	shipped, err := s.shippedBy(src)
	if err != nil {
		return err
	}
	return s.change(ctx, func(m *manifest, others []neighbour) error {
		if err := s.begin(m, others); err != nil {
			return err
		}
		stale := func(path string) bool { return shipped[path].kind != m.Files[path].Kind }
		if err := s.drop(m, others, stale); err != nil {
			return err
		}
		if err := s.plan(shipped, m, others); err != nil {
			return err
		}
		if err := s.write(m); err != nil {
			return err
		}
		return hostfs.CopyTree(src, s.Root)
	})
}

// Remove takes away all that Install has put on the host, and brings back what
// was there before. What others have changed since stays.
func (s Store) Remove(ctx context.Context) error {
	return s.unlessEmpty(ctx, func(m *manifest, others []neighbour) error {
		if err := s.begin(m, others); err != nil {
			return err
		}
		return s.drop(m, others, func(string) bool { return true })
	})
}

// unlessEmpty is change for a package that has put something on the host.
func (s Store) unlessEmpty(ctx context.Context, do func(m *manifest, others []neighbour) error) error {
	if _, err := os.Lstat(s.manifestPath()); errors.Is(err, fs.ErrNotExist) {
		return nil // as for most packages
	}
	return s.change(ctx, do)
}

// change keeps the neighbours from changing their manifests and files
// meanwhile. Files as well, however long their copy takes: what is noted of
// them, such as where a link leads and what a path replaces, has to be true
// when they come. The wait for a neighbour ends with ctx, as a
// [hostfs.BusyError].
func (s Store) change(ctx context.Context, do func(m *manifest, others []neighbour) error) error {
	lock, err := hostfs.AwaitLock(ctx, hostfs.DirLock(filepath.Dir(s.Dir)), s.Holder, func(other string) {
		if s.Busy != nil {
			s.Busy(other)
		}
	})
	if err != nil {
		return err
	}
	defer lock.Release()
	m, err := s.read()
	if err != nil {
		return err
	}
	others, err := s.neighbours()
	if err != nil {
		return err
	}
	return do(m, others)
}

// shipment is what a package ships at a path.
type shipment struct {
	kind kind
	sum  string
}

// shippedBy lists what is in src, by path on the host.
func (s Store) shippedBy(src *os.Root) (map[string]shipment, error) {
	shipped := map[string]shipment{}
	return shipped, hostfs.Walk(src, func(name string, d fs.DirEntry) (err error) {
		what := shipment{kind: file}
		switch {
		case d.IsDir():
			what.kind = directory
		case d.Type() == fs.ModeSymlink:
			what.kind = link
			var target string
			if target, err = src.Readlink(name); err == nil {
				what.sum = sumOfLink(target)
			}
		case d.Type().IsRegular():
			what.sum, err = sumOfFile(src.Open(name))
		}
		shipped[filepath.Join(s.Root, name)] = what
		return err
	})
}

// plan adds to the manifest what will come to the host, after it has kept what
// is there now.
func (s Store) plan(shipped map[string]shipment, m *manifest, others []neighbour) error {
	for path, what := range shipped {
		e, known := m.Files[path]
		if what.kind == directory {
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && !known {
				m.Files[path] = entry{Kind: directory}
			}
			continue
		}
		if what.kind == file && hostfs.Masked(path) {
			continue
		}
		var err error
		switch {
		case known && e.Theirs:
			e, err = s.renew(path, e, m)
		case !known && ships(others, path):
			e = entry{Kind: what.kind, Shared: true}
		case !known:
			e, err = s.keep(path, what.kind, m)
		}
		if err != nil {
			return err
		}
		e.Sums = union(e.Sums, []string{what.sum})
		m.Files[path] = e
	}
	return nil
}

// keep makes a copy of the file at path, if there is one.
func (s Store) keep(path string, what kind, m *manifest) (entry, error) {
	e := entry{Kind: what}
	where := path
	if what == file {
		where = hostfs.Destination(path)
		e.Through = isLink(path)
	}
	info, err := os.Lstat(where)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	if info.IsDir() {
		// The copy will refuse that, and say so better.
		return e, nil
	}
	sum := sha256.Sum256([]byte(where))
	e.Original = filepath.Join(originals, hex.EncodeToString(sum[:]))
	if m.names(e.Original) {
		// Another path leads to the same file, which is ours already.
		return e, nil
	}
	return e, s.clone(where, e.Original)
}

// clone puts a copy below the store's directory, where only root can reach it:
// it may be a program that people must not be able to run any more.
func (s Store) clone(from, original string) error {
	if err := hostfs.MkdirAll(filepath.Join(s.Dir, originals)); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(s.Dir, originals), 0o700); err != nil {
		return err
	}
	return hostfs.Clone(from, filepath.Join(s.Dir, original))
}

func (m *manifest) names(original string) bool {
	for _, e := range m.Files {
		if e.Original == original {
			return true
		}
	}
	return false
}

// drop undoes the entries that match, the longest paths first so that
// directories are empty when their turn comes.
func (s Store) drop(m *manifest, others []neighbour, matches func(path string) bool) error {
	before := len(m.Files)
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(m.Files))) {
		if !matches(path) {
			continue
		}
		var err error
		if next := heir(others, path); next != nil {
			err = next.inherit(s, path, m.Files[path])
		} else if e := m.Files[path]; e.Shared && !ships(others, path) {
			// The other package has put back what was there before both.
		} else {
			err = s.undo(path, e)
		}
		if err != nil {
			// What is undone must not be undone again: it may be others' by then.
			return errors.Join(err, s.write(m))
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
func (s Store) sweep(m *manifest) error {
	dir := filepath.Join(s.Dir, originals)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if original := filepath.Join(originals, entry.Name()); !m.names(original) {
			if err := hostfs.Remove(filepath.Join(s.Dir, original)); err != nil {
				return err
			}
		}
	}
	return hostfs.RemoveEmpty(dir)
}
