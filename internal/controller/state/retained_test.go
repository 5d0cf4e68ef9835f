package state_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

var options = workload.Options{Namespace: "skyhook"}

// undoable is the Skyhook with a version of package a that can be uninstalled, under a policy for its removal.
func undoable(version, config string, policy v1alpha1.WhenRemoved) *v1alpha1.Skyhook {
	s := skyhook("demo", 1, nil)
	s.Spec.Packages["a"] = v1alpha1.Package{
		Version: version, Image: "x/a", ConfigMap: map[string]string{"k": config},
		Uninstall: &v1alpha1.Uninstall{Enabled: ptr.To(true), WhenRemoved: policy},
	}
	return s
}

func revision(t *testing.T, s *v1alpha1.Skyhook, number int64) *appsv1.ControllerRevision {
	t.Helper()
	r, err := options.Revision(s, workload.DefinitionOf(s, "a"))
	if err != nil {
		t.Fatal(err)
	}
	r.Revision, r.UID = number, types.UID(fmt.Sprint("uid-", r.Name))
	return r
}

// wanted is what a Skyhook, which no longer has package a, wants on a node when these definitions are retained.
func wanted(
	t *testing.T, index *state.Index, s *v1alpha1.Skyhook, retained ...*appsv1.ControllerRevision,
) situation.Wanted {
	t.Helper()
	b := fake.NewClientBuilder()
	for _, r := range retained {
		b = b.WithObjects(r.DeepCopy())
	}
	snapshot, err := index.Snapshot(t.Context(), b.Build(), options, []*v1alpha1.Skyhook{s})
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.Wanted(s, "node-1")
}

