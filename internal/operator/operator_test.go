//go:build integration

package operator_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestInstallsAPackageOnEveryNode(t *testing.T) {
	f := newCluster(t, 2)
	s := f.skyhook("demo", map[string]v1alpha1.Package{"tuning": pkg("1.1.0", map[string]string{"apply.sh": "true"})})
	s = f.createComplete(s)
	if s.Status.CompleteNodes != "2/2" || s.Status.PackageList != "tuning:1.1.0" || s.Status.NodesInProgress != 0 {
		t.Errorf("printer columns are %q %q %d", s.Status.CompleteNodes, s.Status.PackageList, s.Status.NodesInProgress)
	}
	if !meta.IsStatusConditionTrue(s.Status.Conditions, "Ready") || meta.IsStatusConditionTrue(s.Status.Conditions, "Reconciling") {
		t.Errorf("conditions: %+v", s.Status.Conditions)
	}
	s = f.until(s, "permits returned", func(x *v1alpha1.Skyhook) bool { return len(x.Status.Permits) == 0 && x.Status.NextOrder == 0 })
	if s.Generation != 1 {
		t.Errorf("generation is %d: the operator changed the spec", s.Generation)
	}
	for i := range 2 {
		f.checkCompleteNode(f.node(i), s.Name)
	}
	var pods corev1.PodList
	f.must(f.client.List(t.Context(), &pods, client.InNamespace(f.namespace)))
	if len(pods.Items) != 0 {
		t.Errorf("%d pods are left", len(pods.Items))
	}
	f.checkWritesPerNode(2, 2)
}

// checkCompleteNode checks what readers of the existing API find on a finished node.
func (f *cluster) checkCompleteNode(node, skyhook string) {
	f.t.Helper()
	n := eventually(f, &corev1.NodeList{}, "condition Complete on "+node, func(n *corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeConditionType("skyhook.nvidia.com/"+skyhook+"/NotReady") &&
				c.Status == corev1.ConditionFalse && c.Reason == "Complete"
		})
	}, client.MatchingFields{"metadata.name": node})
	if got := n.Labels["skyhook.nvidia.com/status_"+skyhook]; got != "complete" {
		f.t.Errorf("node %s: status label is %q", node, got)
	}
	if got := n.Annotations["skyhook.nvidia.com/status_"+skyhook]; got != "complete" {
		f.t.Errorf("node %s: status annotation is %q", node, got)
	}
	r, err := record.Read(skyhook, n.Annotations)
	f.must(err)
	e := r.Packages["tuning|1.1.0"]
	if e.Stage != v1alpha1.StageConfig || e.State != v1alpha1.StateComplete || e.Image != "registry.example/packages/shellscript" {
		f.t.Errorf("node %s: entry is %+v", node, e)
	}
}

// checkWritesPerNode holds the operator to at most 3 writes per stage and 5 more per node (events and the Skyhook's own
// objects aside).
func (f *cluster) checkWritesPerNode(nodes, stages int) {
	f.t.Helper()
	perNode := f.writes.total(func(key string) bool {
		return strings.Contains(key, "/nodes/") || strings.Contains(key, "/pods") || strings.Contains(key, "metadata-")
	}) / nodes
	if limit := 3*stages + 5; perNode > limit {
		f.t.Errorf("%d writes per node, more than %d: %v", perNode, limit, f.writes.count)
	}
	f.t.Logf("writes per node: %d", perNode)
}

