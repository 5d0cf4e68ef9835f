package state

import (
	"hash/maphash"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// maxDecoded is how many records are kept as they were decoded. Nodes at work are looked at again and again; a record
// of two packages takes 2 KB, and of a large fleet a thousand nodes at a time are at work for a Skyhook.
const maxDecoded = 2048

// Records decodes node records, and derives what plans need of them, once until they change. Its zero value is ready for
// use, by several goroutines. What it returns is shared and must not be changed.
type Records struct {
	mu      sync.Mutex
	decoded *lru.Cache
	keys    map[string]record.Keys
	// standings are by the nodes that have them.
	standings map[types.UID]*standing
	seed      maphash.Seed
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

// Read returns the record of a Skyhook on a node; the error is a *record.MalformedError.
func (r *Records) Read(skyhook string, node *corev1.Node) (record.Node, error) {
	key, raw := recordKey{node.UID, skyhook}, r.keysOf(skyhook).Raw(node.Annotations)
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

// keysOf are the keys of a Skyhook's records, made once.
func (r *Records) keysOf(skyhook string) record.Keys {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys, ok := r.keys[skyhook]
	if !ok {
		if r.keys == nil || len(r.keys) >= maxDecoded {
			r.keys = map[string]record.Keys{}
		}
		keys = record.KeysOf(skyhook)
		r.keys[skyhook] = keys
	}
	return keys
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

// Forget drops a node that is gone. Those that no Skyhook targets come and go without a pass that calls Keep.
func (r *Records) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.standings, uid)
	if r.decoded != nil {
		r.decoded.Clear() // it names no nodes, and fills again
	}
}

// Keep drops what is not of these nodes and Skyhooks, which are all there are. A pass that began before a node went may
// read its record once more after Forget.
func (r *Records) Keep(nodes []*corev1.Node, skyhooks []*v1alpha1.Skyhook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.standings) > len(nodes) {
		there := make(map[types.UID]bool, len(nodes))
		for _, n := range nodes {
			there[n.UID] = true
		}
		maps.DeleteFunc(r.standings, func(uid types.UID, _ *standing) bool { return !there[uid] })
	}
	kept := map[*wants]*wants{}
	for node, st := range r.standings {
		if len(st.wants.of) <= len(skyhooks) {
			continue
		}
		if kept[st.wants] == nil {
			kept[st.wants] = st.wants.only(skyhooks)
		}
		r.standings[node] = st.move(kept[st.wants])
	}
}
