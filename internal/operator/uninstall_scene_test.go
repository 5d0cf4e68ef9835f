//go:build integration

package operator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const sceneLabel = "skyhook.nvidia.com/test-scene"

// scene is one Skyhook with nodes of its own, and what became of its pods.
type scene struct {
	*cluster
	name  string
	nodes []string

	mu sync.Mutex
	// ran are the stages that pods were started for, such as "fw apply"; interrupts are "interrupt".
	ran []string
	// got is the configMap that the pods of a package's uninstall mounted, by node, and env what the last of them had.
	got map[string]map[string]string
	env map[string]string
	// verdict says how a stage ends on a node; nil for well.
	verdict func(node, stage string) int32
}

func newScene(c *cluster, name string, nodes int) *scene {
	s := &scene{cluster: c, name: name, got: map[string]map[string]string{}, env: map[string]string{}}
	for i := range nodes {
		node := fmt.Sprintf("%s-%d", name, i)
		s.nodes = append(s.nodes, node)
		c.addNode(node)
		c.changeNode(node, func(n *corev1.Node) { n.Labels[sceneLabel] = name })
	}
	return s
}

// alone is a scene that has a cluster to itself, so that it may stop the operator.
func alone(t *testing.T, nodes int) *scene {
	t.Helper()
	c := newCluster(t, 0)
	s := newScene(c, c.namespace+"-alone", nodes)
	c.kubelet.judge(s.judge)
	return s
}

type play struct {
	name  string
	nodes int
	// skyhook is the Skyhook's whole name, where that matters.
	skyhook string
	act     func(*scene)
}

// perform runs plays side by side, in one cluster with one operator: each waits most of the time.
func perform(t *testing.T, plays ...play) {
	t.Helper()
	f := newCluster(t, 0)
	scenes := map[string]*scene{}
	var mu sync.Mutex
	f.kubelet.judge(func(p *corev1.Pod) (int32, string) {
		mu.Lock()
		s := scenes[p.Labels["skyhook.nvidia.com/name"]]
		mu.Unlock()
		if s == nil {
			return 0, "" // another Skyhook that a play made
		}
		return s.judge(p)
	})
	var wg sync.WaitGroup
	for i, p := range plays {
		if p.skyhook == "" {
			p.skyhook = fmt.Sprintf("%s-play%d", f.namespace, i)
		}
		wg.Go(func() {
			t.Run(p.name, func(t *testing.T) {
				own := &cluster{t: t, config: f.config, client: f.client, kubelet: f.kubelet, namespace: f.namespace}
				s := newScene(own, p.skyhook, p.nodes)
				mu.Lock()
				scenes[s.name] = s
				mu.Unlock()
				defer s.when("", 0) // so that what is left can be uninstalled
				p.act(s)
			})
		})
	}
	wg.Wait()
}

func (s *scene) judge(p *corev1.Pod) (int32, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := "interrupt"
	if len(p.Spec.InitContainers) > 1 {
		name := strings.TrimSuffix(p.Spec.InitContainers[0].Name, "-init")
		what = name + " " + p.Spec.InitContainers[1].Args[0]
		if strings.HasSuffix(what, " uninstall") {
			s.noteUninstall(p, name)
		}
	}
	s.ran = append(s.ran, what)
	if s.verdict == nil {
		return 0, ""
	}
	return s.verdict(p.Spec.NodeName, what), "the step failed: apply.sh exited 3\nno such device"
}

// noteUninstall notes what an uninstall pod of a package got.
func (s *scene) noteUninstall(p *corev1.Pod, name string) {
	for _, v := range p.Spec.Volumes {
		if v.Name != name || v.ConfigMap == nil {
			continue
		}
		var cm corev1.ConfigMap
		ctx := context.WithoutCancel(s.t.Context())
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: v.ConfigMap.Name}, &cm); err != nil {
			s.t.Errorf("the uninstall pod of %s cannot mount its configMap: %v", name, err)
		}
		s.got[p.Spec.NodeName] = cm.Data
	}
	for _, e := range p.Spec.InitContainers[1].Env {
		s.env[e.Name] = e.Value
	}
}

