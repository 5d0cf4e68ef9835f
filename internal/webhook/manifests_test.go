package webhook

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Specs of a Skyhook.
const (
	plain       = "  packages: {tuning: {version: 1.2.0, image: x}}"
	wanted      = "  packages: {tuning: {version: 1.2.0, image: x, uninstall: {enabled: true}}}"
	applied     = "  packages: {tuning: {version: 1.2.0, image: x, uninstall: {enabled: true, apply: true}}}"
	whenRemoved = "  packages: {tuning: {version: 1.2.0, image: x, uninstall: {enabled: true, whenRemoved: Uninstall}}}"
)

func kinds() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// parse reads a manifest.
func parse[T client.Object](t *testing.T, manifest string) T {
	t.Helper()
	var o T
	if err := yaml.NewYAMLToJSONDecoder(strings.NewReader(manifest)).Decode(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

// manifest is a Skyhook for nodes that do not exist.
func manifest(name, spec string) string {
	return fmt.Sprintf("apiVersion: skyhook.nvidia.com/v1alpha1\nkind: Skyhook\nmetadata: {name: %s}\nspec:\n  nodeSelectors: {matchLabels: {none: here}}\n%s", name, spec)
}

func cycle(name string) string {
	return manifest(name, `
  packages:
    a: {version: 1.0.0, image: x, dependsOn: {b: 1.0.0}}
    b: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0}}
`)
}

func policy(t *testing.T, name, label string) *v1alpha1.DeploymentPolicy {
	return parse[*v1alpha1.DeploymentPolicy](t, fmt.Sprintf(`
apiVersion: skyhook.nvidia.com/v1alpha1
kind: DeploymentPolicy
metadata: {name: %s}
spec:
  default: {budget: {count: 1}, strategy: {fixed: {}}}
  compartments: [{name: a, selector: {matchLabels: {%q: a}}, budget: {count: 1}}]
`, name, label))
}
