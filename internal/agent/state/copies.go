package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// generation is one generation of one Skyhook.
type generation struct {
	// uid is that of the Skyhook.
	uid    string
	number int64
}

// supersedes reports whether nothing needs other's folders any more once this
// generation is at work: they are older, or of a Skyhook that was deleted.
func (g generation) supersedes(other generation) bool {
	return g.uid != other.uid || g.number > other.number
}

const uidPattern = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

var (
	// copyName is what follows "<package>-" in the name of a package's copy:
	// "<version>-<uid>-<generation>". A version has a dot before any hyphen,
	// which keeps package "a" from taking the copies of "a-1" for its own.
	copyName = regexp.MustCompile(`^(\d+\.[0-9A-Za-z.+-]*)-(` + uidPattern + `)-(\d+)$`)
	// resourceID is "<skyhook>-<uid>-<generation>_<package>_<version>".
	resourceID = regexp.MustCompile(`^(.+)-(` + uidPattern + `)-(\d+)_([^_/]+)_([^_/]+)$`)
)

// parseCopy reads the name of a package's copy.
func parseCopy(pkg, name string) (g generation, ok bool) {
	rest, ours := strings.CutPrefix(name, pkg+"-")
	parts := copyName.FindStringSubmatch(rest)
	if !ours || parts == nil {
		return g, false
	}
	return newGeneration(parts[2], parts[3])
}

// parseResource reads a resource id.
func parseResource(id string) (pkg string, g generation, ok bool) {
	parts := resourceID.FindStringSubmatch(id)
	if parts == nil {
		return "", g, false
	}
	g, ok = newGeneration(parts[2], parts[3])
	return parts[4], g, ok
}

func newGeneration(uid, number string) (generation, bool) {
	n, err := strconv.ParseInt(number, 10, 64)
	return generation{uid, n}, err == nil
}

// usedFile is in each copy that this agent has worked from. What agents that
// leave no such file have run from a copy is not known.
const usedFile = ".skyhook-used"

// UseCopy notes that this agent works from the copy.
func UseCopy(dir string) error {
	path := filepath.Join(dir, usedFile)
	if exists(path) {
		return nil
	}
	return hostfs.WriteFile(path, nil, 0o644)
}

// RemoveOldCopies removes the package's copies that the one at work supersedes,
// but those of the generation before, those that this agent does not know, and
// those that a step was last run from: the host may run programs in them.
func (d Dir) RemoveOldCopies(pkg *packagefile.Package) error {
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return fmt.Errorf("list the copies of packages: %w", err)
	}
	copies, err := d.copiesOfSteps(pkg)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if d.isOld(entry.Name()) {
			copies[""] = append(copies[""], entry.Name())
		}
	}
	var keep []string
	for _, names := range copies {
		keep = append(keep, d.newest(names)...)
	}
	return removeFolders(d.Path, func(name string) bool {
		return d.isOld(name) && !slices.Contains(keep, name) && exists(filepath.Join(d.Path, name, usedFile))
	})
}

// RemoveAllCopies removes all copies that the one at work supersedes, after the
// package was uninstalled.
func (d Dir) RemoveAllCopies() error { return removeFolders(d.Path, d.isOld) }

// newest are those copies that none of the others supersedes. Those of Skyhooks
// that were deleted are older than the present one's; which of two came later
// does not show.
func (d Dir) newest(names []string) []string {
	now, _ := parseCopy(d.Package, d.Copy)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		g, ok := parseCopy(d.Package, name)
		return !ok || slices.ContainsFunc(names, func(other string) bool {
			later, ok := parseCopy(d.Package, other)
			return ok && (later.uid == now.uid || later.uid == g.uid) && later.supersedes(g)
		})
	})
}

// isOld tells of a folder that is a copy of the package which the one at work
// supersedes.
func (d Dir) isOld(name string) bool {
	now, ok := parseCopy(d.Package, d.Copy)
	other, too := parseCopy(d.Package, name)
	return ok && too && name != d.Copy && now.supersedes(other)
}

func removeFolders(dir string, old func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove what earlier generations left: %w", err)
	}
	var failures []error
	for _, entry := range entries {
		if entry.IsDir() && old(entry.Name()) {
			// One that cannot go does not keep the others.
			failures = append(failures, hostfs.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(failures...)
}
