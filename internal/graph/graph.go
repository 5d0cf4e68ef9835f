// Package graph searches in what depends on what.
package graph

import "iter"

// Search walks from one node along the edges, and tells of every node that it gets to, once, the one before it on a
// shortest way; of several, the first as the edges are listed. The start is among them only if a way leads back to it.
// It asks for no more edges than it is asked for nodes.
func Search(start string, edges func(node string) iter.Seq[string]) iter.Seq2[string, string] {
	return func(yield func(node, before string) bool) {
		seen := map[string]bool{}
		for todo := []string{start}; len(todo) > 0; todo = todo[1:] {
			for next := range edges(todo[0]) {
				if seen[next] {
					continue
				}
				seen[next] = true
				if !yield(next, todo[0]) {
					return
				}
				if next != start {
					todo = append(todo, next)
				}
			}
		}
	}
}
