package node

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
)

func names(requests []reconcile.Request) string {
	var list []string
	for _, r := range requests {
		list = append(list, r.Name)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// queued returns what wake puts into a queue.
func queued(wake func(q state.Queue)) string {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	wake(q)
	var list []reconcile.Request
	for q.Len() > 0 {
		r, _ := q.Get()
		list = append(list, r)
	}
	return names(list)
}

// wokenBy are the nodes that a change of a Skyhook queues.
func (w *world) wokenBy(t *testing.T, before *v1alpha1.Skyhook, change func(*v1alpha1.Skyhook)) string {
	t.Helper()
	after := before.DeepCopy()
	change(after)
	return queued(func(q state.Queue) {
		w.skyhookHandler().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
	})
}

func TestChangedPermits(t *testing.T) {
	a, b := v1alpha1.Permit{Node: "a", Order: 1, Generation: 1}, v1alpha1.Permit{Node: "b", Order: 2, Generation: 1}
	renewed := v1alpha1.Permit{Node: "a", Order: 3, Generation: 1}
	next := v1alpha1.Permit{Node: "a", Order: 1, Generation: 2}
	for _, c := range []struct {
		name          string
		before, after []v1alpha1.Permit
		want          string
	}{
		{"none", nil, nil, ""},
		{"unchanged, in another order", []v1alpha1.Permit{a, b}, []v1alpha1.Permit{b, a}, ""},
		{"granted", []v1alpha1.Permit{a}, []v1alpha1.Permit{a, b}, "b"},
		{"taken back", []v1alpha1.Permit{a, b}, []v1alpha1.Permit{b}, "a"},
		{"moved on", []v1alpha1.Permit{a}, []v1alpha1.Permit{b}, "a b"},
		{"another order", []v1alpha1.Permit{a, b}, []v1alpha1.Permit{renewed, b}, "a"},
		{"another generation", []v1alpha1.Permit{a, b}, []v1alpha1.Permit{next, b}, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := &v1alpha1.Skyhook{}, &v1alpha1.Skyhook{}
			before.Status.Permits, after.Status.Permits = c.before, c.after
			got := slices.Sorted(maps.Keys(changedPermits(before, after)))
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestSkyhookUpdateWakes has nodes that the Skyhook selects, has left a record on, has a permit for, or knows nothing
// of.
func TestSkyhookUpdateWakes(t *testing.T) {
	node := func(name string, labels map[string]string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	left := node("left", nil)
	remember(t, left, "demo", entry(v1alpha1.StageApply, v1alpha1.StateComplete))
	w := newWorld(t, node("old", map[string]string{"pool": "old"}), node("new", map[string]string{"pool": "new"}), left, node("foreign", nil))
	before := newSkyhook("demo")
	before.Spec.NodeSelectors.MatchLabels = map[string]string{"pool": "old"}
	annotate := func(key string) func(*v1alpha1.Skyhook) {
		return func(s *v1alpha1.Skyhook) { s.Annotations = map[string]string{key: "true"} }
	}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Skyhook)
		want   string
	}{
		{"nothing", func(*v1alpha1.Skyhook) {}, ""},
		{"the status text", func(s *v1alpha1.Skyhook) { s.Status.Status = v1alpha1.StatusComplete }, ""},
		{"another annotation", annotate("x"), ""},
		{"a permit", func(s *v1alpha1.Skyhook) { s.Status.Permits = append(s.Status.Permits, v1alpha1.Permit{Node: "p"}) }, "p"},
		{"a new plan", func(s *v1alpha1.Skyhook) { s.Status.ObservedGeneration++ }, "left old"},
		{"records begin to be sealed", func(s *v1alpha1.Skyhook) { s.Status.SealedSince = new(metav1.NewTime(start)) }, "left old"},
		{"pause", annotate(v1alpha1.AnnotationPause), "left old"},
		{"disable", annotate(v1alpha1.AnnotationDisable), "left old"},
		{"another one of the name", func(s *v1alpha1.Skyhook) { s.UID = "uid-another" }, "left old"},
		{"deletion", func(s *v1alpha1.Skyhook) { s.DeletionTimestamp = &metav1.Time{Time: start} }, "left old"},
		{"other nodes are selected", func(s *v1alpha1.Skyhook) {
			s.Generation++
			s.Spec.NodeSelectors.MatchLabels = map[string]string{"pool": "new"}
		}, "left new old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := w.wokenBy(t, before, c.change); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
	for name, wake := range map[string]func(state.Queue){
		"create": func(q state.Queue) { w.skyhookHandler().Create(t.Context(), event.CreateEvent{Object: before}, q) },
		"delete": func(q state.Queue) { w.skyhookHandler().Delete(t.Context(), event.DeleteEvent{Object: before}, q) },
	} {
		if got := queued(wake); got != "left old" {
			t.Errorf("%s wakes %q", name, got)
		}
	}
}

// TestWakesLater: what waits for a Skyhook that has to be complete everywhere is woken by whatever may end that, on nodes
// that the Skyhook does not select, too.
func TestWakesLater(t *testing.T) {
	later := newSkyhook("later")
	later.Spec.Priority, later.Status.Permits = 300, []v1alpha1.Permit{{Node: "at-work"}}
	w := newWorld(t, later)
	before := newSkyhook("first")
	before.Spec.Priority, before.Spec.NodeSelectors.MatchLabels = 100, map[string]string{"pool": "none"}
	before.Spec.Sequencing, before.Generation, before.Status.ObservedGeneration = v1alpha1.SequencingAll, 2, 1
	ready := func(s *v1alpha1.Skyhook) {
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Skyhook)
		want   string
	}{
		{"something else", func(s *v1alpha1.Skyhook) { s.Status.Status = v1alpha1.StatusErroring }, ""},
		{"the plan that sees an edit finds it complete", func(s *v1alpha1.Skyhook) { s.Status.ObservedGeneration = 2; ready(s) }, "at-work"},
		{"it is disabled", func(s *v1alpha1.Skyhook) { s.Annotations = map[string]string{v1alpha1.AnnotationDisable: "true"} }, "at-work"},
		{"it is deleted", func(s *v1alpha1.Skyhook) { s.DeletionTimestamp = &metav1.Time{Time: start} }, "at-work"},
		{"it comes later itself", func(s *v1alpha1.Skyhook) { s.Spec.Priority, s.Generation = 400, 3 }, "at-work"},
		{"it waits for single nodes", func(s *v1alpha1.Skyhook) {
			s.Spec.Sequencing, s.Generation = v1alpha1.SequencingNode, 3
		}, "at-work"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := w.wokenBy(t, before, c.change); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
	if got := queued(func(q state.Queue) { w.skyhookHandler().Delete(t.Context(), event.DeleteEvent{Object: before}, q) }); got != "at-work" {
		t.Errorf("when it is gone: %q", got)
	}
}

func TestPodChanged(t *testing.T) {
	before := podOf(t, newSkyhook("demo"))
	unreadable := before.DeepCopy()
	unreadable.Annotations = nil
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		want   bool
	}{
		{"nothing", func(*corev1.Pod) {}, false},
		{"an annotation of others, a condition", func(p *corev1.Pod) {
			p.ResourceVersion, p.Annotations["x"] = "2", "y"
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
		}, false},
		{"it is being deleted", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} }, true},
		{"it failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		{"a restart", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "x", RestartCount: 1}}
		}, true},
		{"the kubelet says what it waits for", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "x", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
		}, true},
		{"its identity cannot be read any more", func(p *corev1.Pod) { p.Annotations = nil }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			after := before.DeepCopy()
			c.change(after)
			if got := podChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if !podChanged().Update(event.UpdateEvent{ObjectOld: unreadable, ObjectNew: unreadable}) {
		t.Error("a pod that cannot be read is dropped")
	}
	if !podChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: newNode()}) {
		t.Error("an object that is no pod is dropped")
	}
	if !podChanged().Create(event.CreateEvent{Object: before}) || !podChanged().Delete(event.DeleteEvent{Object: before}) {
		t.Error("a pod that comes or goes is dropped")
	}
}

func TestNodeOfPod(t *testing.T) {
	pod := podOf(t, newSkyhook("demo"))
	pending := pod.DeepCopy()
	pending.Spec.NodeName = ""
	for _, c := range []struct {
		object client.Object
		want   string
	}{{pod, nodeName}, {pending, ""}, {newNode(), ""}} {
		if got := names(nodeOfPod(t.Context(), c.object)); got != c.want {
			t.Errorf("%T %s wakes %q", c.object, c.object.GetName(), got)
		}
	}
}

func TestConfigMapWakesPermittedNodes(t *testing.T) {
	s := newSkyhook("demo")
	s.Status.Permits = append(s.Status.Permits, v1alpha1.Permit{Node: "node-2"})
	w := newWorld(t, s)
	for label, want := range map[string]string{"demo": "node-1 node-2", "gone": ""} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelName: label}}}
		if got := names(w.permittedNodes(t.Context(), cm)); got != want {
			t.Errorf("a ConfigMap of %s wakes %q", label, got)
		}
	}
	if got := names(w.permittedNodes(t.Context(), &corev1.ConfigMap{})); got != "" {
		t.Errorf("a foreign ConfigMap wakes %q", got)
	}
}

