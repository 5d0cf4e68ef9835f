// Package state is what a host keeps for the agent from one run to the next:
// which steps have succeeded, which versions were installed, which commands of
// an interrupt are done, and which copies of a package are still needed.
//
// Names and content of files are those that hosts in the field already have, so
// that a new agent does not run their steps again. The package must not know
// how steps run.
package state

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// Dir is the directory with the state of one Skyhook on a host, as one package
// of it sees it.
type Dir struct {
	// Path is that of the directory.
	Path string
	// Package is the name that the Skyhook gives the package; empty if it is not
	// known. Packages made from one image share flags and histories, and each of
	// them is named in what it has written there.
	Package string
	// Copy is the name of the copy of the package that its steps run from.
	Copy string
	// Warn gets a sentence about what cannot be read.
	Warn func(format string, args ...any)
}

// Own is the directory with what only this agent keeps of the package, by the
// name that the Skyhook gives it: two packages made from one image do not share it.
func (d Dir) Own(pkg *packagefile.Package) string { return d.OwnOf(cmp.Or(d.Package, pkg.Name)) }

// OwnOf is the same by the name.
func (d Dir) OwnOf(name string) string { return filepath.Join(d.Path, "packages", name) }

// LockFile is locked while an agent works on the package. It is beside the
// package's own directory, which is emptied by an uninstall.
func (d Dir) LockFile(name string) string { return filepath.Join(d.Path, "packages", ".lock-"+name) }

// uninstalledFile names the copy that the package was uninstalled from. It is
// what remains of the package's own state, until the package comes back.
const uninstalledFile = "uninstalled"

// IsUninstalled reports whether the package was uninstalled from this copy: a
// host that reboots then runs all containers of the pod again, and the files
// that their steps may need are gone.
func (d Dir) IsUninstalled(pkg *packagefile.Package) bool {
	raw, err := os.ReadFile(filepath.Join(d.Own(pkg), uninstalledFile))
	return err == nil && string(raw) == d.Copy
}

// MarkUninstalled notes that the package is uninstalled from this copy.
func (d Dir) MarkUninstalled(pkg *packagefile.Package) error {
	return hostfs.WriteFile(filepath.Join(d.Own(pkg), uninstalledFile), []byte(d.Copy), 0o644)
}

// MarkInstalled takes that back.
func (d Dir) MarkInstalled(pkg *packagefile.Package) error {
	return hostfs.Remove(filepath.Join(d.Own(pkg), uninstalledFile))
}

// ForgetOwn empties the package's own directory after an uninstall, but for the
// mark of it and what is to stay.
func (d Dir) ForgetOwn(pkg *packagefile.Package, stays string) error {
	entries, err := os.ReadDir(d.Own(pkg))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == uninstalledFile || entry.Name() == stays {
			continue
		}
		var mounted *hostfs.MountedError
		if err := hostfs.RemoveAll(filepath.Join(d.Own(pkg), entry.Name())); errors.As(err, &mounted) {
			// The package itself is gone; this must not hold up its uninstall for ever.
			d.warn("a part of the package's state could not be removed: %v", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (d Dir) warn(format string, args ...any) {
	if d.Warn != nil {
		d.Warn(format, args...)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
