package admission

import (
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// maxWay is how many packages of a cycle a message names.
const maxWay = 10

// cycles reports each set of two or more packages that all depend on each other, once, with the shortest way round from
// the first of them. It takes time linear in the number of dependencies.
func (c *checker) cycles(all map[string]v1alpha1.Package) {
	for _, set := range components(all) {
		if len(set) < 2 {
			continue
		}
		slices.Sort(set)
		way := wayRound(all, set)
		shown, first := way, way[0]
		if len(way) > maxWay {
			shown = append(slices.Clone(way[:maxWay]), "...")
		}
		others := ""
		if len(set) > len(way) {
			others = "; more cycles are among " + text.Names(set)
		}
		c.add("spec.packages."+first+".dependsOn", "is part of a cycle (%s -> %s); remove one of these dependencies%s",
			strings.Join(shown, " -> "), first, others)
	}
}

// components returns the strongly connected components of dependsOn, by Tarjan's algorithm: each package is in one,
// alone if it is on no cycle. MaxPackages bounds how deep it goes.
func components(all map[string]v1alpha1.Package) [][]string {
	t := &tarjan{all: all, number: map[string]int{}, low: map[string]int{}, open: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if t.number[name] == 0 {
			t.visit(name)
		}
	}
	return t.found
}

type tarjan struct {
	all map[string]v1alpha1.Package
	// number is the order of visits, from 1; low is the lowest number of an open package that can be reached.
	number, low map[string]int
	// path has the packages whose component is not complete, which are open.
	path  []string
	open  map[string]bool
	found [][]string
}

func (t *tarjan) visit(name string) {
	number := len(t.number) + 1
	t.number[name], t.low[name], t.open[name] = number, number, true
	t.path = append(t.path, name)
	for dep := range t.all[name].DependsOn {
		if _, known := t.all[dep]; !known {
			continue // a problem of its own
		}
		if t.number[dep] == 0 {
			t.visit(dep)
		}
		if t.open[dep] {
			t.low[name] = min(t.low[name], t.low[dep])
		}
	}
	if t.low[name] != number {
		return
	}
	at := slices.Index(t.path, name)
	set := slices.Clone(t.path[at:])
	t.path = t.path[:at]
	for _, member := range set {
		delete(t.open, member)
	}
	t.found = append(t.found, set)
}

// wayRound returns the packages of a shortest way from the first of a component back to it.
func wayRound(all map[string]v1alpha1.Package, set []string) []string {
	first := set[0]
	from, next := map[string]string{}, []string{first}
	for ; len(next) > 0; next = next[1:] {
		for _, dep := range slices.Sorted(maps.Keys(all[next[0]].DependsOn)) {
			_, member := slices.BinarySearch(set, dep)
			if !member || from[dep] != "" || dep == next[0] { // a package that names itself is a problem of its own
				continue
			}
			from[dep] = next[0]
			if dep != first {
				next = append(next, dep)
				continue
			}
			way := []string{}
			for at := next[0]; at != first; at = from[at] {
				way = append(way, at)
			}
			slices.Reverse(way)
			return append([]string{first}, way...)
		}
	}
	return set
}