// TestSkyhook is about one Skyhook with one or two packages.
func TestSkyhook(t *testing.T) {
	script := func(text string) map[string]string { return map[string]string{"apply.sh": text} }
	perform(t,
		play{name: "a dependency comes first", nodes: 1, act: func(s *scene) {
			second := pkg("2.0.0", nil)
			second.DependsOn = map[string]string{"first": "1.0.0"}
			x := s.create(map[string]v1alpha1.Package{"first": pkg("1.0.0", nil), "second": second})
			s.untilStatus(x, v1alpha1.StatusComplete)
			s.expectStory("first apply, first config, second apply, second config")
		}},
		play{name: "a failing step is shown until an edit fixes it", nodes: 1, act: func(s *scene) {
			s.when("fw apply", 3)
			x := s.create(map[string]v1alpha1.Package{"fw": pkg("1.0.0", script("exit 3"))})
			x = s.untilStatus(x, v1alpha1.StatusErroring)
			a := x.Status.Attention
			if len(a) != 1 || a[0].Reason != "StepFailed" || !strings.Contains(a[0].Message, "exited 3") || !strings.Contains(a[0].Message, "no such device") {
				s.t.Errorf("attention is %+v", a)
			}
			if got := x.Status.NodeState[s.nodes[0]]["fw|1.0.0"]; got.State != v1alpha1.StateErroring || got.Restarts != 1 {
				s.t.Errorf("nodeState is %+v", got)
			}
			if !meta.IsStatusConditionTrue(x.Status.Conditions, "Stalled") {
				s.t.Errorf("conditions: %+v", x.Status.Conditions)
			}
			s.when("", 0)
			x = s.set(x, func(p *v1alpha1.Package) { p.ConfigMap = script("exit 0") })
			x = s.untilStatus(x, v1alpha1.StatusComplete)
			if meta.IsStatusConditionTrue(x.Status.Conditions, "Stalled") || len(x.Status.Attention) != 0 {
				s.t.Errorf("still shows the failure: %+v %+v", x.Status.Attention, x.Status.Conditions)
			}
		}},
		play{name: "a changed configMap runs only config again, within the budget", nodes: 5, act: func(s *scene) {
			stop := s.watchBudget(s.name, 1)
			x := s.install(pkg("1.0.0", script("1")), func(x *v1alpha1.Skyhook) { x.Spec.InterruptionBudget.Count = new(1) })
			x = s.set(x, func(p *v1alpha1.Package) { p.ConfigMap = script("2") })
			s.untilStatus(x, v1alpha1.StatusComplete)
			stop()
			if s.count("fw apply") != 5 || s.count("fw config") != 10 || strings.Count(s.story(), ",") != 14 {
				s.t.Errorf("ran %s", s.story())
			}
		}},
		play{name: "deletion leaves nothing behind", nodes: 2, act: func(s *scene) {
			s.fails(s.nodes[1])
			x := s.create(map[string]v1alpha1.Package{"fw": pkg("1.1.0", nil)})
			s.until(x, "one complete, one erroring", func(x *v1alpha1.Skyhook) bool {
				return x.Status.Nodes.Complete == 1 && x.Status.Nodes.Erroring == 1
			})
			s.delete(x)
			for _, node := range s.nodes {
				s.checkCleanNode(node, s.name)
			}
		}},
		play{name: "a paused one starts nothing", nodes: 1, act: func(s *scene) {
			x := s.create(map[string]v1alpha1.Package{"fw": pkg("1.1.0", nil)}, func(x *v1alpha1.Skyhook) {
				x.Annotations = map[string]string{"skyhook.nvidia.com/pause": "true"}
			})
			if x = s.untilStatus(x, v1alpha1.StatusPaused); len(x.Status.Permits) != 0 {
				s.t.Errorf("permits %v", x.Status.Permits)
			}
			x = s.edit(x, func(x *v1alpha1.Skyhook) { delete(x.Annotations, "skyhook.nvidia.com/pause") })
			s.untilStatus(x, v1alpha1.StatusComplete)
		}},
		play{name: "a broken record stops only its node", nodes: 2, act: func(s *scene) {
			key := "skyhook.nvidia.com/nodeState_" + s.name
			s.annotate(s.nodes[0], key, "{broken")
			x := s.create(map[string]v1alpha1.Package{"fw": pkg("1.1.0", nil)})
			x = s.until(x, "the other node complete", func(x *v1alpha1.Skyhook) bool { return x.Status.Nodes.Complete == 1 })
			if a := x.Status.Attention; len(a) != 1 || a[0].Reason != "NodeStateMalformed" || !strings.Contains(a[0].Message, key) {
				s.t.Errorf("attention is %+v", a)
			}
			s.annotate(s.nodes[0], key, "{}")
			s.untilStatus(x, v1alpha1.StatusComplete)
		}},
	)
}

