package targets

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/internal/record"
)

// Records decodes node records, each once until it changes. Its zero value is ready for use, by several goroutines.
// What it returns is shared and must not be changed.
type Records struct {
	mu    sync.Mutex
	nodes map[types.UID]map[string]decoded
}

type decoded struct {
	annotations [record.AnnotationCount]string
	node        record.Node
	err         error
}

// Read returns the record of a Skyhook on a node; the error is a *record.MalformedError.
func (r *Records) Read(skyhook string, node *corev1.Node) (record.Node, error) {
	raw := record.Raw(skyhook, node.Annotations)
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.nodes[node.UID][skyhook]; ok && d.annotations == raw {
		return d.node, d.err
	}
	n, err := record.Read(skyhook, node.Annotations)
	if r.nodes == nil {
		r.nodes = map[types.UID]map[string]decoded{}
	}
	if r.nodes[node.UID] == nil {
		r.nodes[node.UID] = map[string]decoded{}
	}
	r.nodes[node.UID][skyhook] = decoded{annotations: raw, node: n, err: err}
	return n, err
}

// Forget drops a node that is gone.
func (r *Records) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, uid)
}
