package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

const (
	namespace = "skyhook"
	nodeName  = "node-1"
)

var start = time.Unix(1_800_000_000, 0)

// world is a reconciler with an API server in memory.
type world struct {
	*Reconciler
	t      *testing.T
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder
	// bodies are the patches of nodes sent so far.
	bodies []string
	// order tells which requests for a node came when: with its conditions, or without.
	order []string
	// deletes are the requests to delete a pod so far.
	deletes []string
	// refuse is what creating a pod returns.
	refuse error
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
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(start), events: events.NewFakeRecorder(100)}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.Skyhook{})
	for _, l := range state.Lookups {
		b.WithIndex(l.Object, l.Field, l.Keys)
	}
	c := b.
		WithInterceptorFuncs(interceptor.Funcs{List: w.list, Create: w.create, Patch: w.patch, SubResourcePatch: w.patchStatus, Delete: w.delete}).Build()
	w.Reconciler = &Reconciler{Shared: state.Shared{
		Client: c, Live: c, Events: w.events, Clock: w.clock,
		Targets: &state.Index{}, Records: &state.Records{}, Policies: &state.Policies{}, Transitions: &state.Transitions{}, Workload: options,
		Version: "v1",
	}}
	return w
}

var options = workload.Options{
	Namespace: namespace, AgentImage: "x/agent:1", CopyDirRoot: "/var/lib/skyhook", AgentLogRoot: "/var/log/skyhook",
}

func (w *world) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	if _, ok := o.(*corev1.Pod); ok {
		if w.refuse != nil {
			return w.refuse
		}
		o.SetUID(types.UID("uid-" + o.GetName())) // as the API server does
	}
	return c.Create(ctx, o, opts...)
}

func (w *world) patch(
	ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption,
) error {
	if _, ok := o.(*corev1.Node); ok {
		body, err := p.Data(o)
		if err != nil {
			return err
		}
		w.bodies, w.order = append(w.bodies, string(body)), append(w.order, "record")
	}
	return c.Patch(ctx, o, p, opts...)
}

func (w *world) patchStatus(
	ctx context.Context, c client.Client, part string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
) error {
	if _, ok := o.(*corev1.Node); !ok {
		return c.SubResource(part).Patch(ctx, o, p, opts...)
	}
	body, err := p.Data(o)
	if err != nil {
		return err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(body, &parts); err != nil {
		return err
	}
	w.bodies, w.order = append(w.bodies, string(body)), append(w.order, "conditions")
	// The API server takes the metadata as well, and all of it or nothing; this one in memory takes the status alone.
	metadata := client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(`{"metadata":%s}`, parts["metadata"])))
	if err := c.Patch(ctx, o, metadata); err != nil {
		return err
	}
	status := client.RawPatch(p.Type(), []byte(fmt.Sprintf(`{"status":%s}`, parts["status"])))
	return c.SubResource(part).Patch(ctx, o, status, opts...)
}

