package drain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/drain"
)

type row struct {
	name    string
	pods    []corev1.Pod
	options string
	refused map[types.UID]string
	want    []string
}

// options are named by what they add to the defaults.
var options = map[string]func(*drain.Options){
	"":           func(*drain.Options) {},
	"force":      func(o *drain.Options) { o.Force = true },
	"emptydir":   func(o *drain.Options) { o.DeleteEmptyDirData = true },
	"all":        func(o *drain.Options) { o.Force, o.DeleteEmptyDirData = true, true },
	"training":   func(o *drain.Options) { o.NonInterrupt = selector("workload=training") },
	"unlabeled":  func(o *drain.Options) { o.NonInterrupt = selector("!interruptible") },
	"everything": func(o *drain.Options) { o.NonInterrupt = labels.Everything() },
	"nothing":    func(o *drain.Options) { o.NonInterrupt = labels.Nothing() },
	"self":       func(o *drain.Options) { o.Self = "manager-a" },
	"self protected": func(o *drain.Options) {
		o.Self, o.NonInterrupt = "manager-a", selector("!interruptible")
	},
	"no namespace": func(o *drain.Options) { o.OperatorNamespace = "" },
}

func selector(text string) labels.Selector {
	s, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

func on(pods ...corev1.Pod) []corev1.Pod { return pods }

var training = labeled("workload", "training")

var identity = []row{
	{name: "empty node", want: []string{"clear"}},
	{name: "ordinary pod", pods: on(pod("shop/web")), want: []string{"Evicting shop/web", "evict shop/web"}},
	{
		name: "pending pod", pods: on(pod("shop/web", phase(corev1.PodPending))),
		want: []string{"Evicting shop/web", "evict shop/web"},
	},
	{
		name: "pod of a lost kubelet", pods: on(pod("shop/web", phase(corev1.PodUnknown))),
		want: []string{"Evicting shop/web", "evict shop/web"},
	},
	{name: "the operator's own pod", pods: on(pod("skyhook/manager-a")), options: "self", want: []string{"clear"}},
	{
		name: "another replica", pods: on(pod("skyhook/manager-b")), options: "self",
		want: []string{"Evicting skyhook/manager-b", "evict skyhook/manager-b"},
	},
	{
		name: "a namesake elsewhere", pods: on(pod("shop/manager-a")), options: "self",
		want: []string{"Evicting shop/manager-a", "evict shop/manager-a"},
	},
	{
		name: "the operator's own pod, protected", pods: on(pod("skyhook/manager-a")), options: "self protected",
		want: []string{"ProtectedPod skyhook/manager-a"},
	},
	{name: "succeeded pod", pods: on(pod("shop/job", phase(corev1.PodSucceeded))), want: []string{"clear"}},
	{name: "failed pod", pods: on(pod("shop/job", phase(corev1.PodFailed))), want: []string{"clear"}},
	{
		name: "finished pod in deletion",
		pods: on(pod("shop/job", phase(corev1.PodFailed), deleted(time.Hour, 0), finalizers("a/b"))), want: []string{"clear"},
	},
	{
		name: "bare finished pod with data", pods: on(pod("shop/job", phase(corev1.PodSucceeded), bare, emptyDir)),
		want: []string{"clear"},
	},

	{
		name: "DaemonSet pod, one owner, no toleration", pods: on(pod("net/cni", controlled("apps/v1", "DaemonSet"))),
		want: []string{"clear"},
	},
	{
		name: "DaemonSet pod of any version", pods: on(pod("net/cni", controlled("apps/v2", "DaemonSet"))),
		want: []string{"clear"},
	},
	{
		name: "DaemonSet pod with a second owner",
		pods: on(pod("net/cni", controlled("apps/v1", "DaemonSet"), owned("v1", "Node"))), want: []string{"clear"},
	},
	{
		name: "DaemonSet pod with data", pods: on(pod("net/cni", controlled("apps/v1", "DaemonSet"), emptyDir)),
		want: []string{"clear"},
	},
	{
		name: "DaemonSet pod in deletion",
		pods: on(pod("net/cni", controlled("apps/v1", "DaemonSet"), deleted(time.Hour, 0))), want: []string{"clear"},
	},
	{
		name: "kind DaemonSet of another group", pods: on(pod("net/cni", controlled("example.com/v1", "DaemonSet"))),
		want: []string{"Evicting net/cni", "evict net/cni"},
	},
	{
		name: "DaemonSet is an owner, not the controller", pods: on(pod("net/cni", owned("apps/v1", "DaemonSet"))),
		want: []string{"Evicting net/cni", "evict net/cni"},
	},
	{
		name: "tolerates unschedulable", pods: on(pod("shop/web", tolerant("node.kubernetes.io/unschedulable"))),
		want: []string{"Evicting shop/web", "evict shop/web"},
	},
	{
		name: "tolerates everything", pods: on(pod("shop/web", tolerant(""))),
		want: []string{"Evicting shop/web", "evict shop/web"},
	},

	{name: "mirror pod", pods: on(pod("infra/proxy", mirror)), want: []string{"clear"}},
	{name: "mirror pod with data", pods: on(pod("infra/proxy", mirror, emptyDir)), want: []string{"clear"}},
	{
		name: "pod of a Node without the annotation", pods: on(pod("infra/proxy", controlled("v1", "Node"))),
		want: []string{"Evicting infra/proxy", "evict infra/proxy"},
	},
	{name: "kube-system", pods: on(pod("kube-system/dns"), pod("kube-system/bare", bare)), want: []string{"clear"}},
	{
		name: "namespace with a similar name", pods: on(pod("kube-system-2/dns")),
		want: []string{"Evicting kube-system-2/dns", "evict kube-system-2/dns"},
	},

	{
		name: "package pod", pods: on(pod("skyhook/a", controlled("skyhook.nvidia.com/v1alpha1", "Skyhook"))),
		want: []string{"clear"},
	},
	{
		name: "package pod in deletion",
		pods: on(pod("skyhook/a", controlled("skyhook.nvidia.com/v1alpha1", "Skyhook"), deleted(time.Hour, 0))),
		want: []string{"clear"},
	},
	{
		name: "package pod of another version of the API",
		pods: on(pod("skyhook/a", controlled("skyhook.nvidia.com/v1", "Skyhook"))), want: []string{"clear"},
	},
	{
		name: "somebody's pod that claims a Skyhook in another namespace",
		pods: on(pod("shop/a", controlled("skyhook.nvidia.com/v1alpha1", "Skyhook"))),
		want: []string{"Evicting shop/a", "evict shop/a"},
	},
	{
		name: "our labels on somebody's pod", pods: on(pod("skyhook/a", labeled("skyhook.nvidia.com/name", "s"))),
		want: []string{"Evicting skyhook/a", "evict skyhook/a"},
	},
	{
		name: "kind Skyhook of another group", pods: on(pod("skyhook/a", controlled("example.com/v1", "Skyhook"))),
		want: []string{"Evicting skyhook/a", "evict skyhook/a"},
	},
	{
		name: "an operator that does not know its own pod", pods: on(pod("skyhook/operator")),
		want: []string{"Evicting skyhook/operator", "evict skyhook/operator"},
	},
	{
		name: "no operator namespace, no package pods", options: "no namespace",
		pods: on(pod("skyhook/a", controlled("skyhook.nvidia.com/v1alpha1", "Skyhook"))),
		want: []string{"Evicting skyhook/a", "evict skyhook/a"},
	},
}

var protection = []row{
	{name: "running", options: "training", pods: on(pod("ml/train", training)), want: []string{"ProtectedPod ml/train"}},
	{
		name: "pending", options: "training", pods: on(pod("ml/train", training, phase(corev1.PodPending))),
		want: []string{"ProtectedPod ml/train"},
	},
	{
		name: "finished", options: "training", pods: on(pod("ml/train", training, phase(corev1.PodSucceeded))),
		want: []string{"clear"},
	},
	{
		name: "failed", options: "training", pods: on(pod("ml/train", training, phase(corev1.PodFailed))),
		want: []string{"clear"},
	},
	{
		name: "still there until it is gone", options: "training",
		pods: on(pod("ml/train", training, deleted(time.Minute, time.Hour))), want: []string{"ProtectedPod ml/train"},
	},
	{
		name: "not matched", options: "training", pods: on(pod("ml/train", labeled("workload", "web"))),
		want: []string{"Evicting ml/train", "evict ml/train"},
	},
	{name: "no selector", pods: on(pod("ml/train", training)), want: []string{"Evicting ml/train", "evict ml/train"}},
	{
		name: "empty selector protects none", options: "everything", pods: on(pod("ml/train", training)),
		want: []string{"Evicting ml/train", "evict ml/train"},
	},
	{
		name: "selector of nothing", options: "nothing", pods: on(pod("ml/train", training)),
		want: []string{"Evicting ml/train", "evict ml/train"},
	},
	{
		name: "nothing is evicted meanwhile", options: "training", pods: on(pod("ml/train", training), pod("shop/web")),
		want: []string{"ProtectedPod ml/train"},
	},
	{
		name: "even what was refused before", options: "training", refused: map[types.UID]string{"uid-web": "no"},
		pods: on(pod("ml/train", training), pod("shop/web")), want: []string{"ProtectedPod ml/train"},
	},
	{
		name: "other waits are told", options: "training",
		pods: on(pod("shop/bare", bare), pod("shop/data", emptyDir), pod("shop/old", deleted(0, time.Minute)),
			pod("ml/train", training)),
		want: []string{
			"ProtectedPod ml/train", "PodUnmanaged shop/bare", "PodUsesEmptyDir shop/data",
			"PodTerminating shop/old",
		},
	},
	{
		name: "bare protected pod", options: "training", pods: on(pod("ml/train", training, bare)),
		want: []string{"ProtectedPod ml/train"},
	},
	{
		name: "DaemonSet pod", options: "training", pods: on(pod("ml/agent", training, controlled("apps/v1", "DaemonSet"))),
		want: []string{"ProtectedPod ml/agent"},
	},
	{
		name: "kube-system", options: "training", pods: on(pod("kube-system/agent", training)),
		want: []string{"ProtectedPod kube-system/agent"},
	},
	{
		name: "mirror pod", options: "training", pods: on(pod("ml/static", training, mirror)),
		want: []string{"ProtectedPod ml/static"},
	},
	{
		name: "never our own package pods", options: "unlabeled",
		pods: on(pod("skyhook/a", controlled("skyhook.nvidia.com/v1alpha1", "Skyhook"))),
		want: []string{"clear"},
	},
	{
		name: "selector by absence", options: "unlabeled",
		pods: on(pod("ml/train"), pod("shop/web", labeled("interruptible", ""))), want: []string{"ProtectedPod ml/train"},
	},
}

var waits = []row{
	{name: "no controller", pods: on(pod("shop/bare", bare)), want: []string{"PodUnmanaged shop/bare"}},
	{
		name: "owner without controller", pods: on(pod("shop/bare", bare, owned("apps/v1", "ReplicaSet"))),
		want: []string{"PodUnmanaged shop/bare"},
	},
	{
		name: "no controller, forced", options: "force", pods: on(pod("shop/bare", bare)),
		want: []string{"Evicting shop/bare", "evict shop/bare"},
	},
	{name: "emptyDir", pods: on(pod("shop/data", emptyDir)), want: []string{"PodUsesEmptyDir shop/data"}},
	{
		name: "emptyDir, allowed", options: "emptydir", pods: on(pod("shop/data", emptyDir)),
		want: []string{"Evicting shop/data", "evict shop/data"},
	},
	{
		name: "emptyDir is no matter of force", options: "force", pods: on(pod("shop/data", emptyDir)),
		want: []string{"PodUsesEmptyDir shop/data"},
	},
	{
		name: "a bare pod is no matter of emptyDir", options: "emptydir", pods: on(pod("shop/bare", bare)),
		want: []string{"PodUnmanaged shop/bare"},
	},
	{name: "both", pods: on(pod("shop/both", bare, emptyDir)), want: []string{"PodUnmanaged shop/both"}},
	{
		name: "both, forced", options: "force", pods: on(pod("shop/both", bare, emptyDir)),
		want: []string{"PodUsesEmptyDir shop/both"},
	},
	{
		name: "both, all allowed", options: "all", pods: on(pod("shop/both", bare, emptyDir)),
		want: []string{"Evicting shop/both", "evict shop/both"},
	},
	{
		name: "the others continue", pods: on(pod("shop/web"), pod("shop/bare", bare), pod("shop/data", emptyDir)),
		want: []string{"PodUnmanaged shop/bare", "PodUsesEmptyDir shop/data", "Evicting shop/web", "evict shop/web"},
	},

	{
		name: "refused", refused: map[types.UID]string{"uid-web": "no"}, pods: on(pod("shop/web")),
		want: []string{"EvictionRefused shop/web", "evict shop/web"},
	},
	{
		name: "refused, others not", refused: map[types.UID]string{"uid-web": "no"},
		pods: on(pod("shop/api"), pod("shop/web")),
		want: []string{"EvictionRefused shop/web", "Evicting shop/api", "evict shop/api", "evict shop/web"},
	},
	{
		name: "refused, deleted since", refused: map[types.UID]string{"uid-web": "no"},
		pods: on(pod("shop/web", deleted(0, time.Minute))), want: []string{"PodTerminating shop/web"},
	},
	{
		name: "refused, finished since", refused: map[types.UID]string{"uid-web": "no"},
		pods: on(pod("shop/web", phase(corev1.PodSucceeded))), want: []string{"clear"},
	},
	{
		name: "refused was another pod of that name", refused: map[types.UID]string{"uid-of-old-web": "no"},
		pods: on(pod("shop/web")), want: []string{"Evicting shop/web", "evict shop/web"},
	},
	{
		name: "refused, options changed since", refused: map[types.UID]string{"uid-web": "no"},
		pods: on(pod("shop/web", bare)), want: []string{"PodUnmanaged shop/web"},
	},

	{
		name: "terminating is not evicted again", pods: on(pod("shop/web", deleted(time.Second, time.Minute))),
		want: []string{"PodTerminating shop/web"},
	},
	{
		name: "terminating bare pod with data", pods: on(pod("shop/web", bare, emptyDir, deleted(time.Second, time.Minute))),
		want: []string{"PodTerminating shop/web"},
	},
	{
		name: "grace period over", pods: on(pod("shop/web", deleted(time.Minute+29*time.Second, time.Minute))),
		want: []string{"PodTerminating shop/web"},
	},
	{
		name: "grace period over for 30 s", pods: on(pod("shop/web", deleted(time.Minute+30*time.Second, time.Minute))),
		want: []string{"PodTerminating shop/web stuck"},
	},
	{
		name: "deleted without grace", pods: on(pod("shop/web", deleted(31*time.Second, 0))),
		want: []string{"PodTerminating shop/web stuck"},
	},
	{
		name: "stuck ones first", pods: on(pod("a/b", deleted(time.Second, time.Minute)), pod("z/y", deleted(time.Hour, 0))),
		want: []string{"PodTerminating z/y stuck", "PodTerminating a/b"},
	},
	{
		name: "by namespace, then name", pods: on(pod("b/a"), pod("a/z"), pod("a/b")),
		want: []string{"Evicting a/b", "Evicting a/z", "Evicting b/a", "evict a/b", "evict a/z", "evict b/a"},
	},
}

// TestClassify has one line per rule: what is on the node and allowed, then what holds the drain and what is evicted.
func TestClassify(t *testing.T) {
	for group, rows := range map[string][]row{"identity": identity, "protection": protection, "waits": waits} {
		for _, r := range rows {
			t.Run(group+"/"+r.name, func(t *testing.T) {
				o := drain.Options{OperatorNamespace: "skyhook"}
				if options[r.options] == nil {
					t.Fatalf("no options %q", r.options)
				}
				options[r.options](&o)
				if diff := cmp.Diff(r.want, lines(drain.Classify(r.pods, o, r.refused, now))); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestEvictNamesTheVeryPod(t *testing.T) {
	s := drain.Classify(on(pod("shop/web")), drain.Options{}, nil, now)
	if diff := cmp.Diff([]drain.Pod{{Namespace: "shop", Name: "web", UID: "uid-web", Controller: "owner"}},
		s.Evict); diff != "" {
		t.Error(diff)
	}
}

func TestSince(t *testing.T) {
	started := now.Add(-10 * time.Minute)
	for _, c := range []struct {
		name    string
		pod     corev1.Pod
		started time.Time
		want    time.Time
	}{
		{"the drain began later than the pod", pod("a/b"), started, started},
		{"the pod came later than the drain", pod("a/b"), created.Add(-time.Hour), created},
		{"start of the drain unknown", pod("a/b"), time.Time{}, created},
		{"wait of a bare pod", pod("a/b", bare), started, started},
		{"deletion, from its request", pod("a/b", deleted(20*time.Second, time.Minute)), started, now.Add(-20 * time.Second)},
		{"deletion that began before the drain", pod("a/b", deleted(time.Hour, time.Minute)), started, now.Add(-time.Hour)},
		{"deletion without grace", pod("a/b", deleted(time.Second, 0)), started, now.Add(-time.Second)},
		{
			"deletion whose grace is not told",
			pod("a/b", deleted(time.Second, 0), func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = nil }), started,
			now.Add(-time.Second),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := drain.Classify(on(c.pod), drain.Options{Started: c.started}, nil, now)
			if got := s.Blockers[0].Since; !got.Equal(c.want) {
				t.Errorf("since %s, want %s", got, c.want)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	for _, c := range []struct {
		name    string
		ago     time.Duration
		timeout time.Duration
		pods    []corev1.Pod
		want    bool
	}{
		{"none", 240 * time.Hour, 0, on(pod("a/b")), false},
		{"not yet", 10*time.Minute - 1, 10 * time.Minute, on(pod("a/b")), false},
		{"now", 10 * time.Minute, 10 * time.Minute, on(pod("a/b")), true},
		{"terminating", time.Hour, 10 * time.Minute, on(pod("a/b", deleted(0, time.Hour))), true},
		{"clear in the end", time.Hour, 10 * time.Minute, nil, false},
		{"protected pods have all the time", time.Hour, 10 * time.Minute, on(pod("a/b"), pod("ml/train", training)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := drain.Options{Timeout: c.timeout, Started: now.Add(-c.ago), NonInterrupt: selector("workload=training")}
			if got := drain.Classify(c.pods, o, nil, now).TimedOut; got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if s := drain.Classify(on(pod("a/b")), drain.Options{Timeout: time.Second}, nil, now); s.TimedOut ||
		len(s.Evict) != 1 {
		t.Error("without a known start, nothing can have timed out")
	}
	if s := drain.Classify(on(pod("a/b")), drain.Options{Timeout: time.Second, Started: created}, nil,
		now); len(s.Evict) != 1 {
		t.Error("the drain must go on after its timeout")
	}
}

// TestClassifyRules checks, over mixtures of all kinds of pods, what must hold whatever the mixture.
func TestClassifyRules(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []change{
		bare, mirror, emptyDir, training, deleted(time.Hour, time.Minute), deleted(0, time.Minute), phase(corev1.PodFailed),
		phase(corev1.PodPending), controlled("apps/v1", "DaemonSet"), func(*corev1.Pod) {},
	}
	for round := range 2000 {
		pods := make([]corev1.Pod, random.IntN(6))
		refused := map[types.UID]string{}
		for i := range pods {
			pods[i] = pod(fmt.Sprintf("ns/p%d", i))
			for range 2 {
				kinds[random.IntN(len(kinds))](&pods[i])
			}
			if random.IntN(3) == 0 {
				refused[pods[i].UID] = "no"
			}
		}
		o := drain.Options{
			NonInterrupt: selector("workload=training"), Force: random.IntN(2) == 0,
			DeleteEmptyDirData: random.IntN(2) == 0,
		}
		s := drain.Classify(pods, o, refused, now)
		protected := slices.ContainsFunc(s.Blockers,
			func(b drain.Blocker) bool { return b.Reason == v1alpha1.ReasonProtectedPod })
		reason, _, _ := s.Summary()
		switch {
		case s.Clear != (len(s.Blockers) == 0), s.Clear != (reason == ""):
			t.Fatalf("round %d: clear is not the same as nothing in the way: %v", round, lines(s))
		case protected && len(s.Evict) > 0:
			t.Fatalf("round %d: evicts beside a protected pod: %v", round, lines(s))
		case protected != (reason == v1alpha1.ReasonProtectedPod):
			t.Fatalf("round %d: a protected pod is not the reason told: %v", round, lines(s))
		}
		slices.Reverse(pods)
		if diff := cmp.Diff(s, drain.Classify(pods, o, refused, now)); diff != "" {
			t.Fatalf("round %d: depends on the order of the list: %s", round, diff)
		}
	}
}
