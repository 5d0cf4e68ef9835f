package graph_test

import (
	"iter"
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
		for node, before := range graph.Search("a", listed(edges)) {
			found = append(found, before+">"+node)
		}
		slices.Sort(found)
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSearchEndsEarly: whoever has found what it looks for pays for no more.
func TestSearchEndsEarly(t *testing.T) {
	asked := ""
	edges := func(of string) iter.Seq[string] {
		asked += of
		return slices.Values(map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"e"}}[of])
	}
	for node := range graph.Search("a", edges) {
		if node == "d" {
			break
		}
	}
	if asked != "ab" {
		t.Errorf("asks for the edges of %q", asked)
	}
}

func listed(edges map[string][]string) func(string) iter.Seq[string] {
	return func(of string) iter.Seq[string] { return slices.Values(edges[of]) }
}
