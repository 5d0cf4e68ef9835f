package drain_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/internal/drain"
)

func TestSummary(t *testing.T) {
	const budget = "The disruption budget web needs 2 healthy pods and has 2 currently"
	refused := map[types.UID]string{"uid-refused": budget}
	every := on(
		pod("a/evicting"), pod("a/terminating", deleted(time.Second, time.Minute)), pod("a/data", emptyDir),
		pod("a/bare", bare), pod("a/refused"), pod("a/train", training))
	for _, c := range []struct {
		name    string
		pods    []corev1.Pod
		options string
		reason  string
		message string
		since   time.Time
	}{
		{name: "clear"},
		{
			name: "protected goes first", pods: every, options: "training", reason: "ProtectedPod", since: created,
			message: "pod a/train: protected by spec.podNonInterruptLabels, run by ReplicaSet owner; eviction begins when no protected pod is left",
		},
		{
			name: "protected, and it comes back", options: "training", reason: "ProtectedPod", since: created,
			pods: on(pod("net/cni", controlled("apps/v1", "DaemonSet"), training)),
			message: "pod net/cni: protected by spec.podNonInterruptLabels; " +
				"DaemonSet owner creates it again wherever it is deleted: " +
				"keep the DaemonSet off the node, or change spec.podNonInterruptLabels",
		},
		{
			name: "then refused", pods: every[:5], reason: "EvictionRefused", message: "pod a/refused: " + budget,
			since: created,
		},
		{
			name: "then unmanaged", pods: every[:4], reason: "PodUnmanaged", since: created,
			message: "pod a/bare: no controller would create it again; its owner can end it, or set spec.drain.force: true",
		},
		{
			name: "then emptyDir", pods: every[:3], reason: "PodUsesEmptyDir", since: created,
			message: "pod a/data: the data in its emptyDir volumes would be lost; " +
				"its owner can end it, or set spec.drain.deleteEmptyDirData: true",
		},
		{
			name: "then terminating", pods: every[:2], reason: "PodTerminating", message: "pod a/terminating: being deleted",
			since: now.Add(-time.Second),
		},
		{
			name: "then evicting", pods: every[:1], reason: "Evicting", message: "pod a/evicting: eviction requested",
			since: created,
		},
		{
			name: "three pods", pods: on(pod("a/3"), pod("a/2"), pod("a/1")), reason: "Evicting",
			message: "pods a/1, a/2, a/3: eviction requested", since: created,
		},
		{
			name: "many pods", pods: on(pod("a/1"), pod("a/2"), pod("a/3"), pod("a/4"), pod("a/5"), pod("a/6", deleted(0, 0))),
			reason: "PodTerminating", message: "pod a/6: being deleted", since: now,
		},
		{
			name: "more than it names",
			pods: on(pod("a/1"), pod("a/2"), pod("a/3"), pod("a/4"), pod("a/5"), pod("a/6"), pod("a/7"), pod("a/8"), pod("a/9"),
				pod("b/1"), pod("b/2"), pod("b/3")),
			reason: "Evicting", message: "pods a/1, a/2, a/3, a/4, a/5, a/6, a/7, a/8, a/9, b/1 and 2 more: eviction requested",
			since: created,
		},
		{
			name: "the earliest of them",
			pods: on(pod("a/1", deleted(time.Second, time.Minute)), pod("a/2", deleted(20*time.Second, time.Minute)),
				pod("a/3")),
			reason: "PodTerminating", message: "pods a/1, a/2: being deleted", since: now.Add(-20 * time.Second),
		},
		{
			name:    "held by finalizers",
			pods:    on(pod("a/1", deleted(time.Hour, time.Minute), finalizers("example.com/a", "example.com/b"))),
			reason:  "PodTerminating",
			message: "pod a/1: stuck after its grace period, held by its finalizers: example.com/a, example.com/b",
			since:   now.Add(-time.Hour),
		},
		{
			name: "all stuck", pods: on(pod("a/1", deleted(time.Hour, 0)), pod("b/1", deleted(time.Hour, 0))),
			reason: "PodTerminating", since: now.Add(-time.Hour),
			message: "pods a/1, b/1: stuck after its grace period: the node's kubelet has not confirmed its end; " +
				"look at the kubelet",
		},
		{
			name:   "one stuck, one not",
			pods:   on(pod("a/1", deleted(0, time.Minute)), pod("b/1", deleted(time.Hour, time.Minute))),
			reason: "PodTerminating", since: now.Add(-time.Hour),
			message: "pods b/1, a/1; b/1: stuck after its grace period: the node's kubelet has not confirmed its end; " +
				"look at the kubelet",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := drain.Options{OperatorNamespace: "skyhook"}
			options[c.options](&o)
			reason, message, since := drain.Classify(c.pods, o, refused, now).Summary()
			if reason != c.reason || message != c.message || !since.Equal(c.since) {
				t.Errorf("got  %s | %s | %s\nwant %s | %s | %s", reason, message, since, c.reason, c.message, c.since)
			}
		})
	}
}

// TestMessageStays makes sure that a wait in which nothing happens gives no new message to write, pass after pass.
func TestMessageStays(t *testing.T) {
	pods := on(pod("a/1", deleted(time.Hour, time.Minute)), pod("a/2", bare), pod("a/3", training))
	o := drain.Options{NonInterrupt: selector("workload=training")}
	first := drain.Classify(pods, o, nil, now)
	next := drain.Classify(pods, o, nil, now.Add(time.Hour))
	for i, b := range first.Blockers {
		if n := next.Blockers[i]; n != b {
			t.Errorf("got %+v an hour later, want %+v", n, b)
		}
	}
}
