package rootdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// kind is what a package ships at a path.
type kind string

const (
	directory kind = "dir"
	file      kind = "file"
	link      kind = "link"
)

// entry is one path that came from the package. A directory has none if it was
// there before.
type entry struct {
	Kind kind `json:"kind"`
	// Original names the copy of what was there before, below the store's
	// directory; empty if nothing was.
	Original string `json:"original,omitempty"`
	// Through says that the host has a link at the path, and the file is where
	// that leads.
	Through bool `json:"through,omitempty"`
	// Sums say what the package has left at the path.
	Sums []string `json:"sums,omitempty"`
	// Theirs says that someone else has changed what is at the path since.
	Theirs bool `json:"theirs,omitempty"`
}

// manifest holds the entries by path on the host.
type manifest struct {
	Files map[string]entry
	// Working says that the agent or a step of the package is at work, or was
	// when it was killed: what changes meanwhile is their doing.
	Working bool
}

// written is the form of a manifest in its file.
type written struct {
	Files map[string]entry `json:"files"`
	// Escaped has the paths that JSON cannot hold, since they are not UTF-8,
	// as in the path of a URL.
	Escaped map[string]entry `json:"escaped,omitempty"`
	Working bool             `json:"working,omitempty"`
}

func (m *manifest) encode() ([]byte, error) {
	w := written{Files: map[string]entry{}, Escaped: map[string]entry{}, Working: m.Working}
	for path, e := range m.Files {
		if utf8.ValidString(path) {
			w.Files[path] = e
		} else {
			w.Escaped[url.PathEscape(path)] = e
		}
	}
	return json.MarshalIndent(w, "", "  ")
}

func decode(raw []byte) (*manifest, error) {
	var w written
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, err
	}
	if w.Files == nil {
		return nil, errors.New("it has no files")
	}
	m := &manifest{Files: w.Files, Working: w.Working}
	for escaped, e := range w.Escaped {
		path, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, err
		}
		m.Files[path] = e
	}
	return m, nil
}

const (
	manifestFile = "root_dir.json"
	// originals is the directory for copies of what was replaced.
	originals = "originals"
)

func (f Files) manifestPath() string { return filepath.Join(f.Dir, manifestFile) }

// read is empty for a host that has no manifest. An unreadable one is set
// aside with the originals: it must not hold up the package for ever.
func (f Files) read() (*manifest, error) {
	empty := &manifest{Files: map[string]entry{}}
	raw, err := os.ReadFile(f.manifestPath())
	if errors.Is(err, os.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("read which files came from the package: %w", err)
	}
	m, err := decode(raw)
	if err == nil {
		return m, nil
	}
	cause, kept := err, filepath.Join(f.Dir, KeptDir)
	if err := f.makeKeptDir(); err != nil {
		return empty, fmt.Errorf("move the unreadable %s to %s: %w", f.manifestPath(), kept, err)
	}
	for _, name := range []string{originals, manifestFile} {
		if err := setAside(filepath.Join(f.Dir, name), filepath.Join(kept, name)); err != nil {
			return empty, fmt.Errorf("move the unreadable %s to %s: %w", f.manifestPath(), kept, err)
		}
	}
	f.warn("%q cannot be read (%v), so the agent no longer knows which files the package has put on the host: they "+
		"stay, remove by hand those "+
		"that nothing needs. The list is kept in %q, with what the files had replaced", f.manifestPath(), cause, kept)
	return empty, nil
}

// setAside renames what is there, and leaves alone what was kept before.
func setAside(path, name string) error {
	place, err := keptPlace(name, nothing)
	if err != nil {
		return err
	}
	if err := hostfs.Rename(path, place); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (f Files) write(m *manifest) error {
	if len(m.Files) == 0 {
		return hostfs.Remove(f.manifestPath())
	}
	raw, err := m.encode()
	if err != nil {
		return err
	}
	return hostfs.WriteFile(f.manifestPath(), raw, 0o600)
}
