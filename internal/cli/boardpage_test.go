package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
)

// largeNode is as large as real ones are.
func largeNode(i int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("worker-%04d", i), Labels: map[string]string{"pool": "gpu"}, Annotations: map[string]string{
			v1alpha1.AnnotationStatusPrefix + "gpu": "in_progress",
			v1alpha1.AnnotationNodeStatePrefix + "gpu": `{"driver|1.0.0":{"name":"driver","version":"1.0.0","image":"registry.example/driver",` +
				`"stage":"apply","state":"in_progress"},"tuning|2.1.0":{"name":"tuning","version":"2.1.0","image":"registry.example/tuning",` +
				`"stage":"config","state":"complete"}}`,
		},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 4<<10)}}},
	}}
	for k := range 30 {
		n.Labels[fmt.Sprintf("example.com/label-%d", k)] = fmt.Sprintf("value-%d-of-%d", k, i)
		n.Annotations[fmt.Sprintf("example.com/annotation-%d", k)] = strings.Repeat("x", 100)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{strings.Repeat("i", 100)}})
	}
	return n
}

func fleetOf(t *testing.T, nodes int) *fleet {
	t.Helper()
	config := &rest.Config{Host: "https://cluster.example"} // nobody asks it
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{
		now: time.Now, flags: genericclioptions.NewConfigFlags(false), config: config, target: target{namespace: defaultNamespace}, read: &reader{client: c},
	}
	f, err := newFleet(t.Context(), s, "")
	if err != nil {
		t.Fatal(err)
	}
	sk := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	sk.Spec.NodeSelectors.MatchLabels = map[string]string{"pool": "gpu"}
	sk.Spec.Packages = map[string]v1alpha1.Package{
		"driver": {Name: "driver", Version: "1.0.0", Image: "registry.example/driver"},
		"tuning": {Name: "tuning", Version: "2.1.0", Image: "registry.example/tuning"},
	}
	sk.Status = v1alpha1.SkyhookStatus{Status: v1alpha1.StatusInProgress, CompleteNodes: "0/5000", Nodes: v1alpha1.NodeCounts{Total: nodes}}
	for _, known := range []func() error{
		func() error { return f.skyhooks.Replace([]any{sk}, "1") },
		func() error { return f.policies.Replace(nil, "1") },
		func() error { return f.operators.Replace(nil, "1") },
		func() error { return f.revisions.Replace(nil, "1") },
		func() error { return f.stops.Replace(nil, "1") },
		func() error { return f.nodes.Replace(nil, "1") },
	} {
		if err := known(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		if err := f.nodes.Add(largeNode(i)); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestBoardOfALargeFleet: 5,000 nodes and their page stay small, and what happens on one node is a matter of that node.
func TestBoardOfALargeFleet(t *testing.T) {
	const nodes, most = 5000, 75 << 20
	before := inUse()
	f := fleetOf(t, nodes)
	p := f.Open("")
	news := p.News()
	if after := inUse(); after-before > most {
		t.Errorf("%d MiB for %d nodes", (after-before)>>20, nodes)
	}
	whole, ok := news[0].Data.(board.Board)
	if !ok || len(news) != 1 || len(whole.Nodes) != nodes || whole.Nodes[7].Packages != "1/2" || whole.Nodes[7].Group != board.GroupBatch {
		t.Fatalf("%d events, %d nodes", len(news), len(whole.Nodes))
	}
	text, err := json.Marshal(whole)
	if err != nil || len(text) > 100*nodes {
		t.Errorf("%v: %d bytes", err, len(text))
	}
	was := f.nodes.objects["worker-0007"].DeepCopy()
	states := v1alpha1.AnnotationNodeStatePrefix + "gpu"
	was.Annotations[states] = strings.Replace(was.Annotations[states], `"apply","state":"in_progress"`, `"config","state":"complete"`, 1)
	if err := f.nodes.Update(was); err != nil {
		t.Fatal(err)
	}
	if dirty := p.(*page).dirty; len(dirty) != 1 || p.(*page).rehome {
		t.Errorf("%d nodes are drawn again", len(dirty))
	}
	change, ok := p.News()[0].Data.(board.Change)
	if !ok || len(change.Nodes) != 1 || change.Nodes[0].Name != "worker-0007" || change.Nodes[0].Status != v1alpha1.StatusComplete ||
		change.Skyhook != nil || change.Skyhooks != nil || change.Warning != nil || change.Gone != nil {
		t.Errorf("%+v", change)
	}
	if news := p.News(); len(news) > 0 {
		t.Errorf("without a change: %+v", news)
	}
	p.Close()
	if len(f.pages) > 0 {
		t.Error("a closed page is still told")
	}
}

// TestBoardOfAnother: a Skyhook that was made again under its name shares nothing with the one before.
func TestBoardOfAnother(t *testing.T) {
	f := fleetOf(t, 3)
	p := f.Open("gpu")
	if whole := p.News()[0].Data.(board.Board); len(whole.Nodes) != 3 {
		t.Fatalf("%d nodes", len(whole.Nodes))
	}
	f.left["gpu"].told(&metav1.Duration{Duration: time.Hour}, 0, time.Now())
	again := f.skyhooks.objects["gpu"].DeepCopy()
	again.UID = "another"
	again.Spec.NodeSelectors.MatchLabels = map[string]string{"example.com/label-0": "value-0-of-1"}
	if err := f.skyhooks.Replace([]any{again}, "2"); err != nil { // deleted and created while the watch was broken
		t.Fatal(err)
	}
	change := p.News()[0].Data.(board.Change)
	if want := []string{"worker-0000", "worker-0002"}; !slices.Equal(change.Gone, want) {
		t.Errorf("gone are %v", change.Gone)
	}
	if left := p.(*page).skyhook.TimeLeft; left != nil {
		t.Errorf("%s of the one before are left", left.Duration)
	}
}

// TestBoardOfDetails tells of nodes that look the same, but of which the pane has more to tell.
func TestBoardOfDetails(t *testing.T) {
	f := fleetOf(t, 3)
	p := f.Open("")
	_ = p.News()
	n := f.nodes.objects["worker-0001"].DeepCopy()
	key := v1alpha1.AnnotationNodeStatePrefix + "gpu"
	n.Annotations[key] = strings.Replace(n.Annotations[key], `"state":"in_progress"`, `"state":"in_progress","restarts":2`, 1)
	if err := f.nodes.Update(n); err != nil {
		t.Fatal(err)
	}
	change := p.News()[0].Data.(board.Change)
	if len(change.Nodes) > 0 || !slices.Equal(change.Details, []string{"worker-0001"}) {
		t.Errorf("%+v", change)
	}
	alive := largeNode(2)
	alive.ResourceVersion = "9"
	alive.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, LastHeartbeatTime: metav1.Now()}}
	if err := f.nodes.Update(alive); err != nil {
		t.Fatal(err)
	}
	if news := p.News(); len(news) > 0 {
		t.Errorf("a sign of life: %+v", news)
	}
}

// TestLegible: nothing in texts of scripts and annotations is hidden, or shown in another order than it is in.
func TestLegible(t *testing.T) {
	const printed = "\x1b[31mred\x1b[0m\tone\r\n10%\r20%\x00\u202egnp.exe"
	if got, want := legible(printed), "red\tone\n10%\n20%\\x00\\u202egnp.exe"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f := fleetOf(t, 0)
	sk := f.skyhooks.objects["gpu"]
	sk.Status.Attention = []v1alpha1.NodeAttention{{Node: "a", Status: v1alpha1.StatusErroring, Message: printed}}
	sk.Status.Waiting = []v1alpha1.WaitingNodes{{Nodes: 1, Message: printed}}
	shown := f.shown("gpu", time.Now())
	const line = "red one 10% 20% \\u202egnp.exe"
	if a, w := shown.Attention[0].Message, shown.Waiting[0].Message; a != line || w != line {
		t.Errorf("%q and %q, want %q", a, w, line)
	}
}

// TestEnd keeps the end of a log, however it comes, and says that it is no more than that.
func TestEnd(t *testing.T) {
	for _, c := range []struct {
		most    int
		written []string
		want    string
	}{
		{4, nil, ""},
		{4, []string{"abcd"}, "abcd"},
		{4, []string{"abc", "de"}, "…bcde"},
		{4, []string{"abcdefghi"}, "…fghi"},
		{4, []string{"abcdefghi", "jk"}, "…hijk"},
		{4, []string{"abcdefghi", ""}, "…fghi"},
		{3, []string{"aöö"}, "…ö"},
	} {
		e := end{most: c.most}
		for _, text := range c.written {
			if n, err := e.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%d of %q: %v", n, text, err)
			}
		}
		if got := e.String(); got != c.want || len(e.kept) > 2*c.most {
			t.Errorf("%q of %q, want %q; %d bytes are kept", got, c.written, c.want, len(e.kept))
		}
	}
}
