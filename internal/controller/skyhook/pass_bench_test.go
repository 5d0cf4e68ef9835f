package skyhook

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// BenchmarkPass is one look at the last of several Skyhooks in a fleet that is half complete: what a second of a rollout
// costs. One Skyhook with 10,000 nodes may take 20 ms.
func BenchmarkPass(b *testing.B) {
	for _, c := range []struct{ nodes, skyhooks int }{{1_000, 1}, {10_000, 1}, {5_000, 20}} {
		b.Run(fmt.Sprintf("%d-nodes-%d-skyhooks", c.nodes, c.skyhooks), func(b *testing.B) {
			pass := passesOver(b, c.nodes, c.skyhooks)
			for range 3 { // claims the Skyhook, writes its status
				pass()
			}
			b.ReportAllocs()
			for b.Loop() {
				pass()
			}
		})
	}
}

// passesOver returns the look at the last Skyhook of a cluster in memory.
func passesOver(b *testing.B, nodes, skyhooks int) func() {
	b.Helper()
	scheme, err := settings.Scheme()
	if err != nil {
		b.Fatal(err)
	}
	c := cluster.New(scheme, func() time.Time { return start })
	for i := range skyhooks {
		s := newSkyhook(fmt.Sprintf("skyhook-%02d", i))
		s.Spec.Packages["b"] = v1alpha1.Package{Version: "2.0.0", Image: "x/b"}
		if err := c.Load(s); err != nil {
			b.Fatal(err)
		}
	}
	for i := range nodes {
		if err := c.Load(benchNode(b, i, skyhooks)); err != nil {
			b.Fatal(err)
		}
	}
	live := c.NewReplica()
	r := &Reconciler{Shared: state.Shared{
		Client: live.Client(), CachedNodes: live.CachedNodes, Live: live.Live(), Events: &events.FakeRecorder{},
		Clock: clocktesting.NewFakePassiveClock(start), Targets: &state.Index{}, Records: &state.Records{},
		Policies: &state.Policies{}, Metrics: metrics.NewStore(clocktesting.NewFakePassiveClock(start), "v1"),
		Workload: options, Version: "v1",
	}}
	return func() {
		b.StopTimer()
		for _, k := range live.Pending() {
			live.Deliver(k, live.Lag(k))
		}
		all := c.Skyhooks()
		last := all[len(all)-1].DeepCopy()
		b.StartTimer()
		if err := r.newPass(last).reconcile(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// benchNode has the packages of the first half of the Skyhooks, or of all of them if its number is even.
func benchNode(b *testing.B, i, skyhooks int) *corev1.Node {
	b.Helper()
	n := newNode(fmt.Sprintf("node-%05d", i), "gpu")
	n.UID, n.CreationTimestamp = types.UID(n.Name), metav1.Time{Time: start}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for k := range skyhooks {
		if i%2 == 1 && k >= skyhooks/2 {
			continue
		}
		r := record.Node{Status: v1alpha1.StatusComplete, Packages: map[string]record.Entry{}}
		for pkg, version := range map[string]string{"a": "1.0.0", "b": "2.0.0"} {
			e := record.Entry{
				Name: pkg, Version: version, Image: "x/" + pkg, Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete,
				Since: metav1.Time{Time: start},
			}
			r.Packages[e.Key()] = e
		}
		p, err := record.Write(fmt.Sprintf("skyhook-%02d", k), r, n.Annotations, n.Labels)
		if err != nil {
			b.Fatal(err)
		}
		for key, v := range p.Annotations {
			n.Annotations[key] = *v
		}
		for key, v := range p.Labels {
			n.Labels[key] = *v
		}
	}
	return n
}
