//go:build integration

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestPlanOfAPolicy: a Skyhook and the policy that it names may be in the same file, in any order; and packages are called
// by their names under spec.packages.
func TestPlanOfAPolicy(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
		c.put(newNode(name, nil))
	}
	c.put(&v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "tuned"}, Spec: v1alpha1.SkyhookSpec{
		NodeSelectors: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "none"}},
		Packages: map[string]v1alpha1.Package{
			"tuning": {Version: "2.0.0", Image: "registry.example/tuning", ConfigMap: map[string]string{"limit": "1"}},
		},
	}})
	file := filepath.Join(t.TempDir(), "plan.yaml")
	const manifest = `apiVersion: skyhook.nvidia.com/v1alpha1
kind: Skyhook
metadata: {name: gpu}
spec:
  nodeSelectors: {matchLabels: {pool: gpu}}
  deploymentPolicy: careful
  packages: {tuning: {version: 2.1.0, image: registry.example/tuning}}
---
apiVersion: skyhook.nvidia.com/v1alpha1
kind: Skyhook
metadata: {name: tuned}
spec:
  nodeSelectors: {matchLabels: {pool: none}}
  packages:
    tuning: {version: 2.1.0, image: registry.example/tuning, configMap: {limit: "2"}, env: [{name: A, value: a}]}
---
apiVersion: skyhook.nvidia.com/v1alpha1
kind: DeploymentPolicy
metadata: {name: careful}
spec: {default: {budget: {percent: 100}, strategy: {exponential: {initialBatch: 1, growthFactor: 2}}}}
`
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := c.run("", "plan", "-f", file)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan-policy", out)

	_, policy, _ := strings.Cut(manifest, "---\napiVersion: skyhook.nvidia.com/v1alpha1\nkind: DeploymentPolicy")
	policy = "apiVersion: skyhook.nvidia.com/v1alpha1\nkind: DeploymentPolicy" + policy
	stored := &v1alpha1.DeploymentPolicy{}
	if err := yaml.Unmarshal([]byte(policy), stored); err != nil {
		t.Fatal(err)
	}
	c.put(stored)
	for edited, want := range map[string]string{
		policy: "DeploymentPolicy careful: nothing changes\n", strings.Replace(policy, "100", "50", 1): "DeploymentPolicy careful: changed fields: default\n",
	} {
		if out, _, err := c.run(edited, "plan", "-f", "-"); err != nil || !strings.Contains(out, want) {
			t.Errorf("%v, want %s\n%s", err, want, out)
		}
	}
}