// watchBudget fails the test if pods of the Skyhook run on more than limit nodes at any change of a pod.
func (f *cluster) watchBudget(skyhook string, limit int) (stop func()) {
	f.t.Helper()
	w, err := f.client.Watch(f.t.Context(), &corev1.PodList{}, client.InNamespace(f.namespace), client.MatchingLabels{"skyhook.nvidia.com/name": skyhook})
	f.must(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pods := map[string]string{}
		for e := range w.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			pods[p.Name] = p.Spec.NodeName
			if e.Type == "DELETED" {
				delete(pods, p.Name)
			}
			nodes := map[string]bool{}
			for _, n := range pods {
				nodes[n] = true
			}
			if len(nodes) > limit {
				f.t.Errorf("Skyhook %s works on %d nodes, budget is %d", skyhook, len(nodes), limit)
			}
		}
	}()
	return func() { w.Stop(); <-done }
}

func TestOperatorMayDieAtAnyTime(t *testing.T) {
	f := newCluster(t, 8)
	s := f.skyhook("crash", map[string]v1alpha1.Package{"a": pkg("1.0.0", map[string]string{"k": "v"}), "b": pkg("1.0.0", nil)})
	s.Spec.InterruptionBudget.Count = new(2)
	stop := f.watchBudget(s.Name, 2)
	f.must(f.client.Create(t.Context(), s))
	for complete := range 8 {
		f.until(s, "progress", func(x *v1alpha1.Skyhook) bool { return x.Status.Nodes.Complete >= complete })
		f.stop()
		f.startOperator()
	}
	s = f.untilStatus(s, v1alpha1.StatusComplete)
	stop()
	if s.Status.CompleteNodes != "8/8" {
		t.Errorf("complete nodes %s", s.Status.CompleteNodes)
	}
}

// checkCleanNode checks that only the states of packages whose files may still be there are left.
func (f *cluster) checkCleanNode(node, skyhook string) {
	f.t.Helper()
	n := eventually(f, &corev1.NodeList{}, "no condition on "+node, func(n *corev1.Node) bool {
		return !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return strings.Contains(string(c.Type), skyhook) })
	}, client.MatchingFields{"metadata.name": node})
	for key := range n.Labels {
		if strings.Contains(key, skyhook) {
			f.t.Errorf("node %s keeps label %s", node, key)
		}
	}
	for key := range n.Annotations {
		if strings.HasSuffix(key, "_"+skyhook) && !strings.Contains(key, "/nodeState_") && !strings.Contains(key, "/version_") {
			f.t.Errorf("node %s keeps annotation %s", node, key)
		}
	}
}

func TestRejectedPodIsShownAndTriedAgain(t *testing.T) {
	f := newCluster(t, 1)
	limit := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "small", Namespace: f.namespace}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}}},
	}}
	f.must(f.client.Create(t.Context(), limit))
	p := pkg("1.0.0", nil)
	big := resource.MustParse("1Gi")
	p.Resources = &v1alpha1.ResourceRequirements{CPURequest: big, CPULimit: big, MemoryRequest: big, MemoryLimit: big}
	s := f.skyhook("rejected", map[string]v1alpha1.Package{"tuning": p})
	f.must(f.client.Create(t.Context(), s))
	s = f.untilStatus(s, v1alpha1.StatusErroring)
	if a := s.Status.Attention; len(a) != 1 || a[0].Reason != "PodRejected" || !strings.Contains(a[0].Message, "maximum memory usage") {
		t.Errorf("attention is %+v", a)
	}
	f.must(f.client.Delete(t.Context(), limit))
	f.untilStatus(s, v1alpha1.StatusComplete)
}
