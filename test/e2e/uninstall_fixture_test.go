//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/test/install"
)

// wish is a Skyhook that a test applies again and again with changed packages. It selects nodes by name, so that tests
// on other nodes do not come into its way.
type wish struct {
	name     string
	nodes    []string
	packages map[string]v1alpha1.Package
	// priority among Skyhooks; 0 for the default.
	priority int
	// spec has further fields, and annotations those of the Skyhook.
	spec        map[string]any
	annotations map[string]string
}

// scripted is a package that can be uninstalled, with scripts by hook.
func scripted(scripts map[string]string) v1alpha1.Package {
	return v1alpha1.Package{
		Version: "1.1.0", Image: "ghcr.io/nvidia/skyhook-packages/shellscript", ConfigMap: scripts,
		Uninstall: &v1alpha1.Uninstall{Enabled: ptr.To(true)},
	}
}

// undoable are scripts that leave a mark each.
func undoable(file string) map[string]string {
	return map[string]string{"apply.sh": journal(file, "apply"), "uninstall.sh": journal(file, "uninstall")}
}

func (w *wish) manifest(t *testing.T) string {
	t.Helper()
	spec := map[string]any{
		"nodeSelectors": metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: corev1.LabelHostname, Operator: metav1.LabelSelectorOpIn, Values: w.nodes},
		}},
		"packages": w.packages,
	}
	if w.priority != 0 {
		spec["priority"] = w.priority
	}
	maps.Copy(spec, w.spec)
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Skyhook",
		"metadata": map[string]any{"name": w.name, "annotations": w.annotations}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// apply returns what kubectl says.
func (w *wish) apply(t *testing.T) string {
	t.Helper()
	return mustKubectl(t, w.manifest(t), "apply", "-f", "-")
}

// install applies the wish for the first time and undoes it, with the given files on its nodes, when the test ends.
func (w *wish) install(t *testing.T, hostFiles ...string) string {
	t.Helper()
	ready(t, w.name, w.nodes, hostFiles)
	out := w.apply(t)
	untilReady(t, w.name)
	return out
}

// ready waits for the operator's webhooks and cleans up after the test.
func ready(t *testing.T, name string, nodes, hostFiles []string) {
	t.Helper()
	t.Cleanup(func() { cleanUpOn(t, nodes, name, hostFiles) })
	if err := install.Available(t.Context(), here(t).client, patience); err != nil {
		t.Fatal(err)
	}
}

// change edits one package and applies the wish; it returns what kubectl says.
func (w *wish) change(t *testing.T, name string, edit func(*v1alpha1.Package)) string {
	t.Helper()
	w.edit(name, edit)
	return w.apply(t)
}

func (w *wish) edit(name string, edit func(*v1alpha1.Package)) {
	p := w.packages[name]
	p = *p.DeepCopy() // other packages may share its maps
	edit(&p)
	w.packages[name] = p
}

// try asks the API server about an edit, or about the removal of a package when edit is nil, without storing it.
func (w *wish) try(t *testing.T, name string, edit func(*v1alpha1.Package)) (string, error) {
	t.Helper()
	other := *w
	other.packages = maps.Clone(w.packages)
	if edit == nil {
		delete(other.packages, name)
	} else {
		other.edit(name, edit)
	}
	return kubectl(t, other.manifest(t), "apply", "--dry-run=server", "-f", "-")
}

func (w *wish) delete(t *testing.T) {
	t.Helper()
	mustKubectl(t, "", "delete", "skyhook", w.name, "--timeout="+patience.String())
}

func uninstallNow(p *v1alpha1.Package) { p.Uninstall.Apply = true }

func keep(p *v1alpha1.Package) { p.Uninstall.Apply = false }

// untilRemembered waits until exactly these packages are on record on a node.
func untilRemembered(t *testing.T, node, skyhook string, keys ...string) *corev1.Node {
	t.Helper()
	return untilNode(t, node, fmt.Sprintf("%s remembers %v", skyhook, keys), func(n *corev1.Node) bool {
		r, err := record.Read(skyhook, n.Annotations)
		return err == nil && slices.Equal(slices.Sorted(maps.Keys(r.Packages)), keys)
	})
}

// portrait is all of a node that a Skyhook may touch, and nothing that changes by itself.
func portrait(t *testing.T, node string) string {
	t.Helper()
	return portraitOf(t, getNode(t, node))
}

func portraitOf(t *testing.T, n *corev1.Node) string {
	t.Helper()
	seen := struct {
		Labels, Annotations map[string]string
		Taints              []corev1.Taint
		Unschedulable       bool
		Conditions          []string
	}{n.Labels, n.Annotations, n.Spec.Taints, n.Spec.Unschedulable, nil}
	for _, c := range n.Status.Conditions {
		seen.Conditions = append(seen.Conditions, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	text, err := yaml.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// samePortrait checks that nothing of a Skyhook is left on a node.
func samePortrait(t *testing.T, node, before string) {
	t.Helper()
	if after := portrait(t, node); after != before {
		t.Errorf("node %s was\n%s\nand is now\n%s", node, before, after)
	}
}

// nothingLeft checks that no pod of a deleted Skyhook is there any more; the rest is for the garbage collector.
func nothingLeft(t *testing.T, skyhook string) {
	t.Helper()
	if pods := mustKubectl(t, "", "get", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name="+skyhook, "-o", "name"); pods != "" {
		t.Errorf("pods are left: %s", pods)
	}
}

// openGate lets a gated script go on, also after the test's own context has ended.
func openGate(t *testing.T, node, file, what string) {
	t.Helper()
	if _, err := here(t).Exec(context.WithoutCancel(t.Context()), node, "touch", gate(file, what)); err != nil {
		t.Error(err)
	}
}

// contains checks a text for parts of it.
func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s is\n%s\nwant in it\n%s", what, text, part)
		}
	}
}
