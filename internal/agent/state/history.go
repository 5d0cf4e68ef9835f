package state

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
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const (
	// Unknown is the version before the first one on record.
	Unknown = "unknown"
	// Uninstalled is recorded in place of a version after an uninstall.
	Uninstalled = "uninstalled"

	// maxInstalls bounds a file that would otherwise grow with every upgrade.
	maxInstalls = 50

	timeFormat = "2006-01-02T15:04:05.000000+00:00"
)

// install is one version in a history.
type install struct {
	Version string `json:"version"`
	Time    string `json:"time"`
	// Package is empty in what agents in the field have written.
	Package string `json:"package"`
}

// history is the content of a history file, the newest version first.
type history struct {
	Current  *string   `json:"current-version"`
	Installs []install `json:"history"`
}

// History is the file with the versions of a package that were installed.
func (d Dir) History(pkg *packagefile.Package) string {
	return filepath.Join(d.Path, "history", pkg.Name+".json")
}

// Installed is the version of the package that is installed now: [Uninstalled]
// after an uninstall, [Unknown] without a readable history. An unreadable one
// is renamed.
func (d Dir) Installed(pkg *packagefile.Package) (string, error) {
	h, err := d.readHistory(pkg)
	if err != nil {
		return Unknown, err
	}
	return h.versionOf(d.Package), nil
}

// versionOf is the newest version of a package, by an entry that names it or,
// written by an older agent, names none.
func (h history) versionOf(name string) string {
	if h.Current == nil {
		return Unknown
	}
	if name == "" || len(h.Installs) == 0 {
		return *h.Current
	}
	if at := h.find(name); at >= 0 {
		return h.Installs[at].Version
	}
	return Unknown
}

func (h history) find(name string) int {
	return slices.IndexFunc(h.Installs, func(i install) bool {
		return name == "" || i.Package == "" || i.Package == name
	})
}

// RecordInstalled notes that version is the installed one now, or that none is
// if it is [Uninstalled]. Recording the same version again changes nothing.
func (d Dir) RecordInstalled(pkg *packagefile.Package, version string, now time.Time) error {
	unlock, err := hostfs.Lock(filepath.Dir(d.History(pkg)))
	if err != nil {
		return fmt.Errorf("record the version of %s: %w", pkg.Name, err)
	}
	defer unlock()
	h, err := d.readHistory(pkg)
	if err != nil {
		return err
	}
	if at := h.find(d.Package); at >= 0 && h.Installs[at].Version == version && h.Installs[at].Package == d.Package {
		return nil
	}
	installs := slices.Insert(h.Installs, 0, install{version, now.UTC().Format(timeFormat), d.Package})
	h = history{Current: &version, Installs: installs[:min(len(installs), maxInstalls)]}
	return hostfs.WriteFile(d.History(pkg), h.encode(), 0o644)
}

func (d Dir) readHistory(pkg *packagefile.Package) (history, error) {
	path := d.History(pkg)
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return history{}, nil
	}
	if err != nil {
		return history{}, fmt.Errorf("read the history of %s: %w", pkg.Name, err)
	}
	var h history
	if err := json.Unmarshal(raw, &h); err == nil && h.Current != nil {
		return h, nil
	}
	backup := path + ".backup"
	if err := hostfs.Rename(path, backup); err != nil {
		return history{}, fmt.Errorf("rename the unreadable history of %s: %w", pkg.Name, err)
	}
	d.warn("the history of %s cannot be read, so the version that was installed before counts as unknown. The file "+
		"is kept as %q", pkg.Name, backup)
	return history{}, nil
}

// encode writes the spacing that hosts in the field have.
func (h history) encode() []byte {
	installs := make([]string, len(h.Installs))
	for i := range h.Installs {
		installs[i] = h.Installs[i].encode()
	}
	return fmt.Appendf(nil, `{"current-version": %s, "history": [%s]}`, quote(*h.Current), strings.Join(installs, ", "))
}

func (i install) encode() string {
	text := fmt.Sprintf(`"version": %s, "time": %s`, quote(i.Version), quote(i.Time))
	if i.Package != "" {
		text += `, "package": ` + quote(i.Package)
	}
	return "{" + text + "}"
}

func quote(s string) string {
	// A string can always be encoded.
	quoted, _ := json.Marshal(s)
	return string(quoted)
}
