package skyhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// retain keeps the definition of every package of the spec, before any node installs it. One that comes back is
// renewed, so that the order of revisions is that in which the spec asked for them: what is removed goes by it, and
// whoever goes back to what was there before.
func (r *Reconciler) retain(ctx context.Context, s *v1alpha1.Skyhook) error {
	have, _, err := r.revisions(ctx, s)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		want, err := r.Workload.Revision(s, workload.DefinitionOf(s, name))
		if err == nil {
			err = r.refused(s, r.retainOne(ctx, s, want, have), v1alpha1.ReasonDefinitionRefused, "spec.packages."+name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (r *Reconciler) retainOne(
	ctx context.Context, s *v1alpha1.Skyhook, want *appsv1.ControllerRevision, have map[string]*appsv1.ControllerRevision,
) error {
	old, exists := have[want.Name]
	if exists && !intact(old) {
		if err := r.deleteRevision(ctx, old); err != nil {
			return fmt.Errorf("replace the definition %s of Skyhook %s, which somebody changed: %w", old.Name, s.Name, err)
		}
		exists = false
	}
	switch {
	case !exists:
		want.Revision = max(want.Revision, lastRevision(want, have, workload.SameVersion)+1)
		err := r.Client.Create(ctx, want, client.FieldOwner(fieldManager))
		if apierrors.IsAlreadyExists(err) {
			return r.revisionTaken(ctx, s, want)
		}
		if err != nil {
			return fmt.Errorf("retain the definition %s of Skyhook %s: %w", want.Name, s.Name, err)
		}
	case old.Revision <= lastRevision(old, have, workload.SamePackage):
		change := old.DeepCopy()
		change.Revision = max(s.Generation, lastRevision(old, have, workload.SamePackage)+1)
		err := r.Client.Patch(ctx, change, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
		if err != nil {
			return fmt.Errorf("renew the definition %s of Skyhook %s: %w", want.Name, s.Name, err)
		}
	}
	return nil
}

// intact reports whether an object retains what its name says.
func intact(r *appsv1.ControllerRevision) bool {
	_, _, err := workload.ReadRevision(r)
	return err == nil
}

// deleteRevision deletes an object unless it changed since it was read.
func (r *Reconciler) deleteRevision(ctx context.Context, old *appsv1.ControllerRevision) error {
	object := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: old.Name, Namespace: old.Namespace}}
	precondition := client.Preconditions{UID: &old.UID, ResourceVersion: &old.ResourceVersion}
	return client.IgnoreNotFound(r.Client.Delete(ctx, object, precondition))
}

// revisionTaken looks at the object that has the name of a definition to be retained. One of ours is in the cache soon.
func (r *Reconciler) revisionTaken(ctx context.Context, s *v1alpha1.Skyhook, want *appsv1.ControllerRevision) error {
	var live appsv1.ControllerRevision
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(want), &live); err != nil {
		return fmt.Errorf("get ControllerRevision %s, whose name is taken: %w", want.Name, err)
	}
	if metav1.IsControlledBy(&live, s) {
		return nil
	}
	return taken("ControllerRevision", &live, s, v1alpha1.ReasonDefinitionConflict)
}

// newest reports whether no other definition of the same package version was asked for later: then what this one says
// about uninstalling counts already.
func newest(r *appsv1.ControllerRevision, all map[string]*appsv1.ControllerRevision) bool {
	return r.Revision > lastRevision(r, all, workload.SameVersion)
}

// lastRevision is the highest of the other definitions of the same package or version; -1 when there is none. It may be
// the Skyhook's generation: what an image tells about uninstalling makes another definition of the same spec.
func lastRevision(
	r *appsv1.ControllerRevision, all map[string]*appsv1.ControllerRevision, same func(a, b *appsv1.ControllerRevision) bool,
) int64 {
	last := int64(-1)
	for _, other := range all {
		if other.Name != r.Name && same(other, r) {
			last = max(last, other.Revision)
		}
	}
	return last
}

// revisions are what is retained for a Skyhook, and the images that are pinned for it, both by name.
func (r *Reconciler) revisions(
	ctx context.Context, s *v1alpha1.Skyhook,
) (definitions, pins map[string]*appsv1.ControllerRevision, err error) {
	var all appsv1.ControllerRevisionList
	if err := r.Client.List(ctx, &all, client.InNamespace(r.Workload.Namespace),
		client.MatchingLabels{v1alpha1.LabelName: s.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("list retained definitions of Skyhook %s: %w", s.Name, err)
	}
	definitions, pins = map[string]*appsv1.ControllerRevision{}, map[string]*appsv1.ControllerRevision{}
	for i := range all.Items {
		switch o := &all.Items[i]; {
		case !metav1.IsControlledBy(o, s):
		case workload.IsPin(o):
			pins[o.Name] = o
		default:
			definitions[o.Name] = o
		}
	}
	return definitions, pins, nil
}

// definitionsBefore is how many definitions of a Skyhook that nothing needs any more are kept, to go back to.
const definitionsBefore = 5

// pruneDefinitions deletes definitions that neither the spec nor any node needs, but for the last ones. Only while no
// permit is out: every node has then acknowledged its last one, so that the cache shows all that was begun, and nothing
// new can begin.
func (r *Reconciler) pruneDefinitions(ctx context.Context, s *v1alpha1.Skyhook) error {
	if len(s.Status.Permits) > 0 {
		return nil
	}
	have, pins, err := r.revisions(ctx, s)
	if err != nil {
		return err
	}
	if len(have) > len(s.Spec.Packages)+definitionsBefore || pinsOthers(s, pins) {
		unneeded, err := r.unneeded(ctx, s, have)
		if err != nil {
			return err
		}
		for i, old := range unneeded {
			if i >= definitionsBefore {
				if err := r.deleteRevision(ctx, old); err != nil {
					return fmt.Errorf("delete the unused definition %s: %w", old.Name, err)
				}
			}
			delete(have, old.Name) // whoever goes back may get another image: a pin ends with what it was made for
		}
	}
	return r.prunePins(ctx, s, pins, have)
}

// unneeded are the definitions that neither the spec nor any node needs, those that were asked for last first; none
// while that is not known.
func (r *Reconciler) unneeded(
	ctx context.Context, s *v1alpha1.Skyhook, have map[string]*appsv1.ControllerRevision,
) ([]*appsv1.ControllerRevision, error) {
	needed, known, err := r.neededDefinitions(ctx, s)
	if err != nil || !known {
		return nil, err
	}
	var list []*appsv1.ControllerRevision
	for _, old := range have {
		if needed[workload.DefinitionName(old)] || needed[workload.VersionKey(old)] && newest(old, have) {
			continue
		}
		list = append(list, old)
	}
	slices.SortFunc(list, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// pinsOthers reports whether there is a pin of what is not in the spec.
func pinsOthers(s *v1alpha1.Skyhook, pins map[string]*appsv1.ControllerRevision) bool {
	for _, o := range pins {
		pin, err := workload.ReadPin(o)
		pkg := s.Spec.Packages[pin.Package]
		if err != nil || pkg.Version != pin.Version || pkg.Repository() != pin.Image {
			return true
		}
	}
	return false
}

// prunePins deletes the pins of images that neither the spec nor a definition has, and all where images are not pinned:
// one that was made before must not come back into force. The definition of the spec may be about to be replaced.
func (r *Reconciler) prunePins(
	ctx context.Context, s *v1alpha1.Skyhook, pins, definitions map[string]*appsv1.ControllerRevision,
) error {
	if len(pins) == 0 {
		return nil
	}
	used := map[lifecycle.PinKey]bool{}
	for name, pkg := range s.Spec.Packages {
		used[lifecycle.PinKey{Package: name, Version: pkg.Version, Image: pkg.Repository()}] = r.Workload.PinImages
	}
	for _, o := range definitions {
		if d, _, err := workload.ReadRevision(o); err == nil && r.Workload.PinImages {
			used[lifecycle.PinKey{Package: d.Package, Version: d.Spec.Version, Image: d.Spec.Repository()}] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		pin, err := workload.ReadPin(pins[name])
		pin.Scope = ""
		if err == nil && used[pin.PinKey] {
			continue
		}
		if err := r.deleteRevision(ctx, pins[name]); err != nil {
			return fmt.Errorf("delete the unused pin %s: %w", name, err)
		}
	}
	return nil
}

// neededDefinitions are the names of those in the spec and in node records, and the keys of the versions in the latter.
// They are not known while a record cannot be read.
func (r *Reconciler) neededDefinitions(
	ctx context.Context, s *v1alpha1.Skyhook,
) (needed map[string]bool, known bool, err error) {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return nil, false, err
	}
	needed = map[string]bool{}
	for _, pkg := range r.Targets.Of(s).Packages {
		needed[pkg.Definition] = true
	}
	for _, node := range nodes {
		n, err := r.Records.Read(s.Name, node)
		if err != nil {
			return nil, false, nil //nolint:nilerr // the status tells about it
		}
		for key, e := range n.Packages {
			needed[e.Definition], needed[key] = true, true
		}
	}
	return needed, true, nil
}
