package workload_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// The vectors were computed with another program from the specification: join with "-", "." to "-", the first 8 hex
// digits of the SHA-256 of that, cut to the limit less 9, lower case.

func TestPodName(t *testing.T) {
	for _, c := range []struct {
		skyhook, pkg, version string
		stage                 v1alpha1.Stage
		node                  string
		want                  string
	}{
		{"demo", "tuning", "1.2.0", "apply", "node-1", "demo-tuning-1-2-0-apply-node-1-a3b26cfa"},
		{"demo", "tuning", "1.2.0", "config", "node-1", "demo-tuning-1-2-0-config-node-1-5e1d9e3c"},
		{"demo", "tuning", "1.2.0", "post-interrupt", "ip-10-0-12-34.eu-central-1.compute.internal", "demo-tuning-1-2-0-post-interrupt-ip-10-0-12-34-eu-cent-cca18f4d"},
		{"demo", "a", "1.0.0-RC.1", "config", "n", "demo-a-1-0-0-rc-1-config-n-6bb58080"},
		{"a-b", "cc", "1.0.0", "upgrade", "n", "a-b-cc-1-0-0-upgrade-n-34561e72"},
		{"gpu", "kernel-params", "2024.7.6", "uninstall", "worker.example.com", "gpu-kernel-params-2024-7-6-uninstall-worker-example-co-8f1371a4"},
	} {
		if got := workload.PodName(c.skyhook, c.pkg, c.version, c.stage, c.node); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestNodeMetaName(t *testing.T) {
	for _, c := range []struct{ skyhook, node, want string }{
		{"demo", "node-1", "demo-node-1-metadata-988cf705"},
		{"demo", "ip-10-0-12-34.eu-central-1.compute.internal", "demo-ip-10-0-12-34-eu-central-1-compute-internal-metadata-f61e2cd4"},
		{"demo", "Node-B", "demo-node-b-metadata-7079cc80"},
	} {
		if got := workload.NodeMetaName(c.skyhook, c.node); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestConfigMapName(t *testing.T) {
	for _, c := range []struct{ skyhook, pkg, version, want string }{
		{"demo", "tuning", "1.2.0", "demo-tuning-1.2.0"},
		{"demo", "tuning", "1.2.0-RC.1", "demo-tuning-1.2.0-rc.1"},
	} {
		if got := workload.ConfigMapName(c.skyhook, c.pkg, c.version); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestNamesAreValid: the longest names that the API allows give names that the API server takes, different for each stage.
func TestNamesAreValid(t *testing.T) {
	skyhook, pkg := strings.Repeat("s", 53), strings.Repeat("p", 43)
	node := strings.Repeat("n", 63) + "." + strings.Repeat("m", 63) + "." + strings.Repeat("o", 63) + ".eu.internal"
	seen := map[string]bool{}
	for _, stage := range []v1alpha1.Stage{
		v1alpha1.StageApply, v1alpha1.StageConfig, v1alpha1.StageUpgrade, v1alpha1.StageInterrupt,
		v1alpha1.StagePostInterrupt, v1alpha1.StageUninstall, v1alpha1.StageUninstallInterrupt,
	} {
		name := workload.PodName(skyhook, pkg, "2026.11.21", stage, node)
		if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
			t.Errorf("pod name %s: %v", name, errs)
		}
		if seen[name] {
			t.Errorf("pod name %s is used for two stages", name)
		}
		seen[name] = true
	}
	if errs := validation.IsDNS1123Subdomain(workload.NodeMetaName(skyhook, node)); len(errs) > 0 {
		t.Errorf("node metadata ConfigMap: %v", errs)
	}
	if errs := validation.IsDNS1123Subdomain(workload.ConfigMapName(skyhook, pkg, "2026.11.21")); len(errs) > 0 {
		t.Errorf("package ConfigMap: %v", errs)
	}
}
