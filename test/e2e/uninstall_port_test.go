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

const (
	port    = "12379"
	comment = "opened by skyhook"
)

// portIsOpen reports whether the rule of examples/uninstall.yaml is in a node's firewall.
func portIsOpen(t *testing.T, node string) bool {
	t.Helper()
	_, err := here(t).Exec(t.Context(), node, "iptables", "-C", "INPUT", "-p", "tcp", "--dport", port, "-j", "ACCEPT", "-m", "comment", "--comment", comment)
	return err == nil
}

// openPort installs examples/uninstall.yaml on one node.
func openPort(t *testing.T, name, node string) {
	t.Helper()
	manifest := example(t, "uninstall.yaml")
	for old, now := range map[string]string{
		"name: open-port":                    "name: " + name,
		"skyhook.nvidia.com/test-node: demo": corev1.LabelHostname + ": " + node,
	} {
		if strings.Count(manifest, old) != 1 {
			t.Fatalf("examples/uninstall.yaml has %q not once", old)
		}
		manifest = strings.Replace(manifest, old, now, 1)
	}
	ready(t, name, []string{node}, nil)
	mustKubectl(t, manifest, "apply", "-f", "-")
	untilReady(t, name)
	if !portIsOpen(t, node) {
		t.Fatalf("node %s: the port is not open", node)
	}
}

// closed checks that the rule is gone, that it was uninstall.sh who removed it, with the values of PORT and COMMENT,
// and that nothing of the Skyhook is shown on the node any more.
func closed(t *testing.T, name, node string) {
	t.Helper()
	if portIsOpen(t, node) {
		t.Errorf("node %s: the port is still open", node)
	}
	logs := onHost(t, node, "sh", "-c", fmt.Sprintf("cat /var/log/skyhook/%s/shellscript/1.1.0/*.log", name))
	contains(t, "the log of the steps", logs, "Removed port "+port)
}

// noTraces checks that no label and no condition of a node speaks of a Skyhook of which no package is left there.
func noTraces(t *testing.T, n *corev1.Node, skyhook string) {
	t.Helper()
	for key := range n.Labels {
		if strings.HasSuffix(key, "_"+skyhook) {
			t.Errorf("node %s has the label %s", n.Name, key)
		}
	}
	for _, c := range n.Status.Conditions {
		if strings.Contains(string(c.Type), "/"+skyhook+"/") {
			t.Errorf("node %s has the condition %s", n.Name, c.Type)
		}
	}
}

// untilUninstalled waits until a Skyhook is complete without any package on a node, and returns the node.
func untilUninstalled(t *testing.T, name, node string) *corev1.Node {
	t.Helper()
	until(t, name, "nothing left to uninstall", func(s *v1alpha1.Skyhook) bool {
		return s.Status.Status == v1alpha1.StatusComplete && meta.IsStatusConditionTrue(s.Status.Conditions, "Ready") && len(s.Status.NodeState[node]) == 0
	})
	return getNode(t, node)
}

// TestRemovedPackageIsUndone: a package opened a port; when it is removed from the spec the port is closed again, with
// the configMap and the env that the package was installed with.
func TestRemovedPackageIsUndone(t *testing.T) {
	node := ownNode(t)
	openPort(t, "port-removed", node)
	mustKubectl(t, "", "patch", "skyhook", "port-removed", "--type=merge", "-p", `{"spec":{"packages":{"firewall":null}}}`)
	noTraces(t, untilUninstalled(t, "port-removed", node), "port-removed")
	closed(t, "port-removed", node)
}

// TestUninstallApplyUndoesAPackage is the same, asked for by uninstall.apply.
func TestUninstallApplyUndoesAPackage(t *testing.T) {
	node := ownNode(t)
	openPort(t, "port-applied", node)
	mustKubectl(t, "", "patch", "skyhook", "port-applied", "--type=merge", "-p", `{"spec":{"packages":{"firewall":{"uninstall":{"apply":true}}}}}`)
	n := untilUninstalled(t, "port-applied", node)
	closed(t, "port-applied", node)
	t.Run("additional notes 2: labels and conditions go with the last package", func(t *testing.T) {
		noTraces(t, n, "port-applied")
	})
	mustKubectl(t, "", "delete", "skyhook", "port-applied", "--timeout=1m")
	if portIsOpen(t, node) {
		t.Errorf("node %s: the port is open again", node)
	}
}
