//go:build integration

package admissionpolicies

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// clusterPolicy is what the example uses of a ClusterPolicy of Kyverno, whose types are not ours to depend on.
type clusterPolicy struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Background           bool
		WebhookConfiguration struct{ FailurePolicy string }
		Rules                []kyvernoRule
	}
}

type kyvernoRule struct {
	Name  string
	Match struct {
		Any []struct {
			Resources struct{ Kinds, Operations []string }
		}
	}
	Validate struct {
		FailureAction string
		CEL           struct {
			Variables   []admissionregistrationv1.Variable
			Expressions []admissionregistrationv1.Validation
		} `json:"cel"`
	}
}

// TestKyverno: Kyverno evaluates the CEL of a rule as the API server does that of a ValidatingAdmissionPolicy. So this is the
// rule as such a policy; that Kyverno takes the example is not tested here.
func TestKyverno(t *testing.T) {
	c := newCluster(t)
	policy := asPolicy(t)
	_, binding := example(t, "images")
	c.enforce(policy, binding, skyhook("demo", packages("a", ofDocker)))
	refused := func(image string) string {
		return "image " + image + " is not allowed in this cluster, because the policy skyhook-images refuses the package shellscript " +
			"and images from docker.io; use another package or registry, or ask an administrator to change the policy"
	}
	const script = "ghcr.io/nvidia/skyhook-packages/shellscript"
	c.attempts([]attempt{
		{"no spec", nobody, none, "", ""},
		{"no packages", nobody, none, "serial: true", ""},
		{"another package", nobody, none, packages("a", public), ""},
		{"another package with a tag", nobody, none, packages("a", `image: "ghcr.io/nvidia/skyhook-packages/tuning:1.0.0"`), ""},
		{"shellscript with a tag", nobody, none, packages("a", `image: "`+script+`:1.1.1"`), refused(script + ":1.1.1:1.0.0")},
		{"shellscript by its version", nobody, none, packages("a", "image: "+script), refused(script + ":1.0.0")},
		{"shellscript by its digest", nobody, none, packages("a", "image: "+script+"@sha256:0"), refused(script + "@sha256:0:1.0.0")},
		{"shellscript at the end of another name", nobody, none, packages("a", "image: ghcr.io/me/my-shellscript"), refused("ghcr.io/me/my-shellscript:1.0.0")},
		{"shellscript at the beginning of another name", nobody, none, packages("a", "image: ghcr.io/me/shellscripts"), ""},
		{"Docker Hub", nobody, none, packages("a", ofDocker), refused("docker.io/library/debian:1.0.0")},
		{"Docker Hub by its other name", nobody, none, packages("a", "image: index.docker.io/library/debian"), refused("index.docker.io/library/debian:1.0.0")},
		{"docker.io within a path", nobody, none, packages("a", "image: ghcr.io/docker.io/debian"), ""},
		{"one of two", nobody, none, packages("a", public, "b", ofDocker), refused("docker.io/library/debian:1.0.0")},
		{"an agent of Docker Hub", nobody, none, packages("a", public+", agentImageOverride: docker.io/me/agent"), refused("docker.io/me/agent")},
		{"an update", nobody, packages("a", public), packages("a", ofDocker), refused("docker.io/library/debian:1.0.0")},
		{"an administrator", admin, none, packages("a", ofDocker), refused("docker.io/library/debian:1.0.0")},
	})
}

// asPolicy is the rule of the example, as a policy that the API server evaluates.
func asPolicy(t *testing.T) *admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, "kyverno/images.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var from clusterPolicy
	document, _, _ := bytes.Cut(raw, []byte("\n---\n"))
	if err := yaml.UnmarshalStrict(document, &from); err != nil {
		t.Fatal(err)
	}
	if from.APIVersion != "kyverno.io/v1" || from.Kind != "ClusterPolicy" || from.Spec.WebhookConfiguration.FailurePolicy != "Fail" || len(from.Spec.Rules) != 1 {
		t.Fatalf("got %+v", from)
	}
	rule := from.Spec.Rules[0]
	resources := rule.Match.Any[0].Resources
	if rule.Validate.FailureAction != "Enforce" || !slices.Equal(resources.Kinds, []string{"skyhook.nvidia.com/v1alpha1/Skyhook"}) ||
		!slices.Equal(resources.Operations, []string{"CREATE", "UPDATE"}) {
		t.Errorf("rule %+v", rule)
	}
	policy, _ := example(t, "images")
	policy.Spec.MatchConditions = nil
	operations := &policy.Spec.MatchConstraints.ResourceRules[0].Operations
	*operations = nil
	for _, operation := range resources.Operations {
		*operations = append(*operations, admissionregistrationv1.OperationType(operation))
	}
	policy.Spec.Variables, policy.Spec.Validations = rule.Validate.CEL.Variables, rule.Validate.CEL.Expressions
	return policy
}
