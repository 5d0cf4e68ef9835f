package graph_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/graph"
)

// TestSearch: edges are written a>b, and so is what is found: what comes before each node.
func TestSearch(t *testing.T) {
	for _, c := range []struct{ name, edges, want string }{
		{"nothing leads on", "b>c", ""},
		{"through others", "a>b b>c d>e", "a>b b>c"},
		{"the shortest way", "a>b b>c c>d a>d", "a>b a>d b>c"},
		{"of several the first that is listed", "a>c a>b c>d b>d", "a>b a>c c>d"},
		{"back to the start", "a>b b>c c>a", "a>b b>c c>a"},
		{"a cycle on the way, without the start", "a>b b>c c>b", "a>b b>c"},
		{"to itself", "a>a", "a>a"},
	} {
		edges := map[string][]string{}
		for edge := range strings.FieldsSeq(c.edges) {
			from, to, _ := strings.Cut(edge, ">")
			edges[from] = append(edges[from], to)
		}
		var found []string
		before := graph.Search("a", edges)
		for _, node := range slices.Sorted(maps.Keys(before)) {
			found = append(found, before[node]+">"+node)
		}
		slices.Sort(found)
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
