package record

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Outline is which package versions a record has, in which stage and state, and how often they were restarted. Most nodes
// of a fleet are alike: equal outlines are one value of the size of a pointer, so that a fleet of them is quickly counted
// and takes no memory.
type Outline struct{ of unique.Handle[string] }

const (
	outlineSeparator = "\x00"
	outlineFields    = 5
)

// OutlineOf returns that of a record.
func OutlineOf(n Node) Outline {
	var fields []string
	for _, key := range slices.Sorted(maps.Keys(n.Packages)) {
		e := n.Packages[key]
		if strings.Contains(key, outlineSeparator) {
			continue // the API allows no such package
		}
		fields = append(fields, e.Name, e.Version, string(e.Stage), string(e.State), strconv.FormatInt(int64(e.Restarts), 10))
	}
	return Outline{unique.Make(strings.Join(fields, outlineSeparator))}
}

// Packages are what it outlines, by name and version. Only what an outline has is filled in.
func (o Outline) Packages() []v1alpha1.PackageStatus {
	if o == (Outline{}) || o.of.Value() == "" {
		return nil
	}
	var list []v1alpha1.PackageStatus
	for f := range slices.Chunk(strings.Split(o.of.Value(), outlineSeparator), outlineFields) {
		restarts, _ := strconv.ParseInt(f[4], 10, 32) // OutlineOf wrote it
		list = append(list, v1alpha1.PackageStatus{
			Name: f[0], Version: f[1], Stage: v1alpha1.Stage(f[2]), State: v1alpha1.State(f[3]), Restarts: int32(restarts),
		})
	}
	return list
}
