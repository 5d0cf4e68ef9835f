package rootdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// restore takes away what the package has put at one path, and brings back what
// was there before. What someone has put there instead of a file, a directory
// or a link, is theirs and stays.
func (f Files) restore(path string, e entry) error {
	err := f.restorePath(path, e)
	if errors.Is(err, syscall.EBUSY) {
		return f.leave(path, e, "something is mounted there, and what is mounted is never removed")
	}
	return err
}

func (f Files) restorePath(path string, e entry) error {
	if e.Kind == directory {
		return hostfs.RemoveEmpty(path)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return f.leave(path, e, "a directory above it is something else now")
	case err == nil && !isLink(path) && !info.Mode().IsRegular():
		return f.leave(path, e, "it is no longer a file")
	case e.Kind == file && isLink(path) && !e.Through:
		return f.leave(path, e, "it is a link now")
	case e.Theirs:
		return f.leave(path, e, changed)
	case e.Original == "":
		return hostfs.Remove(path)
	}
	original := filepath.Join(f.Dir, e.Original)
	_, err = os.Lstat(original)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restore what the package replaced at %s: its copy %s is gone; put the file back by hand, "+
			"then remove its entry from %s",
			path, original, f.manifestPath())
	}
	if err != nil {
		return err
	}
	if e.Through && isLink(path) {
		if hostfs.Masked(path) {
			return f.leave(path, e, "it is masked")
		}
		path = hostfs.Destination(path)
	}
	return hostfs.Clone(original, path)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}
