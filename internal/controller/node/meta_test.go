package node

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func kinds(list []corev1.NodeCondition) string {
	var all []string
	for _, c := range list {
		all = append(all, strings.TrimPrefix(string(c.Type), v1alpha1.GroupName+"/"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestConditions: the node has conditions of the kubelet, of demo (in this pass), of idle (exists, left alone in this
// pass) and of gone (does not exist).
func TestConditions(t *testing.T) {
	for _, c := range []struct {
		name    string
		leaving bool
		want    string
	}{
		{"works", false, "demo/Erroring demo/NotReady idle/Erroring idle/NotReady"},
		{"leaves", true, "idle/Erroring idle/NotReady"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, r := newNode(), entry(v1alpha1.StageApply, v1alpha1.StateInProgress)
			for _, name := range []string{"demo", "idle", "gone"} {
				remember(t, n, name, r)
			}
			w := newWorld(t, n)
			demo := newSkyhook("demo")
			p := w.pass(demo, newSkyhook("idle"))
			p.now = start.Add(time.Minute)
			decided(p, demo, lifecycle.Decision{Record: r, Removing: c.leaving})
			got := p.conditions()
			if kinds(got) != c.want {
				t.Errorf("got %s", kinds(got))
			}
			for _, g := range got {
				if !g.LastTransitionTime.Time.Equal(start) {
					t.Errorf("%s did not change, but its time did", g.Type)
				}
			}
			if sameConditions(p.node.Status.Conditions, got) {
				t.Error("conditions of a Skyhook that is gone need no write")
			}
		})
	}
}

// TestConditionsOfABareRecord: once everything is uninstalled no condition speaks of the Skyhook, and those it had go.
func TestConditionsOfABareRecord(t *testing.T) {
	for _, c := range []struct {
		name   string
		record record.Node
		want   string
	}{
		{"uninstalled", record.Node{Status: v1alpha1.StatusComplete}, "idle/Erroring idle/NotReady"},
		{"not planned yet", record.Node{Status: v1alpha1.StatusWaiting}, "demo/Erroring demo/NotReady idle/Erroring idle/NotReady"},
		{"unreadable", record.Node{Status: v1alpha1.StatusComplete, Unreadable: true}, "demo/Erroring demo/NotReady idle/Erroring idle/NotReady"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode()
			for _, name := range []string{"demo", "idle"} {
				remember(t, n, name, entry(v1alpha1.StageConfig, v1alpha1.StateComplete))
			}
			demo := newSkyhook("demo")
			p := newWorld(t, n).pass(demo, newSkyhook("idle"))
			decided(p, demo, lifecycle.Decision{Record: c.record})
			got := p.conditions()
			if kinds(got) != c.want {
				t.Errorf("got %s", kinds(got))
			}
			change, err := p.items[0].recordChange()
			if err != nil {
				t.Fatal(err)
			}
			label, changed := change.Labels[v1alpha1.GroupName+"/status_demo"]
			if bare := !strings.Contains(c.want, "demo"); bare != (changed && label == nil) {
				t.Errorf("the label becomes %v, changed: %t", label, changed)
			}
		})
	}
}

func TestSameConditions(t *testing.T) {
	have := newNode()
	remember(t, have, "demo", record.Node{
		Status: v1alpha1.StatusComplete, Packages: map[string]record.Entry{"a|1.0.0": {Name: "a", Version: "1.0.0"}},
	})
	conditions := have.Status.Conditions
	ours := conditions[1:]
	change := func(f func(*corev1.NodeCondition)) []corev1.NodeCondition {
		list := slices.Clone(ours)
		f(&list[0])
		return list
	}
	for _, c := range []struct {
		name string
		want []corev1.NodeCondition
		same bool
	}{
		{"equal; the kubelet's do not count", ours, true},
		{"in another order", []corev1.NodeCondition{ours[1], ours[0]}, true},
		{"another time", change(func(c *corev1.NodeCondition) { c.LastTransitionTime = metav1.Time{Time: start.Add(time.Hour)} }), true},
		{"another status", change(func(c *corev1.NodeCondition) { c.Status = corev1.ConditionTrue }), false},
		{"another reason", change(func(c *corev1.NodeCondition) { c.Reason = "x" }), false},
		{"another Skyhook", change(func(c *corev1.NodeCondition) { c.Type = v1alpha1.GroupName + "/x/NotReady" }), false},
		{"one less", ours[:1], false},
		{"one more", append(slices.Clone(ours), corev1.NodeCondition{Type: v1alpha1.GroupName + "/x/NotReady"}), false},
		{"none", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sameConditions(conditions, c.want); got != c.same {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestNodeMetaIsWrittenOnlyWhenItChanged(t *testing.T) {
	s := newSkyhook("demo")
	w := newWorld(t, newNode())
	key := client.ObjectKey{Namespace: namespace, Name: workload.NodeMetaName("demo", nodeName)}
	write := func(p *pass) corev1.ConfigMap {
		t.Helper()
		w.must(p.item(s).writeNodeMeta(t.Context()))
		var cm corev1.ConfigMap
		w.must(w.Client.Get(t.Context(), key, &cm))
		return cm
	}
	p := w.pass(s)
	first := write(p)
	if !metav1.IsControlledBy(&first, s) || !strings.Contains(first.Data["labels.json"], "gpu") {
		t.Fatalf("got %+v", first)
	}
	built, err := w.Workload.NodeMeta(s, p.node)
	w.must(err)
	if diff := cmp.Diff(built.OwnerReferences, first.OwnerReferences); diff != "" {
		t.Errorf("the owner is written otherwise than built:\n%s", diff)
	}
	p.node.Annotations[v1alpha1.GroupName+"/nodeState_demo"] = "{}"
	if again := write(p); again.ResourceVersion != first.ResourceVersion {
		t.Error("it is written although nothing changed that steps can see")
	}
	p.node.Labels["gpu"] = "2"
	if again := write(p); again.Data["labels.json"] == first.Data["labels.json"] {
		t.Error("a changed label is not written")
	}
}

// TestNodeMetaThatSomebodyChanged: the cache, which holds no data of these, shows what is really there, and the
// ConfigMap is written as a whole.
func TestNodeMetaThatSomebodyChanged(t *testing.T) {
	s := newSkyhook("demo")
	key := client.ObjectKey{Namespace: namespace, Name: workload.NodeMetaName("demo", nodeName)}
	for _, c := range []struct {
		name   string
		change func(*corev1.ConfigMap)
	}{
		{"a value", func(cm *corev1.ConfigMap) { cm.Data["labels.json"] = `{"zone":"other"}` }},
		{"a file more", func(cm *corev1.ConfigMap) { cm.Data["run.sh"] = "echo" }},
		{"a file of bytes", func(cm *corev1.ConfigMap) { cm.BinaryData = map[string][]byte{"run.sh": []byte("echo")} }},
		{"all of it", func(cm *corev1.ConfigMap) { cm.Data = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, newNode())
			p := w.pass(s)
			want, err := w.Workload.NodeMeta(s, p.node)
			w.must(err)
			w.must(p.item(s).writeNodeMeta(t.Context()))
			var cm corev1.ConfigMap
			w.must(w.Client.Get(t.Context(), key, &cm))
			if cm.Annotations[v1alpha1.AnnotationDigest] != workload.MetaDigest(&cm) {
				t.Error("the digest is not that of the data")
			}
			c.change(&cm)
			w.must(w.Client.Update(t.Context(), &cm))
			w.Client = slimmed{w.Client}
			w.must(p.item(s).writeNodeMeta(t.Context()))
			w.must(w.Live.Get(t.Context(), key, &cm))
			if !workload.Holds(&cm, want.Data) {
				t.Errorf("steps would see %v %v", cm.Data, cm.BinaryData)
			}
			before := cm.ResourceVersion
			w.must(p.item(s).writeNodeMeta(t.Context()))
			w.must(w.Live.Get(t.Context(), key, &cm))
			if cm.ResourceVersion != before {
				t.Error("it is written again and again")
			}
		})
	}
}

// TestNodeMetaThatIsGone: a pod starts no container without it, and neither does one whose machine comes up again.
// It comes back as long as a pod mounts it, whoever deleted it: a person, or a pass that took the node for gone.
func TestNodeMetaThatIsGone(t *testing.T) {
	ran := func(pod *corev1.Pod) {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
			Name: "x", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
	}
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		age    time.Duration
		there  bool
		want   bool
	}{
		{name: "gone", age: metaPatience, want: true},
		{name: "the cache may only not show it yet", age: metaPatience - time.Second},
		{name: "of a pod that runs", change: ran, age: metaPatience, want: true},
		{name: "of a pod that is being deleted", change: func(pod *corev1.Pod) {
			pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: start}, []string{"x/y"}
		}, age: metaPatience},
		{name: "there", age: metaPatience, there: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := newSkyhook("demo"), newNode()
			remember(t, n, "demo", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
			pod := podOf(t, s)
			pod.CreationTimestamp = metav1.NewTime(start.Add(-c.age))
			if c.change != nil {
				c.change(pod)
			}
			objects := []client.Object{s, n, pod}
			if c.there {
				objects = append(objects, metaOf(t, "demo", nodeName))
			}
			w := newWorld(t, objects...)
			w.reconcile()
			var cm corev1.ConfigMap
			err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(metaOf(t, "demo", nodeName)), &cm)
			if written := err == nil && !c.there; written != c.want {
				t.Errorf("written: %t, %v", written, err)
			}
			if c.there && cm.Annotations[v1alpha1.AnnotationDigest] != "" {
				t.Error("one that is there is written again")
			}
		})
	}
}

// slimmed reads metadata ConfigMaps as the operator's cache holds them.
type slimmed struct{ client.Client }

func (s slimmed) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := s.Client.Get(ctx, key, o, options...)
	if cm, ok := o.(*corev1.ConfigMap); ok && err == nil {
		workload.SlimMeta(cm)
		workload.SlimMeta(cm) // as an informer does that begins with a watch
	}
	return err
}
