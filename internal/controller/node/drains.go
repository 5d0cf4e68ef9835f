package node

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/internal/drain"
)

// drains are the memories of the drains under way, by the names of their nodes: passes over one node never overlap, so
// that the one over a node that is gone is the last.
type drains struct {
	mu    sync.Mutex
	nodes map[string]drained
}

type drained struct {
	node   types.UID
	memory *drain.Memory
}

// look returns the memory of a node's drain, which has noted the pods that are there.
func (d *drains) look(node *corev1.Node, pods []corev1.Pod, now time.Time) *drain.Memory {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.nodes[node.Name]
	if !ok || known.node != node.UID {
		if d.nodes == nil {
			d.nodes = map[string]drained{}
		}
		known = drained{node: node.UID, memory: &drain.Memory{}}
		d.nodes[node.Name] = known
	}
	known.memory.Look(pods, now)
	return known.memory
}

// forget ends a node's drain, or drops a node that is gone.
func (d *drains) forget(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, node)
}
