package cli

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestPlanWithItsPolicy: what admission says of a Skyhook without its policy, because that is in the same file and does not
// exist yet, is not told of the two.
func TestPlanWithItsPolicy(t *testing.T) {
	sk := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{
		DeploymentPolicy: "careful",
		Packages: map[string]v1alpha1.Package{
			"driver": {Name: "driver", Version: "1.0.0", Image: "registry.example/driver", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}},
		},
	}}
	v := &view{}
	alone := sk.DeepCopy()
	alone.Spec.DeploymentPolicy = ""
	const limits, another = "nothing limits how many at a time", "what another webhook says"
	asked := append(v.advice(alone), another)
	if !strings.Contains(strings.Join(asked, "\n"), limits) {
		t.Fatalf("nothing is warned of: %v", asked)
	}
	got := v.withPolicy(asked, sk)
	all := strings.Join(got, "\n")
	if strings.Contains(all, limits) || !strings.Contains(all, another) || strings.Count(all, "spec.nodeSelectors") != 1 {
		t.Errorf("warnings:\n%s", all)
	}
	files := []manifest{{object: &v1alpha1.Skyhook{}}, {object: &v1alpha1.DeploymentPolicy{}}}
	policiesFirst(files)
	if files[0].resource() != "deploymentpolicies" {
		t.Error("the Skyhook is asked about before its policy")
	}
}
