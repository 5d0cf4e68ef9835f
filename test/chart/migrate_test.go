//go:build integration

package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// existingValues are values that only the chart of the existing operator has, beside some that both have.
const existingValues = `
controllerManager:
  kubeRbacProxy:
    args: [--v=0]
    image: {repository: quay.io/brancz/kube-rbac-proxy, tag: v0.15.0}
  manager:
    env: {pauseImage: "registry.k8s.io/pause:3.10", copyDirRoot: /opt/skyhook}
kubernetesClusterDomain: cluster.local
rbac: {createSkyhookViewerRole: true}
webhook: {removalImage: bitnami/kubectl, removalTag: latest}
cleanup: {enabled: true, jobTimeoutSeconds: 120}
limitRange:
  default: {cpu: 500m, memory: 512Mi}
`

// TestMigrate: a release of the existing operator's chart can be upgraded to ours, with the values that people have. What
// cannot be changed of its Deployment is the same, and nothing answers for a webhook that ours does not have.
func TestMigrate(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte(existingValues), 0o600); err != nil {
		t.Fatal(err)
	}
	objects := render(t, "--values", values)
	d, ok := objects[deploymentKey].(*appsv1.Deployment)
	if !ok {
		t.Fatal("the Deployment has another name")
	}
	want := map[string]string{
		"control-plane": "controller-manager", "app.kubernetes.io/name": "skyhook-operator", "app.kubernetes.io/instance": "skyhook",
	}
	if got := d.Spec.Selector.MatchLabels; len(got) != len(want) {
		t.Errorf("its selector is %v, which cannot be changed", got)
	}
	for key, value := range want {
		if d.Spec.Selector.MatchLabels[key] != value {
			t.Errorf("its selector has %s=%s", key, d.Spec.Selector.MatchLabels[key])
		}
	}
	for _, name := range []string{
		"CustomResourceDefinition/skyhooks.skyhook.nvidia.com", "CustomResourceDefinition/deploymentpolicies.skyhook.nvidia.com",
		"ClusterRole/skyhook-operator-manager-role", "ClusterRoleBinding/skyhook-operator-manager-rolebinding",
		"ValidatingWebhookConfiguration/skyhook-operator-validating-webhook", "Service/skyhook-operator-webhook-service",
	} {
		if objects[name] == nil {
			t.Errorf("%s is not among the objects", name)
		}
	}
}

// TestExistingChartsImages: a whole file of the existing chart's values, or what --reuse-values makes of it, names its
// images. They are refused with all that has to go.
func TestExistingChartsImages(t *testing.T) {
	const images = "controllerManager.manager."
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"its own registry": {
			[]string{"--set", images + "image.repository=nvcr.io/nvidia/skyhook/operator"},
			[]string{"drop controllerManager.manager.image (nvcr.io/nvidia/skyhook/operator)", "--reset-values"},
		},
		"its new name": {
			[]string{"--set", images + "image.repository=ghcr.io/nvidia/nodewright/operator"},
			[]string{"drop controllerManager.manager.image (ghcr.io/nvidia/nodewright/operator)"},
		},
		"its agent": {
			[]string{"--set", images + "agent.repository=nvcr.io/nvidia/skyhook/agent"},
			[]string{"drop controllerManager.manager.agent (nvcr.io/nvidia/skyhook/agent)"},
		},
		"a copy of it": {
			[]string{"--set", images + "image.repository=registry.example/skyhook/operator,webhook.removalImage=bitnami/kubectl,cleanup.enabled=true"},
			[]string{"controllerManager.manager.image (registry.example/skyhook/operator); drop as well cleanup, webhook.removalImage, which only"},
		},
		"a limit of its Jobs": {
			[]string{"--set", images + "env.jobBackoffLimit=3"},
			[]string{"env.jobBackoffLimit is of another operator's chart: drop it; set controllerManager.manager.env.defaultMaxRetries"},
		},
	} {
		out, err := template(t, c.args...)
		for _, want := range c.want {
			if err == nil || !strings.Contains(string(out)+err.Error(), want) {
				t.Errorf("%s: %v, %s; want %q", name, err, out, want)
			}
		}
	}
	render(t, "--set", images+"image.repository=registry.example/mirror/operator") // a copy of ours
}
