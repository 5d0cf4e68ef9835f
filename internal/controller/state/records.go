package state

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// maxDecoded is how many records are kept as they were decoded. Nodes at work are looked at again and again; a record
// of two packages takes 2 KB, and of a large fleet a thousand nodes at a time are at work for a Skyhook.
const maxDecoded = 2048

// Records decodes node records, and derives what plans need of them, once until they change. Its zero value is ready for
// use, by several goroutines. What it returns is shared and must not be changed.
type Records struct {
	mu      sync.Mutex
	decoded *lru.Cache
	// views are few for each node: one for each Skyhook that targets it.
	views map[types.UID][]*view
	seed  maphash.Seed
}

type recordKey struct {
	node    types.UID
	skyhook string
}

// decoded is a record, and what it was read from.
type decoded struct {
	annotations [record.AnnotationCount]string
	node        record.Node
	err         error
}

// view is what a record tells of what was wanted, or why it cannot be read.
type view struct {
	skyhook string
	// version is the resourceVersion of the node that was read last: most of a fleet is the same in the next pass. sum is
	// of the record's annotations.
	version string
	sum     uint64
	of      wanted
	view    *rollout.View
	err     error
}

// wanted identifies what a Skyhook wants on a node: two that are equal want the same.
type wanted struct {
	target              *Target
	kept                *kept
	deleting, abandoned bool
}

// Read returns the record of a Skyhook on a node; the error is a *record.MalformedError.
func (r *Records) Read(skyhook string, node *corev1.Node) (record.Node, error) {
	key, raw := recordKey{node.UID, skyhook}, record.Raw(skyhook, node.Annotations)
	if d, ok := r.known(key, raw); ok {
		return d.node, d.err
	}
	d := decoded{annotations: raw}
	d.node, d.err = record.Read(skyhook, node.Annotations) // others go on meanwhile
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.decoded == nil {
		r.decoded = lru.New(maxDecoded)
	}
	r.decoded.Add(key, d)
	return d.node, d.err
}

func (r *Records) known(key recordKey, raw [record.AnnotationCount]string) (decoded, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.decoded == nil {
		return decoded{}, false
	}
	found, _ := r.decoded.Get(key)
	d, ok := found.(decoded)
	return d, ok && d.annotations == raw
}

// view returns what the record tells of what is wanted; the error is a *record.MalformedError.
func (r *Records) view(
	s *v1alpha1.Skyhook, keys record.Keys, node *corev1.Node, of wanted, w lifecycle.Wanted,
) (*rollout.View, error) {
	v, sum := r.knownView(s, keys, node, of)
	if v != nil {
		return v.view, v.err
	}
	d, ok := r.known(recordKey{node.UID, s.Name}, keys.Raw(node.Annotations))
	if !ok {
		d.node, d.err = record.Read(s.Name, node.Annotations)
	}
	v = &view{skyhook: s.Name, version: node.ResourceVersion, sum: sum, of: of, err: d.err}
	if v.err == nil {
		v.view = rollout.ViewOf(s.Name, w, d.node)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.at(node.UID, s.Name); i >= 0 {
		r.views[node.UID][i] = v
	} else {
		r.views[node.UID] = append(r.views[node.UID], v)
	}
	return v.view, v.err
}

// knownView returns what was derived before; nil, and the sum of the record, if something changed since.
func (r *Records) knownView(s *v1alpha1.Skyhook, keys record.Keys, node *corev1.Node, of wanted) (*view, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.views == nil {
		r.views, r.seed = map[types.UID][]*view{}, maphash.MakeSeed()
	}
	var v *view
	if i := r.at(node.UID, s.Name); i >= 0 {
		v = r.views[node.UID][i]
	}
	if v != nil && v.of == of && v.version == node.ResourceVersion && v.version != "" {
		return v, v.sum
	}
	sum := maphash.Comparable(r.seed, keys.Raw(node.Annotations))
	if v == nil || v.of != of || v.sum != sum {
		return nil, sum
	}
	v.version = node.ResourceVersion
	return v, sum
}

// at is where the view of a Skyhook on a node is; -1 for nowhere.
func (r *Records) at(node types.UID, skyhook string) int {
	return slices.IndexFunc(r.views[node], func(v *view) bool { return v.skyhook == skyhook })
}

// Forget drops a node that is gone. Those that no Skyhook targets come and go without a pass that calls Keep.
func (r *Records) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.views, uid)
	if r.decoded != nil {
		r.decoded.Clear() // it names no nodes, and fills again
	}
}

// Keep drops what is not of these nodes and Skyhooks, which are all there are. A pass that began before a node went may
// read its record once more after Forget.
func (r *Records) Keep(nodes []*corev1.Node, skyhooks []*v1alpha1.Skyhook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.views) > len(nodes) {
		there := make(map[types.UID]bool, len(nodes))
		for _, n := range nodes {
			there[n.UID] = true
		}
		maps.DeleteFunc(r.views, func(uid types.UID, _ []*view) bool { return !there[uid] })
	}
	var there map[string]bool
	for node, of := range r.views {
		if len(of) <= len(skyhooks) {
			continue
		}
		if there == nil {
			there = make(map[string]bool, len(skyhooks))
			for _, s := range skyhooks {
				there[s.Name] = true
			}
		}
		r.views[node] = slices.DeleteFunc(of, func(v *view) bool { return !there[v.skyhook] })
	}
}
