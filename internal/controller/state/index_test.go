package state_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func skyhook(name string, priority int, matchLabels map[string]string) *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec: v1alpha1.SkyhookSpec{
			Priority: priority, NodeSelectors: metav1.LabelSelector{MatchLabels: matchLabels},
			Packages: map[string]v1alpha1.Package{"a": {Version: "1.0.0", Image: "x/a"}},
		},
	}
}

// node has the records of Skyhooks in the given state of package a.
func node(name string, labels map[string]string, states map[string]v1alpha1.State) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: labels, Annotations: map[string]string{}}}
	for skyhook, state := range states {
		n.Annotations["skyhook.nvidia.com/nodeState_"+skyhook] = fmt.Sprintf(
			`{"a|1.0.0":{"name":"a","version":"1.0.0","image":"x/a","stage":"config","state":%q}}`, state)
	}
	return n
}

func TestIndexParsesOncePerGeneration(t *testing.T) {
	var index state.Index
	s := skyhook("demo", 1, nil)
	first := index.Of(s)
	if index.Of(s.DeepCopy()) != first {
		t.Error("the same generation is parsed again")
	}
	s.Generation, s.Spec.InterruptionBudget = 2, v1alpha1.InterruptionBudget{Count: new(1), Percent: new(1)}
	second := index.Of(s)
	if second == first || !strings.Contains(second.Invalid, "spec.interruptionBudget") {
		t.Errorf("the next generation is not parsed: %+v", second)
	}
	if index.Of(s) != second {
		t.Error("the next generation is parsed twice")
	}
	again := skyhook("demo", 1, nil) // created anew: generations start over
	again.UID, again.Generation = "uid-other", 2
	if index.Of(again) == second {
		t.Error("another object of that name gets what was parsed for this one")
	}
	index.Keep(nil)
	if index.Of(s) == second {
		t.Error("what was forgotten is still there")
	}
}

func TestTarget(t *testing.T) {
	var index state.Index
	target := index.Of(skyhook("demo", 1, nil))
	pkg, ok := target.Packages["a"]
	if !ok || pkg.Version != "1.0.0" || pkg.Image != "x/a" || pkg.Hash == "" || target.Invalid != "" {
		t.Errorf("target is %+v", target)
	}
}

// TestTargetHasTheOperatorsLimits where a package sets none, and keeps what the package looks like.
func TestTargetHasTheOperatorsLimits(t *testing.T) {
	limited := state.Index{Limits: situation.Limits{StageTimeout: time.Hour, MaxRetries: new(int32(3))}}
	s := skyhook("demo", 1, nil)
	pkg, before := limited.Of(s).Packages["a"], new(state.Index).Of(s).Packages["a"]
	if pkg.StageTimeout == nil || pkg.StageTimeout.Duration != time.Hour || pkg.MaxRetries == nil || *pkg.MaxRetries != 3 {
		t.Errorf("limits are %v and %v", pkg.StageTimeout, pkg.MaxRetries)
	}
	if pkg.Hash != before.Hash || pkg.Definition != before.Definition {
		t.Error("another limit of the operator would start packages over")
	}
}

