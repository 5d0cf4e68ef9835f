//go:build integration

package operator_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// reboots makes the stand-in kubelets reboot their node when an interrupt pod runs, and counts how often.
type reboots struct {
	mu    sync.Mutex
	count map[string]int
	ran   []string
}

func (f *cluster) watchReboots() *reboots {
	r := &reboots{count: map[string]int{}}
	f.kubelet.judge(func(p *corev1.Pod) (int32, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ran = append(r.ran, p.Spec.NodeName+" "+p.Spec.InitContainers[0].Name)
		if p.Labels["skyhook.nvidia.com/interrupt"] != "True" {
			return 0, ""
		}
		n := &corev1.Node{}
		if err := f.client.Get(f.t.Context(), client.ObjectKey{Name: p.Spec.NodeName}, n); err != nil {
			f.t.Error(err)
		}
		if !n.Spec.Unschedulable {
			f.t.Errorf("node %s is interrupted but not cordoned", n.Name)
		}
		r.count[n.Name]++
		before := n.DeepCopy()
		n.Status.NodeInfo.BootID += "+"
		if err := f.client.Status().Patch(f.t.Context(), n, client.MergeFrom(before)); err != nil {
			f.t.Error(err)
		}
		return 0, ""
	})
	return r
}

func TestRebootsEachNodeOnceWithinTheBudget(t *testing.T) {
	f := newCluster(t, 3)
	r := f.watchReboots()
	kernel := pkg("1.0.0", map[string]string{"a": "1"})
	kernel.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
	s := f.skyhook("reboot", map[string]v1alpha1.Package{"kernel": kernel, "other": serviceInterrupt(pkg("1.0.0", nil))})
	s.Spec.InterruptionBudget.Count = new(1)
	stop := f.watchBudget(s.Name, 1)
	f.createComplete(s)
	stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range 3 {
		node := f.node(i)
		if r.count[node] != 1 {
			t.Errorf("node %s rebooted %d times", node, r.count[node])
		}
		if f.get(node).Spec.Unschedulable {
			t.Errorf("node %s is still cordoned", node)
		}
		var stages []string
		for _, line := range r.ran {
			if name, container, _ := strings.Cut(line, " "); name == node {
				stages = append(stages, container)
			}
		}
		slices.Sort(stages)
		want := []string{"interrupt", "kernel-init", "kernel-init", "kernel-init", "other-init", "other-init", "other-init"}
		if !slices.Equal(stages, want) {
			t.Errorf("node %s ran %v, want %v", node, stages, want)
		}
	}
}
