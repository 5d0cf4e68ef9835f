package rootdir

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// neighbour is another package of the Skyhook that has put files on the host.
type neighbour struct {
	name  string
	files map[string]entry
}

// neighbours are those whose manifest can be read, in a fixed order. Of another
// one nobody knows what it has put on the host, until its next stage begins anew.
func (f Files) neighbours() ([]neighbour, error) {
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(f.Dir), "*", manifestFile))
	if err != nil {
		return nil, err
	}
	var all []neighbour
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		if name == filepath.Base(f.Dir) || f.Living != nil && !slices.Contains(f.Living, name) {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if m, err := decode(raw); err == nil {
			all = append(all, neighbour{name, m.Files})
		}
	}
	return all, nil
}

// refuse returns an error if the package ships a path that a neighbour has put
// on the host. Both may have files in one directory.
func (f Files) refuse(shipped map[string]shipment, others []neighbour) error {
	for _, n := range others {
		occupied := n.occupied()
		for _, path := range slices.Sorted(maps.Keys(shipped)) {
			if theirs := occupied[path]; theirs == "" || theirs == directory && shipped[path].kind == directory {
				continue
			}
			return fmt.Errorf("package %s ships %q, where package %s of the same Skyhook has put its own already; "+
				"nothing was copied. Ship the path in one of the two packages only", filepath.Base(f.Dir), path, n.name)
		}
	}
	return nil
}

// occupied are the neighbour's paths, with the directories above them.
func (n neighbour) occupied() map[string]kind {
	all := map[string]kind{}
	for path, e := range n.files {
		all[path] = e.Kind
		for dir := filepath.Dir(path); all[dir] == ""; dir = filepath.Dir(dir) {
			all[dir] = directory
		}
	}
	return all
}

// madeByAny reports whether one of the packages has made the directory.
func madeByAny(all []neighbour, dir string) bool {
	return slices.ContainsFunc(all, func(n neighbour) bool { return n.files[dir].Kind == directory })
}
