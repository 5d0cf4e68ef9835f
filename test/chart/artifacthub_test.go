//go:build integration

package chart

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

// artifactHub is the YAML in one of the chart's annotations for Artifact Hub.
func artifactHub(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Annotations map[string]string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(chart.Annotations["artifacthub.io/"+name]), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestArtifactHub: what it shows of the chart is what the chart installs.
func TestArtifactHub(t *testing.T) {
	all := render(t)
	var images []struct{ Name, Image string }
	artifactHub(t, "images", &images)
	manager := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template.Spec.Containers[0]
	var shown []string
	for _, i := range images {
		shown = append(shown, i.Image)
	}
	if want := []string{manager.Image, environmentOf(t, all)["AGENT_IMAGE"]}; !slices.Equal(shown, want) {
		t.Errorf("images are %v, want %v", shown, want)
	}

	var crds []struct{ Kind, Version, Name, DisplayName, Description string }
	artifactHub(t, "crds", &crds)
	installed := 0
	for _, o := range all {
		if _, is := o.(*apiextensionsv1.CustomResourceDefinition); is {
			installed++
		}
	}
	for _, c := range crds {
		crd := get[*apiextensionsv1.CustomResourceDefinition](t, all, "CustomResourceDefinition/"+c.Name)
		if crd.Spec.Names.Kind != c.Kind || crd.Spec.Versions[0].Name != c.Version || c.DisplayName == "" || c.Description == "" {
			t.Errorf("%s is shown as %+v", crd.Name, c)
		}
	}
	if len(crds) != installed {
		t.Errorf("%d of %d CRDs are shown", len(crds), installed)
	}

	var examples []v1alpha1.Skyhook
	artifactHub(t, "crdsExamples", &examples)
	for i := range examples {
		if problems := admission.Check(&examples[i], admission.ImageRules{}); len(problems) > 0 {
			t.Errorf("the example is wrong: %s", admission.Join(problems))
		}
	}
	if len(examples) == 0 {
		t.Error("there is no example")
	}
}
