package rootdir

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// neighbour is another package of the Skyhook that ships files as well. Two
// packages made from one image ship the same.
type neighbour struct {
	store    Store
	manifest *manifest
	// living is false for a package that the Skyhook does not have any more.
	living bool
}

// neighbours are those whose manifest can be read, in a fixed order.
func (s Store) neighbours() ([]neighbour, error) {
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(s.Dir), "*", manifestFile))
	if err != nil {
		return nil, err
	}
	var all []neighbour
	for _, path := range paths {
		other := Store{Dir: filepath.Dir(path), Root: s.Root, Warn: s.Warn}
		if other.Dir == s.Dir {
			continue
		}
		m, err := other.read()
		if err != nil {
			return nil, err
		}
		living := s.Living == nil || slices.Contains(s.Living, filepath.Base(other.Dir))
		all = append(all, neighbour{other, m, living})
	}
	return all, nil
}

// ships reports whether one of the neighbours has put something at the path.
func ships(all []neighbour, path string) bool {
	return slices.ContainsFunc(all, func(n neighbour) bool { return n.manifest.Files[path].Kind != "" })
}

// needs reports whether the neighbour ships the path, or something below it.
func (n neighbour) needs(path string) bool {
	if ships([]neighbour{n}, path) {
		return true
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(n.manifest.Files)), func(other string) bool {
		return strings.HasPrefix(other, path+"/")
	})
}

// heir is the first living neighbour that needs a path, or nil.
func heir(all []neighbour, path string) *neighbour {
	for i := range all {
		if all[i].living && all[i].needs(path) {
			return &all[i]
		}
	}
	return nil
}

// inherit makes the neighbour the one to undo an entry of s: it gets what was
// there before both of them, and may find there what either has left.
func (n *neighbour) inherit(s Store, path string, e entry) error {
	own, known := n.manifest.Files[path]
	if !known {
		if e.Shared {
			return nil
		}
		own = entry{Kind: e.Kind, Through: e.Through, Theirs: e.Theirs}
	}
	own.Sums = union(own.Sums, e.Sums)
	if !e.Shared && own.Original == "" {
		own.Shared = false
		if own.Original = e.Original; e.Original != "" {
			own.Through = e.Through
			if err := n.store.clone(filepath.Join(s.Dir, e.Original), e.Original); err != nil {
				return err
			}
		}
	}
	n.manifest.Files[path] = own
	return n.store.write(n.manifest)
}
