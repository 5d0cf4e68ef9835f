//go:build integration

package tuning_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// snapshot is what is below some folders, with modes and owners.
func (h *host) snapshot(dirs ...string) map[string]string {
	h.T.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(h.Path(dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			stat := info.Sys().(*syscall.Stat_t)
			text := fmt.Sprintf("%v %d:%d", info.Mode(), stat.Uid, stat.Gid)
			if info.Mode().IsRegular() {
				raw, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				if dir == "/proc" { // which has blanks or tabs between words
					raw = []byte(strings.Join(strings.Fields(string(raw)), " "))
				}
				text += "\n" + string(raw)
			}
			all[strings.TrimPrefix(path, h.Root)] = text
			return nil
		})
		h.Must(err)
	}
	return all
}

// expectSnapshot names what differs.
func (h *host) expectSnapshot(want map[string]string, dirs ...string) {
	h.T.Helper()
	got := h.snapshot(dirs...)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if text, ok := got[name]; !ok || text != want[name] {
			h.T.Errorf("%s: got %q, want %q", name, text, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			h.T.Errorf("%s is new: %q", name, got[name])
		}
	}
}
