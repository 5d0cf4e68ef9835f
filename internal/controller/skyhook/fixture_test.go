package skyhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

const namespace = "skyhook"

var (
	start   = time.Unix(1_800_000_000, 0)
	options = workload.Options{Namespace: namespace, AgentImage: "x/agent:1", CopyDirRoot: "/var/lib/skyhook", AgentLogRoot: "/var/log/skyhook"}
)

// world is a reconciler with an API server in memory.
type world struct {
	*Reconciler
	t     *testing.T
	clock *clocktesting.FakePassiveClock
	// writes are the requests so far, such as "patch Skyhook demo".
	writes []string
	// refuse fails writes, by what they are such as "patch status Skyhook demo"; nil lets all through.
	refuse func(request string, o client.Object) error
}

// list refuses a look at all ConfigMaps: a fleet has one for each node and Skyhook.
func (w *world) list(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
	if _, ok := l.(*corev1.ConfigMapList); ok && (&client.ListOptions{}).ApplyOptions(opts).FieldSelector == nil {
		return errors.New("all ConfigMaps are listed")
	}
	return c.List(ctx, l, opts...)
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(start)}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.Skyhook{})
	for _, l := range state.Lookups {
		b.WithIndex(l.Object, l.Field, l.Keys)
	}
	c := b.
		WithInterceptorFuncs(interceptor.Funcs{
			List: w.list,
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				return w.write("create", o, func() error { return c.Create(ctx, o, opts...) })
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				return w.write("update", o, func() error { return c.Update(ctx, o, opts...) })
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				return w.write("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return w.write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				return w.write("patch "+sub, o, func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
			},
		}).Build()
	w.Reconciler = &Reconciler{Shared: state.Shared{
		Client: c, Live: c, Events: events.NewFakeRecorder(100), Clock: w.clock,
		Targets: &state.Index{}, Records: &state.Records{}, Policies: &state.Policies{}, Workload: options, Version: "v1",
	}}
	return w
}

func (w *world) write(verb string, o client.Object, do func() error) error {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", o), "*")
	request := verb + " " + kind[strings.Index(kind, ".")+1:] + " " + o.GetName()
	w.writes = append(w.writes, request)
	if w.refuse != nil {
		if err := w.refuse(request, o); err != nil {
			return err
		}
	}
	return do()
}

// took returns the writes since it was asked last.
func (w *world) took() string {
	all := strings.Join(w.writes, ", ")
	w.writes = nil
	return all
}

// told returns the events since it was asked last, one a line.
func (w *world) told() string {
	recorder, _ := w.Events.(*events.FakeRecorder)
	var all []string
	for len(recorder.Events) > 0 {
		all = append(all, <-recorder.Events)
	}
	return strings.Join(all, "\n")
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// reads begins a pass, and reads what its plan depends on.
func (w *world) reads(s *v1alpha1.Skyhook) *pass {
	w.t.Helper()
	p := w.newPass(s)
	w.must(p.read(w.t.Context()))
	return p
}

func (w *world) skyhook(name string) *v1alpha1.Skyhook {
	w.t.Helper()
	var s v1alpha1.Skyhook
	w.must(w.Client.Get(w.t.Context(), client.ObjectKey{Name: name}, &s))
	return &s
}

// newSkyhook targets the nodes with label pool=gpu with package a.
func newSkyhook(name string) *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec: v1alpha1.SkyhookSpec{
			NodeSelectors: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "gpu"}},
			Packages:      map[string]v1alpha1.Package{"a": {Version: "1.0.0", Image: "x/a"}},
		},
	}
}

func newNode(name, pool string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"pool": pool}, Annotations: map[string]string{},
	}}
}

// remember puts a Skyhook's record on a node.
func remember(t *testing.T, n *corev1.Node, skyhook string, r record.Node) {
	t.Helper()
	p, err := record.Write(skyhook, r, n.Annotations, n.Labels)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range p.Annotations {
		n.Annotations[k] = *v
	}
	for k, v := range p.Labels {
		n.Labels[k] = *v
	}
}

func podOf(t *testing.T, s *v1alpha1.Skyhook, pkg, node string) *corev1.Pod {
	t.Helper()
	pod, err := options.Pod(workload.Task{Skyhook: s, Package: pkg, Stage: v1alpha1.StageApply, Run: "r1", Generation: 1, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// wakes returns the names that an event of a source queues: one that comes has no before, one that goes no after.
func wakes(t *testing.T, source state.Source, before, after client.Object) string {
	t.Helper()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	p := predicate.And(source.Predicates...)
	switch come, gone := (event.CreateEvent{Object: after}), (event.DeleteEvent{Object: before}); {
	case before == nil && p.Create(come):
		source.Handler.Create(t.Context(), come, q)
	case after == nil && p.Delete(gone):
		source.Handler.Delete(t.Context(), gone, q)
	case before != nil && after != nil:
		if update := (event.UpdateEvent{ObjectOld: before, ObjectNew: after}); p.Update(update) {
			source.Handler.Update(t.Context(), update, q)
		}
	}
	var list []string
	for q.Len() > 0 {
		r, _ := q.Get()
		list = append(list, r.Name)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}
