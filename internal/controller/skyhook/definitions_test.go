package skyhook

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// undoable is a Skyhook of the given generation whose package a can be uninstalled, with a policy for its removal.
func undoable(generation int64, version string, policy v1alpha1.WhenRemoved) *v1alpha1.Skyhook {
	s := newSkyhook("demo")
	s.Generation = generation
	s.Spec.Packages["a"] = v1alpha1.Package{
		Version: version, Image: "x/a", Uninstall: &v1alpha1.Uninstall{Enabled: ptr.To(true), WhenRemoved: policy},
	}
	return s
}

// revisionOf is what retains package a of a Skyhook.
func revisionOf(t *testing.T, s *v1alpha1.Skyhook, revision int64) *appsv1.ControllerRevision {
	t.Helper()
	r, err := options.Revision(s, workload.DefinitionOf(s, "a"))
	if err != nil {
		t.Fatal(err)
	}
	r.Revision = revision
	return r
}

func (w *world) revisions() map[string]int64 {
	w.t.Helper()
	var list appsv1.ControllerRevisionList
	w.must(w.Client.List(w.t.Context(), &list))
	all := map[string]int64{}
	for _, r := range list.Items {
		all[r.Name] = r.Revision
	}
	return all
}

func TestRetain(t *testing.T) {
	const refuse, uninstall = v1alpha1.WhenRemovedRefuse, v1alpha1.WhenRemovedUninstall
	now := undoable(5, "1.0.0", uninstall)
	name := revisionOf(t, now, 0).Name
	flipped := func(revision int64) *appsv1.ControllerRevision {
		return revisionOf(t, undoable(5, "1.0.0", refuse), revision)
	}
	foreign := revisionOf(t, now, 5)
	foreign.OwnerReferences = nil
	before := revisionOf(t, now, 5)
	before.OwnerReferences[0].UID = "uid-before"
	put := revisionOf(t, now, 5)
	put.Data.Raw = bytes.ReplaceAll(put.Data.Raw, []byte("x/a"), []byte("evil/a"))
	for _, c := range []struct {
		name  string
		have  []client.Object
		want  string // the requests
		last  int64  // the revision of the definition of now
		fails bool
	}{
		{name: "new", want: "create ControllerRevision " + name, last: 5},
		{name: "kept already", have: []client.Object{revisionOf(t, now, 5)}, last: 5},
		{name: "kept since an earlier generation, and nothing came between", have: []client.Object{revisionOf(t, now, 2)}, last: 2},
		{name: "an earlier version does not count", have: []client.Object{revisionOf(t, now, 4), revisionOf(t, undoable(5, "2.0.0", refuse), 2)}, last: 4},
		{
			name: "back from another version", have: []client.Object{revisionOf(t, now, 2), revisionOf(t, undoable(5, "2.0.0", refuse), 4)},
			want: "patch ControllerRevision " + name, last: 5,
		},
		{name: "after another policy", have: []client.Object{flipped(4)}, want: "create ControllerRevision " + name, last: 5},
		{name: "back to the policy before", have: []client.Object{revisionOf(t, now, 2), flipped(4)}, want: "patch ControllerRevision " + name, last: 5},
		{name: "another one of the same generation", have: []client.Object{flipped(5)}, want: "create ControllerRevision " + name, last: 6},
		{name: "back to another one of the same generation", have: []client.Object{revisionOf(t, now, 5), flipped(6)}, want: "patch ControllerRevision " + name, last: 7},
		{
			name: "somebody put another in its place", have: []client.Object{put},
			want: "delete ControllerRevision " + name + ", create ControllerRevision " + name, last: 5,
		},
		{name: "the name is nobody's", have: []client.Object{foreign}, want: "create ControllerRevision " + name, last: 5, fails: true},
		{name: "the name is that of a Skyhook before", have: []client.Object{before}, want: "create ControllerRevision " + name, last: 5, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, now.DeepCopy())
			for _, o := range c.have {
				copied, _ := o.DeepCopyObject().(client.Object)
				w.must(w.Client.Create(t.Context(), copied))
			}
			w.took()
			err := w.newPass(now).retain(t.Context())
			if got := w.took(); got != c.want || w.revisions()[name] != c.last {
				t.Errorf("requests %q, want %q; revisions %v, want %d", got, c.want, w.revisions(), c.last)
			}
			if (err != nil) != c.fails || c.fails && (obstacleOf(err) == nil || !strings.Contains(err.Error(), "ControllerRevision skyhook/"+name)) {
				t.Errorf("error %v", err)
			}
			if c.fails {
				return
			}
			if err := w.newPass(now).retain(t.Context()); err != nil || w.took() != "" {
				t.Errorf("the next pass writes again, error %v", err)
			}
		})
	}
}

