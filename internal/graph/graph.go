// Package graph searches in what depends on what.
package graph

// Search walks from one node along the edges, and returns, of every node that it gets to, the one before it on a
// shortest way; of several, the first as the edges are listed. The start is among them only if a way leads back to it.
func Search(start string, edges map[string][]string) map[string]string {
	before := map[string]string{}
	for todo := []string{start}; len(todo) > 0; todo = todo[1:] {
		for _, next := range edges[todo[0]] {
			if _, seen := before[next]; seen {
				continue
			}
			if before[next] = todo[0]; next != start {
				todo = append(todo, next)
			}
		}
	}
	return before
}