func TestSelects(t *testing.T) {
	broken := skyhook("broken", 1, nil)
	broken.Spec.NodeSelectors.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
	expression := skyhook("expression", 1, map[string]string{"a": "b"})
	expression.Spec.NodeSelectors.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpDoesNotExist}}
	for _, c := range []struct {
		name    string
		skyhook *v1alpha1.Skyhook
		labels  map[string]string
		want    bool
	}{
		{"an empty selector selects every node", skyhook("all", 1, nil), nil, true},
		{"a label that matches", skyhook("some", 1, map[string]string{"a": "b"}), map[string]string{"a": "b", "c": "d"}, true},
		{"another value", skyhook("some", 1, map[string]string{"a": "b"}), map[string]string{"a": "c"}, false},
		{"no labels", skyhook("some", 1, map[string]string{"a": "b"}), nil, false},
		{"labels and expressions", expression, map[string]string{"a": "b"}, true},
		{"labels but not expressions", expression, map[string]string{"a": "b", "c": ""}, false},
		{"a selector that cannot be parsed selects nothing", broken, map[string]string{"a": "b"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var index state.Index
			if got := index.Selects(c.skyhook, c.labels); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestInOrder(t *testing.T) {
	list := []v1alpha1.Skyhook{*skyhook("c", 200, nil), *skyhook("b", 200, nil), *skyhook("z", 1, nil), *skyhook("a", 300, nil), *skyhook("b", 200, nil)}
	var got []string
	for _, s := range state.InOrder(list) {
		got = append(got, s.Name)
	}
	if text := strings.Join(got, " "); text != "z b b c a" {
		t.Errorf("got %s", text)
	}
	if list[0].Name != "c" {
		t.Error("the list itself was sorted")
	}
}

func TestEarlier(t *testing.T) {
	gpu := map[string]string{"gpu": "1"}
	deleted := skyhook("deleted", 2, nil)
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	disabled := skyhook("disabled", 3, nil)
	disabled.Annotations = map[string]string{v1alpha1.AnnotationDisable: "true"}
	list := []v1alpha1.Skyhook{
		*skyhook("complete", 1, nil), *skyhook("working", 1, nil), *skyhook("absent", 1, nil), *skyhook("unreadable", 1, nil),
		*skyhook("elsewhere", 1, gpu), *deleted, *disabled, *skyhook("self", 100, nil), *skyhook("later", 200, nil),
		*skyhook("reopened", 4, nil),
	}
	n := node("n", nil, map[string]v1alpha1.State{
		"complete": v1alpha1.StateComplete, "working": v1alpha1.StateInProgress, "reopened": v1alpha1.StateComplete,
	})
	n.Annotations["skyhook.nvidia.com/nodeState_unreadable"] = "{"

	ordered := state.InOrder(list)
	snapshot, err := new(state.Index).Snapshot(t.Context(), fake.NewClientBuilder().Build(), workload.Options{Namespace: "skyhook"}, ordered)
	if err != nil {
		t.Fatal(err)
	}
	at := snapshot.At(n, &state.Records{})
	got := map[string]bool{}
	for e := range at.Earlier(skyhook("self", 100, nil), map[string]bool{"reopened": true}) {
		got[e.Skyhook.Name] = e.IncompleteHere
	}
	want := map[string]bool{"complete": false, "working": true, "absent": true, "unreadable": true, "elsewhere": false, "deleted": false, "reopened": true}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for e := range at.Earlier(skyhook("absent", 1, nil), nil) {
		t.Errorf("before the first comes %v", e.Skyhook.Name)
	}
}

func TestRecordsDecodesOnce(t *testing.T) {
	var records state.Records
	n := node("n", nil, map[string]v1alpha1.State{"demo": v1alpha1.StateComplete, "bad": v1alpha1.StateComplete})
	n.Annotations["skyhook.nvidia.com/nodeState_bad"] = "{"
	first, err := records.Read("demo", n)
	if err != nil || first.Packages["a|1.0.0"].State != v1alpha1.StateComplete {
		t.Fatalf("got %+v, %v", first, err)
	}
	// A mark in the shared map tells whether the next answer was decoded anew.
	first.Packages["mark"] = first.Packages["a|1.0.0"]
	marked := func(n *corev1.Node) bool {
		t.Helper()
		r, err := records.Read("demo", n)
		if err != nil {
			t.Fatal(err)
		}
		_, ok := r.Packages["mark"]
		return ok
	}

	heartbeat := n.DeepCopy()
	heartbeat.ResourceVersion = "2"
	heartbeat.Annotations["other"] = "x"
	if !marked(heartbeat) {
		t.Error("a change elsewhere on the node decodes the record again")
	}
	if _, err := records.Read("bad", n); err == nil {
		t.Error("a malformed record is read")
	}
	if _, err := records.Read("bad", n); err == nil {
		t.Error("the error of a malformed record is forgotten")
	}
	recreated := n.DeepCopy()
	recreated.UID = "uid-other"
	if marked(recreated) {
		t.Error("another node of that name gets this one's record")
	}
	changed := n.DeepCopy()
	changed.Annotations["skyhook.nvidia.com/permit_demo"] = "1/0"
	if marked(changed) {
		t.Error("a change of the record is not seen")
	}
	if r, err := records.Read("demo", changed); err != nil || r.FinishedPermit != "1/0" {
		t.Errorf("done is %q, error %v", r.FinishedPermit, err)
	}
	r, err := records.Read("demo", n)
	if err != nil {
		t.Fatal(err)
	}
	r.Packages["mark"] = r.Packages["a|1.0.0"]
	records.Forget(n.UID)
	if marked(n) {
		t.Error("what was forgotten is still there")
	}
}

// TestViewIsDerivedOnce: until the record changes, or what is wanted of it.
func TestViewIsDerivedOnce(t *testing.T) {
	s := skyhook("demo", 1, nil)
	s.UID = "uid-demo"
	n := node("n", nil, map[string]v1alpha1.State{"demo": v1alpha1.StateComplete})
	var index state.Index
	var records state.Records
	view := func() *rollout.View {
		t.Helper()
		snapshot, err := index.Snapshot(t.Context(), fake.NewClientBuilder().Build(), workload.Options{}, []*v1alpha1.Skyhook{s})
		if err != nil {
			t.Fatal(err)
		}
		at := snapshot.At(n, &records)
		v, hold := at.View(s)
		if hold != nil {
			t.Fatal(hold)
		}
		return v
	}
	last := view()
	for _, c := range []struct {
		name   string
		change func()
		again  bool
	}{
		{"nothing", func() {}, false},
		{"elsewhere on the node", func() { n.ResourceVersion, n.Labels = "2", map[string]string{"x": "y"} }, false},
		{"a permit", func() {
			n.ResourceVersion, n.Annotations["skyhook.nvidia.com/permit_demo"] = "3", "1/0"
		}, true},
		{"the spec", func() { s.Generation++ }, true},
		{"its status", func() { s.Status.Status = v1alpha1.StatusComplete }, false},
		{"its deletion", func() { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
		{"what is abandoned elsewhere", func() { s.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: "m"} }, true},
		{"what is abandoned here", func() { s.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: "n"} }, true},
		{"another node of the name", func() { n.UID = "other" }, true},
	} {
		n, s = n.DeepCopy(), s.DeepCopy()
		c.change()
		now := view()
		if (now != last) != c.again {
			t.Errorf("%s: derived again is %t", c.name, now != last)
		}
		last = now
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	var (
		index   state.Index
		records state.Records
		wg      sync.WaitGroup
	)
	c := fake.NewClientBuilder().Build()
	for i := range 8 {
		wg.Go(func() {
			for k := range 50 {
				s := skyhook(fmt.Sprintf("s%d", k%3), 1, nil)
				s.Generation = int64(k)
				n := node(fmt.Sprintf("n%d", k%5), nil, map[string]v1alpha1.State{s.Name: v1alpha1.StateComplete})
				if !index.Selects(s, nil) {
					t.Errorf("goroutine %d: %s selects nothing", i, s.Name)
				}
				if r, err := records.Read(s.Name, n); err != nil || len(r.Packages) != 1 {
					t.Errorf("goroutine %d: record %v, %v", i, r, err)
				}
				snapshot, err := index.Snapshot(t.Context(), c, workload.Options{}, []*v1alpha1.Skyhook{s})
				if err != nil {
					t.Error(err)
					return
				}
				at := snapshot.At(n, &records)
				if v, hold := at.View(s); hold != nil || v.Empty {
					t.Errorf("goroutine %d: view %v, %v", i, v, hold)
				}
				index.Keep(nil)
				records.Keep(nil, nil)
			}
		})
	}
	wg.Wait()
}

func TestNodeChanged(t *testing.T) {
	base := node("n", map[string]string{"a": "b"}, map[string]v1alpha1.State{"demo": v1alpha1.StateComplete})
	base.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	base.Status.NodeInfo.BootID = "boot-1"
	base.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, c := range []struct {
		name   string
		change func(*corev1.Node)
		want   bool
	}{
		{"nothing", func(*corev1.Node) {}, false},
		{"a heartbeat", func(n *corev1.Node) {
			n.ResourceVersion = "9"
			n.Status.Conditions[0].LastHeartbeatTime = metav1.Time{Time: time.Unix(9, 0)}
			n.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}}
		}, false},
		{"another condition", func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue})
		}, false},
		{"readiness", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, true},
		{"no readiness", func(n *corev1.Node) { n.Status.Conditions = nil }, true},
		{"a label", func(n *corev1.Node) { n.Labels["a"] = "c" }, true},
		{"a seal", func(n *corev1.Node) { n.Labels["node-restriction.kubernetes.io/skyhook_demo"] = "0f" }, false},
		{"an annotation of others", func(n *corev1.Node) { n.Annotations["x"] = "y" }, false},
		{"an annotation of ours", func(n *corev1.Node) { n.Annotations["skyhook.nvidia.com/interrupt"] = "{}" }, true},
		{"an annotation of ours goes", func(n *corev1.Node) { delete(n.Annotations, "skyhook.nvidia.com/nodeState_demo") }, true},
		{"a taint", func(n *corev1.Node) { n.Spec.Taints = nil }, true},
		{"a cordon", func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
		{"a boot", func(n *corev1.Node) { n.Status.NodeInfo.BootID = "boot-2" }, true},
		{"another node of that name", func(n *corev1.Node) { n.UID = "uid-other" }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			after := base.DeepCopy()
			c.change(after)
			if got := state.NodeChanged().Update(event.UpdateEvent{ObjectOld: base, ObjectNew: after}); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
	p := state.NodeChanged()
	if !p.Create(event.CreateEvent{Object: base}) || !p.Delete(event.DeleteEvent{Object: base}) || !p.Generic(event.GenericEvent{Object: base}) {
		t.Error("a node that comes or goes is dropped")
	}
	if !p.Update(event.UpdateEvent{ObjectOld: &corev1.Pod{}, ObjectNew: &corev1.Pod{}}) {
		t.Error("an object that is no node is dropped")
	}
}
