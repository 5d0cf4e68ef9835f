//go:build e2e && nightly

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/taint"
	"github.com/skyhook-operator/skyhook/test/testbed"
)

// TestExamplesSideBySide: three small examples on the same nodes, and nothing is left of the one that can be undone.
func TestExamplesSideBySide(t *testing.T) {
	ownNodes(t, 2)
	t.Cleanup(func() { mustKubectl(t, "", "delete", "deploymentpolicy", "canary", "--ignore-not-found") })
	t.Cleanup(func() {
		mustKubectl(t, "", "delete", "secret", "-n", "skyhook", "registry-login", "--ignore-not-found")
	})
	files := map[string]string{"canary": "/etc/skyhook-banner", "secret": "/etc/skyhook-registry", "script": "/opt/skyhook-script"}
	for name, file := range files {
		apply(t, name, example(t, name+".yaml"), file)
	}
	for name := range files {
		waitReady(t, name)
	}
	mustKubectl(t, "", "delete", "skyhook", "script", "--timeout=2m")
	for _, node := range here(t).Nodes() {
		if got := onHost(t, node, "cat", files["canary"]); got != "This host is looked after by Skyhook." {
			t.Errorf("node %s: the banner is %q", node, got)
		}
		const token = "not-a-real-token"
		if got := onHost(t, node, "sh", "-c", "stat -c %a /etc/skyhook-registry; cat /etc/skyhook-registry"); got != "600\ntoken: "+token+"\n" {
			t.Errorf("node %s: %q", node, got)
		}
		told := textOf(getNode(t, node)) + onHost(t, node, "sh", "-c", "find /var/log/skyhook/secret -type f -exec cat {} +")
		if strings.Contains(told, token) {
			t.Errorf("node %s tells the token: %s", node, told)
		}
		absent(t, node, files["script"])
	}
}

// TestExampleOfContainerd: what the restart is for is in effect, and containers outlive it.
func TestExampleOfContainerd(t *testing.T) {
	const dropIn = "/etc/systemd/system/containerd.service.d"
	node := ownNode(t)
	runDeployment(t, "outlives", node) // evicted by the drain; what comes back sees the limit
	t.Cleanup(func() {
		onHost(t, node, "sh", "-c", "systemctl daemon-reload; systemctl restart containerd")
	})
	applyExample(t, "containerd", node, dropIn)
	untilReady(t, "containerd")
	mustKubectl(t, "", "rollout", "status", "deployment/outlives", "--timeout=1m")
	out := mustKubectl(t, "", "exec", "deployment/outlives", "--", "/bin/busybox", "grep", "Max core file size", "/proc/1/limits")
	if fields := strings.Fields(out); len(fields) < 6 || fields[5] != "0" {
		t.Errorf("a new container has %q", out)
	}
}

// TestExampleOfAGPUPool: the node's taint is tolerated, training keeps it from being drained, and then it reboots.
func TestExampleOfAGPUPool(t *testing.T) {
	const name = "gpu-pool"
	node := ownNode(t)
	t.Cleanup(func() { mustKubectl(t, "", "delete", "deploymentpolicy", name, "--ignore-not-found") })
	runPod(t, "training", node, "{workload: training}")
	t.Cleanup(func() { mustKubectl(t, "", "taint", "node", node, "nvidia.com/gpu-") })
	mustKubectl(t, "", "taint", "node", node, "nvidia.com/gpu=present:NoSchedule")
	boot := bootID(t, node)
	applyExample(t, name, node, "/etc/modprobe.d/skyhook-nvidia.conf")
	a := untilAttention(t, name, node, v1alpha1.ReasonProtectedPod)
	contains(t, "the reason", a.Message, "default/training")
	absent(t, node, "/etc/modprobe.d/skyhook-nvidia.conf")
	mustKubectl(t, "", "delete", "pod", "training", "--grace-period=1")
	untilReady(t, name)
	if bootID(t, node) == boot {
		t.Error("the node did not reboot")
	}
}

// TestExampleOfAControlPlane runs where a node looks as kubeadm's do.
func TestExampleOfAControlPlane(t *testing.T) {
	const name, role = "control-plane", "node-role.kubernetes.io/control-plane"
	node := ownNode(t)
	t.Cleanup(func() {
		mustKubectl(t, "", "taint", "node", node, role+"-")
		mustKubectl(t, "", "label", "node", node, role+"-")
	})
	mustKubectl(t, "", "label", "node", node, role+"=")
	mustKubectl(t, "", "taint", "node", node, role+":NoSchedule")
	applyExample(t, name, node, "/opt/skyhook-audit")
	untilReady(t, name)
	if got := onHost(t, node, "stat", "-c", "%a", "/opt/skyhook-audit"); got != "700\n" {
		t.Errorf("the folder's mode is %q", got)
	}
}

// TestExampleOfAStartupTaint: a node that registers with the taint loses it when it is complete.
func TestExampleOfAStartupTaint(t *testing.T) {
	const name = "startup-taint"
	ownNodes(t, 0)
	applyTo(t, nil, name, example(t, "startup-taint.yaml"), "/skyhook-drivers")
	node := join(t, testbed.Join{Labels: []string{"pool=training"}, Taints: []string{runtimeTaint.ToString()}})
	untilNode(t, node, "complete and free", func(n *corev1.Node) bool { return completeOn(n, name) && !taint.Has(n, runtimeTaint) })
}

// TestExampleOfAnAirGappedSite: nodes pull what a Skyhook names from the site's registry, and not from where its name
// says.
func TestExampleOfAnAirGappedSite(t *testing.T) {
	const skyhookName, file, mirror = "air-gapped", "/skyhook-air-gapped", "registry.example.com:5000/copies"
	node := ownCluster(t)[0]
	contains(t, "the example", example(t, "air-gapped/values.yaml"), "packageRegistry: "+mirror)
	if err := here(t).Push(t.Context(), variant(t, "copied"), mirror+"/nvidia/skyhook-packages/shellscript:1.1.0"); err != nil {
		t.Fatal(err)
	}
	setOperator(t, "PACKAGE_REGISTRY", mirror, "")
	applyTo(t, []string{node}, skyhookName, skyhook(skyhookName, map[string]string{"apply.sh": journal(file, "apply")}), file)
	waitReady(t, skyhookName)
	if got := ranVariant(t, node, skyhookName); got != "copied" {
		t.Errorf("the node ran %q", got)
	}
}

// applyExample applies an example for one node, beside other tests, and undoes all of it after the test.
func applyExample(t *testing.T, name, node string, hostFiles ...string) {
	t.Helper()
	t.Cleanup(func() { cleanUpOn(t, []string{node}, name, hostFiles) })
	text := strings.ReplaceAll(example(t, name+".yaml"), testLabel+": demo", corev1.LabelHostname+": "+node)
	mustKubectl(t, text, "apply", "-f", "-")
}