// delete notes the precondition and grace of a request; the API server in memory knows neither.
func (w *world) delete(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
	options, text := (&client.DeleteOptions{}).ApplyOptions(opts), o.GetName()
	if options.Preconditions != nil && options.Preconditions.UID != nil {
		text += " uid=" + string(*options.Preconditions.UID)
	}
	if options.GracePeriodSeconds != nil {
		text += fmt.Sprintf(" grace=%d", *options.GracePeriodSeconds)
	}
	w.deletes = append(w.deletes, text)
	return c.Delete(ctx, o, opts...)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// reconcile runs one pass over node-1.
func (w *world) reconcile() ctrl.Result {
	w.t.Helper()
	result, err := w.Reconcile(w.t.Context(), request(nodeName))
	w.must(err)
	return result
}

func (w *world) node() *corev1.Node {
	w.t.Helper()
	return w.nodeNamed(nodeName)
}

func (w *world) nodeNamed(name string) *corev1.Node {
	w.t.Helper()
	var n corev1.Node
	w.must(w.Client.Get(w.t.Context(), client.ObjectKey{Name: name}, &n))
	return &n
}

// record is what node-1 remembers of a Skyhook.
func (w *world) record(skyhook string) record.Node {
	w.t.Helper()
	n, err := record.Read(skyhook, w.node().Annotations)
	w.must(err)
	return n
}

func (w *world) pods(options ...client.ListOption) []corev1.Pod {
	w.t.Helper()
	var list corev1.PodList
	w.must(w.Client.List(w.t.Context(), &list, options...))
	return list.Items
}

// told returns the events since the last call that say something.
func (w *world) told(what string) []string {
	var all []string
	for len(w.events.Events) > 0 {
		if e := <-w.events.Events; strings.Contains(e, what) {
			all = append(all, e)
		}
	}
	return all
}

// change lets the requests of a world be answered in another way, and changeLive those past the cache.
func (w *world) change(f interceptor.Funcs) { w.Client = w.changed(f) }

func (w *world) changeLive(f interceptor.Funcs) { w.Live = w.changed(f) }

func (w *world) changed(f interceptor.Funcs) client.WithWatch {
	w.t.Helper()
	inner, ok := w.Client.(client.WithWatch)
	if !ok {
		w.t.Fatal("the client cannot be changed")
	}
	return interceptor.NewClient(inner, f)
}

// pass is one over the node as it is now, for the given Skyhooks.
func (w *world) pass(skyhooks ...*v1alpha1.Skyhook) *pass {
	w.t.Helper()
	n := w.node()
	snapshot, err := w.Targets.Snapshot(w.t.Context(), w.Client, w.Workload, skyhooks)
	w.must(err)
	pods, err := w.PodsOn(w.t.Context(), n.Name)
	w.must(err)
	p := w.newPass(n, pods)
	p.now, p.wrote.at = start, start
	p.skyhooks, p.snapshot, p.unschedulable = skyhooks, snapshot, n.Spec.Unschedulable
	return p
}

// decided adds a decision to a pass.
func decided(p *pass, s *v1alpha1.Skyhook, d lifecycle.Decision) *item {
	i := &item{pass: p, skyhook: s, decision: d}
	p.items = append(p.items, i)
	return i
}

// newSkyhook targets every node with package a and has permitted node-1.
func newSkyhook(name string) *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec:       v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{"a": {Version: "1.0.0", Image: "x/a"}}},
		Status: v1alpha1.SkyhookStatus{
			ObservedGeneration: 1, Permits: []v1alpha1.Permit{{Node: nodeName, Order: 3, Generation: 1}},
		},
	}
}

func newNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName, UID: "uid-node-1", ResourceVersion: "10",
			Labels: map[string]string{"gpu": "1"}, Annotations: map[string]string{"theirs": "x"},
		},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{BootID: "boot-1"},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
}

// remember puts a Skyhook's record and conditions on a node.
func remember(t *testing.T, n *corev1.Node, skyhook string, r record.Node) {
	t.Helper()
	p, err := record.Write(skyhook, r, n.Annotations, n.Labels)
	if err != nil {
		t.Fatal(err)
	}
	put := func(have map[string]string, change map[string]*string) map[string]string {
		all := map[string]string{}
		maps.Copy(all, have)
		for k, v := range change {
			all[k] = *v
		}
		return all
	}
	n.Annotations, n.Labels = put(n.Annotations, p.Annotations), put(n.Labels, p.Labels)
	n.Status.Conditions = append(n.Status.Conditions, record.Conditions(skyhook, r, false, nil, metav1.NewTime(start))...)
}

func entry(stage v1alpha1.Stage, its v1alpha1.State) record.Node {
	e := record.Entry{Name: "a", Version: "1.0.0", Image: "x/a", Stage: stage, State: its, Run: "r1"}
	return record.Node{Status: v1alpha1.StatusInProgress, Packages: map[string]record.Entry{e.Key(): e}}
}

// podOf is the pod of package a's apply stage.
func podOf(t *testing.T, s *v1alpha1.Skyhook) *corev1.Pod {
	t.Helper()
	pod, err := options.Pod(workload.Task{Skyhook: s, Package: "a", Stage: v1alpha1.StageApply, Run: "r1", Generation: 1, Node: nodeName})
	if err != nil {
		t.Fatal(err)
	}
	pod.UID = types.UID("uid-" + pod.Name)
	return pod
}

func startOf(run string) lifecycle.Start {
	return lifecycle.Start{Package: "a", Stage: v1alpha1.StageApply, Run: run, Generation: 1}
}
