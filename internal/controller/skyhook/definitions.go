package skyhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// retain keeps the definition of every package of the spec, before any node installs it. One that comes back is
// renewed, so that the order of revisions is that in which the spec asked for them: what is removed goes by it, and
// whoever goes back to what was there before.
func (p *pass) retain(ctx context.Context) error {
	s := p.skyhook
	have, _, err := p.revisions(ctx, p.Client)
	if err != nil {
		return err
	}
	if err := p.upToDate(ctx, have); err != nil {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		want, err := p.Workload.Revision(s, workload.DefinitionOf(s, name))
		if err == nil {
			err = p.refused(p.retainOne(ctx, want, have), v1alpha1.ReasonDefinitionRefused, "spec.packages."+name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// upToDate makes a new spec wait until the cache has the definitions as they are. It may still show one that was deleted
// and that is wanted again, without which nodes could not uninstall what they install; and what it lacks would count as
// what cannot be uninstalled.
func (p *pass) upToDate(ctx context.Context, cached map[string]*appsv1.ControllerRevision) error {
	s := p.skyhook
	if s.Status.ObservedGeneration == s.Generation {
		return nil
	}
	live, _, err := p.revisions(ctx, p.Live)
	same := func(a, b *appsv1.ControllerRevision) bool {
		return a.UID == b.UID && a.ResourceVersion == b.ResourceVersion
	}
	if err == nil && !maps.EqualFunc(cached, live, same) {
		err = state.Behind(appsv1.Resource("controllerrevisions"), s.Name)
	}
	return err
}

func (p *pass) retainOne(
	ctx context.Context, want *appsv1.ControllerRevision, have map[string]*appsv1.ControllerRevision,
) error {
	s := p.skyhook
	old, exists := have[want.Name]
	if exists && !intact(old) {
		if err := deleteRevision(ctx, p.Client, old); err != nil {
			return fmt.Errorf("replace the definition %s of Skyhook %s, which somebody changed: %w", old.Name, s.Name, err)
		}
		exists = false
	}
	if exists && old.Revision > lastRevision(old, have, workload.SamePackage) {
		return nil
	}
	if err := p.Latest(ctx, s); err != nil { // an earlier spec would be taken for the one that was asked for last
		return p.refused(err, v1alpha1.ReasonPassFailed, "the Skyhook")
	}
	if !exists {
		want.Revision = max(want.Revision, lastRevision(want, have, workload.SameVersion)+1)
		err := p.Client.Create(ctx, want, client.FieldOwner(fieldManager))
		if apierrors.IsAlreadyExists(err) {
			return p.nameTaken(ctx, "ControllerRevision", want, &appsv1.ControllerRevision{}, v1alpha1.ReasonDefinitionConflict)
		}
		if err != nil {
			return fmt.Errorf("retain the definition %s of Skyhook %s: %w", want.Name, s.Name, err)
		}
		return nil
	}
	change := old.DeepCopy()
	change.Revision = max(s.Generation, lastRevision(old, have, workload.SamePackage)+1)
	err := p.Client.Patch(ctx, change, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("renew the definition %s of Skyhook %s: %w", want.Name, s.Name, err)
	}
	return nil
}

// intact reports whether an object retains what its name says.
func intact(r *appsv1.ControllerRevision) bool {
	_, _, err := workload.ReadRevision(r)
	return err == nil
}

// deleteRevision deletes an object unless it changed since it was read.
func deleteRevision(ctx context.Context, c client.Client, old *appsv1.ControllerRevision) error {
	object := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: old.Name, Namespace: old.Namespace}}
	precondition := client.Preconditions{UID: &old.UID, ResourceVersion: &old.ResourceVersion}
	return client.IgnoreNotFound(c.Delete(ctx, object, precondition))
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
func (p *pass) revisions(
	ctx context.Context, reader client.Reader,
) (definitions, pins map[string]*appsv1.ControllerRevision, err error) {
	s := p.skyhook
	var all appsv1.ControllerRevisionList
	if err := reader.List(ctx, &all, client.InNamespace(p.Workload.Namespace),
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

const (
	// definitionsBefore is how many definitions of a Skyhook that nothing needs any more are kept, to go back to.
	definitionsBefore = 5
	// definitionsMost is how many there may be while permits are out, and definitionsAge for how long the spec must have
	// been the same before more are deleted: no pass goes by an earlier one any more.
	definitionsMost = 20
	definitionsAge  = 10 * time.Minute
	// definitionsRest is for how long a new operator deletes none: its cache may begin with nodes as they were before the
	// last operator took their permits back.
	definitionsRest = time.Minute
)

// pruneDefinitions deletes definitions that neither the spec nor any node needs, but for the last ones. While no permit
// is out every node has acknowledged its last one, so that the cache shows all that was begun, and nothing new can
// begin. A node that hangs for days keeps its permit, however often the spec is edited meanwhile: then only what is too
// much goes, and the API server is asked what the nodes with permits have begun.
func (p *pass) pruneDefinitions(ctx context.Context) error {
	s, pace := p.skyhook, &p.known.pace
	have, pins, err := p.revisions(ctx, p.Client)
	if err != nil {
		return err
	}
	many := len(have) > len(s.Spec.Packages)+definitionsBefore || pinsOthers(s, pins) ||
		len(pins) > 0 && !p.Workload.PinImages
	if left := pace.first.Add(definitionsRest).Sub(p.Clock.Now()); left > 0 {
		if many {
			p.lookAgain(left)
		}
		return nil
	}
	if len(s.Status.Permits) > 0 {
		return p.pruneExcess(ctx, have)
	}
	if many {
		unneeded := p.unneeded(have)
		if err := deleteAfter(ctx, p.Client, unneeded, definitionsBefore); err != nil {
			return err
		}
		for _, old := range unneeded {
			delete(have, old.Name) // whoever goes back may get another image: a pin ends with what it was made for
		}
	}
	return p.prunePins(ctx, pins, have)
}

// pruneExcess deletes definitions while permits are out.
func (p *pass) pruneExcess(ctx context.Context, have map[string]*appsv1.ControllerRevision) error {
	if !p.known.pace.settled(p.skyhook.Generation, p.Clock.Now()) || len(p.unneeded(have)) <= definitionsMost {
		return nil
	}
	if err := p.askHolders(ctx); err != nil {
		return err
	}
	return deleteAfter(ctx, p.Client, p.unneeded(have), definitionsMost)
}

// deleteAfter deletes definitions but for the first ones.
func deleteAfter(ctx context.Context, c client.Client, list []*appsv1.ControllerRevision, keep int) error {
	for _, old := range list[min(keep, len(list)):] {
		if err := deleteRevision(ctx, c, old); err != nil {
			return fmt.Errorf("delete the unused definition %s: %w", old.Name, err)
		}
	}
	return nil
}

// askHolders adds what nodes with permits need as the API server has it: the cache may not show what they have begun.
// They are not asked while they are many: then they are not what hangs.
func (p *pass) askHolders(ctx context.Context) error {
	s := p.skyhook
	n := &p.needs
	if n.unknown = n.unknown || len(s.Status.Permits) > maxLooks; n.unknown {
		return nil
	}
	live, _, err := named(ctx, p.Live, holdersOf(s))
	if err != nil {
		return err
	}
	for _, node := range live {
		n.read(s, &node, p.target)
	}
	return nil
}

// unneeded are the definitions that neither the spec nor any node needs, those that were asked for last first; none
// while that is not known.
func (p *pass) unneeded(have map[string]*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	s := p.skyhook
	stays := v1alpha1.AnnotationNodeStatePrefix + s.Name
	for _, node := range p.others {
		if _, ok := node.Annotations[stays]; ok {
			p.needs.read(s, &node.ObjectMeta, p.target)
		}
	}
	if p.needs.unknown {
		return nil
	}
	needed := p.needs.of
	for _, pkg := range p.target.Packages {
		needed[pkg.Definition] = true
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
	return list
}

// needs are the names of definitions that records name beside those of the spec, and the keys of their versions; not
// known while a record cannot be read, which the status tells about.
type needs struct {
	of      map[string]bool
	unknown bool
	// last is what was added last: most nodes need the same.
	last rollout.Needs
}

func (n *needs) add(more rollout.Needs) {
	if more == n.last {
		return
	}
	n.last = more
	for _, name := range more.Names() {
		n.of[name] = true
	}
}

func (n *needs) read(s *v1alpha1.Skyhook, node *metav1.ObjectMeta, t *state.Target) {
	has, err := record.Read(s.Name, node.Annotations)
	n.unknown = n.unknown || err != nil
	n.add(rollout.NeedsOf(situation.Wanted{Packages: t.Packages}, has))
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
func (p *pass) prunePins(ctx context.Context, pins, definitions map[string]*appsv1.ControllerRevision) error {
	if len(pins) == 0 {
		return nil
	}
	used := map[lifecycle.PinKey]bool{}
	for name, pkg := range p.skyhook.Spec.Packages {
		used[lifecycle.PinKey{Package: name, Version: pkg.Version, Image: pkg.Repository()}] = p.Workload.PinImages
	}
	for _, o := range definitions {
		if d, _, err := workload.ReadRevision(o); err == nil && p.Workload.PinImages {
			used[lifecycle.PinKey{Package: d.Package, Version: d.Spec.Version, Image: d.Spec.Repository()}] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		pin, err := workload.ReadPin(pins[name])
		pin.Scope = ""
		if err == nil && used[pin.PinKey] {
			continue
		}
		if err := deleteRevision(ctx, p.Client, pins[name]); err != nil {
			return fmt.Errorf("delete the unused pin %s: %w", name, err)
		}
	}
	return nil
}
