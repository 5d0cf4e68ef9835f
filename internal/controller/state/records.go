package state

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
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

// Forget drops a node that is gone. Those that no Skyhook targets come and go without a pass that calls Keep.
func (r *Records) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, uid)
}

// Keep drops what is not of these nodes and Skyhooks, which are all there are. A pass that began before a node went may
// read its record once more after Forget.
func (r *Records) Keep(nodes []corev1.Node, skyhooks []*v1alpha1.Skyhook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.nodes) > len(nodes) {
		there := make(map[types.UID]bool, len(nodes))
		for i := range nodes {
			there[nodes[i].UID] = true
		}
		maps.DeleteFunc(r.nodes, func(uid types.UID, _ map[string]decoded) bool { return !there[uid] })
	}
	var there map[string]bool
	for _, of := range r.nodes {
		if len(of) <= len(skyhooks) {
			continue
		}
		if there == nil {
			there = make(map[string]bool, len(skyhooks))
			for _, s := range skyhooks {
				there[s.Name] = true
			}
		}
		maps.DeleteFunc(of, func(name string, _ decoded) bool { return !there[name] })
	}
}
