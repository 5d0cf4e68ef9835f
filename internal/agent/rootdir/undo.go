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

// undo takes one path back. What someone has put there instead of a file, a
// directory or a link, is theirs and stays.
func (f Files) undo(path string, e entry) error {
	err := f.takeBack(path, e)
	if errors.Is(err, syscall.EBUSY) {
		return f.leave(path, e, "something is mounted there, and what is mounted is never removed")
	}
	return err
}

func (f Files) takeBack(path string, e entry) error {
	if e.Kind == directory {
		return hostfs.RemoveEmpty(path)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return f.leave(path, e, "a directory above it is something else now")
	case err == nil && !isLink(path) && !info.Mode().IsRegular():
		return f.leave(path, e, "it is no file any more")
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
		return fmt.Errorf("bring back what the package replaced at %s: its copy %s is gone; put the file back by hand and take its entry out of %s",
			path, original, f.manifestPath())
	}
	if err != nil {
		return err
	}
	if e.Through && isLink(path) {
		if hostfs.Masked(path) {
			return f.leave(path, e, "it is turned off")
		}
		path = hostfs.Destination(path)
	}
	return hostfs.Clone(original, path)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}
