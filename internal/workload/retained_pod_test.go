package workload_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// retainedTask is the uninstall of a package that the spec has in another shape, with the definition it was installed
// with.
func retainedTask(t *testing.T) workload.Task {
	t.Helper()
	s := read[v1alpha1.Skyhook](t, retainedYAML)
	pkg := workload.DefinitionOf(s, "firewall").Spec
	s.Spec.Packages["firewall"] = v1alpha1.Package{
		Version: "0.9.0", Image: "other/image",
		Env: []corev1.EnvVar{{Name: "OTHER"}},
	}
	return workload.Task{
		Skyhook: s, Package: "firewall", Stage: v1alpha1.StageUninstall, Run: "t4x2", Generation: 7, Node: "node-1",
		Order:    12,
		Retained: &pkg,
	}
}

// TestRetainedPod: it has what the package was installed with, down to the last variable, and nothing of the spec.
func TestRetainedPod(t *testing.T) {
	k := retainedTask(t)
	pod := build(t, options, k)

	original := k
	original.Skyhook = read[v1alpha1.Skyhook](t, retainedYAML)
	original.Retained = nil
	want := build(t, options, original)
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("-as by the spec of that time, +got\n%s", diff)
	}
}

// TestRetainedPodByHand says the same in other words, in case that both are wrong.
func TestRetainedPodByHand(t *testing.T) {
	pod := build(t, options, retainedTask(t))
	if got := configMapOf(pod, "firewall"); got != "demo-firewall-1.0.0-a554e4a385-3ca300d2cd" {
		t.Errorf("it mounts %q", got)
	}
	names := make([]string, 0, 3)
	for _, c := range pod.Spec.InitContainers {
		names = append(names, c.Name+" "+c.Image+" "+c.Resources.Limits.Cpu().String()+" "+c.Resources.Requests.Memory().String())
		if !hasMount(c, "firewall", "/skyhook-package/configmaps") && !hasMount(c, "firewall", "/skyhook-configmap") {
			t.Errorf("%s does not see the configMap: %v", c.Name, c.VolumeMounts)
		}
	}
	want := []string{
		"firewall-init ghcr.io/a/shellscript@sha256:00ff 1 64Mi",
		"firewall-uninstall x/agent:2 1 64Mi",
		"firewall-uninstallcheck x/agent:2 1 64Mi",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("containers, -want +got\n%s", diff)
	}
	for _, c := range pod.Spec.InitContainers[1:] {
		if c.Env[0].Name != "PORT" || c.Env[0].Value != "12379" {
			t.Errorf("%s: env %v", c.Name, c.Env)
		}
		token := c.Env[1]
		if token.Value != "" || token.ValueFrom == nil || token.ValueFrom.SecretKeyRef == nil ||
			token.ValueFrom.SecretKeyRef.Name != "firewall" {
			t.Errorf("%s: the Secret is no reference any more: %+v", c.Name, token)
		}
	}
	if got := pod.Labels["skyhook.nvidia.com/package"]; got != "firewall-1.0.0" {
		t.Errorf("the label is %s", got)
	}
	if dir := pod.Spec.InitContainers[1].Args[2]; dir != "/var/lib/skyhook/demo/firewall-1.0.0-1c5b-7" {
		t.Errorf("the package's copy is in %s", dir)
	}
}