// endBy lets stages end as verdict says: with a code, or not at all.
func (s *scene) endBy(verdict func(node, stage string) int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdict = verdict
}

// when lets the stage named so end with a code, or not end at all; every other ends well.
func (s *scene) when(stage string, code int32) {
	s.endBy(func(_, what string) int32 {
		if what == stage {
			return code
		}
		return 0
	})
}

// fails lets every stage on a node fail.
func (s *scene) fails(node string) {
	s.endBy(func(at, _ string) int32 {
		if at == node {
			return 1
		}
		return 0
	})
}

// story returns what ran so far.
func (s *scene) story() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.ran, ", ")
}

func (s *scene) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.ran), func(r string) bool { return r != what }))
}

// release lets every pod that goes on end well, and all that come.
func (s *scene) release() {
	s.t.Helper()
	s.when("", 0)
	s.becomes("every pod that is there has begun", func() bool { // one may be beginning by the verdict before
		return !slices.ContainsFunc(s.pods(), func(p corev1.Pod) bool { return len(p.Status.InitContainerStatuses) == 0 })
	})
	for _, p := range s.pods() {
		s.kubelet.end(s.t, &p)
	}
}

func (s *scene) pods() []corev1.Pod {
	s.t.Helper()
	var list corev1.PodList
	s.must(s.client.List(s.t.Context(), &list, client.InNamespace(s.namespace), client.MatchingLabels{"skyhook.nvidia.com/name": s.name}))
	return list.Items
}

// runs waits until a pod of the stage, such as "uninstall", is at work.
func (s *scene) runs(stage string) *corev1.Pod {
	s.t.Helper()
	return eventually(s.cluster, &corev1.PodList{}, stage+" runs", func(p *corev1.Pod) bool {
		is := len(p.Spec.InitContainers) == 1 && stage == "interrupt" ||
			len(p.Spec.InitContainers) > 1 && p.Spec.InitContainers[1].Args[0] == stage
		return is && p.DeletionTimestamp == nil && len(p.Status.InitContainerStatuses) > 0
	}, client.InNamespace(s.namespace), client.MatchingLabels{"skyhook.nvidia.com/name": s.name})
}

// skyhook returns a Skyhook for the scene's nodes; suffix tells it from the scene's own, which has none.
func (s *scene) skyhook(suffix string, packages map[string]v1alpha1.Package) *v1alpha1.Skyhook {
	x := s.cluster.skyhook("", packages)
	x.Name, x.Spec.NodeSelectors.MatchLabels = s.name+suffix, map[string]string{sceneLabel: s.name}
	return x
}

func (s *scene) create(packages map[string]v1alpha1.Package, change ...func(*v1alpha1.Skyhook)) *v1alpha1.Skyhook {
	s.t.Helper()
	x := s.skyhook("", packages)
	for _, c := range change {
		c(x)
	}
	s.must(s.client.Create(s.t.Context(), x))
	return x
}

// install creates a Skyhook with one package, fw, and waits until it is complete.
func (s *scene) install(fw v1alpha1.Package, change ...func(*v1alpha1.Skyhook)) *v1alpha1.Skyhook {
	s.t.Helper()
	return s.untilStatus(s.create(map[string]v1alpha1.Package{"fw": fw}, change...), v1alpha1.StatusComplete)
}

// installBoth creates a Skyhook with fw and another package that stays, and waits until it is complete.
func (s *scene) installBoth(fw v1alpha1.Package) *v1alpha1.Skyhook {
	s.t.Helper()
	return s.createComplete(s.skyhook("", map[string]v1alpha1.Package{"fw": fw, "stays": pkg("1.0.0", nil)}))
}

// set edits package fw.
func (s *scene) set(x *v1alpha1.Skyhook, change func(*v1alpha1.Package)) *v1alpha1.Skyhook {
	s.t.Helper()
	return s.edit(x, func(x *v1alpha1.Skyhook) {
		p := x.Spec.Packages["fw"]
		change(&p)
		x.Spec.Packages["fw"] = p
	})
}

