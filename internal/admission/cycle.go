package admission

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/graph"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// maxWay is how many packages of a cycle a message names.
const maxWay = 10

// cycles reports each set of two or more packages that all depend on each other, once, with the shortest way round from
// the first of them.
func (c *checker) cycles(all map[string]v1alpha1.Package) {
	dependencies, dependents := map[string][]string{}, map[string][]string{}
	for name, pkg := range all {
		for _, dep := range slices.Sorted(maps.Keys(pkg.DependsOn)) {
			if _, known := all[dep]; known && dep != name { // others are problems of their own
				dependencies[name] = append(dependencies[name], dep)
				dependents[dep] = append(dependents[dep], name)
			}
		}
	}
	told := map[string]bool{}
	for _, first := range slices.Sorted(maps.Keys(all)) {
		if told[first] {
			continue
		}
		before := maps.Collect(graph.Search(first, listed(dependencies)))
		if _, cyclic := before[first]; !cyclic {
			continue
		}
		way := []string{first}
		for at := before[first]; at != first; at = before[at] {
			way = append(way, at)
		}
		slices.Reverse(way[1:])
		var set []string
		for name := range graph.Search(first, listed(dependents)) {
			if _, both := before[name]; both {
				set, told[name] = append(set, name), true
			}
		}
		c.cycle(way, set)
	}
}

func listed(edges map[string][]string) func(string) iter.Seq[string] {
	return func(of string) iter.Seq[string] { return slices.Values(edges[of]) }
}

// cycle reports a set of packages that all depend on each other, and the way round.
func (c *checker) cycle(way, set []string) {
	shown, others := way, ""
	if len(way) > maxWay {
		shown = append(slices.Clone(way[:maxWay]), "...")
	}
	if len(set) > len(way) {
		others = "; more cycles are among " + text.Names(set)
	}
	c.add("spec.packages."+way[0]+".dependsOn", "is part of a cycle (%s -> %s); remove one of these dependencies%s",
		strings.Join(shown, " -> "), way[0], others)
}
