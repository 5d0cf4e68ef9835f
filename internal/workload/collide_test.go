package workload_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

var podStages = []v1alpha1.Stage{
	v1alpha1.StageApply, v1alpha1.StageUpgrade, v1alpha1.StageConfig, v1alpha1.StagePostInterrupt, v1alpha1.StageUninstall,
	v1alpha1.StageInterrupt, v1alpha1.StageUninstallInterrupt,
}

// TestPodOfAPackageNamedLikeAPart: a package may have any name that the API allows, also one that the pod uses for
// something else; the API server takes no pod with two volumes, or two containers, of a name.
func TestPodOfAPackageNamedLikeAPart(t *testing.T) {
	plain := build(t, options, task(t, "tuning"))
	names := []string{
		"interrupt", "init", "apply", "config", "uninstall-interrupt", "metadata", "skyhook",
		strings.Repeat("p", 43),
	}
	for _, v := range plain.Spec.Volumes {
		names = append(names, v.Name)
	}
	for _, c := range append(plain.Spec.InitContainers, plain.Spec.Containers...) {
		names = append(names, c.Name)
	}
	if !slices.Contains(names, "root-mount") {
		t.Fatalf("the pod's parts are %q", names)
	}
	for _, name := range names {
		if len(name) > 43 {
			continue // no package can be called so
		}
		for _, stage := range podStages {
			t.Run(name+"/"+string(stage), func(t *testing.T) {
				k := task(t, "tuning")
				k.Skyhook.Spec.Packages[name] = k.Skyhook.Spec.Packages["tuning"]
				k.Package, k.Stage = name, stage
				k.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
				checkParts(t, build(t, options, k))
			})
		}
	}
}

// checkParts checks that names are unique, and that what is mounted is there once.
func checkParts(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	volumes, containers := map[string]int{}, map[string]int{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name]++
	}
	for _, c := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		containers[c.Name]++
		paths := map[string]string{}
		for _, m := range c.VolumeMounts {
			if volumes[m.Name] != 1 {
				t.Errorf("container %s mounts %s, of which there are %d", c.Name, m.Name, volumes[m.Name])
			}
			paths[m.MountPath] = m.Name
		}
		if len(paths) != len(c.VolumeMounts) {
			t.Errorf("container %s mounts %v", c.Name, c.VolumeMounts)
		}
	}
	for name, n := range volumes {
		if n != 1 {
			t.Errorf("%d volumes are called %s", n, name)
		}
	}
	for name, n := range containers {
		if n != 1 {
			t.Errorf("%d containers are called %s", n, name)
		}
	}
}