// TestRetainBehindTheCache: one of ours that only the cache does not show is no error, nor is it written.
func TestRetainBehindTheCache(t *testing.T) {
	s := undoable(1, "1.0.0", "")
	w := newWorld(t, s.DeepCopy(), revisionOf(t, s, 1))
	if err := w.newPass(s).retainOne(t.Context(), revisionOf(t, s, 1), nil); err != nil {
		t.Error(err)
	}
	w.Live = newWorld(t, s.DeepCopy()).Client
	if err := w.newPass(s).retainOne(t.Context(), revisionOf(t, s, 1), nil); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "whose name is taken") {
		t.Errorf("taken, and then gone: %v", err)
	}
}

// TestRetainWithAnOldCache: a new spec waits until the cache has the definitions as they are. One that the last pass
// deleted may be wanted again, and nodes could not uninstall what they install; one that the cache lacks may be of what
// they have, and it would count as what cannot be uninstalled.
func TestRetainWithAnOldCache(t *testing.T) {
	s := undoable(3, "1.0.0", v1alpha1.WhenRemovedUninstall)
	before, renewed := revisionOf(t, s, 1), revisionOf(t, s, 1)
	before.UID, renewed.UID, before.ResourceVersion, renewed.ResourceVersion = "uid-1", "uid-1", "1", "2"
	for _, c := range []struct {
		name         string
		cached, live []client.Object
		observed     int64
		want         bool
	}{
		{name: "none", want: true},
		{name: "deleted meanwhile", cached: []client.Object{before}},
		{name: "made meanwhile", live: []client.Object{before}},
		{name: "renewed meanwhile", cached: []client.Object{before}, live: []client.Object{renewed}},
		{name: "the same", cached: []client.Object{before}, live: []client.Object{before}, want: true},
		{name: "not of a new spec", cached: []client.Object{before}, observed: 3, want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.cached...)
			w.Live = newWorld(t, append(c.live, s.DeepCopy())...).Client
			now := s.DeepCopy()
			now.Status.ObservedGeneration = c.observed
			if err := w.newPass(now).retain(t.Context()); (err == nil) != c.want || err != nil && !apierrors.IsConflict(err) {
				t.Errorf("error %v", err)
			}
			if got := w.took(); !c.want && got != "" {
				t.Errorf("requests %q", got)
			}
		})
	}
}

// TestRetainWithAnOldSpec: a new leader whose cache has an earlier spec, which was planned, leaves the order in which
// definitions were asked for: what is removed is undone with the last one.
func TestRetainWithAnOldSpec(t *testing.T) {
	old, now := undoable(4, "1.0.0", ""), undoable(5, "2.0.0", "")
	old.Status.ObservedGeneration = 4
	answered := now.DeepCopy()
	answered.Annotations = map[string]string{v1alpha1.AnnotationUninstallCapability: "{}"}
	again := now.DeepCopy()
	again.UID = "uid-again"
	for name, c := range map[string]struct {
		cached, live *v1alpha1.Skyhook
		want         bool
	}{
		"the last one":        {now, now, true},
		"an earlier one":      {old, now, false},
		"with another answer": {now, answered, false},
		"of a Skyhook that was deleted and created again": {now, again, false},
	} {
		w := newWorld(t, c.live.DeepCopy(), revisionOf(t, old, 4))
		w.took()
		if c.cached == old {
			w.must(w.Client.Create(t.Context(), revisionOf(t, now, 5)))
			w.took()
		}
		s := c.cached.DeepCopy()
		s.Status.ObservedGeneration = s.Generation
		if err := w.newPass(s).retain(t.Context()); (err == nil) != c.want || err != nil && !apierrors.IsConflict(err) {
			t.Errorf("%s: error %v", name, err)
		}
		if got := w.took(); (got != "") != c.want {
			t.Errorf("%s: requests %q", name, got)
		}
	}
}

