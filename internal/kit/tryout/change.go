package tryout

import (
	"maps"
	"slices"
	"strings"
)

// Change is one file that is not as it was.
type Change struct {
	// Path as the host sees it.
	Path string `json:"path"`
	// Kind is "created", "changed" or "removed".
	Kind string `json:"change"`
	// Aspects in which a changed file differs: type, mode, owner, link,
	// device, content, written, touched or value.
	Aspects []string `json:"aspects,omitempty"`
	Was     *File    `json:"was,omitempty"`
	Is      *File    `json:"is,omitempty"`
	// Below counts the files that went with a removed directory.
	Below int `json:"below,omitempty"`
}

// File is what a change shows of a file.
type File struct {
	// Mode as ls prints it.
	Mode string `json:"mode"`
	// Owner is "uid:gid".
	Owner string `json:"owner"`
	// Size in bytes, of regular files.
	Size int64 `json:"size"`
	// Link is a symbolic link's target.
	Link string `json:"link,omitempty"`
	// Value is that of a kernel setting.
	Value string `json:"value,omitempty"`
}

// Kinds of changes.
const (
	created = "created"
	changed = "changed"
	removed = "removed"
)

// view is a root folder at one time.
type view interface {
	at(path string) (entry, bool)
}

// tree holds the files of a folder by path; "/" is the folder itself.
type tree map[string]entry

func (t tree) at(path string) (entry, bool) {
	e, ok := t[path]
	return e, ok
}

// paths are those of both trees.
func (t tree) paths(other tree) []string {
	return slices.AppendSeq(slices.Collect(maps.Keys(t)), maps.Keys(other))
}

// compare looks at the given paths, and returns the changes in their order.
func compare(paths []string, before, after view) []Change {
	slices.Sort(paths)
	changes := []Change{}
	for _, path := range slices.Compact(paths) {
		if isOwn(path) || isBelow(path, mountFolders) {
			continue
		}
		was, existed := before.at(path)
		is, exists := after.at(path)
		switch {
		case exists && !existed:
			changes = append(changes, Change{Path: path, Kind: created, Is: is.file()})
		case existed && !exists:
			changes = append(changes, Change{Path: path, Kind: removed, Was: was.file()})
		case existed && exists:
			if aspects := difference(was, is); len(aspects) > 0 {
				changes = append(changes, Change{Path: path, Kind: changed, Aspects: aspects, Was: was.file(), Is: is.file()})
			}
		}
	}
	return fold(changes)
}

// compareSettings is compare for those of the kernel.
func compareSettings(before, after map[string]setting) []Change {
	var changes []Change
	for path := range before {
		if _, stays := after[path]; !stays {
			changes = append(changes, Change{Path: path, Kind: removed, Was: before[path].file()})
		}
	}
	for path, is := range after {
		was, existed := before[path]
		switch {
		case !existed:
			changes = append(changes, Change{Path: path, Kind: created, Is: is.file()})
		case was.value != is.value:
			changes = append(changes, Change{
				Path: path, Kind: changed, Aspects: []string{aspectValue}, Was: was.file(), Is: is.file(),
			})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}

// fold counts the content of removed directories instead of listing it.
func fold(changes []Change) []Change {
	folders := map[string]int{}
	folded := []Change{}
	for _, c := range changes {
		if top, ok := removedAbove(folders, c); ok {
			folded[top].Below++
			continue
		}
		if c.Kind == removed && strings.HasPrefix(c.Was.Mode, "d") {
			folders[c.Path] = len(folded)
		}
		folded = append(folded, c)
	}
	return folded
}

func removedAbove(folders map[string]int, c Change) (index int, found bool) {
	for i := strings.LastIndexByte(c.Path, '/'); i > 0; i = strings.LastIndexByte(c.Path[:i], '/') {
		if index, found = folders[c.Path[:i]]; found {
			return index, true
		}
	}
	return 0, false
}

// ownFolders are the agent's: what is in there tells nothing about a package.
var ownFolders = []string{stateRoot + "/" + skyhook, logRoot + "/" + skyhook}

// mountFolders are of the kernel.
var mountFolders = []string{"/proc", "/sys", "/dev"}

// isOwn is true for the agent's folders and those that it makes on the way.
func isOwn(path string) bool {
	return path == stateRoot || path == logRoot || isBelow(path, ownFolders)
}

func isBelow(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return path == folder || strings.HasPrefix(path, folder+"/")
	})
}
