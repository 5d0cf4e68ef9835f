package cluster_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/node"
	"github.com/skyhook-operator/skyhook/internal/controller/skyhook"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// rollout is the real operator upon the cluster, with a kubelet whose scripts succeed at once.
type rollout struct {
	testing.TB
	*cluster.Cluster
	replica *cluster.Replica
	now     time.Time
	loops   []*loop
	// passes so far.
	passes int
}

// loop is one controller.
type loop struct {
	reconcile.Reconciler
	sources []state.Source
	queue   *cluster.Queue
}

func newRollout(t testing.TB, nodes, skyhooks int, audit bool) *rollout {
	t.Helper()
	r := &rollout{TB: t, now: start}
	now := func() time.Time { return r.now }
	r.Cluster = cluster.New(newScheme(t), now)
	r.Audit = audit
	for i := range nodes {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}}
		n.Status.NodeInfo.BootID = "boot"
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		r.must(r.Client().Create(t.Context(), n))
	}
	for i := range skyhooks {
		h := newSkyhook(fmt.Sprintf("skyhook-%d", i))
		h.Spec.Packages["b"] = v1alpha1.Package{Version: "1.0.0", Image: "x/b", DependsOn: map[string]string{"a": "1.0.0"}, ConfigMap: map[string]string{"x": "1"}}
		r.must(r.Client().Create(t.Context(), h))
	}
	r.replica = r.NewReplica()
	r.replica.Share = true
	clock := clocktesting.NewFakePassiveClock(start)
	options := workload.Options{Namespace: namespace, AgentImage: "x/agent:1", CopyDirRoot: "/var/lib/skyhook", AgentLogRoot: "/var/log/skyhook"}
	shared := state.Shared{
		Client: r.replica.Client(), CachedNodes: r.replica.CachedNodes, CachedPods: r.replica.CachedPods,
		Live: r.replica.Live(), Events: &events.FakeRecorder{}, Clock: clock,
		Targets: &state.Index{}, Records: &state.Records{}, Policies: &state.Policies{}, Workload: options, Version: "v1",
	}
	nodeLoop := &node.Reconciler{Shared: shared, Evictor: r.replica.Evictor()}
	skyhookLoop := &skyhook.Reconciler{Shared: shared}
	r.loops = []*loop{
		{nodeLoop, nodeLoop.Sources(), cluster.NewQueue(now)}, {skyhookLoop, skyhookLoop.Sources(), cluster.NewQueue(now)},
	}
	r.wake(r.replica.Initial())
	for range 10_000 {
		if !r.step() {
			break
		}
		clock.SetTime(r.now)
	}
	return r
}

func (r *rollout) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rollout) wake(told []cluster.Event) {
	for _, e := range told {
		for _, l := range r.loops {
			e.Wake(r.Context(), l.sources, l.queue)
		}
	}
}

// step does one thing; false when there is nothing to do.
func (r *rollout) step() bool {
	for _, k := range r.replica.Pending() {
		r.wake(r.replica.Deliver(k, 1))
		return true
	}
	for _, l := range r.loops {
		if l.queue.Len() == 0 {
			continue
		}
		key, _ := l.queue.Get()
		result, err := l.Reconcile(r.Context(), key)
		r.must(err)
		l.queue.Finish(key, result, err)
		r.passes++
		return true
	}
	if r.runPods() {
		return true
	}
	var first time.Time
	for _, l := range r.loops {
		if at, ok := l.queue.Next(); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	r.now = first
	return !first.IsZero()
}

func (r *rollout) runPods() bool {
	did := false
	for _, p := range r.Pods() {
		switch {
		case p.DeletionTimestamp != nil:
			r.must(r.Client().Delete(r.Context(), p, client.GracePeriodSeconds(0)))
		case p.Status.Phase == corev1.PodPending:
			next := p.DeepCopy()
			next.Status.Phase = corev1.PodSucceeded
			for _, c := range p.Spec.InitContainers {
				next.Status.InitContainerStatuses = append(next.Status.InitContainerStatuses, corev1.ContainerStatus{
					Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0}},
				})
			}
			r.must(r.Client().Status().Update(r.Context(), next))
		default:
			continue
		}
		did = true
	}
	return did
}

func TestOperatorOnTheCluster(t *testing.T) {
	r := newRollout(t, 3, 2, true)
	if altered := r.Altered(); len(altered) > 0 {
		t.Errorf("the operator changed what it only read: %v", altered)
	}
	for _, s := range r.Skyhooks() {
		if s.Status.Status != v1alpha1.StatusComplete || s.Status.CompleteNodes != "3/3" {
			t.Errorf("Skyhook %s is %s on %s nodes", s.Name, s.Status.Status, s.Status.CompleteNodes)
		}
	}
	again := newRollout(t, 3, 2, false)
	if toJSON(t, r.Nodes()) != toJSON(t, again.Nodes()) || r.Writes() != again.Writes() || r.passes != again.passes {
		t.Errorf("the same world went two ways: %d and %d writes, %d and %d passes", r.Writes(), again.Writes(), r.passes, again.passes)
	}
}

func BenchmarkRollout(b *testing.B) {
	passes, writes := 0, 0
	for b.Loop() {
		r := newRollout(b, 3, 2, false)
		passes, writes = passes+r.passes, writes+r.Writes()
	}
	b.ReportMetric(float64(passes)/float64(b.N), "passes/op")
	b.ReportMetric(float64(writes)/float64(b.N), "writes/op")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(passes), "µs/pass")
}

func BenchmarkRequests(b *testing.B) {
	r := newRollout(b, 6, 4, false)
	cached := r.replica.Client()
	n, s := r.Nodes()[0], r.Skyhooks()[0]
	value := 0
	for name, f := range map[string]func() error{
		"get a node":    func() error { return cached.Get(b.Context(), client.ObjectKeyFromObject(n), &corev1.Node{}) },
		"get a Skyhook": func() error { return cached.Get(b.Context(), client.ObjectKeyFromObject(s), &v1alpha1.Skyhook{}) },
		"list nodes":    func() error { return cached.List(b.Context(), &corev1.NodeList{}) },
		"list Skyhooks": func() error { return cached.List(b.Context(), &v1alpha1.SkyhookList{}) },
		"list pods of a node": func() error {
			return cached.List(b.Context(), &corev1.PodList{}, client.InNamespace(namespace), client.MatchingFields{state.PodsByNode: n.Name})
		},
		"patch a node": func() error {
			value++
			body := fmt.Appendf(nil, `{"metadata":{"annotations":{"x":"%d"}}}`, value)
			return cached.Patch(b.Context(), n.DeepCopy(), client.RawPatch(types.MergePatchType, body))
		},
		"patch a status": func() error {
			value++
			body := fmt.Appendf(nil, `{"status":{"nextOrder":%d}}`, value)
			return cached.Status().Patch(b.Context(), s.DeepCopy(), client.RawPatch(types.MergePatchType, body))
		},
		"patch a status by difference": func() error {
			value++
			before := r.Skyhooks()[0]
			after := before.DeepCopy()
			after.Status.NextOrder = int32(value)
			return cached.Status().Patch(b.Context(), after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
