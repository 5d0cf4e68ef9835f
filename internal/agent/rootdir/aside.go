package rootdir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// KeptDir is the directory for files that nobody must lose, and that have no
// place on the host any more. They are people's to remove.
const KeptDir = "kept"

// keptName is where a file of the path is kept; by its last element, which
// says most, and short enough for any file system.
func (s Store) keptName(path string) string {
	sum := sha256.Sum256([]byte(path))
	name := filepath.Base(path)
	return filepath.Join(s.Dir, KeptDir, name[:min(len(name), 200)]+"-"+hex.EncodeToString(sum[:4]))
}

func (s Store) makeKeptDir() error {
	dir := filepath.Join(s.Dir, KeptDir)
	if err := hostfs.MkdirAll(dir); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// leave leaves at the path what others have put there, and keeps what was
// there before the package.
func (s Store) leave(path string, e entry, cause string) error {
	original, kept := filepath.Join(s.Dir, e.Original), s.keptName(path)
	if e.Original == "" {
		s.warn("%q stays as it is: %s; remove it if nothing needs it", path, cause)
		return nil
	}
	if err := s.makeKeptDir(); err != nil {
		return err
	}
	err := hostfs.Rename(original, kept)
	if errors.Is(err, fs.ErrNotExist) {
		// An agent that was killed may have moved it already.
		_, err = os.Lstat(kept)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.warn("%q stays as it is: %s; what was there before the package is lost", path, cause)
	case err != nil:
		return fmt.Errorf("keep what the package replaced at %q: %w", path, err)
	default:
		s.warn("%q stays as it is: %s; what was there before the package is kept in %q", path, cause, kept)
	}
	return nil
}

// changed is the cause of most files that stay.
const changed = "it was changed after the package had put its file there"

// renew takes what others have made of a file for what the host has without
// the package. If that is not sure, or another package has the original, a
// copy is kept beside it.
func (s Store) renew(path string, e entry, m *manifest) (entry, error) {
	e.Theirs = false
	if sum, err := sumOf(path, e.Through); err != nil || sum == other {
		return e, err // the copy will refuse that, and say so better
	}
	if e.Shared || len(e.Sums) == 0 {
		if err := s.makeKeptDir(); err != nil {
			return e, err
		}
		kept := s.keptName(path)
		s.warn("%q gets the package's file again, though others may have changed it; what was there now is kept in %q", path, kept)
		return e, hostfs.Clone(hostfs.Destination(path), kept)
	}
	s.warn("%q gets the package's file again, though %s; without the package the changed file will come back", path, changed)
	delete(m.Files, path)
	return s.keep(path, e.Kind, m)
}

func (s Store) warn(format string, args ...any) {
	if s.Warn != nil {
		s.Warn(format, args...)
	}
}