func configMapOf(pod *corev1.Pod, volume string) string {
	for _, v := range pod.Spec.Volumes {
		if v.Name == volume && v.ConfigMap != nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

func hasMount(c corev1.Container, volume, path string) bool {
	for _, m := range c.VolumeMounts {
		if m.Name == volume && m.MountPath == path {
			return true
		}
	}
	return false
}

// TestRetainedPodIsObserved: the pod proves what the record asks for.
func TestRetainedPodIsObserved(t *testing.T) {
	k := retainedTask(t)
	pod := build(t, options, k)
	pod.Status = *read[corev1.PodStatus](t,
		status(pending, `{name: firewall-uninstallcheck, state: {terminated: {exitCode: 0}}}`))
	p, err := workload.Observe(pod)
	if err != nil {
		t.Fatal(err)
	}
	if p.Package != "firewall" || p.Version != "1.0.0" || p.Stage != v1alpha1.StageUninstall || p.Run != "t4x2" ||
		p.Outcome != lifecycle.Done {
		t.Errorf("got %+v", p)
	}
	if p.Hash != workload.Hash(k.Skyhook, *k.Retained) ||
		p.Hash == workload.Hash(k.Skyhook, k.Skyhook.Spec.Packages["firewall"]) {
		t.Errorf("its hash is %s", p.Hash)
	}
}

// TestRetainedPodSharesNothing: what is sent to the API server is read back into.
func TestRetainedPodSharesNothing(t *testing.T) {
	k := retainedTask(t)
	before := k.Retained.DeepCopy()
	pod := build(t, options, k)
	pod.Spec.InitContainers[1].Env[1].ValueFrom.SecretKeyRef.Name = "changed"
	pod.Spec.InitContainers[1].Env[0].Value = "changed"
	if diff := cmp.Diff(before, k.Retained); diff != "" {
		t.Errorf("the retained definition changed:\n%s", diff)
	}
}

// TestUninstallInterruptPod: it is the pod of an interrupt, but for its name and what it says of itself.
func TestUninstallInterruptPod(t *testing.T) {
	k := interruptTask(t, v1alpha1.InterruptService, "kubelet")
	interrupt := build(t, options, k)
	k.Stage = v1alpha1.StageUninstallInterrupt
	pod := build(t, options, k)
	if !strings.HasPrefix(pod.Name, "demo-uninstall-interrupt-service-node-1-") || pod.Name == interrupt.Name {
		t.Errorf("the name is %s", pod.Name)
	}
	interrupt.Name = pod.Name
	const id = "skyhook.nvidia.com/package"
	interrupt.Annotations[id] = strings.Replace(interrupt.Annotations[id], `"stage":"interrupt"`,
		`"stage":"uninstall-interrupt"`, 1)
	if diff := cmp.Diff(interrupt, pod); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	pod.Status = *read[corev1.PodStatus](t, status(pending, `{name: interrupt, state: {terminated: {exitCode: 0}}}`))
	if p, err := workload.Observe(pod); err != nil || p.Stage != v1alpha1.StageUninstallInterrupt ||
		p.Outcome != lifecycle.Done {
		t.Errorf("got %+v, error %v", p, err)
	}
}

// TestUninstallInterruptPodOfRetained: it needs the host only, so that no ConfigMap can hold it back.
func TestUninstallInterruptPodOfRetained(t *testing.T) {
	k := retainedTask(t)
	k.Stage, k.Interrupt = v1alpha1.StageUninstallInterrupt, k.Retained.Interrupt
	spec := build(t, options, k).Spec
	if len(spec.Volumes) != 1 || len(spec.InitContainers) != 1 || spec.TerminationGracePeriodSeconds != nil {
		t.Errorf("volumes %v, containers %v, grace period %v", spec.Volumes, spec.InitContainers,
			spec.TerminationGracePeriodSeconds)
	}
	c := spec.InitContainers[0]
	if c.Image != "x/agent:2" || c.Args[0] != "interrupt" || c.Args[2] != "/var/lib/skyhook/demo/firewall-1.0.0-1c5b-7" {
		t.Errorf("image %s, args %v", c.Image, c.Args)
	}
	for _, v := range c.Env {
		if v.Name == "PORT" || v.Name == "TOKEN" {
			t.Errorf("an interrupt needs no %s", v.Name)
		}
	}
	k.Interrupt = nil
	if _, err := options.Pod(k); err == nil ||
		err.Error() != "package firewall: stage uninstall-interrupt has no interrupt to run" {
		t.Errorf("got error %v", err)
	}
}
