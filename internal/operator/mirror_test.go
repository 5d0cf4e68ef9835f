//go:build integration

package operator_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestSiteWithoutTheInternet: a GPU node with a taint, and a registry that no node reaches. With tolerations for all
// package pods the pod comes; with a mirror it is replaced by one that can be pulled; and nothing but the pods shows it,
// so that an operator without a mirror finds everything complete, and uninstalls with the image of the spec.
func TestSiteWithoutTheInternet(t *testing.T) {
	const mirror = "mirror.example:5000/copies"
	f := newCluster(t, 1)
	f.changeNode(f.node(0), func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}
	})
	var reaches atomic.Pointer[string]
	reaches.Store(new("mirror.example:5000/"))
	f.kubelet.judge(func(p *corev1.Pod) (int32, string) {
		if !strings.HasPrefix(p.Spec.InitContainers[0].Image, *reaches.Load()) {
			return cannotPull, ""
		}
		return 0, ""
	})
	restart := func(variables map[string]string) {
		f.stop()
		f.variables = variables
		f.startOperator()
	}
	pod := func(what string, ok func(*corev1.Pod) bool) *corev1.Pod {
		t.Helper()
		return eventually(f, &corev1.PodList{}, what, ok, client.InNamespace(f.namespace))
	}

	x := f.skyhook("site", map[string]v1alpha1.Package{"tuning": uninstallable("1.0.0", nil, nil)})
	f.must(f.client.Create(t.Context(), x))
	f.until(x, "the taint keeps it out", func(x *v1alpha1.Skyhook) bool { return x.Status.Nodes.Blocked == 1 })

	tolerated := map[string]string{"DEFAULT_TOLERATIONS": `[{"key":"nvidia.com/gpu","operator":"Exists"}]`}
	restart(tolerated)
	stuck := pod("a pod that tolerates the taint, and cannot be pulled", func(p *corev1.Pod) bool { return len(p.Status.InitContainerStatuses) > 0 })
	gpu := func(t corev1.Toleration) bool { return t.Key == "nvidia.com/gpu" }
	if !slices.ContainsFunc(stuck.Spec.Tolerations, gpu) {
		t.Errorf("the pod has the tolerations %+v", stuck.Spec.Tolerations)
	}

	restart(map[string]string{"DEFAULT_TOLERATIONS": tolerated["DEFAULT_TOLERATIONS"], "PACKAGE_REGISTRY": mirror})
	f.untilStatus(x, v1alpha1.StatusComplete)
	state := f.get(f.node(0)).Annotations["skyhook.nvidia.com/nodeState_"+x.Name]
	if !strings.Contains(state, `"registry.example/packages/shellscript"`) || strings.Contains(state, "mirror.example") {
		t.Errorf("the node remembers %s", state)
	}

	reaches.Store(new("registry.example/"))
	restart(tolerated)
	f.untilStatus(x, v1alpha1.StatusComplete)
	f.must(f.client.Delete(t.Context(), x))
	undone := pod("the uninstall with the image of the spec", func(p *corev1.Pod) bool { return p.Spec.InitContainers[1].Args[0] == "uninstall" })
	if image := undone.Spec.InitContainers[0].Image; image != "registry.example/packages/shellscript:1.0.0" {
		t.Errorf("it is uninstalled with %s", image)
	}
	f.gone(x)
}
