package rootdir

import (
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

// Files are those that one package of a Skyhook has put on a host.
type Files struct {
	// Dir is for what the package leaves on the host, called after it and beside
	// those of the Skyhook's other packages.
	Dir string
	// Root is the host's root directory; "/" for a process that is in it.
	Root string
	// Living are the names of the Skyhook's packages. The files of others that
	// once were there, and left without an uninstall, count as the host's own;
	// nil lets all count.
	Living []string
	// Warn gets a sentence about each file that was not taken back, and why.
	Warn func(format string, args ...any)
}

// Install makes the host have the files in src, and no more of those that
// earlier calls put there: what was replaced by them comes back. From then on
// the package is at work, until Settle. A path that another package of the
// Skyhook has put on the host is refused before anything is written.
func (f Files) Install(src *os.Root) error {
	shipped, err := f.shippedBy(src)
	if err != nil {
		return err
	}
	err = f.change(func(m *manifest, others []neighbour) error {
		if err := f.refuse(shipped, others); err != nil {
			return err
		}
		if err := f.begin(m); err != nil {
			return err
		}
		stale := func(path string) bool { return shipped[path].kind != m.Files[path].Kind }
		if err := f.drop(m, others, stale); err != nil {
			return err
		}
		if err := f.plan(shipped, m, others); err != nil {
			return err
		}
		return f.write(m)
	})
	if err != nil {
		return err
	}
	return hostfs.CopyTree(src, f.Root)
}

// Remove takes away all that Install has put on the host, and brings back what
// was there before. What others have changed since stays.
func (f Files) Remove() error {
	if !f.any() {
		return nil
	}
	return f.change(func(m *manifest, others []neighbour) error {
		if err := f.begin(m); err != nil {
			return err
		}
		return f.drop(m, others, func(string) bool { return true })
	})
}

// any reports whether the package has put something on the host; most have not.
func (f Files) any() bool {
	_, err := os.Lstat(f.manifestPath())
	return !errors.Is(err, fs.ErrNotExist)
}

// change keeps the Skyhook's other packages from changing their manifests
// meanwhile: of two that ship one path, one has to see the other's.
func (f Files) change(do func(m *manifest, others []neighbour) error) error {
	unlock, err := hostfs.Lock(filepath.Dir(f.Dir))
	if err != nil {
		return err
	}
	defer unlock()
	others, err := f.neighbours()
	if err != nil {
		return err
	}
	m, err := f.read()
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
func (f Files) shippedBy(src *os.Root) (map[string]shipment, error) {
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
		shipped[filepath.Join(f.Root, name)] = what
		return err
	})
}

// plan adds to the manifest what will come to the host, after it has kept what
// is there now.
func (f Files) plan(shipped map[string]shipment, m *manifest, others []neighbour) error {
	for path, what := range shipped {
		e, known := m.Files[path]
		if what.kind == directory {
			// One that is there may be another package's; the last one removes it.
			if _, err := os.Lstat(path); !known && (errors.Is(err, fs.ErrNotExist) || madeByAny(others, path)) {
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
			e, err = f.renew(path, e, m)
		case !known:
			e, err = f.keep(path, what.kind, m)
		}
		if err != nil {
			return err
		}
		if !slices.Contains(e.Sums, what.sum) {
			e.Sums = append(slices.Clone(e.Sums), what.sum)
			slices.Sort(e.Sums)
		}
		m.Files[path] = e
	}
	return nil
}

// keep makes a copy of the file at path, if there is one.
func (f Files) keep(path string, what kind, m *manifest) (entry, error) {
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
	return e, f.clone(where, e.Original)
}

// clone puts a copy below the store's directory, where only root can reach it:
// it may be a program that people must not be able to run any more.
func (f Files) clone(from, original string) error {
	if err := hostfs.MkdirAll(filepath.Join(f.Dir, originals)); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(f.Dir, originals), 0o700); err != nil {
		return err
	}
	return hostfs.Clone(from, filepath.Join(f.Dir, original))
}

func (m *manifest) names(original string) bool {
	for _, e := range m.Files {
		if e.Original == original {
			return true
		}
	}
	return false
}

// drop restores the paths that match, the longest paths first so that
// directories are empty when their turn comes.
func (f Files) drop(m *manifest, others []neighbour, matches func(path string) bool) error {
	before := len(m.Files)
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(m.Files))) {
		if !matches(path) {
			continue
		}
		e := m.Files[path]
		if e.Kind == directory && madeByAny(others, path) {
			delete(m.Files, path)
			continue
		}
		if err := f.restore(path, e); err != nil {
			// What is restored must not be restored again: it may be others' by then.
			return errors.Join(err, f.write(m))
		}
		delete(m.Files, path)
	}
	if len(m.Files) < before {
		if err := f.write(m); err != nil {
			return err
		}
	}
	return f.sweep(m)
}

// sweep removes the copies that the manifest does not name, or not any more.
func (f Files) sweep(m *manifest) error {
	dir := filepath.Join(f.Dir, originals)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if original := filepath.Join(originals, entry.Name()); !m.names(original) {
			if err := hostfs.Remove(filepath.Join(f.Dir, original)); err != nil {
				return err
			}
		}
	}
	return hostfs.RemoveEmpty(dir)
}
