// Package history keeps, on a host, which versions of a package were installed.
//
// The format is that of hosts in the field. It must not know about stages.
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

const (
	// Unknown is the version before the first one on record.
	Unknown = "unknown"
	// Uninstalled is recorded in place of a version after an uninstall.
	Uninstalled = "uninstalled"

	// maxEntries bounds a file that would otherwise grow with every upgrade.
	maxEntries = 50

	timeFormat = "2006-01-02T15:04:05.000000+00:00"
)

// Store is the directory with the histories of one Skyhook's packages.
type Store struct {
	Dir string
	// Package is the name that the Skyhook gives the package; empty if it is
	// not known. Packages made from one image share a file, and each entry
	// names the one it is about.
	Package string
	// Warn gets a sentence about a history that cannot be read.
	Warn func(format string, args ...any)
}

type entry struct {
	Version string `json:"version"`
	Time    string `json:"time"`
	// Package is empty in entries of agents in the field.
	Package string `json:"package"`
}

type record struct {
	Current *string `json:"current-version"`
	Entries []entry `json:"history"`
}

// Path is the history file of a package.
func (s Store) Path(name string) string { return filepath.Join(s.Dir, name+".json") }

// Current is the version of the package that is installed now: [Uninstalled]
// after an uninstall, [Unknown] without a readable history. An unreadable one
// is set aside beside the original.
func (s Store) Current(name string) (string, error) {
	r, err := s.read(name)
	if err != nil {
		return Unknown, err
	}
	return r.versionOf(s.Package), nil
}

// versionOf is the newest version of a package, by an entry that names it or,
// written by an older agent, names none.
func (r record) versionOf(pkg string) string {
	if r.Current == nil {
		return Unknown
	}
	if pkg == "" || len(r.Entries) == 0 {
		return *r.Current
	}
	for _, e := range r.Entries {
		if e.about(pkg) {
			return e.Version
		}
	}
	return Unknown
}

// has reports whether the newest entry about a package is this one.
func (r record) has(wanted entry) bool {
	at := slices.IndexFunc(r.Entries, func(e entry) bool { return e.about(wanted.Package) })
	return r.Current != nil && at >= 0 && r.Entries[at].Version == wanted.Version && r.Entries[at].Package == wanted.Package
}

// Record notes that version is the installed one now, or that none is if it is
// [Uninstalled]. Recording the same version again changes nothing.
func (s Store) Record(name, version string, now time.Time) error {
	unlock, err := hostfs.Lock(s.Dir)
	if err != nil {
		return fmt.Errorf("record the version of %s: %w", name, err)
	}
	defer unlock()
	r, err := s.read(name)
	if err != nil {
		return err
	}
	added := entry{version, now.UTC().Format(timeFormat), s.Package}
	if r.has(added) {
		return nil
	}
	entries := append([]entry{added}, r.Entries...)
	r = record{Current: &version, Entries: entries[:min(len(entries), maxEntries)]}
	return hostfs.WriteFile(s.Path(name), r.encode(), 0o644)
}

func (s Store) read(name string) (record, error) {
	path := s.Path(name)
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read the history of %s: %w", name, err)
	}
	var r record
	if err := json.Unmarshal(raw, &r); err == nil && r.Current != nil {
		return r, nil
	}
	aside := path + ".backup"
	if err := hostfs.Rename(path, aside); err != nil {
		return record{}, fmt.Errorf("set the unreadable history of %s aside: %w", name, err)
	}
	if s.Warn != nil {
		s.Warn("the history of %s cannot be read, so the version that was installed before counts as unknown; it is now %q", name, aside)
	}
	return record{}, nil
}

// encode writes the spacing that hosts in the field have.
func (r record) encode() []byte {
	entries := make([]string, len(r.Entries))
	for i, e := range r.Entries {
		entries[i] = e.encode()
	}
	return fmt.Appendf(nil, `{"current-version": %s, "history": [%s]}`, quote(*r.Current), strings.Join(entries, ", "))
}

func (e entry) encode() string {
	text := fmt.Sprintf(`"version": %s, "time": %s`, quote(e.Version), quote(e.Time))
	if e.Package != "" {
		text += `, "package": ` + quote(e.Package)
	}
	return "{" + text + "}"
}

func (e entry) about(pkg string) bool { return pkg == "" || e.Package == "" || e.Package == pkg }

func quote(s string) string {
	// A string can always be encoded.
	quoted, _ := json.Marshal(s)
	return string(quoted)
}
