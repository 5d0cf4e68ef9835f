//go:build linux

package testbed

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestRender(t *testing.T) {
	c := newNodeConfig(7, Join{})
	tests := []struct {
		file string
		want []string
	}{
		{"hosts.toml", []string{`server = "http://10.200.0.1:5000"`, `[host."http://10.200.0.1:5000"]`, `["pull", "resolve"]`}},
		{"containerd.toml", []string{`sandbox_image = "skyhook.testbed/pause:1"`, `config_path = "/etc/containerd/certs.d"`, "restrict_oom_score_adj = true"}},
		{"kubelet.service", []string{"--node-ip=10.200.1.7", "--hostname-override=node7", "Wants=containerd.service"}},
		{"kube-proxy.service", []string{"--hostname-override=node7"}},
		{"hosts", []string{"10.200.1.7 node7"}},
		{"system.conf", []string{"DefaultTimeoutStopSec=3s"}},
		{"journald.conf", []string{"Storage=persistent"}},
		{"containerd.service", []string{"KillMode=process", "Type=notify"}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			b := must(c.render(tt.file))(t)
			for _, want := range tt.want {
				if !strings.Contains(string(b), want) {
					t.Errorf("no %q in\n%s", want, b)
				}
			}
		})
	}
}

func TestKubeletRegistersWithWhatTheNodeBrings(t *testing.T) {
	tests := map[string]struct {
		join   Join
		want   string
		absent string
	}{
		"nothing": {Join{}, "--hostname-override=node1\n", "--node-labels"},
		"labels":  {Join{Labels: []string{"a=b", "c/d=e"}}, " --node-labels=a=b,c/d=e\n", "--register-with-taints"},
		"taints":  {Join{Taints: []string{"a=b:NoSchedule", "c=:NoExecute"}}, " --register-with-taints=a=b:NoSchedule,c=:NoExecute\n", "--node-labels"},
		"both":    {Join{Labels: []string{"a=b"}, Taints: []string{"c=d:NoSchedule"}}, " --node-labels=a=b --register-with-taints=c=d:NoSchedule\n", "{{"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := must(newNodeConfig(1, readJoin(tt.join.query())).render("kubelet.service"))(t)
			if !strings.Contains(string(b), tt.want) || strings.Contains(string(b), tt.absent) {
				t.Errorf("want %q and no %q in\n%s", tt.want, tt.absent, b)
			}
		})
	}
}

func TestEveryTemplateIsUsed(t *testing.T) {
	entries := must(nodeFiles.ReadDir("nodefiles"))(t)
	for _, e := range entries {
		if renderedFiles[e.Name()] == "" {
			t.Errorf("nodefiles/%s goes nowhere", e.Name())
		}
		b, err := newNodeConfig(1, Join{}).render(e.Name())
		if err != nil || strings.Contains(string(b), "{{") || strings.Contains(string(b), "<no value>") {
			t.Errorf("%s: %v: %s", e.Name(), err, b)
		}
	}
	if len(entries) != len(renderedFiles) {
		t.Errorf("%d templates, %d destinations", len(entries), len(renderedFiles))
	}
}

func TestRenderedConfigsParse(t *testing.T) {
	c := newNodeConfig(3, Join{})
	var cni struct {
		Plugins []struct {
			IPAM struct{ Ranges [][]struct{ Subnet string } }
		}
	}
	b, err := c.render("cni.conflist")
	if err == nil {
		err = json.Unmarshal(b, &cni)
	}
	if err != nil || cni.Plugins[0].IPAM.Ranges[0][0].Subnet != "10.244.3.0/24" {
		t.Errorf("cni: %v: %+v", err, cni)
	}
	for file, want := range map[string]string{"kubelet.yaml": "KubeletConfiguration", "kube-proxy.yaml": "KubeProxyConfiguration"} {
		b, err := c.render(file)
		var v map[string]any
		if err == nil {
			err = yaml.Unmarshal(b, &v)
		}
		if err != nil || v["kind"] != want {
			t.Errorf("%s: %v: kind %v", file, err, v["kind"])
		}
	}
}

func TestWriteNodeFiles(t *testing.T) {
	dir := t.TempDir()
	if err := writeNodeFiles(dir, newNodeConfig(2, Join{}), newTestAuthority(t)); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, dirUpper)
	for _, dst := range renderedFiles {
		if _, err := os.Stat(filepath.Join(root, dst)); err != nil {
			t.Error(err)
		}
	}
	units := filepath.Join(root, "etc", "systemd", "system")
	for link, want := range map[string]string{
		"default.target": "/lib/systemd/system/multi-user.target",
		"multi-user.target.wants/kubelet.service": "/etc/systemd/system/kubelet.service",
		"systemd-logind.service":                  "/dev/null",
	} {
		if got, err := os.Readlink(filepath.Join(units, link)); err != nil || got != want {
			t.Errorf("%s -> %q, %v", link, got, err)
		}
	}
	if name, _ := os.ReadFile(filepath.Join(root, "etc", "hostname")); string(name) != "node2\n" {
		t.Errorf("hostname %q", name)
	}
	if id, _ := os.ReadFile(filepath.Join(root, "etc", "machine-id")); len(id) != 33 {
		t.Errorf("machine-id %q", id)
	}
	for _, d := range []string{dirWork, dirMerged, dirContainerd, dirKubelet} {
		if info, err := os.Stat(filepath.Join(dir, d)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", d, err)
		}
	}
}

func TestMaskedUnitsAreNotEnabled(t *testing.T) {
	for _, u := range enabledUnits {
		if slices.Contains(maskedUnits, u) {
			t.Errorf("%s is both", u)
		}
	}
}

func TestAddressesOfNodesDiffer(t *testing.T) {
	seen := map[string]int{gatewayIP: 0}
	for n := 1; n <= MaxNodes; n++ {
		for _, a := range []string{nodeName(n), nodeIP(n), nodePodCIDR(n), vethName(n)} {
			if other, ok := seen[a]; ok {
				t.Fatalf("nodes %d and %d share %s", other, n, a)
			}
			seen[a] = n
		}
	}
}