func (s *scene) apply(x *v1alpha1.Skyhook, apply bool) *v1alpha1.Skyhook {
	s.t.Helper()
	return s.set(x, func(p *v1alpha1.Package) { p.Uninstall.Apply = apply })
}

// installed waits until every node is complete with the given number of packages.
func (s *scene) installed(x *v1alpha1.Skyhook, packages int) *v1alpha1.Skyhook {
	s.t.Helper()
	return s.until(x, fmt.Sprintf("complete with %d packages", packages), func(x *v1alpha1.Skyhook) bool {
		for _, node := range s.nodes {
			if len(x.Status.NodeState[node]) != packages {
				return false
			}
		}
		return x.Status.Status == v1alpha1.StatusComplete
	})
}

func (s *scene) notReady(i int) {
	s.t.Helper()
	n := s.get(s.nodes[i])
	for k := range n.Status.Conditions {
		if n.Status.Conditions[k].Type == corev1.NodeReady {
			n.Status.Conditions[k].Status = corev1.ConditionUnknown
		}
	}
	s.must(s.client.Status().Update(s.t.Context(), n))
}

// delete waits until the Skyhook is gone, and checks that no pod is left.
func (s *scene) delete(x *v1alpha1.Skyhook) {
	s.t.Helper()
	s.must(s.client.Delete(s.t.Context(), x))
	s.gone(x)
	if left := s.pods(); len(left) != 0 {
		s.t.Errorf("%d pods are left, such as %s", len(left), left[0].Name)
	}
}

// condition waits until the Skyhook has one of the given kind and reason, and returns its message.
func (s *scene) condition(x *v1alpha1.Skyhook, kind, reason string) string {
	s.t.Helper()
	message := ""
	s.until(x, kind+" "+reason, func(x *v1alpha1.Skyhook) bool {
		c := meta.FindStatusCondition(x.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason {
			return false
		}
		message = c.Message
		return true
	})
	return message
}

// event waits for an event of the Skyhook and returns its note.
func (s *scene) event(reason string) string {
	s.t.Helper()
	return eventually(s.cluster, &eventsv1.EventList{}, "event "+reason, func(e *eventsv1.Event) bool {
		return e.Regarding.Name == s.name && e.Reason == reason
	}).Note
}

// remembers is what a node has of the packages.
func (s *scene) remembers(node string) string {
	s.t.Helper()
	return s.get(node).Annotations["skyhook.nvidia.com/nodeState_"+s.name]
}

// appearance is what other readers see of a node.
type appearance struct {
	Labels, Annotations map[string]string
	Taints              []corev1.Taint
	Unschedulable       bool
	Conditions          []string
}

func (f *cluster) appearance(node string) appearance {
	f.t.Helper()
	n := f.get(node)
	a := appearance{Labels: n.Labels, Annotations: n.Annotations, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable}
	for _, c := range n.Status.Conditions {
		a.Conditions = append(a.Conditions, string(c.Type)+"="+string(c.Status))
	}
	slices.Sort(a.Conditions)
	return a
}

// remain returns a check that the nodes look as they do now.
func (s *scene) remain() (check func()) {
	s.t.Helper()
	look := func() map[string]appearance {
		all := map[string]appearance{}
		for _, node := range s.nodes {
			all[node] = s.appearance(node)
		}
		return all
	}
	before := look()
	return func() {
		s.t.Helper()
		if diff := cmp.Diff(before, look()); diff != "" {
			s.t.Errorf("nodes, -before +after\n%s", diff)
		}
	}
}

func (s *scene) expectStory(want string) {
	s.t.Helper()
	if got := s.story(); got != want {
		s.t.Errorf("ran %s\nwant %s", got, want)
	}
}

func serviceInterrupt(p v1alpha1.Package) v1alpha1.Package {
	p.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x.service"}}
	return p
}
