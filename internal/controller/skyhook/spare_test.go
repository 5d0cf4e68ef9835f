package skyhook

import (
	"testing"

	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestSpareNodes: a list that is used again is empty, has room, and keeps nothing of the last pass alive.
func TestSpareNodes(t *testing.T) {
	var r Reconciler
	for range 100 { // a pool may forget what it has
		list := append(r.takeNodes(2), rollout.Node{Name: "a"}, rollout.Node{Name: "b"})
		r.spareNodes(list)
		again := r.takeNodes(3)
		if len(again) != 0 || cap(again) < 3 {
			t.Fatalf("%d nodes, room for %d", len(again), cap(again))
		}
		for _, n := range list[:2] {
			if n.Name != "" {
				t.Fatalf("node %s is kept", n.Name)
			}
		}
	}
}
