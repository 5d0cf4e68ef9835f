package state

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// Records decodes node records, each once until it changes. Its zero value is ready for use, by several goroutines.
// What it returns is shared and must not be changed.
type Records struct {
	mu    sync.Mutex
	nodes map[types.UID]map[string]*decoded
}

// decoded is a record as it was read. Only what is derived of it changes, under the lock of Records.
type decoded struct {
	annotations [record.AnnotationCount]string
	node        record.Node
	err         error
	// view is what it tells of what was wanted; nil when nobody asked.
	view *rollout.View
	of   wanted
}

// wanted identifies what a Skyhook wants on a node: two that are equal want the same.
type wanted struct {
	target              *Target
	kept                *kept
	deleting, abandoned bool
}

// Read returns the record of a Skyhook on a node; the error is a *record.MalformedError.
func (r *Records) Read(skyhook string, node *corev1.Node) (record.Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.read(skyhook, record.KeysOf(skyhook), node)
	return d.node, d.err
}

// read decodes the record unless that is done.
func (r *Records) read(skyhook string, keys record.Keys, node *corev1.Node) *decoded {
	raw := keys.Raw(node.Annotations)
	of := r.nodes[node.UID]
	if d, ok := of[skyhook]; ok && d.annotations == raw {
		return d
	}
	d := &decoded{annotations: raw}
	d.node, d.err = record.Read(skyhook, node.Annotations)
	if r.nodes == nil {
		r.nodes = map[types.UID]map[string]*decoded{}
	}
	if of == nil {
		of = map[string]*decoded{}
		r.nodes[node.UID] = of
	}
	of[skyhook] = d
	return d
}

// view returns what the record tells of what is wanted, unless it cannot be read; the record comes with it.
func (r *Records) view(
	s *v1alpha1.Skyhook, keys record.Keys, node *corev1.Node, of wanted, w lifecycle.Wanted,
) (*rollout.View, record.Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.read(s.Name, keys, node)
	if d.err == nil && (d.view == nil || d.of != of) {
		d.view, d.of = rollout.ViewOf(s.Name, w, d.node), of
	}
	return d.view, d.node, d.err
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
		maps.DeleteFunc(r.nodes, func(uid types.UID, _ map[string]*decoded) bool { return !there[uid] })
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
		maps.DeleteFunc(of, func(name string, _ *decoded) bool { return !there[name] })
	}
}
