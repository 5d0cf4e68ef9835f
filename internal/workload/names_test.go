package workload_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// The vectors were computed with another program: join with "-", "." to "-", lower case, and the first 8 hex digits of
// the SHA-256 of the parts with a NUL between them; a text that is too long is cut to the limit less 13 and gets 12
// digits. The hash of a package's ConfigMap has ten digits, and begins with what it is.

func TestPodName(t *testing.T) {
	for _, c := range []struct {
		skyhook, pkg, version string
		stage                 v1alpha1.Stage
		node                  string
		want                  string
	}{
		{"demo", "tuning", "1.2.0", "apply", "node-1", "demo-tuning-1-2-0-apply-node-1-09c7a8fe"},
		{"demo", "tuning", "1.2.0", "config", "node-1", "demo-tuning-1-2-0-config-node-1-379e6ff3"},
		{
			"demo", "tuning", "1.2.0", "post-interrupt", "ip-10-0-12-34.eu-central-1.compute.internal",
			"demo-tuning-1-2-0-post-interrupt-ip-10-0-12-34-eu-2b39a9e2690f",
		},
		{"demo", "a", "1.0.0-RC.1", "config", "n", "demo-a-1-0-0-rc-1-config-n-807e7867"},
		{"a-b", "cc", "1.0.0", "upgrade", "n", "a-b-cc-1-0-0-upgrade-n-d1e65cac"},
		{
			"gpu", "kernel-params", "2024.7.6", "uninstall", "worker.example.com",
			"gpu-kernel-params-2024-7-6-uninstall-worker-exampl-e101ba5f1b3f",
		},
	} {
		if got := workload.PodName(c.skyhook, c.pkg, c.version, c.stage, c.node); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestNodeMetaName(t *testing.T) {
	for _, c := range []struct{ skyhook, node, want string }{
		{"demo", "node-1", "demo-node-1-metadata-898a45d7"},
		{
			"demo", "ip-10-0-12-34.eu-central-1.compute.internal",
			"demo-ip-10-0-12-34-eu-central-1-compute-internal-metadata-b7dcf5cc",
		},
		{"demo", "Node-B", "demo-node-b-metadata-4f89ba34"},
	} {
		if got := workload.NodeMetaName(c.skyhook, c.node); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestConfigMapName(t *testing.T) {
	for _, c := range []struct{ skyhook, pkg, version, want string }{
		{"demo", "tuning", "1.2.0", "demo-tuning-1.2.0"},
		{"demo", "tuning", "v1.2", "demo-tuning-v1.2"},
		{"demo", "tuning", "1", "demo-tuning-1"},
		{"demo", "tuning", "1.2.0-rc.1", "demo-tuning-1.2.0-rc.1"},
		{"gpu-driver", "tuning", "1.0.0", "gpu-driver-tuning-1.0.0"},
		{"team.gpu", "tuning2", "1.0.0", "team.gpu-tuning2-1.0.0"},
		// What joins to the name of something else has a hash.
		{"gpu", "driver-tuning", "1.0.0", "gpu-driver-tuning-1.0.0-505b3317bb"},
		{"demo", "tuning", "1.2.0-RC.1", "demo-tuning-1.2.0-rc.1-c220a74346"},
		{"demo", "tuning", "1.2.0-b-2.0.0", "demo-tuning-1.2.0-b-2.0.0-b52dbaf028"},
		{"demo", "tuning", "1.2.0-0123456789", "demo-tuning-1.2.0-0123456789-1987943bbb"},
		{"demo", "metadata", "12345678", "demo-metadata-12345678-a18cc28336"},
		{"demo", "history", "12345678", "demo-history-12345678"},
	} {
		if got := workload.ConfigMapName(c.skyhook, c.pkg, c.version); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestNamesDoNotCollide: different parts give different names, also when they join to the same text, differ only in
// dots or in case, are too long, or look like a name with its hash.
func TestNamesDoNotCollide(t *testing.T) {
	long := strings.Repeat("x", 200)
	words := []string{
		"a", "b", "a-b", "b-a", "a.b", "a-b-a", "v1", "metadata", "a-metadata", "node", "interrupt", "uninstall",
		"1", "1-a", "1.0.0", "1-0-0", "1.0.0-a", "1.0.0-A", "1.0.0-a-1.0.0", "1.0.0-0123456789", "0123456789", "01234567",
		long + "1", long + "2", "history", "2b1eccb4fc",
	}
	seen := map[string]string{}
	add := func(name string, limit int, parts ...string) {
		text := strings.Join(parts, " | ")
		if other, taken := seen[name]; taken && other != text {
			t.Errorf("%s and %s are both named %s", other, text, name)
		}
		if len(name) > limit {
			t.Errorf("%s has %d characters", name, len(name))
		}
		seen[name] = text
	}
	for _, x := range words {
		add(workload.HistoryName(x), 253, "history", x)
		for _, y := range words {
			add(workload.NodeMetaName(x, y), 253, "metadata", x, y)
			add(workload.InterruptPodName(x, v1alpha1.StageInterrupt, v1alpha1.InterruptReboot, y), 63, "interrupt pod", x, y)
			for _, z := range words {
				name := workload.ConfigMapName(x, y, z)
				add(name, 253, "package", x, y, z)
				add(workload.MountedConfigMapName(x, y, z, map[string]string{"k": x}), 253, "mounted", x, x, y, z)
				add(workload.PodName(x, y, "1.0.0", v1alpha1.StageApply, z), 63, "pod", x, y, z)
				// The hash of one is the end of another.
				if at := strings.LastIndex(name, "-"); len(name)-at == 11 {
					add(workload.ConfigMapName(x, y, z+name[at:]), 253, "package", x, y, z+name[at:])
				}
			}
		}
	}
	if len(seen) < 40_000 {
		t.Errorf("only %d names were made", len(seen))
	}
}

// TestMountedNameSaysWhatItHolds: values of a configMap may hold any character, also the one between parts of a hash.
func TestMountedNameSaysWhatItHolds(t *testing.T) {
	seen := map[string]map[string]string{}
	for _, data := range []map[string]string{
		{
			"a": "b", "c": "d",
		}, {"a": "b\x00c\x00d"}, {"a": "b", "c": "d", "e": ""}, {
			"a": "",
			"b": "",
		}, {"a": "\x00b\x00"}, {"a": "b"}, {"a": "B"}, {"a": "<"}, {"a": `\u003c`},
	} {
		name := workload.MountedConfigMapName("s", "p", "1.0.0", data)
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q are both named %s", data, other, name)
		}
		seen[name] = data
	}
}

// FuzzConfigMapName looks for two packages of one name: of everything that joins to the same text, one name at most has
// no hash.
func FuzzConfigMapName(f *testing.F) {
	f.Add("gpu-driver-tuning-1.0.0", uint8(3), uint8(10), uint8(10), uint8(17))
	f.Add("s-a-1.0.0-b-2.0.0", uint8(1), uint8(3), uint8(9), uint8(11))
	f.Fuzz(func(t *testing.T, text string, a, b, c, d uint8) {
		split := func(i, j uint8) (string, string, string) {
			x, y := min(int(i), len(text)), min(int(j), len(text))
			return text[:min(x, y)], text[min(x, y):max(x, y)], text[max(x, y):]
		}
		s1, p1, v1 := split(a, b)
		s2, p2, v2 := split(c, d)
		for _, dash := range []string{"", "-"} {
			s1, p1, v1, s2, p2, v2 := s1, strings.TrimPrefix(p1, dash), strings.TrimPrefix(v1, dash), s2,
				strings.TrimPrefix(p2, dash), strings.TrimPrefix(v2, dash)
			if same := s1 == s2 && p1 == p2 && v1 == v2; !same &&
				workload.ConfigMapName(s1, p1, v1) == workload.ConfigMapName(s2, p2, v2) {
				t.Errorf("%q %q %q and %q %q %q have one name", s1, p1, v1, s2, p2, v2)
			}
		}
	})
}

// TestNamesAreValid: the longest names that the API allows give names that the API server takes, different for each
// stage.
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
	// Some versions end just where a name is cut.
	for digits := range 160 {
		version := "2026.11.21-RC." + strings.Repeat("1.", digits) + "x"
		for _, name := range []string{
			workload.ConfigMapName(skyhook, pkg, version),
			workload.MountedConfigMapName(skyhook, pkg, version, map[string]string{"k": "v"}),
		} {
			if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
				t.Errorf("package ConfigMap %s: %v", name, errs)
			}
		}
	}
}
