//go:build e2e && nightly

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// shippedVersion is the version of a package of ours, as its config.json says.
func shippedVersion(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "packages", folder, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Version string `json:"package_version"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.Version
}

// copiesOf are the copies of a package on a node, the oldest first.
func copiesOf(t *testing.T, node, skyhook, pkg string) []string {
	t.Helper()
	return strings.Fields(onHost(t, node, "sh", "-c", "ls -dtr /var/lib/skyhook/"+skyhook+"/"+pkg+"-*"))
}

// TestMountBelowAnOldCopy: what is mounted below a package's copy is no part of it, whoever removes the copy.
func TestMountBelowAnOldCopy(t *testing.T) {
	const data, pkg = "/skyhook-mounted", "shellscript"
	node := ownNode(t)
	p := scripted(undoable("/skyhook-mounted-marks"))
	p.Version = shippedVersion(t, pkg)
	w := &wish{name: "mounted", nodes: []string{node}, packages: map[string]v1alpha1.Package{pkg: p}}
	w.install(t, data, "/skyhook-mounted-marks")
	first := copiesOf(t, node, w.name, pkg)[0]
	t.Cleanup(func() { onCleanNode(t, node, "umount "+first+"/data") })
	onHost(t, node, "sh", "-c", fmt.Sprintf("set -e; mkdir -p %s %s/data; echo data > %[1]s/file; mount --bind %[1]s %[2]s/data", data, first))

	upgrade(t, w, pkg)
	reconfigure(t, w, pkg, map[string]string{"one": "1"})
	second := copiesOf(t, node, w.name, pkg)[2] // of the generation before the last two
	reconfigure(t, w, pkg, map[string]string{"two": "2"})
	reconfigure(t, w, pkg, map[string]string{"three": "3"})
	if copies := copiesOf(t, node, w.name, pkg); !slices.Contains(copies, first) || slices.Contains(copies, second) {
		t.Errorf("copies are %v: want %s, which has a mount, and not %s, which has none", copies, first, second)
	}
	onHost(t, node, "cmp", data+"/file", first+"/data/file")

	w.change(t, pkg, uninstallNow)
	untilUninstalled(t, w.name, node)
	onHost(t, node, "cmp", data+"/file", first+"/data/file")
}

// TestForwardingOutlivesItsPackage: what the pod network of a node needs is not switched off by an uninstall.
func TestForwardingOutlivesItsPackage(t *testing.T) {
	const key = "net.ipv4.ip_forward"
	node := ownNode(t)
	if setting(t, node, key) != "1" {
		t.Fatalf("node %s does not forward for its pods", node)
	}
	t.Cleanup(func() { onCleanNode(t, node, "sysctl -w "+key+"=1") })
	onHost(t, node, "sysctl", "-w", key+"=0")
	w := exampleWish(t, "tuning.yaml", "forwarding", node)
	w.packages["tuning"].ConfigMap["sysctl.conf"] = key + " = 1"
	w.install(t)
	hasSettings(t, node, key+" = 1")
	onHost(t, node, "sysctl", "-w", key+"=1") // as the CNI plugin does with the next pod
	w.change(t, "tuning", uninstallNow)
	untilUninstalled(t, w.name, node)
	hasSettings(t, node, key+" = 1")
}

// TestStepThatStopsContainerd: while the runtime is down nobody reads what a step prints; the step goes on all the
// same.
func TestStepThatStopsContainerd(t *testing.T) {
	node := ownNode(t)
	script := `trap 'systemctl start containerd' EXIT
systemctl stop containerd
for i in $(seq 16384); do echo "$i 567890123456789012345678901234567890123456789012345678901"; done
echo the last line`
	w := &wish{name: "runtime", nodes: []string{node}, packages: map[string]v1alpha1.Package{"scripts": scripted(map[string]string{"apply.sh": script})}}
	w.install(t)
	log := onHost(t, node, "sh", "-c", "cat /var/log/skyhook/runtime/shellscript/*/*.log")
	contains(t, "the end of the log on the host", log[max(0, len(log)-2000):], "the last line")
	if len(log) < 1<<20 {
		t.Errorf("the log has %d bytes; the step printed 1 MiB", len(log))
	}
}

// TestStopWhileAStepCannotBeKilled: the agent ends by itself, and says why, although its child waits for a frozen file
// system. Else the kubelet's SIGKILL would end it after the pod's grace, with another exit code and without a word.
func TestStopWhileAStepCannotBeKilled(t *testing.T) {
	const frozen = "/skyhook-frozen"
	node := ownNode(t)
	w := &wish{name: "frozen", nodes: []string{node}, packages: map[string]v1alpha1.Package{
		"scripts": scripted(map[string]string{"apply.sh": "touch " + frozen + "-began\necho x > " + frozen + "/file"}),
	}}
	ready(t, w.name, w.nodes, []string{frozen, frozen + ".img", frozen + "-began"})
	t.Cleanup(func() { onCleanNode(t, node, "fsfreeze -u "+frozen+" || true; umount "+frozen) })
	// Nodes of the testbed come without loop devices.
	onHost(t, node, "sh", "-c", "cd /dev; [ -e loop-control ] || mknod loop-control c 10 237; for i in $(seq 0 31); do [ -e loop$i ] || mknod loop$i b 7 $i; done")
	onHost(t, node, "sh", "-c", fmt.Sprintf("set -e; mkdir %s; truncate -s 16M %[1]s.img; mkfs.ext4 -q %[1]s.img; mount -o loop %[1]s.img %[1]s; fsfreeze -f %[1]s", frozen))
	w.apply(t)
	awaitHost(t, node, "test -e "+frozen+"-began")
	agent := strings.TrimSpace(onHost(t, node, "pgrep", "-f", "skyhook-agent apply"))
	pod, uid, _ := strings.Cut(mustKubectl(t, "", "get", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name="+w.name,
		"-o", "jsonpath={.items[0].metadata.name} {.items[0].metadata.uid}"), " ")
	pods, said := watchAll[*corev1.Pod](t, &corev1.PodList{}), follow(t, pod, "scripts-apply")
	mustKubectl(t, "", "delete", "pod", "-n", "skyhook", pod, "--wait=false")
	awaitHost(t, node, "[ ! -e /proc/"+agent+"/exe ]")
	contains(t, "what the agent said", said(), "could not be killed (state D): process ")
	onHost(t, node, "sh", "-c", "cat /proc/[0-9]*/status 2>/dev/null | grep '^State:.D'") // its child is still there; others come and go
	onHost(t, node, "fsfreeze", "-u", frozen)
	untilReady(t, w.name)
	if codes := exitCodes(pods, uid, "scripts-apply"); !slices.Equal(codes, []int32{143}) {
		t.Errorf("the agent ended with %d, want 143; the kubelet's SIGKILL makes that 137", codes)
	}
}

// exitCodes are the different ones with which a container of a pod ended.
func exitCodes(pods *versions[*corev1.Pod], uid, container string) (codes []int32) {
	pods.each(func(p *corev1.Pod) {
		for _, c := range p.Status.InitContainerStatuses {
			if string(p.UID) == uid && c.Name == container && c.State.Terminated != nil {
				codes = append(codes, c.State.Terminated.ExitCode)
			}
		}
	})
	return slices.Compact(codes)
}

// TestSecretsAreMasked: a script that prints what it runs and then fails gives its Secret away nowhere.
func TestSecretsAreMasked(t *testing.T) {
	const secret = "correct-horse-battery"
	node := ownNode(t)
	t.Cleanup(func() { mustKubectl(t, "", "delete", "secret", "-n", "skyhook", "token", "--ignore-not-found") })
	mustKubectl(t, "", "create", "secret", "generic", "-n", "skyhook", "token", "--from-literal=token="+secret)
	p := scripted(map[string]string{"apply.sh": "set -x\ncurl_config=\"--user admin:$TOKEN\"\nfalse"})
	p.Env = []corev1.EnvVar{{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "token"}, Key: "token",
	}}}}
	w := &wish{name: "masked", nodes: []string{node}, packages: map[string]v1alpha1.Package{"scripts": p}}
	ready(t, w.name, w.nodes, nil)
	w.apply(t)
	a := untilAttention(t, w.name, node, "StepFailed")
	contains(t, "the reason", a.Message, "admin:***")
	places := map[string]string{
		"the Skyhook":   mustKubectl(t, "", "get", "skyhook", w.name, "-o", "yaml"),
		"the node":      mustKubectl(t, "", "get", "node", node, "-o", "yaml"),
		"events":        mustKubectl(t, "", "get", "events", "-A", "-o", "yaml"),
		"the pod":       mustKubectl(t, "", "get", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name="+w.name, "-o", "yaml"),
		"ConfigMaps":    mustKubectl(t, "", "get", "configmaps,controllerrevisions", "-n", "skyhook", "-o", "yaml"),
		"the pod's log": mustKubectl(t, "", "logs", "-n", "skyhook", "-l", "skyhook.nvidia.com/name="+w.name, "-c", "scripts-apply", "--tail=-1"),
		"the host":      onHost(t, node, "sh", "-c", "cat /var/log/skyhook/masked/shellscript/*/*"),
		"the operator":  mustKubectl(t, "", "logs", "-n", "skyhook", "-l", operatorPods, "--tail=-1"),
	}
	for where, text := range places {
		if strings.Contains(text, secret) {
			t.Errorf("%s has the value of the Secret:\n%s", where, text)
		}
	}
	contains(t, "the log on the host", places["the host"], "admin:***")
	w.packages["scripts"].ConfigMap["apply.sh"] = "test \"$TOKEN\" = " + secret + " # so the step has the value itself\n"
	mustKubectl(t, w.manifest(t), "apply", "-f", "-")
	untilReady(t, w.name)
}
