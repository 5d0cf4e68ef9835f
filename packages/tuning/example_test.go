//go:build integration

package tuning_test

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestExample(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../examples/tuning.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var skyhook struct { // a part of the API's, so that not every change of it runs the tests of this package
		Spec struct {
			Packages map[string]struct{ ConfigMap map[string]string }
		}
	}
	if err := yaml.Unmarshal(raw, &skyhook); err != nil {
		t.Fatal(err)
	}
	h := newDebian(t)
	h.Write(proc+"net/ipv4/ip_local_port_range", "32768\t60999\n")
	before := h.Snapshot(watched...)
	h.configure(skyhook.Spec.Packages["tuning"].ConfigMap)
	h.expectLive(map[string]string{"net/ipv4/ip_local_port_range": "20000 60999", "net/core/somaxconn": "8192"})
	h.expect(cronDropIn, "[Service]\nLimitNOFILE=16384")
	h.uninstall()
	h.ExpectSnapshot(before, watched...)
}
