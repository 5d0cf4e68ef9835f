package hostroot

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Snapshot is all that is in some folders, by path: modes and owners, with the targets of links and the content of files.
func (h *Host) Snapshot(dirs ...string) map[string]string {
	h.T.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(h.Path(dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			all[strings.TrimPrefix(path, h.Root)], err = describe(path, entry, dir == "/proc")
			return err
		})
		if !errors.Is(err, fs.ErrNotExist) {
			h.Must(err)
		}
	}
	return all
}

func describe(path string, entry fs.DirEntry, kernel bool) (string, error) {
	info, err := entry.Info()
	if err != nil {
		return "", err
	}
	stat := info.Sys().(*syscall.Stat_t)
	text := fmt.Sprintf("%v %d:%d\n", info.Mode(), stat.Uid, stat.Gid)
	if entry.Type() == fs.ModeSymlink {
		target, err := os.Readlink(path)
		return text + target, err
	}
	if !entry.Type().IsRegular() {
		return text, nil
	}
	raw, err := os.ReadFile(path)
	if kernel { // which has blanks or tabs between words
		raw = []byte(strings.Join(strings.Fields(string(raw)), " "))
	}
	return text + string(raw), err
}

// ExpectSnapshot names what is not as it was.
func (h *Host) ExpectSnapshot(want map[string]string, dirs ...string) {
	h.T.Helper()
	got := h.Snapshot(dirs...)
	names := slices.AppendSeq(slices.Collect(maps.Keys(want)), maps.Keys(got))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, before := want[name]
		if is, now := got[name]; is != was || now != before {
			h.T.Errorf("%s: got %q (there: %v), want %q (there: %v)", name, is, now, was, before)
		}
	}
}