// TestRenewIsCompared: two replicas, one with an old view, do not renew one after the other.
func TestRenewIsCompared(t *testing.T) {
	s := undoable(5, "1.0.0", v1alpha1.WhenRemovedUninstall)
	old, other := revisionOf(t, s, 2), revisionOf(t, undoable(4, "1.0.0", ""), 4)
	w := newWorld(t, s.DeepCopy(), old.DeepCopy(), other)
	have, _, err := w.newPass(s).revisions(t.Context(), w.Client)
	w.must(err)
	stale := have[old.Name].DeepCopy()
	stale.ResourceVersion = "1"
	have[old.Name] = stale
	if err := w.newPass(s).retainOne(t.Context(), old, have); !apierrors.IsConflict(err) || w.revisions()[old.Name] != 2 {
		t.Errorf("error %v, revisions %v", err, w.revisions())
	}
}

// TestRetainWhatAnImageTells: the answer of an image makes a definition of its own, and the later answer counts.
func TestRetainWhatAnImageTells(t *testing.T) {
	s := newSkyhook("demo")
	w := newWorld(t, s)
	s = w.skyhook("demo")
	names := map[string]string{}
	for _, answer := range []string{"false", "true", "false"} {
		s.Annotations = map[string]string{
			v1alpha1.AnnotationUninstallCapability: fmt.Sprintf(`{"references":{"x/a:1.0.0":{"digest":"sha256:1"}},"digests":{"sha256:1":%q}}`, answer),
		}
		w.must(w.Client.Update(t.Context(), s))
		d := workload.DefinitionOf(s, "a")
		if want := answer == "true"; d.Enabled != want {
			t.Fatalf("the annotation says %s, and the definition %t", answer, d.Enabled)
		}
		names[answer] = "demo-a-" + d.Hash()
		w.must(w.newPass(s).retain(t.Context()))
		other := names["true"]
		if answer == "true" {
			other = names["false"]
		}
		if all := w.revisions(); len(all) > 1 && all[names[answer]] <= all[other] {
			t.Errorf("after %s: %v", answer, all)
		}
	}
}

func TestDefinitionsAreThoseOfThisVerySkyhook(t *testing.T) {
	s := undoable(1, "1.0.0", "")
	before, foreign, labeled := revisionOf(t, undoable(1, "2.0.0", ""), 1), revisionOf(t, undoable(1, "3.0.0", ""), 1), revisionOf(t, undoable(1, "4.0.0", ""), 1)
	before.OwnerReferences[0].UID, foreign.OwnerReferences, labeled.Labels = "uid-before", nil, nil
	elsewhere := revisionOf(t, undoable(1, "5.0.0", ""), 1)
	elsewhere.Namespace = "other"
	own := revisionOf(t, s, 1)
	w := newWorld(t, own, before, foreign, labeled, elsewhere)
	got, _, err := w.newPass(s).revisions(t.Context(), w.Client)
	w.must(err)
	if names := slices.Collect(maps.Keys(got)); len(names) != 1 || names[0] != own.Name {
		t.Errorf("got %v", names)
	}
}

