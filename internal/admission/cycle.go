package admission

import (
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// cycles reports every package that is on a cycle of dependsOn of two or more packages, with the way round.
func (c *checker) cycles(all map[string]v1alpha1.Package) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if way := wayBack(all, name, name, nil, map[string]bool{}); len(way) > 1 {
			c.add("spec.packages."+name+".dependsOn", "is part of a cycle (%s -> %s); remove one of these dependencies",
				strings.Join(way, " -> "), name)
		}
	}
}

// wayBack returns the packages from start along dependsOn until one depends on goal; nil when none does.
func wayBack(all map[string]v1alpha1.Package, start, goal string, way []string, seen map[string]bool) []string {
	seen[start] = true
	way = append(way, start)
	for _, dep := range slices.Sorted(maps.Keys(all[start].DependsOn)) {
		if dep == goal {
			return way
		}
		if seen[dep] {
			continue
		}
		if found := wayBack(all, dep, goal, slices.Clone(way), seen); found != nil {
			return found
		}
	}
	return nil
}
