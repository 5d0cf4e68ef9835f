package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// world is a reconciler with an API server in memory.
type world struct {
	*Reconciler
	t      *testing.T
	writes int
	// refuse fails the next write.
	refuse error
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme, err := settings.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.DeploymentPolicy{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			w.writes++
			if w.refuse != nil {
				return w.refuse
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		}}).Build()
	w.Reconciler = &Reconciler{Shared: state.Shared{
		Client: c, Clock: clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)),
		Targets: &state.Index{}, Policies: &state.Policies{},
	}}
	return w
}

func (w *world) pass(name string) (reconcile.Result, error) {
	return w.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
}

// status is what a pass leaves behind.
func (w *world) status(name string) v1alpha1.DeploymentPolicyStatus {
	w.t.Helper()
	if result, err := w.pass(name); err != nil || result != (reconcile.Result{}) {
		w.t.Fatalf("%v, %v", result, err)
	}
	var p v1alpha1.DeploymentPolicy
	if err := w.Client.Get(w.t.Context(), client.ObjectKey{Name: name}, &p); err != nil {
		w.t.Fatal(err)
	}
	return p.Status
}

func newPolicy(name string) *v1alpha1.DeploymentPolicy {
	one := v1alpha1.Budget{Count: new(1)}
	return &v1alpha1.DeploymentPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 2},
		Spec: v1alpha1.DeploymentPolicySpec{
			Default: v1alpha1.PolicyDefault{Budget: one, Strategy: v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{}}},
			Compartments: []v1alpha1.Compartment{{
				Name: "canary", Budget: one, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}},
			}},
		},
	}
}

func newSkyhook(name, policy string) *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec: v1alpha1.SkyhookSpec{
			NodeSelectors: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "gpu"}}, DeploymentPolicy: policy,
		},
	}
}

func newNode(name string, labels ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, l := range labels {
		k, v, _ := strings.Cut(l, "=")
		n.Labels[k] = v
	}
	return n
}

func TestReconcile(t *testing.T) {
	w := newWorld(t, newPolicy("careful"), newPolicy("other"), newSkyhook("a", "careful"), newSkyhook("b", "careful"),
		newSkyhook("c", "other"), newSkyhook("d", ""),
		newNode("n1", "pool=gpu", "canary=yes"), newNode("n2", "pool=gpu"), newNode("n3", "pool=gpu"), newNode("n4", "pool=cpu"))
	got := w.status("careful")
	if !slices.Equal(got.UsedBy, []string{"a", "b"}) || got.Nodes != 3 || got.CompartmentList != "canary:1, __default__:2" || got.ObservedGeneration != 2 {
		t.Errorf("status %+v", got)
	}
	// A pass that finds nothing new writes nothing.
	w.status("careful")
	if w.writes != 1 {
		t.Errorf("%d writes", w.writes)
	}
	if err := w.Client.Update(t.Context(), newNode("n1", "pool=gpu")); err != nil {
		t.Fatal(err)
	}
	if got = w.status("careful"); got.CompartmentList != "canary:0, __default__:3" || len(got.Conditions) != 1 || w.writes != 2 {
		t.Errorf("status %+v after %d writes", got, w.writes)
	}
	if _, err := w.pass("gone"); err != nil {
		t.Error(err)
	}
}

// TestStale: what was counted for another version of the policy is not stored, and counted again.
func TestStale(t *testing.T) {
	w := newWorld(t, newPolicy("careful"), newSkyhook("a", "careful"))
	var cached v1alpha1.DeploymentPolicy
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "careful"}, &cached); err != nil {
		t.Fatal(err)
	}
	changed := cached.DeepCopy()
	changed.Labels = map[string]string{"a": "b"}
	if err := w.Client.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	err := w.write(t.Context(), &cached, v1alpha1.DeploymentPolicyStatus{Nodes: 7})
	if !apierrors.IsConflict(err) {
		t.Errorf("an old view was stored: %v", err)
	}
	w.refuse = err
	if result, err := w.pass("careful"); err != nil || result.RequeueAfter != passInterval {
		t.Errorf("%v, %v", result, err)
	}
	w.refuse = apierrors.NewNotFound(schema.GroupResource{}, "careful")
	if result, err := w.pass("careful"); err != nil || result != (reconcile.Result{}) {
		t.Errorf("a policy that goes meanwhile: %v, %v", result, err)
	}
	w.refuse = errors.New("no")
	if _, err := w.pass("careful"); !errors.Is(err, w.refuse) {
		t.Error(err)
	}
}

// recording notes what is added to a queue.
type recording struct {
	state.Queue
	added []string
}

func (q *recording) Add(r reconcile.Request) { q.added = append(q.added, r.Name) }
func (q *recording) AddAfter(r reconcile.Request, d time.Duration) {
	q.added = append(q.added, fmt.Sprintf("%s in %s", r.Name, d))
}

func TestSources(t *testing.T) {
	w := newWorld(t, newPolicy("p"), newPolicy("q"))
	moved := newSkyhook("s", "q")
	moved.Generation = 2
	working := newSkyhook("s", "p")
	working.Status.Nodes.Complete = 5
	noted := newNode("n", "pool=gpu")
	noted.Annotations = map[string]string{"a": "b"}
	for _, c := range []struct {
		name          string
		before, after client.Object
		want          string
	}{
		{"a policy comes", nil, newPolicy("p"), "p"},
		{"a policy changes", newPolicy("p"), newPolicy("p"), "p"},
		{"a Skyhook comes", nil, newSkyhook("s", "p"), "p in 1s"},
		{"a Skyhook goes", newSkyhook("s", "p"), nil, "p in 1s"},
		{"a Skyhook without policy comes", nil, newSkyhook("s", ""), ""},
		{"a Skyhook takes another policy", newSkyhook("s", "p"), moved, "p in 1s, q in 1s"},
		{"a rollout goes on", newSkyhook("s", "p"), working, ""},
		{"a node comes", nil, newNode("n"), "p in 1s, q in 1s"},
		{"a node goes", newNode("n"), nil, "p in 1s, q in 1s"},
		{"a node's record changes", newNode("n", "pool=gpu"), noted, ""},
		{"a node gets a label", newNode("n"), newNode("n", "pool=gpu"), "p in 1s, p in 1s, q in 1s, q in 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &recording{}
			for _, s := range w.Sources() {
				wake(t, s, c.before, c.after, q)
			}
			slices.Sort(q.added)
			if got := strings.Join(q.added, ", "); got != c.want {
				t.Errorf("woke %q, want %q", got, c.want)
			}
		})
	}
}

// wake sends an event to a source of its kind: of an object that comes there is no before, of one that goes no after.
func wake(t *testing.T, s state.Source, before, after client.Object, q state.Queue) {
	t.Helper()
	for _, o := range []client.Object{before, after} {
		if o != nil && fmt.Sprintf("%T", o) != fmt.Sprintf("%T", s.Object) {
			return
		}
	}
	p := predicate.And(s.Predicates...)
	switch come, gone := (event.CreateEvent{Object: after}), (event.DeleteEvent{Object: before}); {
	case before == nil:
		if p.Create(come) {
			s.Handler.Create(t.Context(), come, q)
		}
	case after == nil:
		if p.Delete(gone) {
			s.Handler.Delete(t.Context(), gone, q)
		}
	default:
		if update := (event.UpdateEvent{ObjectOld: before, ObjectNew: after}); p.Update(update) {
			s.Handler.Update(t.Context(), update, q)
		}
	}
}