func TestPruneDefinitions(t *testing.T) {
	const refuse, uninstall = v1alpha1.WhenRemovedRefuse, v1alpha1.WhenRemovedUninstall
	installed := func(t *testing.T, s *v1alpha1.Skyhook) *corev1.Node {
		t.Helper()
		n, pkg := newNode("node-1", "other"), s.Spec.Packages["a"]
		e := record.Entry{
			Name: "a", Version: pkg.Version, Image: "x/a", Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete,
			Definition: workload.DefinitionOf(s, "a").Hash(),
		}
		remember(t, n, "demo", record.Node{Packages: map[string]record.Entry{e.Key(): e}})
		return n
	}
	broken := newNode("node-1", "other")
	broken.Annotations[v1alpha1.GroupName+"/nodeState_demo"] = "{"
	for _, c := range []struct {
		name    string
		node    *corev1.Node
		permits []v1alpha1.Permit
		have    map[string]*appsv1.ControllerRevision // beside that of the spec
		fewer   int                                   // how many less are kept to go back to than there is room for
		want    string                                // what goes
	}{
		{name: "only that of the spec"},
		{name: "to go back to", fewer: 1, have: map[string]*appsv1.ControllerRevision{"old": revisionOf(t, undoable(1, "1.0.0", ""), 1)}},
		{
			name: "the one that was asked for first goes", fewer: 1,
			have: map[string]*appsv1.ControllerRevision{"first": revisionOf(t, undoable(1, "1.0.0", ""), 1), "then": revisionOf(t, undoable(1, "1.1.0", ""), 2)},
			want: "first",
		},
		{name: "of a version that nobody has", have: map[string]*appsv1.ControllerRevision{"old": revisionOf(t, undoable(1, "1.0.0", ""), 1)}, want: "old"},
		{
			name: "while a permit is out", permits: []v1alpha1.Permit{{Node: "node-1"}},
			have: map[string]*appsv1.ControllerRevision{"old": revisionOf(t, undoable(1, "1.0.0", ""), 1)},
		},
		{name: "while a record cannot be read", node: broken, have: map[string]*appsv1.ControllerRevision{"old": revisionOf(t, undoable(1, "1.0.0", ""), 1)}},
		{
			name: "of a node, also one that is not selected", node: installed(t, undoable(1, "1.0.0", "")),
			have: map[string]*appsv1.ControllerRevision{"old": revisionOf(t, undoable(1, "1.0.0", ""), 1), "older": revisionOf(t, undoable(1, "0.9.0", ""), 1)},
			want: "older",
		},
		{
			name: "the newest of a node's version, for its policy", node: installed(t, undoable(1, "1.0.0", "")),
			have: map[string]*appsv1.ControllerRevision{
				"of the node": revisionOf(t, undoable(1, "1.0.0", ""), 1), "between": revisionOf(t, undoable(1, "1.0.0", refuse), 2),
				"newest": revisionOf(t, undoable(1, "1.0.0", uninstall), 3),
			},
			want: "between",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := undoable(5, "2.0.0", "")
			s.Status.Permits = c.permits
			own := revisionOf(t, s, 5)
			objects := []client.Object{s, own}
			if c.node != nil {
				objects = append(objects, c.node)
			}
			for i := range definitionsBefore - c.fewer {
				objects = append(objects, revisionOf(t, undoable(4, fmt.Sprintf("1.9.%d", i), ""), 4))
			}
			want := ""
			for name, r := range c.have {
				objects = append(objects, r.DeepCopy())
				if name == c.want {
					want = "delete ControllerRevision " + r.Name
				}
			}
			w := newWorld(t, objects...)
			w.prune(s)
			if got := w.took(); got != want {
				t.Errorf("requests %q, want %q", got, want)
			}
			w.prune(s)
			if got := w.took(); got != "" {
				t.Errorf("the next pass: %q", got)
			}
			if _, kept := w.revisions()[own.Name]; !kept {
				t.Error("the definition of the spec is gone")
			}
		})
	}
}

// prune does what a pass ends with.
func (w *world) prune(s *v1alpha1.Skyhook) {
	p := w.reads(s)
	w.must(p.pruneDefinitions(w.t.Context()))
}