func TestRetainedDefinitions(t *testing.T) {
	const refuse, uninstall = v1alpha1.WhenRemovedRefuse, v1alpha1.WhenRemovedUninstall
	disabled := undoable("1.0.0", "1", "")
	disabled.Spec.Packages["a"].Uninstall.Enabled = ptr.To(false)
	own := func(version, config string, policy v1alpha1.WhenRemoved, number int64) *appsv1.ControllerRevision {
		return revision(t, undoable(version, config, policy), number)
	}
	changed := func(change func(*appsv1.ControllerRevision)) *appsv1.ControllerRevision {
		r := own("1.0.0", "1", "", 1)
		change(r)
		return r
	}
	for _, c := range []struct {
		name     string
		retained []*appsv1.ControllerRevision
		want     string // "version config enabled policy", sorted
	}{
		{name: "none"},
		{name: "one", retained: []*appsv1.ControllerRevision{own("1.0.0", "1", uninstall, 1)}, want: "1.0.0 1 true Uninstall"},
		{
			name:     "how is said by each, whether and when by the newest",
			retained: []*appsv1.ControllerRevision{own("1.0.0", "1", uninstall, 1), own("1.0.0", "2", refuse, 3), own("1.0.0", "3", uninstall, 2)},
			want:     "1.0.0 1 true Refuse, 1.0.0 2 true Refuse, 1.0.0 3 true Refuse",
		},
		{
			name:     "disabled since",
			retained: []*appsv1.ControllerRevision{own("1.0.0", "1", uninstall, 1), revision(t, disabled, 2)},
			want:     "1.0.0 1 false , 1.0.0 1 false ",
		},
		{
			name:     "another version does not count",
			retained: []*appsv1.ControllerRevision{own("1.0.0", "1", uninstall, 1), own("2.0.0", "1", refuse, 2)},
			want:     "1.0.0 1 true Uninstall, 2.0.0 1 true Refuse",
		},
		{
			name: "one that cannot be read is missing",
			retained: []*appsv1.ControllerRevision{
				changed(func(r *appsv1.ControllerRevision) {
					r.Name, r.Data = "broken", runtime.RawExtension{Raw: []byte(`"x"`)}
				}),
				own("2.0.0", "1", refuse, 2),
			},
			want: "2.0.0 1 true Refuse",
		},
		{name: "of a Skyhook of that name before", retained: []*appsv1.ControllerRevision{changed(func(r *appsv1.ControllerRevision) { r.OwnerReferences[0].UID = "uid-before" })}},
		{name: "nobody's", retained: []*appsv1.ControllerRevision{changed(func(r *appsv1.ControllerRevision) { r.OwnerReferences = nil })}},
		{name: "without our label", retained: []*appsv1.ControllerRevision{changed(func(r *appsv1.ControllerRevision) { r.Labels = nil })}},
		{name: "in another namespace", retained: []*appsv1.ControllerRevision{changed(func(r *appsv1.ControllerRevision) { r.Namespace = "x" })}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list []string
			for name, p := range wanted(t, &state.Index{}, skyhook("demo", 1, nil), c.retained...).Retained {
				if p.Definition != name || p.Name != "a" || p.Hash == "" {
					t.Errorf("%s: %+v", name, p)
				}
				policy := ""
				if p.Uninstall != nil {
					policy = string(p.Uninstall.WhenRemoved)
				}
				list = append(list, fmt.Sprint(p.Version, " ", p.ConfigMap["k"], " ", p.Uninstallable, " ", policy))
			}
			slices.Sort(list)
			if got := strings.Join(list, ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestRetainedDecodesOnce: the same definitions are decoded once, and again as soon as one of them, or the spec that
// pods depend on, changed.
func TestRetainedDecodesOnce(t *testing.T) {
	var index state.Index
	s := skyhook("demo", 1, nil)
	one, two := revision(t, undoable("1.0.0", "1", v1alpha1.WhenRemovedUninstall), 1), revision(t, undoable("2.0.0", "1", ""), 2)
	mark := func(w situation.Wanted) bool { // reports whether these were seen before, and marks them
		_, seen := w.Retained["seen"]
		w.Retained["seen"] = situation.Package{}
		return seen
	}
	if mark(wanted(t, &index, s, one)) || !mark(wanted(t, &index, s, one)) {
		t.Error("the same are decoded again")
	}
	if mark(wanted(t, &index, s, one, two)) {
		t.Error("one that came is not seen")
	}
	if mark(wanted(t, &index, s, two)) {
		t.Error("one that left is still there")
	}
	again := two.DeepCopy()
	again.UID = "uid-again"
	if mark(wanted(t, &index, s, again)) {
		t.Error("another one of that name is not seen")
	}
	renewed := again.DeepCopy()
	renewed.ResourceVersion = "7"
	if mark(wanted(t, &index, s, renewed)) {
		t.Error("a renewed one is not seen")
	}
	s.Generation = 2
	if mark(wanted(t, &index, s, renewed)) {
		t.Error("another generation has other pods")
	}
	if !mark(wanted(t, &index, s, renewed)) {
		t.Error("the same of the next generation are decoded again")
	}
	index.Keep(nil)
	if mark(wanted(t, &index, s, renewed)) {
		t.Error("what was forgotten is still there")
	}
}

// shuffled lists in another order each time, as a cache does.
type shuffled struct{ client.Reader }

func (s shuffled) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := s.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	if all, ok := list.(*appsv1.ControllerRevisionList); ok {
		rand.Shuffle(len(all.Items), func(i, j int) { all.Items[i], all.Items[j] = all.Items[j], all.Items[i] })
	}
	return nil
}

// TestRetainedDecodesOnceInAnyOrder counts the decodes of a hundred passes: what is decoded is another map.
func TestRetainedDecodesOnceInAnyOrder(t *testing.T) {
	s := skyhook("demo", 1, nil)
	b := fake.NewClientBuilder()
	for i := range 10 {
		b = b.WithObjects(revision(t, undoable(fmt.Sprintf("%d.0.0", i+1), "1", ""), 1))
	}
	reader := shuffled{b.Build()}
	var index state.Index
	decodes := map[uintptr]bool{}
	var kept []situation.Retained // so that no two have one address
	for range 100 {
		snapshot, err := index.Snapshot(t.Context(), reader, options, []*v1alpha1.Skyhook{s.DeepCopy()})
		if err != nil {
			t.Fatal(err)
		}
		retained := snapshot.Wanted(s, "node-1").Retained
		decodes[reflect.ValueOf(retained).Pointer()], kept = true, append(kept, retained)
	}
	if len(decodes) != 1 || len(kept[0]) != 10 {
		t.Errorf("%d definitions were decoded %d times", len(kept[0]), len(decodes))
	}
}

// TestNewestInAnyOrder: of two definitions that claim to be the newest, every pass takes the same one.
func TestNewestInAnyOrder(t *testing.T) {
	refuse := revision(t, undoable("1.0.0", "1", v1alpha1.WhenRemovedRefuse), 7)
	uninstall := revision(t, undoable("1.0.0", "2", v1alpha1.WhenRemovedUninstall), 7)
	reader := shuffled{fake.NewClientBuilder().WithObjects(refuse, uninstall).Build()}
	policies := map[v1alpha1.WhenRemoved]bool{}
	for range 50 {
		s := skyhook("demo", 1, nil)
		snapshot, err := new(state.Index).Snapshot(t.Context(), reader, options, []*v1alpha1.Skyhook{s})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range snapshot.Wanted(s, "node-1").Retained {
			policies[p.Uninstall.WhenRemoved] = true
		}
	}
	if len(policies) != 1 {
		t.Errorf("what counts is by chance one of %v", policies)
	}
}

// TestRetainedOfSeveralSkyhooks: each gets its own.
func TestRetainedOfSeveralSkyhooks(t *testing.T) {
	demo, other := skyhook("demo", 1, nil), skyhook("other", 1, nil)
	r := revision(t, undoable("1.0.0", "1", ""), 1)
	var index state.Index
	snapshot, err := index.Snapshot(t.Context(), fake.NewClientBuilder().WithObjects(r).Build(), options, []*v1alpha1.Skyhook{demo, other})
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Collect(maps.Keys(snapshot.Wanted(demo, "n").Retained)); len(names) != 1 || names[0] != workload.DefinitionName(r) {
		t.Errorf("demo has %v", names)
	}
	if n := len(snapshot.Wanted(other, "n").Retained); n != 0 {
		t.Errorf("other has %d", n)
	}
}

func TestAbandonedIsReadWithTheAnnotation(t *testing.T) {
	var index state.Index
	s := skyhook("demo", 1, nil)
	if wanted(t, &index, s).Abandoned {
		t.Error("nobody gave the node up")
	}
	s.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: "node-2, node-1"}
	if !wanted(t, &index, s).Abandoned {
		t.Error("the annotation changed under the same generation, and nobody looked")
	}
}

// deaf cannot list.
type deaf struct{ client.Reader }

var errDeaf = errors.New("deaf")

func (deaf) List(context.Context, client.ObjectList, ...client.ListOption) error { return errDeaf }

func TestViewTellsWhatItCouldNotRead(t *testing.T) {
	if _, err := new(state.Index).Snapshot(t.Context(), deaf{}, options, nil); !errors.Is(err, errDeaf) || !strings.Contains(err.Error(), "list retained definitions") {
		t.Errorf("got %v", err)
	}
}
