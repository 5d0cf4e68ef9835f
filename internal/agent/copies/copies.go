// Package copies removes folders that earlier generations of a Skyhook have
// left on a host: copies of packages, and flags of interrupts.
//
// It goes by names alone and must not know what is in the folders.
package copies

import (
	"encoding/json"
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

// Store is the directory with the copies of one Skyhook's packages.
type Store struct {
	Dir string
	// Package is the name that the Skyhook gives the package.
	Package string
	// Inherited is the file that lists the copies which were there before this
	// agent first came. What they are used for is not known.
	Inherited string
}

// Collect removes the package's copies that the one at work supersedes, but
// those that are in use: the host may run programs in the copy that a step was
// last run from.
func (s Store) Collect(current string, inUse []string) error {
	inherited, err := s.inherited(current)
	if err != nil {
		return err
	}
	return s.collect(current, append(inherited, inUse...))
}

// CollectAll removes all copies that the one at work supersedes, after the
// package has left the host.
func (s Store) CollectAll(current string) error {
	return s.collect(current, nil)
}

func (s Store) collect(current string, keep []string) error {
	now, ok := ParseCopy(s.Package, current)
	if !ok {
		return nil
	}
	return collect(s.Dir, func(name string) bool {
		other, ok := ParseCopy(s.Package, name)
		return ok && name != current && now.supersedes(other) && !slices.Contains(keep, name)
	})
}

// inherited reads the list, or makes it. One that cannot be read is made anew:
// then too much is kept, not too little.
func (s Store) inherited(current string) ([]string, error) {
	names := []string{}
	raw, err := os.ReadFile(s.Inherited)
	if err == nil && json.Unmarshal(raw, &names) == nil && names != nil {
		return names, nil
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("list the copies of packages: %w", err)
	}
	names = []string{}
	for _, entry := range entries {
		if _, ok := ParseCopy(s.Package, entry.Name()); ok && entry.Name() != current {
			names = append(names, entry.Name())
		}
	}
	if raw, err = json.Marshal(names); err != nil {
		return nil, err
	}
	return names, hostfs.WriteFile(s.Inherited, raw, 0o644)
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
