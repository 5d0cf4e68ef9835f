//go:build integration

package kustomize

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/build/manifest"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/test/helm"
)

const (
	root       = "../.."
	deployment = "skyhook-skyhook-operator-controller-manager"
)

// release is install.yaml as the example names it.
var release = "https://github.com/skyhook-operator/skyhook/releases/download/" + skyhook.Version() + "/install.yaml"

// build a kustomization beside the install.yaml of this version.
func build(t *testing.T, kustomization []byte) resmap.ResMap {
	t.Helper()
	helm.Inputs(t, root)
	text, err := manifest.Install(t.Context(), root, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	fs := filesys.MakeFsInMemory()
	for name, content := range map[string][]byte{"install.yaml": text, "kustomization.yaml": kustomization} {
		if err := fs.WriteFile(name, content); err != nil {
			t.Fatal(err)
		}
	}
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, ".")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// objects by what identifies them.
func objects(t *testing.T, all resmap.ResMap) map[string]any {
	t.Helper()
	byID := map[string]any{}
	for _, r := range all.Resources() {
		o, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		byID[r.CurId().String()] = o
	}
	return byID
}

// TestBase: it is install.yaml, whole and unchanged.
func TestBase(t *testing.T) {
	want, got := objects(t, build(t, []byte("resources: [install.yaml]"))), objects(t, build(t, manifest.Base))
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 15 {
		t.Errorf("%d objects\n%s", len(got), diff)
	}
}

// TestExample: it changes the operator's Deployment and nothing else, and the operator starts with its settings.
func TestExample(t *testing.T) {
	example, err := os.ReadFile(root + "/examples/kustomize/kustomization.yaml")
	if err != nil || !bytes.Contains(example, []byte(release)) {
		t.Fatalf("the example does not build on %s: %v", release, err)
	}
	base := objects(t, build(t, manifest.Base))
	changed := objects(t, build(t, bytes.ReplaceAll(example, []byte(release), []byte("install.yaml"))))
	env := map[string]string{}
	for id, o := range changed {
		if cmp.Equal(base[id], o) {
			continue
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var d appsv1.Deployment
		if err := yaml.UnmarshalStrict(text, &d); err != nil || d.Name != deployment || len(env) > 0 {
			t.Fatalf("%s is another: %v", id, err)
		}
		manager := d.Spec.Template.Spec.Containers[0]
		if manager.Image != "registry.example.com:5000/skyhook/operator:"+skyhook.Version() {
			t.Errorf("the operator's image is %s", manager.Image)
		}
		for _, v := range manager.Env {
			env[v.Name] = v.Value
		}
	}
	options, err := settings.FromEnvironment(func(name string) (string, bool) { return env[name], env[name] != "" }, skyhook.Version())
	if err != nil || options.Workload.Mirror != "registry.example.com:5000/copies" || len(options.Workload.Tolerations) != 1 ||
		options.Workload.AgentImage != "registry.example.com:5000/skyhook/agent:"+skyhook.Version() || !options.LeaderElection {
		t.Errorf("the operator's settings are %+v, %v", options.Workload, err)
	}
	if len(changed) != len(base) {
		t.Errorf("there are %d objects instead of %d", len(changed), len(base))
	}
}
