package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// read returns the documents of an example, decoded strictly: a field that is given twice fails the test.
func read(t *testing.T, path string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for document := range strings.SplitSeq(text(t, path), "\n---\n") {
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, object)
	}
	return all
}

func text(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestConfigMap: the patch for Argo CD has the script that is tested, for both kinds.
func TestConfigMap(t *testing.T) {
	data, _, err := unstructured.NestedStringMap(read(t, "examples/gitops/argocd/argocd-cm.yaml")[0], "data")
	if err != nil {
		t.Fatal(err)
	}
	want := text(t, Script)
	for _, kind := range []string{"Skyhook", "DeploymentPolicy"} {
		if got := data["resource.customizations.health.skyhook.nvidia.com_"+kind]; got != want {
			t.Errorf("the script for %s is not %s, but\n%s", kind, Script, got)
		}
	}
	if len(data) != 2 {
		t.Errorf("%d keys", len(data))
	}
}

// TestApplication: nothing is deleted without a person, nor in the foreground.
func TestApplication(t *testing.T) {
	o := read(t, "examples/gitops/argocd/application.yaml")[0]
	options, _, err := unstructured.NestedStringSlice(o, "spec", "syncPolicy", "syncOptions")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(options, " ")
	if want := "Prune=confirm Delete=confirm PrunePropagationPolicy=background"; got != want {
		t.Errorf("sync options %s, want %s", got, want)
	}
	u := unstructured.Unstructured{Object: o}
	if u.GetAPIVersion() != "argoproj.io/v1alpha1" || u.GetKind() != "Application" || len(u.GetFinalizers()) != 0 {
		t.Errorf("%s %s with finalizers %v", u.GetAPIVersion(), u.GetKind(), u.GetFinalizers())
	}
}

// TestKustomizations: each waits for the one before, has what the API of Flux requires, and no Skyhook is pruned.
func TestKustomizations(t *testing.T) {
	before := ""
	for _, o := range read(t, "examples/gitops/flux/kustomizations.yaml") {
		u := unstructured.Unstructured{Object: o}
		if u.GetKind() == "GitRepository" {
			continue
		}
		spec, _, err := unstructured.NestedMap(o, "spec")
		if err != nil || u.GetAPIVersion() != "kustomize.toolkit.fluxcd.io/v1" || u.GetKind() != "Kustomization" {
			t.Fatalf("%s %s: %v", u.GetAPIVersion(), u.GetKind(), err)
		}
		for _, field := range []string{"interval", "prune", "sourceRef", "path", "timeout"} {
			if _, has := spec[field]; !has {
				t.Errorf("Kustomization %s has no %s", u.GetName(), field)
			}
		}
		if _, waits := spec["wait"]; waits == (spec["healthChecks"] != nil) {
			t.Errorf("Kustomization %s needs one of wait and healthChecks", u.GetName())
		}
		if pruned := spec["prune"] == true; pruned != (u.GetName() == "skyhook-policies") {
			t.Errorf("Kustomization %s: prune is %t", u.GetName(), pruned)
		}
		after, _, err := unstructured.NestedSlice(o, "spec", "dependsOn")
		if before != "" && (err != nil || len(after) != 1 || after[0].(map[string]any)["name"] != before) {
			t.Errorf("Kustomization %s depends on %v, want %s: %v", u.GetName(), after, before, err)
		}
		before = u.GetName()
	}
	if before != "skyhooks" {
		t.Errorf("the last Kustomization is %q", before)
	}
}