func TestPolicyWakesNodesThatItPaces(t *testing.T) {
	s := newSkyhook("demo")
	s.Spec.DeploymentPolicy = "slow"
	w := newWorld(t, s, newSkyhook("free"), newNode())
	for name, want := range map[string]string{"slow": nodeName, "fast": ""} {
		policy := &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if got := names(w.pacedNodes(t.Context(), policy)); got != want {
			t.Errorf("policy %s wakes %q", name, got)
		}
	}
}

func TestLookAgainAtTheEarliest(t *testing.T) {
	for _, c := range []struct{ a, b, want time.Duration }{
		{0, 0, 0},
		{time.Minute, 0, time.Minute},
		{0, time.Minute, time.Minute},
		{time.Minute, time.Second, time.Second},
	} {
		p := &pass{items: []*item{{}, {}}}
		p.items[0].decision.After, p.items[1].decision.After = c.a, c.b
		if got := p.after(); got != c.want {
			t.Errorf("after(%s, %s) is %s", c.a, c.b, got)
		}
	}
}

// TestUrgent: nodes that are disturbed, have begun, or may be new go first.
func TestUrgent(t *testing.T) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	node := func(name string, cordoned bool, conditions ...corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned},
			Status: corev1.NodeStatus{Conditions: conditions},
		}
	}
	pod := func(name, in, on string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: in}, Spec: corev1.PodSpec{NodeName: on}}
	}
	w := newWorld(t, node("idle", false, ready), node("cordoned", true, ready), node("new", false), node("working", false, ready),
		node("foreign", false, ready),
		pod("stage", namespace, "working"), pod("workload", "elsewhere", "foreign"), pod("left", namespace, "gone"))
	for name, want := range map[string]bool{
		"idle": false, "cordoned": true, "new": true, "working": true, "foreign": false, "gone": false,
	} {
		if got := w.urgent(request(name)); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
