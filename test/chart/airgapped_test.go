//go:build integration

package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// TestAirGapped: with the values of the example, neither the operator nor any package of any other example is pulled from
// elsewhere, and no package is refused for where it comes from.
func TestAirGapped(t *testing.T) {
	all := render(t, "--values", airGapped)
	operator := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template.Spec
	environment := environmentOf(t, all)
	environment["NAMESPACE"] = "skyhook"
	options, err := settings.FromEnvironment(func(name string) (string, bool) {
		v, ok := environment[name]
		return v, ok
	}, skyhook.Version())
	if err != nil {
		t.Fatal(err)
	}
	checkPulled(t, operator)
	packages := 0
	for _, s := range exampleSkyhooks(t) {
		for name, pkg := range s.Spec.Packages {
			packages++
			for _, p := range options.Images.Foreign(name, pkg) {
				t.Errorf("Skyhook %s: %s", s.Name, p)
			}
			pod, err := options.Workload.Pod(workload.Task{
				Skyhook: s, Package: name, Stage: v1alpha1.StageApply, Run: "r1", Node: "node-1",
			})
			if err != nil {
				t.Fatal(err)
			}
			checkPulled(t, pod.Spec)
		}
	}
	if packages < 10 {
		t.Errorf("only %d packages were tried", packages)
	}
}

func checkPulled(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		if !strings.HasPrefix(c.Image, "registry.example.com:5000/") {
			t.Errorf("container %s pulls %s", c.Name, c.Image)
		}
	}
	if len(pod.ImagePullSecrets) != 1 || pod.ImagePullSecrets[0].Name != "site-registry" {
		t.Errorf("it is pulled with %v", pod.ImagePullSecrets)
	}
}

func exampleSkyhooks(t *testing.T) []*v1alpha1.Skyhook {
	t.Helper()
	files, err := filepath.Glob(root + "/examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []*v1alpha1.Skyhook
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			s := &v1alpha1.Skyhook{}
			if err := yaml.Unmarshal([]byte(document), s); err != nil {
				t.Fatal(err)
			}
			if s.Kind == "Skyhook" {
				all = append(all, s)
			}
		}
	}
	return all
}
