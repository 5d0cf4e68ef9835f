package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// Snapshot is what a pass knows of all Skyhooks: their targets, and the definitions retained for them. It is for one
// goroutine.
type Snapshot struct {
	index  *Index
	taints rollout.Taints
	// tainting are the Skyhooks that have new nodes tainted.
	tainting []*v1alpha1.Skyhook
	kept     map[types.UID]*kept
	// skyhooks are all there are, in the order in which they work, wants what they want, and places where they are.
	skyhooks []*v1alpha1.Skyhook
	wants    *wants
	places   map[*v1alpha1.Skyhook]int
	// holds are those by order that were made so far, by the Skyhook that comes first.
	holds map[*v1alpha1.Skyhook]*situation.Hold
	// pins says that images are pinned.
	pins bool
	// stop is what stops all Skyhooks; nil for nothing.
	stop *rollout.Stop
}

// kept is what is known of a Skyhook beside its spec: the definitions of what was installed, and the images it was
// pinned to.
type kept struct {
	retained situation.Retained
	pins     lifecycle.Pins
}

// Snapshot reads the retained definitions, and whether all Skyhooks are stopped, from the cache, once for a pass.
func (i *Index) Snapshot(
	ctx context.Context, reader client.Reader, o workload.Options, skyhooks []*v1alpha1.Skyhook,
) (Snapshot, error) {
	var revisions appsv1.ControllerRevisionList
	if err := reader.List(ctx, &revisions, client.InNamespace(o.Namespace), client.HasLabels{v1alpha1.LabelName},
		client.UnsafeDisableDeepCopy); err != nil {
		return Snapshot{}, fmt.Errorf("list retained definitions: %w", err)
	}
	stop, err := i.stop(ctx, reader, o.Namespace)
	if err != nil {
		return Snapshot{}, err
	}
	return i.See(o, skyhooks, revisions.Items, stop), nil
}

// See makes the snapshot of what was read. The Skyhooks are all there are, as InOrder returned them; what is kept of
// others is dropped. stop is nil while nobody stopped them all.
func (i *Index) See(
	o workload.Options, skyhooks []*v1alpha1.Skyhook, revisions []appsv1.ControllerRevision, stop *rollout.Stop,
) Snapshot {
	i.Keep(skyhooks)
	owned := map[types.UID][]*appsv1.ControllerRevision{}
	for k := range revisions {
		if owner := metav1.GetControllerOfNoCopy(&revisions[k]); owner != nil {
			owned[owner.UID] = append(owned[owner.UID], &revisions[k])
		}
	}
	sn := Snapshot{
		index: i, taints: rollout.Taints{Runtime: o.RuntimeTaint, Tolerated: o.Tolerations}, pins: o.PinImages, stop: stop,
		kept: make(map[types.UID]*kept, len(skyhooks)), skyhooks: skyhooks,
		places: make(map[*v1alpha1.Skyhook]int, len(skyhooks)), holds: map[*v1alpha1.Skyhook]*situation.Hold{},
	}
	all := make([]want, len(skyhooks))
	for k, s := range skyhooks {
		sn.kept[s.UID], sn.places[s] = i.keptOf(s, owned[s.UID]), k
		all[k] = i.wantOf(s, sn.kept[s.UID])
		if taints(s) {
			sn.tainting = append(sn.tainting, s)
		}
	}
	sn.wants = i.shared(all)
	return sn
}

// Wanted is what a Skyhook wants on a node.
func (sn Snapshot) Wanted(s *v1alpha1.Skyhook, node string) situation.Wanted {
	w := sn.want(s)
	return w.on(node)
}

// want returns what a Skyhook wants. The Skyhook may be another version than that of the snapshot.
func (sn Snapshot) want(s *v1alpha1.Skyhook) *want {
	if place, ok := sn.places[s]; ok {
		return &sn.wants.of[place]
	}
	w := sn.index.wantOf(s, cmp.Or(sn.kept[s.UID], nothing))
	return &w
}

func (sn Snapshot) target(s *v1alpha1.Skyhook) *Target { return sn.want(s).target }

// Selects reports whether a Skyhook targets a node.
func (sn Snapshot) Selects(s *v1alpha1.Skyhook, node *corev1.Node) bool {
	return sn.target(s).Selector.Matches(labels.Set(node.Labels))
}

// nothing is kept of a Skyhook that the snapshot lacks.
var nothing = &kept{}

// Pins are the images that a Skyhook's packages are pinned to; nil when images are not pinned. They must not be
// changed.
func (sn Snapshot) Pins(s *v1alpha1.Skyhook) lifecycle.Pins {
	if !sn.pins {
		return nil
	}
	return cmp.Or(sn.kept[s.UID], nothing).pins
}

// decoding are the retained definitions of a Skyhook, and all that they were made of: the pods' hashes depend on the
// spec.
type decoding struct {
	generation int64
	of         []version
	kept       *kept
}

// version is one version of one object.
type version struct {
	uid             types.UID
	resourceVersion string
}

// keptOf decodes what is kept of a Skyhook, once for as long as they stay the same. It sorts revisions: the cache lists
// them in any order. Several passes that find something new decode it side by side rather than wait for one another.
func (i *Index) keptOf(s *v1alpha1.Skyhook, revisions []*appsv1.ControllerRevision) *kept {
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.UID, b.UID) })
	i.mu.Lock()
	known, ok := i.decoded[s.UID]
	i.mu.Unlock()
	if ok && known.generation == s.Generation && slices.EqualFunc(known.of, revisions, version.is) {
		return known.kept
	}
	known = decoding{generation: s.Generation, of: make([]version, len(revisions)), kept: i.decode(s, revisions)}
	for k, r := range revisions {
		known.of[k] = version{r.UID, r.ResourceVersion}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.decoded == nil {
		i.decoded = map[types.UID]decoding{}
	}
	i.decoded[s.UID] = known
	return known.kept
}

func (v version) is(r *appsv1.ControllerRevision) bool {
	return v.uid == r.UID && v.resourceVersion == r.ResourceVersion
}

// decode makes of ControllerRevisions what decisions are based on. Whether and when a package is undone is said by the
// newest definition of its version; how, by each one itself. One that cannot be read is as good as missing.
func (i *Index) decode(s *v1alpha1.Skyhook, revisions []*appsv1.ControllerRevision) *kept {
	type numbered struct {
		revision   int64
		definition workload.Definition
	}
	all, newest, pins := make(situation.Retained, len(revisions)), map[string]numbered{}, lifecycle.Pins{}
	for _, r := range revisions {
		if workload.IsPin(r) {
			if pin, err := workload.ReadPin(r); err == nil {
				pins[pin.PinKey] = pin
			}
			continue
		}
		d, name, err := workload.ReadRevision(r)
		if err != nil {
			continue
		}
		all[name] = situation.PreparePackage(i.Limits.Of(d.Spec), i.derive(s, d.Package, d.Spec, situation.Derived{Definition: name}))
		key := d.Package + "|" + d.Spec.Version
		if last, ok := newest[key]; !ok || r.Revision > last.revision {
			newest[key] = numbered{r.Revision, d}
		}
	}
	for name, pkg := range all {
		last := newest[pkg.Name+"|"+pkg.Version].definition
		pkg.Uninstallable, pkg.Uninstall = last.Enabled, last.Spec.Uninstall
		all[name] = pkg
	}
	return &kept{all, pins}
}
