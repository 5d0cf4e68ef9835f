package drain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/internal/drain"
)

// drained is a node that is drained in passes, with what is told about its evictions.
type drained struct {
	memory drain.Memory
	now    time.Time
	told   []string
}

// pass looks at the node's pods and evicts what can be evicted; the API accepts everything.
func (d *drained) pass(pods ...corev1.Pod) drain.State {
	d.now = d.now.Add(5 * time.Second)
	d.memory.Look(pods, d.now)
	s := drain.Classify(pods, drain.Options{Memory: &d.memory}, nil, d.now)
	for _, p := range d.memory.Evicted(s.Evict) {
		d.told = append(d.told, p.String())
	}
	return s
}

var cordonTolerant = tolerant("node.kubernetes.io/unschedulable")

// TestPodReturns: a controller that fills a cordoned node again is told after two more evictions, and left alone.
func TestPodReturns(t *testing.T) {
	d := drained{now: now}
	for i := range 3 {
		d.pass(pod(fmt.Sprintf("shop/web-%d", i), cordonTolerant))
	}
	var told string
	for range 100 {
		s := d.pass(pod("shop/web-3", cordonTolerant))
		if diff := cmp.Diff([]string{"PodReturns shop/web-3"}, lines(s)); diff != "" {
			t.Fatal(diff)
		}
		reason, message, _ := s.Summary()
		if text := reason + " " + message; told != "" && text != told {
			t.Fatalf("%q became %q", told, text)
		} else {
			told = text
		}
	}
	if diff := cmp.Diff([]string{"shop/web-0", "shop/web-1", "shop/web-2"}, d.told); diff != "" {
		t.Errorf("evictions told: %s", diff)
	}
	want := "PodReturns pod shop/web-3: after 2 evictions ReplicaSet owner still puts its pods here, they tolerate the cordon; " +
		"remove that toleration or scale it down, then delete the pod"
	if told != want {
		t.Errorf("got  %s\nwant %s", told, want)
	}
	if s := d.pass(); !s.Clear {
		t.Errorf("the pod was deleted, but: %v", lines(s))
	}
}

// TestWhoDoesNotReturn: the pods in last are not taken for pods that return, after web-0, web-1 and web-2 came and
// went.
func TestWhoDoesNotReturn(t *testing.T) {
	old, bound := pod("shop/old"), pod("shop/web-3")
	for _, c := range []struct {
		name   string
		last   corev1.Pod
		before []corev1.Pod
		pause  time.Duration
		want   string
	}{
		{name: "one that does", last: bound, want: "PodReturns shop/web-3"},
		{
			name: "it was there at first, and is evicted late for a budget", last: old, before: on(old),
			want: "Evicting shop/old",
		},
		{
			name: "another controller's", last: pod("shop/api", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "api" }),
			want: "Evicting shop/api",
		},
		{name: "without a controller", last: pod("shop/bare", bare), want: "PodUnmanaged shop/bare"},
		{name: "in deletion", last: pod("shop/web-3", deleted(0, time.Minute)), want: "PodTerminating shop/web-3"},
		{name: "finished", last: pod("shop/web-3", phase(corev1.PodSucceeded)), want: "clear"},
		{name: "of a DaemonSet", last: pod("shop/web-3", controlled("apps/v1", "DaemonSet")), want: "clear"},
		{name: "of another drain", last: bound, pause: 61 * time.Minute, want: "Evicting shop/web-3"},
		{name: "within one drain", last: bound, pause: 4 * time.Minute, want: "PodReturns shop/web-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := drained{now: now}
			d.pass(append(on(pod("shop/web-0")), c.before...)...)
			d.pass(pod("shop/web-1"))
			d.pass(pod("shop/web-2"))
			d.now = d.now.Add(c.pause)
			if got := lines(d.pass(c.last))[0]; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWhyPodsReturn(t *testing.T) {
	tolerate := func(list ...corev1.Toleration) change {
		return func(p *corev1.Pod) { p.Spec.Tolerations = list }
	}
	for _, c := range []struct {
		name   string
		change change
		want   string
	}{
		{"tolerates the cordon", cordonTolerant, "tolerate the cordon"},
		{"tolerates everything", tolerant(""), "tolerate the cordon"},
		{
			"tolerates NoSchedule",
			tolerate(corev1.Toleration{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule}),
			"tolerate the cordon",
		},
		{
			"tolerates NoExecute",
			tolerate(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}),
			"past the scheduler",
		},
		{
			"tolerates another value", tolerate(corev1.Toleration{Key: "node.kubernetes.io/unschedulable", Value: "x"}),
			"past the scheduler",
		},
		{"tolerates another taint", tolerant("gpu"), "past the scheduler"},
		{"tolerates nothing", func(*corev1.Pod) {}, "past the scheduler"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := drained{now: now}
			for i := range 3 {
				d.pass(pod(fmt.Sprintf("shop/web-%d", i)))
			}
			if _, message, _ := d.pass(pod("shop/web-3", c.change)).Summary(); !strings.Contains(message, c.want) {
				t.Errorf("got %s", message)
			}
		})
	}
}

// TestEvictedIsToldOnce: an old list names pods that were evicted before.
func TestEvictedIsToldOnce(t *testing.T) {
	d := drained{now: now}
	for range 3 {
		d.pass(pod("shop/web"), pod("shop/api"))
	}
	if diff := cmp.Diff([]string{"shop/api", "shop/web"}, d.told); diff != "" {
		t.Error(diff)
	}
	var fresh drain.Memory
	if got := fresh.Evicted([]drain.Pod{{Name: "a", UID: types.UID("a"), Controller: "x"}}); len(got) != 1 {
		t.Errorf("a drain that nobody looked at tells %v", got)
	}
}

// TestRefusalsAreKept: a pass does not come to ask for every pod, and what is told does not vary with whom it asked.
func TestRefusalsAreKept(t *testing.T) {
	pods := on(pod("shop/a"), pod("shop/b"), pod("shop/c"), pod("shop/d"))
	var m drain.Memory
	var got []string
	pass := func(asked string, refusal string) {
		m.Look(pods, now)
		s := drain.Classify(pods, drain.Options{Memory: &m}, map[types.UID]string{types.UID("uid-" + asked): refusal}, now)
		reason, message, _ := s.Summary()
		got = append(got, fmt.Sprintf("%s %s; evict %d", reason, message, len(s.Evict)))
	}
	for _, asked := range []string{"c", "b", "c", "d", "a", "c"} {
		pass(asked, "no")
	}
	pass("a", "not yet")
	m.Evicted([]drain.Pod{{Namespace: "shop", Name: "a", UID: "uid-a"}})
	pass("b", "no")
	m.Look(pods, now)
	m.Look(pods, now.Add(2*time.Hour)) // another drain
	pass("d", "no")
	want := []string{
		"EvictionRefused pod shop/c: no; evict 4",
		"EvictionRefused pods shop/b, shop/c: no; evict 4",
		"EvictionRefused pods shop/b, shop/c: no; evict 4",
		"EvictionRefused pods shop/b, shop/c, shop/d: no; evict 4",
		"EvictionRefused pods shop/a, shop/b, shop/c, shop/d: no; evict 4",
		"EvictionRefused pods shop/a, shop/b, shop/c, shop/d: no; evict 4",
		"EvictionRefused pods shop/a, shop/b, shop/c, shop/d; shop/a: not yet; evict 4",
		"EvictionRefused pods shop/b, shop/c, shop/d: no; evict 4",
		"EvictionRefused pod shop/d: no; evict 4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
