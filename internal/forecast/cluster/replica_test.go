package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
)

// told names events, each as type name, and with label x of the old and new object where there is one.
func told(events []cluster.Event) string {
	var list []string
	for _, e := range events {
		text := []string{string(e.Type)}
		for _, o := range []client.Object{e.Old, e.New} {
			if o != nil {
				text = append(text, o.GetName()+"="+o.GetLabels()["x"])
			}
		}
		list = append(list, strings.Join(text, " "))
	}
	return strings.Join(list, ", ")
}

type lagging struct {
	scene
	*cluster.Cluster
	*cluster.Replica
}

func newLagging(t *testing.T) lagging {
	t.Helper()
	c := newCluster(t)
	s := scene{t, c.Client(), "n"}
	s.node()
	return lagging{s, c, c.NewReplica()}
}

// seen returns label x of a node as the replica's cache has it.
func (l lagging) seen(name string) string {
	l.Helper()
	var n corev1.Node
	err := l.Replica.Client().Get(l.Context(), client.ObjectKey{Name: name}, &n)
	if apierrors.IsNotFound(err) {
		return "none"
	}
	l.must(err)
	return n.Labels["x"]
}

func (l lagging) label(name, value string) {
	l.Helper()
	l.must(l.patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, fmt.Sprintf(`{"metadata":{"labels":{"x":%q}}}`, value)))
}

func TestCachesLag(t *testing.T) {
	l := newLagging(t)
	if got := told(l.Initial()); got != "create n=" {
		t.Errorf("it begins with %q", got)
	}
	l.label("n", "1")
	l.label("n", "2")
	l.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}})
	l.must(l.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
	if got := l.seen("n") + l.seen("m"); got != "none" {
		t.Errorf("the cache is ahead: %q", got)
	}
	if got := fmt.Sprint(l.Pending(), l.Lag(cluster.Nodes)); got != "[Node] 4" {
		t.Errorf("pending: %s", got)
	}
	for _, step := range []struct {
		n          int
		want, seen string
	}{
		{0, "", "none"},
		{1, "update n= n=1", "1none"},
		{2, "update n=1 n=2, create m=", "2"},
		{9, "delete n=2", "none"},
	} {
		if got := told(l.Deliver(cluster.Nodes, step.n)); got != step.want || l.seen("n")+l.seen("m") != step.seen {
			t.Errorf("delivered %q, want %q; seen %q, want %q", got, step.want, l.seen("n")+l.seen("m"), step.seen)
		}
	}
	if len(l.Pending()) > 0 {
		t.Errorf("still pending: %v", l.Pending())
	}
}

func TestDroppedWatch(t *testing.T) {
	l := newLagging(t)
	for _, name := range []string{"gone", "reborn", "same"} {
		l.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	l.Deliver(cluster.Nodes, 9)
	l.label("n", "1")
	l.label("n", "2")
	for _, name := range []string{"gone", "reborn"} {
		l.must(l.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	l.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "reborn", Labels: map[string]string{"x": "new"}}})
	l.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "brief"}})
	l.must(l.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "brief"}}))
	events := l.Relist(cluster.Nodes)
	if got := told(events); got != "update n= n=2, update reborn= reborn=new, delete gone=" {
		t.Errorf("told %q", got)
	}
	if events[1].Old.GetUID() == events[1].New.GetUID() {
		t.Error("the node that was made again has its old UID")
	}
	if got := told(l.Deliver(cluster.Nodes, 9)); got != "" || l.seen("n") != "2" {
		t.Errorf("what the list showed is told again: %q", got)
	}
}

func TestCachesHoldWhatTheOperatorCaches(t *testing.T) {
	l := newLagging(t)
	ours := newPod("ours", "n")
	elsewhere, unlabeled := newPod("elsewhere", "n"), newPod("unlabeled", "n")
	elsewhere.Namespace, unlabeled.Labels = "default", nil
	for _, p := range []*corev1.Pod{ours, elsewhere, unlabeled, newPod("other", "m")} {
		l.create(p)
	}
	if got := told(l.Deliver(cluster.Pods, 9)); got != "create ours=, create other=" {
		t.Errorf("told %q", got)
	}
	cached := l.Replica.Client()
	var pods corev1.PodList
	l.must(cached.List(t.Context(), &pods, client.MatchingFields{state.PodsByNode: "n"}))
	if len(pods.Items) != 1 || pods.Items[0].Name != "ours" || len(pods.Items[0].Spec.Containers) > 0 {
		t.Errorf("the index has %d pods", len(pods.Items))
	}
	l.must(l.Live().List(t.Context(), &pods, client.MatchingFields{state.PodsByNode: "n"}))
	if len(pods.Items) != 3 || len(pods.Items[0].Spec.Containers) == 0 {
		t.Errorf("the server has %d pods on the node", len(pods.Items))
	}
	if err := cached.Get(t.Context(), client.ObjectKeyFromObject(elsewhere), elsewhere); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("another namespace: %v", err)
	}
	if err := cached.List(t.Context(), &pods, client.MatchingFields{"status.phase": "Running"}); err == nil {
		t.Error("there is an index that nobody made")
	}
	l.must(l.patch(ours, `{"metadata":{"labels":null}}`))
	l.must(l.patch(unlabeled, `{"metadata":{"labels":{"skyhook.nvidia.com/name":"demo"}}}`))
	if got := told(l.Deliver(cluster.Pods, 9)); got != "delete ours=, create unlabeled=" {
		t.Errorf("changes of labels tell %q", got)
	}
	ours.Name = "unlabeled"
	l.must(cached.Get(t.Context(), client.ObjectKeyFromObject(ours), ours))
	if ours.Kind != "Pod" || ours.Labels == nil {
		t.Error("a cached object does not say its kind")
	}
}

