package state

import (
	"errors"
	"hash/maphash"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// wants are what all Skyhooks want, in the order in which they work. Snapshots in which they want the same share one, so
// that what was derived of it is current for as long as the node is the same.
type wants struct{ of []want }

// want is what one Skyhook wants on nodes, and by what it judges their records.
type want struct {
	uid    types.UID
	name   string
	target *Target
	kept   *kept
	// deleting and sealed, the time since which its records are, are the Skyhook's.
	generation int64
	deleting   bool
	sealed     int64
}

func (i *Index) wantOf(s *v1alpha1.Skyhook, k *kept) want {
	w := want{uid: s.UID, name: s.Name, target: i.Of(s), kept: k, generation: s.Generation, deleting: s.DeletionTimestamp != nil}
	if s.Status.SealedSince != nil {
		w.sealed = s.Status.SealedSince.UnixNano()
	}
	return w
}

// on is what is wanted on a node.
func (w *want) on(node string) situation.Wanted {
	return situation.Wanted{
		Packages: w.target.Packages, Retained: w.kept.retained, Generation: w.generation, Deleting: w.deleting,
		Abandoned: w.target.Abandoned[node],
	}
}

// same reports whether a record tells the same of both.
func (w *want) same(other *want) bool {
	return w.name == other.name && w.target == other.target && w.kept == other.kept && w.generation == other.generation && w.deleting == other.deleting
}

// shared returns these wants, or those that the last snapshot had if they are the same.
func (i *Index) shared(of []want) *wants {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.last == nil || !slices.Equal(i.last.of, of) {
		i.last = &wants{of}
	}
	return i.last
}

// only are those of the Skyhooks that there are.
func (w *wants) only(skyhooks []*v1alpha1.Skyhook) *wants {
	there := make(map[types.UID]bool, len(skyhooks))
	for _, s := range skyhooks {
		there[s.UID] = true
	}
	return &wants{slices.DeleteFunc(slices.Clone(w.of), func(w want) bool { return !there[w.uid] })}
}

// find returns the place of a Skyhook; -1 for none. It is mostly the same.
func (w *wants) find(skyhook string, near int) int {
	if near < len(w.of) && w.of[near].name == skyhook {
		return near
	}
	return slices.IndexFunc(w.of, func(other want) bool { return other.name == skyhook })
}

// standing is what is known of a node: its own state, and what its records tell about what each Skyhook wants there.
type standing struct {
	// version is the resourceVersion of the node; empty if it is not current.
	version string
	wants   *wants
	// ready is what the kubelet says. free says that no label, taint or other operator may keep anybody off the node.
	ready, free bool
	// records are in the order of wants; nil if no Skyhook targets the node.
	records []held
	// written is the interrupt in flight on the node as its annotation says, and inFlight what there is; nil for none.
	written, inFlight *record.Interrupt
}

// held is the record of one Skyhook on a node.
type held struct {
	// targets says that the Skyhook targets the node, and sum is of the record's annotations then.
	targets bool
	sum     uint64
	// view is derived once it is asked for.
	view atomic.Pointer[view]
}

// view is what a record tells.
type view struct {
	rollout.View
	malformed *record.MalformedError
	// unusable is what keeps everybody from going by the record; nil when nothing does.
	unusable *situation.Hold
}

// usable is what may be gone by; nil, and a hold, if nothing may.
func (v *view) usable() (*rollout.View, *situation.Hold) {
	if v.unusable != nil {
		return nil, v.unusable
	}
	return &v.View, nil
}

// move returns a copy that has only the records of the Skyhooks in to. It has no version, so the next look at the node
// updates it.
func (st *standing) move(to *wants) *standing {
	moved := &standing{wants: to}
	if st.records == nil {
		return moved
	}
	moved.records = make([]held, len(to.of))
	for i := range to.of {
		if h, _ := st.held(to.of[i].name, i); h != nil {
			moved.records[i].targets, moved.records[i].sum = h.targets, h.sum
			moved.records[i].view.Store(h.view.Load())
		}
	}
	return moved
}

// held returns the record of a Skyhook that targets the node, and what the Skyhook wanted; nil if there is none.
func (st *standing) held(skyhook string, near int) (*held, *want) {
	if st == nil || st.records == nil {
		return nil, nil
	}
	if i := st.wants.find(skyhook, near); i >= 0 && st.records[i].targets {
		return &st.records[i], &st.wants.of[i]
	}
	return nil, nil
}

// At is a node as a snapshot sees it.
type At struct {
	*Snapshot
	node     *corev1.Node
	records  *Records
	standing *standing
}

// At looks at a node.
func (sn *Snapshot) At(node *corev1.Node, records *Records) At {
	return At{sn, node, records, sn.standing(node, records)}
}

// Ready reports whether the node's kubelet says that it is ready.
func (at *At) Ready() bool { return at.standing.ready }

// standing returns that of a node. Of another version of the node, or when something else is wanted, what changed is
// read again: of a record its sum, and what it tells when somebody asks.
func (sn *Snapshot) standing(node *corev1.Node, records *Records) *standing {
	last := records.standing(node.UID)
	current := last != nil && last.version == node.ResourceVersion && last.version != ""
	if current && last.wants == sn.wants {
		return last
	}
	st := &standing{
		version: node.ResourceVersion, wants: sn.wants, written: record.ReadInterrupt(node.Annotations),
		ready: Ready(node), free: !v1alpha1.Ignored(node.Labels) && len(node.Spec.Taints) == 0 &&
			rollout.Renamed(node) == "",
	}
	at := At{sn, node, records, st}
	for i := range sn.skyhooks {
		w := &sn.wants.of[i]
		if !w.target.Selector.Matches(labels.Set(node.Labels)) {
			continue
		}
		if st.records == nil {
			st.records = make([]held, len(sn.skyhooks))
		}
		h := &st.records[i]
		h.targets = true
		known, wanted := last.held(w.name, i)
		if current && known != nil {
			h.sum = known.sum
		} else {
			h.sum = maphash.Comparable(records.seed, w.target.keys.Raw(node.Annotations))
		}
		if known == nil || known.sum != h.sum || !wanted.same(w) {
			continue
		}
		if v := known.view.Load(); v != nil {
			h.view.Store(at.judged(v, i))
		}
	}
	st.inFlight = at.inFlight()
	records.stand(node.UID, st)
	return st
}

// judged is the view with what keeps everybody from going by it on the node as it is.
func (at *At) judged(v *view, place int) *view {
	unusable := at.unusable(at.skyhooks[place], at.node, v.Empty, v.malformed)
	if unusable == nil && v.unusable == nil {
		return v
	}
	again := *v
	again.unusable = unusable
	return &again
}

// view returns what the record of a place tells; nil if the Skyhook does not target the node.
func (at *At) view(place int) *view {
	if place >= len(at.standing.records) || !at.standing.records[place].targets {
		return nil
	}
	h := &at.standing.records[place]
	v := h.view.Load()
	if v == nil { // several that ask at the same time derive the same
		v = at.judged(at.records.derive(&at.wants.of[place], at.node), place)
		h.view.Store(v)
	}
	return v
}

// derive reads the record.
func (r *Records) derive(w *want, node *corev1.Node) *view {
	d, ok := r.known(recordKey{node.UID, w.name}, w.target.keys.Raw(node.Annotations))
	if !ok {
		d.node, d.err = record.Read(w.name, node.Annotations)
	}
	v := &view{}
	if !errors.As(d.err, &v.malformed) {
		v.View = rollout.ViewOf(w.name, w.on(node.Name), d.node)
	}
	return v
}

func (r *Records) standing(node types.UID) *standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.standings == nil {
		r.standings, r.seed = map[types.UID]*standing{}, maphash.MakeSeed()
	}
	return r.standings[node]
}

func (r *Records) stand(node types.UID, st *standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.standings[node] = st
}
