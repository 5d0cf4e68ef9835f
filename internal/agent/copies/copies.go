// Package copies removes folders that earlier generations of a Skyhook have
// left on a host: copies of packages, and flags of interrupts.
//
// It goes by names alone and must not know what is in the folders.
package copies

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
)

// Generation is one state of one Skyhook's spec.
type Generation struct {
	// UID is that of the Skyhook.
	UID string
	// Number is the Skyhook's generation.
	Number int64
}

// supersedes reports whether nothing needs other's folders any more once this
// generation is at work: they are older, or of a Skyhook that was deleted.
func (g Generation) supersedes(other Generation) bool {
	return g.UID != other.UID || g.Number > other.Number
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

// ParseCopy reads the name of a package's copy.
func ParseCopy(pkg, name string) (g Generation, ok bool) {
	rest, ours := strings.CutPrefix(name, pkg+"-")
	parts := copyName.FindStringSubmatch(rest)
	if !ours || parts == nil {
		return g, false
	}
	return newGeneration(parts[2], parts[3])
}

// ParseResource reads a resource id.
func ParseResource(id string) (pkg string, g Generation, ok bool) {
	parts := resourceID.FindStringSubmatch(id)
	if parts == nil {
		return "", g, false
	}
	g, ok = newGeneration(parts[2], parts[3])
	return parts[4], g, ok
}

func newGeneration(uid, number string) (Generation, bool) {
	n, err := strconv.ParseInt(number, 10, 64)
	return Generation{uid, n}, err == nil
}

// usedFile is in each copy that this agent has worked from. What agents that
// leave no such file have run from a copy is not known.
const usedFile = ".skyhook-used"

// Use notes that this agent works from the copy.
func Use(dir string) error {
	path := filepath.Join(dir, usedFile)
	if exists(path) {
		return nil
	}
	return hostfs.WriteFile(path, nil, 0o644)
}

// Store is the directory with the copies of one Skyhook's packages.
type Store struct {
	Dir string
	// Package is the name that the Skyhook gives the package.
	Package string
}

// Collect removes the package's copies that the one at work supersedes, but
// those of the generation before, those that this agent does not know, and
// those that a step was last run from: the host may run programs in them. For
// each step, ranFrom has the copies that its versions were last run from.
func (s Store) Collect(current string, ranFrom map[string][]string) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("list the copies of packages: %w", err)
	}
	var before []string
	for _, entry := range entries {
		if s.supersedes(current, entry.Name()) {
			before = append(before, entry.Name())
		}
	}
	keep := s.newest(current, before)
	for _, folders := range ranFrom {
		keep = append(keep, s.newest(current, folders)...)
	}
	return s.collect(current, func(name string) bool {
		return slices.Contains(keep, name) || !exists(filepath.Join(s.Dir, name, usedFile))
	})
}

// newest are those copies that none of the others supersedes. Those of Skyhooks
// that were deleted are older than the present one's; which of two came later
// does not show.
func (s Store) newest(current string, names []string) []string {
	now, _ := ParseCopy(s.Package, current)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		g, ok := ParseCopy(s.Package, name)
		return !ok || slices.ContainsFunc(names, func(other string) bool {
			later, ok := ParseCopy(s.Package, other)
			return ok && (later.UID == now.UID || later.UID == g.UID) && later.supersedes(g)
		})
	})
}

// CollectAll removes all copies that the one at work supersedes, after the
// package has left the host.
func (s Store) CollectAll(current string) error {
	return s.collect(current, func(string) bool { return false })
}

func (s Store) collect(current string, stays func(name string) bool) error {
	return collect(s.Dir, func(name string) bool { return s.supersedes(current, name) && !stays(name) })
}

func (s Store) supersedes(current, name string) bool {
	now, ok := ParseCopy(s.Package, current)
	other, too := ParseCopy(s.Package, name)
	return ok && too && name != current && now.supersedes(other)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// CollectFlags removes the folders of interrupt flags that a resource id
// supersedes.
func CollectFlags(dir, current string) error {
	pkg, now, ok := ParseResource(current)
	if !ok {
		return nil
	}
	return collect(dir, func(name string) bool {
		other, generation, ok := ParseResource(name)
		return ok && other == pkg && now.supersedes(generation)
	})
}

func collect(dir string, superseded func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove what earlier generations left: %w", err)
	}
	var failures []error
	for _, entry := range entries {
		if entry.IsDir() && superseded(entry.Name()) {
			// One that cannot go does not keep the others.
			failures = append(failures, hostfs.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(failures...)
}
