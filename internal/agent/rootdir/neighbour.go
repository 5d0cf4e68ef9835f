package rootdir

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// neighbour is another package of the Skyhook that ships files as well. Two
// packages made from one image ship the same.
type neighbour struct {
	store    Store
	manifest manifest
}

// neighbours are those whose manifest can be read, in a fixed order.
func (s Store) neighbours() ([]neighbour, error) {
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(s.Dir), "*", manifestFile))
	if err != nil {
		return nil, err
	}
	var all []neighbour
	for _, path := range paths {
		other := Store{Dir: filepath.Dir(path), Root: s.Root}
		if other.Dir == s.Dir {
			continue
		}
		m, err := other.read()
		if err != nil {
			return nil, err
		}
		all = append(all, neighbour{other, m})
	}
	return all, nil
}

// needs reports whether the neighbour ships the path, or something below it.
func (n neighbour) needs(path string) bool {
	if _, ships := n.manifest.Files[path]; ships {
		return true
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(n.manifest.Files)), func(other string) bool {
		return strings.HasPrefix(other, path+"/")
	})
}

// heir is the first neighbour that needs a path, or nil.
func heir(all []neighbour, path string) *neighbour {
	for i := range all {
		if all[i].needs(path) {
			return &all[i]
		}
	}
	return nil
}

// inherit makes the neighbour the one to undo an entry of s: it gets what was
// there before both of them.
func (n *neighbour) inherit(s Store, path string, e entry) error {
	own, ships := n.manifest.Files[path]
	switch {
	case !ships:
		own = e
	case own.Original != "":
		return nil // from an earlier try
	}
	if own.Original = e.Original; e.Original != "" {
		own.Through = e.Through
		if err := hostfs.Clone(filepath.Join(s.Dir, e.Original), filepath.Join(n.store.Dir, e.Original)); err != nil {
			return err
		}
	}
	n.manifest.Files[path] = own
	return n.store.write(n.manifest)
}