func TestReadersGetCopies(t *testing.T) {
	l := newLagging(t)
	var n corev1.Node
	l.must(l.Live().Get(t.Context(), client.ObjectKey{Name: "n"}, &n))
	n.Annotations["a"] = "changed"
	var list corev1.NodeList
	l.must(l.Live().List(t.Context(), &list))
	list.Items[0].Annotations["a"] = "changed"
	l.now(&n)
	if n.Annotations["a"] != "1" {
		t.Error("the server gave its own object away")
	}
	before := l.Nodes()[0]
	l.label("n", "1")
	if before.Labels["x"] != "" {
		t.Error("a write changed what was read")
	}
}

// A cache that begins with an old list hears of what is different now, and of nothing between.
func TestCachesThatBeginBehind(t *testing.T) {
	l := newLagging(t)
	then := map[cluster.Kind][]client.Object{cluster.Nodes: l.Objects(cluster.Nodes)}
	l.label("n", "1")
	l.label("n", "2")
	l.pod("n")
	r := l.NewReplicaAt(then)
	if got := told(r.Initial()); got != "create n=, create n=" {
		t.Errorf("it begins with %q", got)
	}
	if got := told(r.Deliver(cluster.Nodes, 9)); got != "update n= n=2" {
		t.Errorf("told %q", got)
	}
}

func TestWritesAreTold(t *testing.T) {
	c := newCluster(t)
	s := scene{t, c.Client(), "n"}
	var list []string
	c.OnWrite = func(verb string, o client.Object) { list = append(list, verb+" "+o.GetName()) }
	n, p := s.node(), s.pod("n")
	s.must(s.patch(n, `{"metadata":{"annotations":{"a":"1"}}}`))
	s.must(s.patch(n, `{"metadata":{"annotations":{"a":"2"}}}`))
	s.must(s.patchStatus(n, `{"status":{"phase":"Running"}}`))
	s.must(s.patchStrategically(n, `{"status":{"conditions":[{"type":"a","status":"True"}]}}`))
	s.must(s.Update(t.Context(), n))
	n.Spec.Unschedulable = true
	s.must(s.Update(t.Context(), n))
	s.must(s.Delete(t.Context(), p))
	s.must(s.Delete(t.Context(), p, client.GracePeriodSeconds(0)))
	want := []string{
		"create n", "create n", "patch n", "patch/status n", "patch/status n", "update n", "delete n", "delete n",
	}
	if !slices.Equal(list, want) || c.Writes() != len(want) {
		t.Errorf("told %q, counted %d", list, c.Writes())
	}
}

func TestEvictor(t *testing.T) {
	l := newLagging(t)
	guarded, free, failed := newPod("guarded", "n"), newPod("free", "n"), newPod("failed", "n")
	var pods []drain.Pod
	for _, p := range []*corev1.Pod{guarded, free, failed} {
		l.create(p)
		l.must(l.patchStatus(p, `{"status":{"phase":"Running"}}`))
		pods = append(pods, drain.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID})
	}
	l.must(l.patchStatus(failed, `{"status":{"phase":"Failed"}}`))
	pods = append(pods, drain.Pod{Namespace: namespace, Name: "absent", UID: "x"}, drain.Pod{Namespace: namespace, Name: "guarded", UID: "of-another"})
	l.Disrupt = func(p *corev1.Pod) string {
		if p.Name == "free" {
			return ""
		}
		return "The budget is used up."
	}
	_, refused, err := l.Evictor().Evict(t.Context(), pods, drain.Options{})
	l.must(err)
	if len(refused) != 1 || refused[guarded.UID] != "The budget is used up." {
		t.Errorf("refused %v", refused)
	}
	l.now(free)
	if free.DeletionTimestamp == nil || len(l.Pods()) != 2 {
		t.Errorf("%d pods are left", len(l.Pods()))
	}
}

func TestProcessesThatEnd(t *testing.T) {
	l := newLagging(t)
	other := l.NewReplica()
	l.Close()
	l.label("n", "1")
	if l.Lag(cluster.Nodes) != 0 || other.Lag(cluster.Nodes) != 1 {
		t.Errorf("the one that ended got %d events, the other %d", l.Lag(cluster.Nodes), other.Lag(cluster.Nodes))
	}
}
