//go:build integration

package operator_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// uninstallable is a package that can be undone; change edits what it says about that.
func uninstallable(version string, config map[string]string, change func(*v1alpha1.Uninstall)) v1alpha1.Package {
	p := pkg(version, config)
	p.Env = []corev1.EnvVar{{Name: "PORT", Value: "8080"}}
	p.Uninstall = &v1alpha1.Uninstall{Enabled: ptr.To(true)}
	if change != nil {
		change(p.Uninstall)
	}
	return p
}

func whenRemoved(u *v1alpha1.Uninstall) { u.WhenRemoved = v1alpha1.WhenRemovedUninstall }

// stages notes the stages that pods run, by package, with what the pod got.
type stages struct {
	mu  sync.Mutex
	ran []string
	// configMaps that the pods of the stage uninstall mounted, by name.
	configMaps map[string]map[string]string
	env        map[string]string
	fails      func(pkg, stage string) bool
}

func (f *cluster) record() *stages {
	r := &stages{configMaps: map[string]map[string]string{}, env: map[string]string{}}
	f.kubelet.judge(func(p *corev1.Pod) (int32, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := strings.TrimSuffix(p.Spec.InitContainers[0].Name, "-init")
		stage := "interrupt"
		if len(p.Spec.InitContainers) > 1 {
			stage = p.Spec.InitContainers[1].Args[0]
		}
		r.ran = append(r.ran, name+" "+stage)
		if stage == "uninstall" {
			for _, v := range p.Spec.Volumes {
				if v.Name != name || v.ConfigMap == nil {
					continue
				}
				var cm corev1.ConfigMap
				f.must(f.client.Get(context.WithoutCancel(f.t.Context()), client.ObjectKey{Namespace: f.namespace, Name: v.ConfigMap.Name}, &cm))
				r.configMaps[name] = cm.Data
			}
			for _, e := range p.Spec.InitContainers[1].Env {
				r.env[e.Name] = e.Value
			}
		}
		if r.fails != nil && r.fails(name, stage) {
			return 1, "the step failed"
		}
		return 0, ""
	})
	return r
}

func (r *stages) fail(f func(pkg, stage string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = f
}

func (r *stages) count(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.ran {
		if s == what {
			n++
		}
	}
	return n
}

func (f *cluster) edit(s *v1alpha1.Skyhook, change func(*v1alpha1.Skyhook)) *v1alpha1.Skyhook {
	f.t.Helper()
	var now v1alpha1.Skyhook
	f.must(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(s), &now))
	before := now.DeepCopy()
	change(&now)
	f.must(f.client.Patch(f.t.Context(), &now, client.MergeFrom(before)))
	return &now
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
	var n corev1.Node
	f.must(f.client.Get(f.t.Context(), client.ObjectKey{Name: node}, &n))
	a := appearance{Labels: n.Labels, Annotations: n.Annotations, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable}
	for _, c := range n.Status.Conditions {
		a.Conditions = append(a.Conditions, string(c.Type)+"="+string(c.Status))
	}
	slices.Sort(a.Conditions)
	return a
}

func (f *cluster) record1(node, skyhook string) string {
	f.t.Helper()
	var n corev1.Node
	f.must(f.client.Get(f.t.Context(), client.ObjectKey{Name: node}, &n))
	return n.Annotations["skyhook.nvidia.com/nodeState_"+skyhook]
}

func TestExplicitUninstall(t *testing.T) {
	f := newCluster(t, 2)
	ran := f.record()
	config := map[string]string{"uninstall.sh": "rm x"}
	s := f.skyhook("explicit", map[string]v1alpha1.Package{"fw": uninstallable("1.0.0", config, nil)})
	f.must(f.client.Create(t.Context(), s))
	s = f.untilStatus(s, v1alpha1.StatusComplete)
	s = f.edit(s, func(s *v1alpha1.Skyhook) { s.Spec.Packages["fw"].Uninstall.Apply = true })
	s = f.until(s, "uninstalled", func(x *v1alpha1.Skyhook) bool {
		return x.Status.Status == v1alpha1.StatusComplete && len(x.Status.NodeState) == 0
	})
	if got := ran.count("fw uninstall"); got != 2 {
		t.Errorf("%d uninstalls: %v", got, ran.ran)
	}
	if diff := cmp.Diff(config, ran.configMaps["fw"]); diff != "" || ran.env["PORT"] != "8080" {
		t.Errorf("the uninstall pod had PORT=%q and configMap %s", ran.env["PORT"], diff)
	}
	for i := range 2 {
		if got := f.record1(f.node(i), s.Name); got != "{}" {
			t.Errorf("node %d remembers %s", i, got)
		}
		a := f.appearance(f.node(i))
		if _, ok := a.Labels["skyhook.nvidia.com/status_"+s.Name]; ok || len(a.Conditions) != 1 {
			t.Errorf("node %d still has %v %v", i, a.Labels, a.Conditions)
		}
	}
	s = f.edit(s, func(s *v1alpha1.Skyhook) { s.Spec.Packages["fw"].Uninstall.Apply = false })
	f.until(s, "installed again", func(x *v1alpha1.Skyhook) bool {
		return x.Status.Status == v1alpha1.StatusComplete && len(x.Status.NodeState) == 2
	})
}