// TestPruneRests: a new operator may not have seen what nodes began last, and keeps definitions for a minute. Then it
// looks again by itself.
func TestPruneRests(t *testing.T) {
	for _, c := range []struct {
		name    string
		unused  int
		after   time.Duration
		rest    time.Duration
		deletes bool
	}{
		{"too early", definitionsBefore + 1, definitionsRest - time.Second, time.Second, false},
		{"in time", definitionsBefore + 1, definitionsRest, 0, true},
		{"nothing is left to delete", definitionsBefore, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := undoable(5, "2.0.0", "")
			objects := []client.Object{s, revisionOf(t, s, 5)}
			for i := range c.unused {
				objects = append(objects, revisionOf(t, undoable(4, fmt.Sprintf("1.9.%d", i), ""), 4))
			}
			w := newWorld(t, objects...)
			pace := &w.memory.Of(s).pace
			pace.wait(s.Generation, w.clock.Now())
			w.clock.SetTime(w.clock.Now().Add(c.after))
			w.prune(s)
			if deleted := w.took() != ""; deleted != c.deletes || pace.rest != c.rest {
				t.Errorf("deletes: %t, want %t; looks again in %s, want %s", deleted, c.deletes, pace.rest, c.rest)
			}
		})
	}
}

// TestPinsRest: an operator that no longer pins images deletes the pins in time, also where nothing else happens.
func TestPinsRest(t *testing.T) {
	for _, c := range []struct {
		name   string
		pinned bool
		rest   time.Duration
	}{{"images are not pinned", false, definitionsRest}, {"images are pinned", true, 0}} {
		t.Run(c.name, func(t *testing.T) {
			s := undoable(2, "2.0.0", "")
			pin, err := options.PinRevision(s, lifecycle.Pin{
				PinKey: lifecycle.PinKey{Package: "a", Version: "2.0.0", Image: "x/a"}, Digest: "sha256:1",
			})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, s, pin, revisionOf(t, s, 2))
			w.Workload.PinImages = c.pinned
			pace := &w.memory.Of(s).pace
			pace.wait(s.Generation, w.clock.Now())
			w.prune(s)
			if got := w.took(); got != "" || pace.rest != c.rest {
				t.Errorf("requests %q, looks again in %s, want %s", got, pace.rest, c.rest)
			}
		})
	}
}

// TestPruneWhilePermitsAreOut: a node that hangs keeps its permit, however often the spec is edited meanwhile. Only what
// is too much goes, when no pass goes by an earlier spec any more, and nothing that the API server knows a node to need.
func TestPruneWhilePermitsAreOut(t *testing.T) {
	const versions = definitionsMost + 4
	for _, c := range []struct {
		name   string
		age    time.Duration
		change func(w *world, s *v1alpha1.Skyhook)
		want   int // definitions that are deleted
	}{
		{"in time", definitionsAge, nil, 4},
		{"too early", definitionsAge - time.Second, nil, 0},
		{"what the cache does not show", definitionsAge, func(w *world, _ *v1alpha1.Skyhook) {
			w.Live = fake.NewClientBuilder().WithScheme(w.Client.Scheme()).
				WithObjects(has(t, "n1", undoable(1, "1.0.0", ""), nil)).Build()
		}, 3},
		{"a record that cannot be read", definitionsAge, func(w *world, s *v1alpha1.Skyhook) {
			n := has(t, "n1", undoable(1, "1.0.0", ""), nil)
			n.Annotations[v1alpha1.AnnotationNodeStatePrefix+s.Name] = "{"
			w.Live = fake.NewClientBuilder().WithScheme(w.Client.Scheme()).WithObjects(n).Build()
		}, 0},
		{"a rollout to many nodes", definitionsAge, func(_ *world, s *v1alpha1.Skyhook) {
			for i := range maxLooks {
				s.Status.Permits = append(s.Status.Permits, v1alpha1.Permit{Node: fmt.Sprintf("m%d", i)})
			}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := undoable(versions+1, "2.0.0", "")
			s.Status.Permits = []v1alpha1.Permit{{Node: "n1"}}
			objects := []client.Object{s, revisionOf(t, s, s.Generation)}
			for i := range versions {
				objects = append(objects, revisionOf(t, undoable(int64(i+1), fmt.Sprintf("1.0.%d", i), ""), int64(i+1)))
			}
			w := newWorld(t, objects...)
			now := s.DeepCopy()
			if c.change != nil {
				c.change(w, now)
			}
			w.memory.Of(now).pace.wait(now.Generation, w.clock.Now())
			w.clock.SetTime(w.clock.Now().Add(c.age))
			w.prune(now)
			if got := versions + 1 - len(w.revisions()); got != c.want {
				t.Errorf("deleted %d definitions, want %d", got, c.want)
			}
			if _, there := w.revisions()[revisionOf(t, undoable(1, "1.0.0", ""), 1).Name]; there != (c.want < 4) {
				t.Errorf("the first definition is there: %t", there)
			}
		})
	}
}

