package rootdir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// KeptDir is the directory for files that nobody must lose, and that have no
// place on the host any more. They are people's to remove.
const KeptDir = "kept"

// keptName is where a file of the path is kept first; by its last element, which
// says most, and short enough for any file system.
func (f Files) keptName(path string) string {
	sum := sha256.Sum256([]byte(path))
	name := filepath.Base(path)
	return filepath.Join(f.Dir, KeptDir, name[:min(len(name), 200)]+"-"+hex.EncodeToString(sum[:4]))
}

// keptPlace is where something with this sum is to be kept, or is already. What
// was kept before under the same name stays.
func keptPlace(name, sum string) (string, error) {
	place := name
	for n := 2; ; n++ {
		there, err := sumOf(place, false)
		if err != nil || there == nothing || there == sum {
			return place, err
		}
		place = fmt.Sprintf("%s.%d", name, n)
	}
}

// lastKept is what was kept last under the name; empty if nothing was.
func lastKept(name string) (last string) {
	for place, n := name, 2; ; n++ {
		if _, err := os.Lstat(place); err != nil {
			return last
		}
		last, place = place, fmt.Sprintf("%s.%d", name, n)
	}
}

func (f Files) makeKeptDir() error {
	dir := filepath.Join(f.Dir, KeptDir)
	if err := hostfs.MkdirAll(dir); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// leave leaves at the path what others have put there, and keeps what was
// there before the package.
func (f Files) leave(path string, e entry, cause string) error {
	if e.Original == "" {
		f.warn("%q stays as it is: %s. Remove it if nothing needs it", path, cause)
		return nil
	}
	kept, err := f.keepOriginal(path, filepath.Join(f.Dir, e.Original))
	switch {
	case err != nil:
		return fmt.Errorf("keep what the package replaced at %q: %w", path, err)
	case kept == "":
		f.warn("%q stays as it is: %s; what was there before the package is lost", path, cause)
	default:
		f.warn("%q stays as it is: %s; what was there before the package is kept in %q", path, cause, kept)
	}
	return nil
}

// keepOriginal moves the copy of what was at the path to where nothing of the
// agent removes it, and returns that; empty if there is no copy.
func (f Files) keepOriginal(path, original string) (kept string, err error) {
	sum, err := sumOf(original, false)
	if err != nil {
		return "", err
	}
	if sum == nothing {
		// An agent that was killed may have moved it already.
		return lastKept(f.keptName(path)), nil
	}
	if err := f.makeKeptDir(); err != nil {
		return "", err
	}
	if kept, err = keptPlace(f.keptName(path), sum); err != nil {
		return "", err
	}
	return kept, hostfs.Rename(original, kept)
}

// changed is the cause of most files that stay.
const changed = "it was changed after the package had put its file there"

// renew takes what others have made of a file for what the host has without
// the package.
func (f Files) renew(path string, e entry, m *manifest) (entry, error) {
	e.Theirs = false
	if sum, err := sumOf(path, e.Through); err != nil || sum == other {
		return e, err // the copy will refuse that, and say so better
	}
	f.warn("%q gets the package's file again, though %s; without the package the changed file will come back",
		path, changed)
	delete(m.Files, path)
	return f.keep(path, e.Kind, m)
}

func (f Files) warn(format string, args ...any) {
	if f.Warn != nil {
		f.Warn(format, args...)
	}
}