func TestRemovedPackageIsUndoneWithItsDefinition(t *testing.T) {
	f := newCluster(t, 2)
	ran := f.record()
	config := map[string]string{"uninstall.sh": "rm x"}
	s := f.skyhook("removed", map[string]v1alpha1.Package{"fw": uninstallable("1.0.0", config, whenRemoved), "stays": pkg("1.0.0", nil)})
	f.must(f.client.Create(t.Context(), s))
	s = f.untilStatus(s, v1alpha1.StatusComplete)
	s = f.edit(s, func(s *v1alpha1.Skyhook) { delete(s.Spec.Packages, "fw") })
	s = f.until(s, "removed everywhere", func(x *v1alpha1.Skyhook) bool {
		return x.Status.Status == v1alpha1.StatusComplete && !strings.Contains(f.record1(f.node(0), s.Name)+f.record1(f.node(1), s.Name), "fw|")
	})
	if diff := cmp.Diff(config, ran.configMaps["fw"]); diff != "" || ran.env["PORT"] != "8080" || ran.count("fw uninstall") != 2 {
		t.Errorf("the uninstall pods (%v) had PORT=%q and configMap %s", ran.ran, ran.env["PORT"], diff)
	}
	var left appsv1.ControllerRevisionList
	f.becomes("no definition of it is kept", func() bool { // after the status: no change of the Skyhook tells
		f.must(f.client.List(t.Context(), &left, client.InNamespace(f.namespace)))
		return len(left.Items) == 1
	})
}

func TestDeletionUninstallsFirst(t *testing.T) {
	f := newCluster(t, 3)
	ran := f.record()
	var before []appearance
	for i := range 3 {
		before = append(before, f.appearance(f.node(i)))
	}
	one := uninstallable("1.0.0", map[string]string{"k": "v"}, nil)
	one.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"x.service"}}
	two := uninstallable("2.0.0", nil, nil)
	two.DependsOn = map[string]string{"one": "1.0.0"}
	s := f.skyhook("deleted", map[string]v1alpha1.Package{"one": one, "two": two})
	f.must(f.client.Create(t.Context(), s))
	f.untilStatus(s, v1alpha1.StatusComplete)
	f.must(f.client.Delete(t.Context(), s))
	f.gone(s)
	for i := range 3 {
		if diff := cmp.Diff(before[i], f.appearance(f.node(i))); diff != "" {
			t.Errorf("node %d, -before +after\n%s", i, diff)
		}
	}
	if ran.count("one uninstall") != 3 || ran.count("two uninstall") != 3 {
		t.Errorf("ran %v", ran.ran)
	}
}

func TestFailingUninstallIsShownAndAnEditMendsIt(t *testing.T) {
	f := newCluster(t, 2)
	ran := f.record()
	s := f.skyhook("failing", map[string]v1alpha1.Package{"fw": uninstallable("1.0.0", map[string]string{"uninstall.sh": "false"}, nil)})
	f.must(f.client.Create(t.Context(), s))
	f.untilStatus(s, v1alpha1.StatusComplete)
	ran.fail(func(_, stage string) bool {
		return stage == "uninstall" && ran.configMaps["fw"]["uninstall.sh"] == "false"
	})
	f.edit(s, func(s *v1alpha1.Skyhook) { s.Spec.Packages["fw"].Uninstall.Apply = true })
	s = f.until(s, "uninstall fails", func(x *v1alpha1.Skyhook) bool {
		c := meta.FindStatusCondition(x.Status.Conditions, "UninstallFailed")
		return c != nil && strings.Contains(c.Message, f.node(0)) && strings.Contains(c.Message, "the step failed")
	})
	s = f.edit(s, func(s *v1alpha1.Skyhook) { s.Spec.Packages["fw"].ConfigMap["uninstall.sh"] = "true" })
	s = f.until(s, "uninstalled", func(x *v1alpha1.Skyhook) bool {
		return x.Status.Status == v1alpha1.StatusComplete && len(x.Status.NodeState) == 0
	})
	if meta.FindStatusCondition(s.Status.Conditions, "UninstallFailed") != nil {
		t.Error("UninstallFailed stays")
	}
}