// TestPrunePins: a pin lives as long as a definition of its version with its image.
func TestPrunePins(t *testing.T) {
	s := undoable(2, "2.0.0", "")
	of := func(version, image, scope string) *appsv1.ControllerRevision {
		r, err := options.PinRevision(s, lifecycle.Pin{
			PinKey: lifecycle.PinKey{Package: "a", Version: version, Image: image, Scope: scope}, Digest: "sha256:1",
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	broken := of("2.0.0", "x/a", "")
	broken.Data.Raw = []byte("{}")
	foreign := of("1.0.0", "x/a", "")
	foreign.OwnerReferences = nil
	for _, c := range []struct {
		name    string
		pin     *appsv1.ControllerRevision
		has     string // the version that a node has
		permits bool
		off     bool
		spoiled bool // somebody changed the definition of the spec
		stays   bool
	}{
		{name: "of the spec", pin: of("2.0.0", "x/a", ""), stays: true},
		{name: "of the spec, for one architecture", pin: of("2.0.0", "x/a", "arm64"), stays: true},
		{name: "of the spec, whose definition is to be replaced", pin: of("2.0.0", "x/a", ""), spoiled: true, stays: true},
		{name: "of a version that is gone", pin: of("1.0.0", "x/a", "")},
		{name: "of a version that a node has", pin: of("1.0.0", "x/a", ""), has: "1.0.0", stays: true},
		{name: "of another image", pin: of("2.0.0", "y/a", "")},
		{name: "while permits are out", pin: of("1.0.0", "x/a", ""), permits: true, stays: true},
		{name: "images are not pinned", pin: of("2.0.0", "x/a", ""), off: true},
		{name: "that cannot be read", pin: broken},
		{name: "another's", pin: foreign, stays: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			current := revisionOf(t, s, 2)
			if c.spoiled {
				current.Data.Raw = []byte("{}")
			}
			w := newWorld(t, s, c.pin.DeepCopy(), current, revisionOf(t, undoable(1, "1.0.0", ""), 1))
			w.Workload.PinImages = !c.off
			if c.has != "" {
				w.must(w.Client.Create(t.Context(), has(t, "n1", undoable(1, c.has, ""), nil)))
			}
			now := s.DeepCopy()
			if c.permits {
				now.Status.Permits = []v1alpha1.Permit{{Node: "n1"}}
			}
			w.prune(now)
			if _, there := w.revisions()[c.pin.Name]; there != c.stays {
				t.Errorf("there: %t", there)
			}
			if _, there := w.revisions()[revisionOf(t, s, 2).Name]; !there {
				t.Error("the definition of the spec is gone")
			}
		})
	}
}

// TestMovedImageIsTold: what a node noted with the pin becomes a condition of the Skyhook, and an event.
func TestMovedImageIsTold(t *testing.T) {
	s := undoable(2, "2.0.0", "")
	pin := lifecycle.Pin{
		PinKey: lifecycle.PinKey{Package: "a", Version: "2.0.0", Image: "x/a"}, Digest: "sha256:1", Moved: "sha256:2", Node: "n7",
	}
	object, err := options.PinRevision(s, pin)
	if err != nil {
		t.Fatal(err)
	}
	if object.Annotations[v1alpha1.AnnotationMoved], err = workload.Moved(pin); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, s, object)
	w.Workload.PinImages = true
	p := w.reads(s)
	s.Status = rollout.Plan(p.in)
	p.report(t.Context(), v1alpha1.SkyhookStatus{})
	if got := w.told(); !strings.Contains(got, "Warning ImageMoved the tag x/a:2.0.0 moved: node n7 pulled sha256:2") {
		t.Errorf("told %q", got)
	}
}
