package state

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func named(name string) *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1}}
}

func empty(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func TestRecordsOfGoneNodesAndSkyhooks(t *testing.T) {
	var r Records
	nodes := make([]*corev1.Node, 5)
	for i := range nodes {
		nodes[i] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), UID: types.UID(fmt.Sprint("uid-", i))}}
	}
	all := []*v1alpha1.Skyhook{named("a"), named("b"), named("c")}
	read := func(nodes []*corev1.Node, skyhooks []*v1alpha1.Skyhook) {
		sn, err := new(Index).Snapshot(t.Context(), empty(t), workload.Options{Namespace: "skyhook"}, skyhooks)
		if err != nil {
			t.Fatal(err)
		}
		for i := range nodes {
			sn.At(nodes[i], &r)
		}
	}
	count := func() (nodes, records int) {
		for _, st := range r.standings {
			nodes, records = nodes+1, records+len(st.records)
		}
		return nodes, records
	}
	read(nodes, all)
	r.Keep(nodes, all)
	if n, records := count(); n != 5 || records != 15 {
		t.Fatalf("%d nodes, %d records", n, records)
	}
	r.Keep(nodes[:4], all[:2])
	if n, records := count(); n != 4 || records != 8 {
		t.Errorf("%d nodes, %d records are left of 4 nodes and 2 Skyhooks", n, records)
	}
	if _, kept := r.standings[nodes[4].UID]; kept {
		t.Error("the wrong node was dropped")
	}
	r.Keep(nil, nil)
	if n, _ := count(); n != 0 {
		t.Errorf("%d nodes are left of none", n)
	}
}

// TestViewsOfTargetsOnly: Skyhooks that share a cluster, each with nodes of its own, keep nothing of the others' nodes.
func TestViewsOfTargetsOnly(t *testing.T) {
	var i Index
	var r Records
	here, elsewhere := named("here"), named("elsewhere")
	here.Spec.NodeSelectors.MatchLabels = map[string]string{"pool": "a"}
	elsewhere.Spec.NodeSelectors.MatchLabels = map[string]string{"pool": "b"}
	all := []*v1alpha1.Skyhook{elsewhere, here}
	sn, err := i.Snapshot(t.Context(), empty(t), workload.Options{Namespace: "skyhook"}, all)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid-n", Labels: map[string]string{"pool": "a"}}}
	at := sn.At(node, &r)
	if got := at.InFlight(); got != nil {
		t.Errorf("in flight: %+v", got)
	}
	for i, s := range all {
		if _, hold := at.View(s); hold != nil {
			t.Fatal(hold)
		}
		if kept := r.standings[node.UID].records[i].view.Load() != nil; kept != (s == here) {
			t.Errorf("a view is kept for %s: %t", s.Name, kept)
		}
	}
}

// TestViewsKeepNoFormerNode: its record is most of what a node takes in the cache, and each heartbeat makes another node.
func TestViewsKeepNoFormerNode(t *testing.T) {
	var r Records
	versions, a := 0, named("a")
	sn, err := new(Index).Snapshot(t.Context(), empty(t), workload.Options{Namespace: "skyhook"}, []*v1alpha1.Skyhook{a})
	if err != nil {
		t.Fatal(err)
	}
	look := func(state string) (weak.Pointer[byte], *rollout.View) {
		text := strings.Repeat(" ", 100) + state // in memory of its own, as from a decoder
		versions++
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: "n", UID: "uid-n", ResourceVersion: strconv.Itoa(versions),
			Annotations: map[string]string{v1alpha1.AnnotationNodeStatePrefix + "a": text},
		}}
		at := sn.At(node, &r)
		v, hold := at.View(a)
		if hold != nil {
			t.Fatal(hold)
		}
		return weak.Make(unsafe.StringData(text)), v
	}
	r.decoded = lru.New(1)
	former, before := look("{}")
	_, after := look("{}")
	if before != after {
		t.Error("the same record was looked at again")
	}
	runtime.GC()
	if former.Value() != nil {
		t.Error("the text of the former node is kept")
	}
	if _, changed := look(`{"x|1.0.0":{"name":"x","version":"1.0.0","image":"i","stage":"apply","state":"complete"}}`); changed == before {
		t.Error("another record was not looked at")
	}
}

func TestIndexOfGoneSkyhooks(t *testing.T) {
	var i Index
	c, o := empty(t), workload.Options{Namespace: "skyhook"}
	look := func(skyhooks ...*v1alpha1.Skyhook) {
		v, err := i.Snapshot(t.Context(), c, o, skyhooks)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range skyhooks {
			v.Wanted(s, "n")
		}
	}
	a, b := named("a"), named("b")
	look(a, b)
	if len(i.targets) != 2 || len(i.decoded) != 2 {
		t.Fatalf("%d entries, %d decoded", len(i.targets), len(i.decoded))
	}
	target := i.Of(a)
	look(a)
	if len(i.targets) != 1 || len(i.decoded) != 1 || i.Of(a) != target {
		t.Errorf("%d entries, %d decoded are left of one Skyhook, or not its own", len(i.targets), len(i.decoded))
	}
}

func TestPoliciesThatAreGone(t *testing.T) {
	var p Policies
	s := named("a")
	s.Spec.DeploymentPolicy = "slow"
	policy := &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: "slow", UID: "uid-slow", Generation: 1}}
	there, gone := empty(t, policy), empty(t)
	of := func(c client.Client) Pace {
		pace, err := p.Of(t.Context(), c, s)
		if err != nil {
			t.Fatal(err)
		}
		return pace
	}
	of(there)
	other := named("b")
	other.Spec.DeploymentPolicy = "fast"
	if got := p.Changed(t.Context(), empty(t, s, other), policy); len(got) != 1 || got[0].Name != "a" || len(p.parsed) != 0 {
		t.Errorf("it concerns %v; %d parsed", got, len(p.parsed))
	}
	of(there)
	if pace := of(gone); !pace.Missing || len(p.parsed) != 0 {
		t.Errorf("missing %t, %d parsed", pace.Missing, len(p.parsed))
	}
	of(there)
	again := policy.DeepCopy()
	again.UID = "uid-again"
	of(empty(t, again))
	if len(p.parsed) != 1 || p.parsed["slow"].uid != again.UID {
		t.Error("another policy of that name gets what was parsed for this one")
	}
}
