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
	f.must(f.client.Create(t.Context(), s))
	s = f.untilStatus(s, v1alpha1.StatusComplete)

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

func TestDependencyComesFirst(t *testing.T) {
	f := newCluster(t, 1)
	second := pkg("2.0.0", nil)
	second.DependsOn = map[string]string{"first": "1.0.0"}
	s := f.skyhook("deps", map[string]v1alpha1.Package{"first": pkg("1.0.0", nil), "second": second})
	var order []string
	f.kubelet.judge(func(p *corev1.Pod) (int32, string) {
		order = append(order, p.Spec.InitContainers[1].Name)
		return 0, ""
	})
	f.must(f.client.Create(t.Context(), s))
	f.untilStatus(s, v1alpha1.StatusComplete)
	want := []string{"first-apply", "first-config", "second-apply", "second-config"}
	f.kubelet.mu.Lock()
	defer f.kubelet.mu.Unlock()
	if !slices.Equal(order, want) {
		t.Errorf("stages ran as %v, want %v", order, want)
	}
}

func TestFailingStepIsShownAndHealsWhenFixed(t *testing.T) {
	f := newCluster(t, 1)
	s := f.skyhook("fail", map[string]v1alpha1.Package{"tuning": pkg("1.0.0", map[string]string{"apply.sh": "exit 3"})})
	f.kubelet.judge(func(*corev1.Pod) (int32, string) { return 3, "step apply.sh exited 3\nno such device" })
	f.must(f.client.Create(t.Context(), s))
	s = f.untilStatus(s, v1alpha1.StatusErroring)
	a := s.Status.Attention
	if len(a) != 1 || a[0].Reason != "StepFailed" || !strings.Contains(a[0].Message, "exited 3") || !strings.Contains(a[0].Message, "no such device") {
		t.Errorf("attention is %+v", a)
	}
	if got := s.Status.NodeState[f.node(0)]["tuning|1.0.0"]; got.State != v1alpha1.StateErroring || got.Restarts != 1 {
		t.Errorf("nodeState is %+v", got)
	}
	if !meta.IsStatusConditionTrue(s.Status.Conditions, "Stalled") {
		t.Errorf("conditions: %+v", s.Status.Conditions)
	}
	f.kubelet.judge(nil)
	before := s.DeepCopy()
	s.Spec.Packages["tuning"] = pkg("1.0.0", map[string]string{"apply.sh": "exit 0"})
	f.must(f.client.Patch(t.Context(), s, client.MergeFrom(before)))
	s = f.untilStatus(s, v1alpha1.StatusComplete)
	if meta.IsStatusConditionTrue(s.Status.Conditions, "Stalled") || len(s.Status.Attention) != 0 {
		t.Errorf("still shows trouble: %+v %+v", s.Status.Attention, s.Status.Conditions)
	}
}

func TestConfigChangeRunsConfigAgainWithinTheBudget(t *testing.T) {
	f := newCluster(t, 5)
	s := f.skyhook("budget", map[string]v1alpha1.Package{"tuning": pkg("1.0.0", map[string]string{"a": "1"})})
	one := 1
	s.Spec.InterruptionBudget.Count = &one
	stop := f.watchBudget(s.Name, 1)
	f.must(f.client.Create(t.Context(), s))
	s = f.untilStatus(s, v1alpha1.StatusComplete)

	var again []string
	f.kubelet.judge(func(p *corev1.Pod) (int32, string) {
		again = append(again, p.Spec.InitContainers[1].Name)
		return 0, ""
	})
	before := s.DeepCopy()
	s.Spec.Packages["tuning"] = pkg("1.0.0", map[string]string{"a": "2"})
	f.must(f.client.Patch(t.Context(), s, client.MergeFrom(before)))
	f.untilStatus(s, v1alpha1.StatusComplete)
	stop()
	f.kubelet.mu.Lock()
	defer f.kubelet.mu.Unlock()
	if want := slices.Repeat([]string{"tuning-config"}, 5); !slices.Equal(again, want) {
		t.Errorf("after the change ran %v, want %v", again, want)
	}
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
	two := 2
	s.Spec.InterruptionBudget.Count = &two
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

func TestDeletionLeavesNothingBehind(t *testing.T) {
	f := newCluster(t, 2)
	s := f.skyhook("gone", map[string]v1alpha1.Package{"tuning": pkg("1.1.0", nil)})
	f.kubelet.judge(func(p *corev1.Pod) (int32, string) {
		if p.Spec.NodeName == f.node(1) {
			return 1, "stuck half way"
		}
		return 0, ""
	})
	f.must(f.client.Create(t.Context(), s))
	f.until(s, "one complete, one erroring", func(x *v1alpha1.Skyhook) bool {
		return x.Status.Nodes.Complete == 1 && x.Status.Nodes.Erroring == 1
	})
	f.must(f.client.Delete(t.Context(), s))
	f.gone(s)
	var pods corev1.PodList
	f.must(f.client.List(t.Context(), &pods, client.InNamespace(f.namespace)))
	if len(pods.Items) != 0 {
		t.Errorf("%d pods are left", len(pods.Items))
	}
	for i := range 2 {
		f.checkCleanNode(f.node(i), s.Name)
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

func TestPausedSkyhookStartsNothing(t *testing.T) {
	f := newCluster(t, 1)
	s := f.skyhook("paused", map[string]v1alpha1.Package{"tuning": pkg("1.1.0", nil)})
	s.Annotations = map[string]string{"skyhook.nvidia.com/pause": "true"}
	f.must(f.client.Create(t.Context(), s))
	s = f.untilStatus(s, v1alpha1.StatusPaused)
	if len(s.Status.Permits) != 0 {
		t.Errorf("permits %v", s.Status.Permits)
	}
	before := s.DeepCopy()
	delete(s.Annotations, "skyhook.nvidia.com/pause")
	f.must(f.client.Patch(t.Context(), s, client.MergeFrom(before)))
	f.untilStatus(s, v1alpha1.StatusComplete)
}

func TestBrokenRecordStopsOnlyItsNode(t *testing.T) {
	f := newCluster(t, 2)
	s := f.skyhook("broken", map[string]v1alpha1.Package{"tuning": pkg("1.1.0", nil)})
	key := "skyhook.nvidia.com/nodeState_" + s.Name
	f.annotate(f.node(0), key, "{broken")
	f.must(f.client.Create(t.Context(), s))
	s = f.until(s, "the other node complete", func(x *v1alpha1.Skyhook) bool { return x.Status.Nodes.Complete == 1 })
	if a := s.Status.Attention; len(a) != 1 || a[0].Reason != "NodeStateMalformed" || !strings.Contains(a[0].Message, key) {
		t.Errorf("attention is %+v", a)
	}
	f.annotate(f.node(0), key, "{}")
	f.untilStatus(s, v1alpha1.StatusComplete)
}

func (f *cluster) annotate(node, key, value string) {
	f.t.Helper()
	n := &corev1.Node{}
	f.must(f.client.Get(f.t.Context(), client.ObjectKey{Name: node}, n))
	before := n.DeepCopy()
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value)
	f.must(f.client.Patch(f.t.Context(), n, client.MergeFrom(before)))
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
