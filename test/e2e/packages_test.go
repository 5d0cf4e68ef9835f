//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func TestDependencies(t *testing.T) {
	ownNode(t)
	apply(t, "dependencies", example(t, "dependencies.yaml"), "/opt/skyhook-example")
	waitReady(t, "dependencies")
	for _, node := range here(t).Nodes() {
		got := onHost(t, node, "cat", "/opt/skyhook-example/settings", "/opt/skyhook-example/extra.conf")
		if want := "hello from the environment\nlimit = 10"; got != want {
			t.Errorf("node %s: settings are %q, want %q", node, got, want)
		}
	}
}

// skyhook is a manifest with one shellscript package for the suite's nodes.
func skyhook(name string, config map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: skyhook.nvidia.com/v1alpha1
kind: Skyhook
metadata: {name: %s}
spec:
  nodeSelectors: {matchLabels: {%s: demo}}
  packages:
    scripts:
      version: 1.1.0
      image: ghcr.io/nvidia/skyhook-packages/shellscript
      configMap:
`, name, testLabel)
	for key, script := range config {
		fmt.Fprintf(&b, "        %s: |-\n          %s\n", key, strings.ReplaceAll(script, "\n", "\n          "))
	}
	return b.String()
}

func TestFailingPackageSaysWhyAndRecovers(t *testing.T) {
	const file = "/skyhook-fail"
	nodes := ownNodes(t, 2)
	scripts := map[string]string{
		"apply.sh":       "echo 'no such device: eth7' >&2\nexit 3",
		"apply_check.sh": "test -f " + file,
	}
	apply(t, "failing", skyhook("failing", scripts), file)
	s := until(t, "failing", "all nodes erroring", func(s *v1alpha1.Skyhook) bool { return s.Status.Nodes.Erroring == len(nodes) })
	for _, a := range s.Status.Attention {
		if a.Reason != "StepFailed" || !strings.Contains(a.Message, "exited 3") || !strings.Contains(a.Message, "no such device: eth7") {
			t.Errorf("attention does not tell the cause: %+v", a)
		}
	}
	if len(s.Status.Attention) != len(nodes) || s.Status.Status != v1alpha1.StatusErroring {
		t.Errorf("status %s, attention %+v", s.Status.Status, s.Status.Attention)
	}
	for _, node := range here(t).Nodes() {
		if got := s.Status.NodeState[node]["scripts|1.1.0"]; got.Stage != "apply" || got.State != "erroring" {
			t.Errorf("node %s: %+v", node, got)
		}
		absent(t, node, file)
	}

	scripts["apply.sh"] = "echo fixed > " + file
	mustKubectl(t, skyhook("failing", scripts), "apply", "-f", "-")
	waitReady(t, "failing")
	for _, node := range here(t).Nodes() {
		if got := onHost(t, node, "cat", file); got != "fixed\n" {
			t.Errorf("node %s: %s is %q", node, file, got)
		}
	}
}

func TestConfigChangeRunsConfigOnly(t *testing.T) {
	const file = "/skyhook-config"
	ownNode(t)
	scripts := map[string]string{
		"apply.sh":  "echo apply >> " + file,
		"config.sh": "echo config 1 >> " + file,
	}
	apply(t, "change", skyhook("change", scripts), file)
	waitReady(t, "change")
	scripts["config.sh"] = "echo config 2 >> " + file
	mustKubectl(t, skyhook("change", scripts), "apply", "-f", "-")
	until(t, "change", "complete with generation 2", func(s *v1alpha1.Skyhook) bool {
		return s.Generation == 2 && meta.IsStatusConditionTrue(s.Status.Conditions, "Ready")
	})
	for _, node := range here(t).Nodes() {
		if got, want := onHost(t, node, "cat", file), "apply\nconfig 1\nconfig 2\n"; got != want {
			t.Errorf("node %s: %s is %q, want %q", node, file, got, want)
		}
	}
}

func TestDeletionFreesTheNodes(t *testing.T) {
	const file = "/skyhook-deleted"
	before, nodes := map[string]string{}, ownNodes(t, 2)
	label(t, nodes)
	for _, node := range nodes {
		before[node] = nodeText(t, node)
	}
	// One package is complete and one is stuck when the Skyhook goes.
	manifest := skyhook("deleted", map[string]string{"apply.sh": "echo here > " + file, "apply_check.sh": "exit 1"})
	apply(t, "deleted", manifest, file)
	until(t, "deleted", "erroring", func(s *v1alpha1.Skyhook) bool { return s.Status.Nodes.Erroring == len(nodes) })
	mustKubectl(t, "", "delete", "skyhook", "deleted", "--timeout=1m")
	if pods := mustKubectl(t, "", "get", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name=deleted", "-o", "name"); pods != "" {
		t.Errorf("pods are left: %s", pods)
	}
	if maps := mustKubectl(t, "", "get", "configmaps", "-n", "skyhook", "-l", "skyhook.nvidia.com/name=deleted", "-o", "name"); maps != "" {
		t.Errorf("ConfigMaps are left: %s", maps)
	}
	for _, node := range here(t).Nodes() {
		if got := onHost(t, node, "cat", file); got != "here\n" {
			t.Errorf("node %s: the file that the package made is %q", node, got)
		}
		if after := nodeText(t, node); after != before[node] {
			t.Errorf("node %s was\n%s\nand is now\n%s", node, before[node], after)
		}
	}
}

// nodeText is all of a node that a Skyhook may touch, but for the package states that stay by design.
func nodeText(t *testing.T, node string) string {
	t.Helper()
	return textOf(getNode(t, node))
}

func textOf(n *corev1.Node) string {
	annotations := map[string]string{}
	for key, value := range n.Annotations {
		if !strings.Contains(key, "/nodeState_") && !strings.Contains(key, "/version_") {
			annotations[key] = value
		}
	}
	var conditions []string
	for _, c := range n.Status.Conditions {
		conditions = append(conditions, string(c.Type))
	}
	return fmt.Sprintf("labels %v\nannotations %v\ntaints %v unschedulable %v\nconditions %v",
		n.Labels, annotations, n.Spec.Taints, n.Spec.Unschedulable, conditions)
}
