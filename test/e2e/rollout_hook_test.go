//go:build e2e && nightly

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/taint"
	"github.com/skyhook-operator/skyhook/test/testbed"
)

// hooked writes a chart whose only object is a hook: Helm deletes it on each upgrade, and creates it again.
func hooked(t *testing.T, manifest string) (chart string) {
	t.Helper()
	chart = t.TempDir()
	manifest = strings.Replace(manifest, "metadata:\n", "metadata:\n  annotations:\n"+
		"    helm.sh/hook: post-install,post-upgrade\n    helm.sh/hook-delete-policy: before-hook-creation\n", 1)
	for name, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: hooked\nversion: 0.1.0\n", "templates/skyhook.yaml": manifest,
	} {
		path := filepath.Join(chart, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return chart
}

// since is when packages of a Skyhook came to what they are at on a node.
func since(t *testing.T, n *corev1.Node, skyhook string) string {
	t.Helper()
	r, err := record.Read(skyhook, n.Annotations)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(r.Packages)) {
		fmt.Fprintln(&text, key, r.Packages[key].Since)
	}
	return text.String()
}

// TestReplacedByAHelmHook: an upgrade that replaces the Skyhook in the middle of its rollout leaves the node closed to
// workloads until it is complete, and lets it get there, whoever tainted it.
func TestReplacedByAHelmHook(t *testing.T) {
	const name, file = "hooked", "/skyhook-hook"
	ownNodes(t, 0)
	manifest := strings.NewReplacer("name: runtime-required", "name: "+name, "/skyhook-runtime", file).
		Replace(example(t, "runtime-required.yaml"))
	chart := hooked(t, forOwnNodes(t, held(manifest, file, "drivers")))
	t.Cleanup(func() { cleanUp(t, name, []string{file}) })
	helm(t, "install", "hooked", chart)
	t.Cleanup(func() { helm(t, "uninstall", "hooked") })
	untilReady(t, name) // it has no nodes yet
	for by, taints := range map[string][]string{"operator": {networkTaint.ToString()}, "kubelet": {runtimeTaint.ToString()}} {
		t.Run("tainted by the "+by, func(t *testing.T) {
			seen := watchNodes(t)
			node := join(t, testbed.Join{Labels: []string{testLabel + "=" + here(t).value, "pool=new"}, Taints: taints})
			if by == "operator" {
				untilNode(t, node, "tainted", func(n *corev1.Node) bool { return taint.Has(n, runtimeTaint) })
				mustKubectl(t, "", "taint", "node", node, networkTaint.ToString()+"-")
			}
			untilNode(t, node, "in progress", func(n *corev1.Node) bool { return inStage(n, name, v1alpha1.StageApply) })
			was := getSkyhook(t, name).UID
			helm(t, "upgrade", "hooked", chart)
			if now := getSkyhook(t, name).UID; now == was {
				t.Error("Helm did not replace the Skyhook")
			}
			open(t, file, "drivers", node)
			n := untilNode(t, node, "complete and free", func(n *corev1.Node) bool { return completeOn(n, name) && !taint.Has(n, runtimeTaint) })
			seen.catchUp(t, n)
			neverOpenBefore(t, seen, name, node)
			helm(t, "upgrade", "hooked", chart) // now that all is there, nothing runs again
			untilReady(t, name)
			if now := getNode(t, node); since(t, now, name) != since(t, n, name) {
				t.Errorf("node %s: it ran again: %v", node, now.Annotations)
			}
		})
	}
}
