//go:build integration

package cli_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// gpu is a Skyhook with two packages, one of which reboots the node.
func gpu() *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: v1alpha1.SkyhookSpec{
			NodeSelectors: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "gpu"}},
			Packages: map[string]v1alpha1.Package{
				"driver": {Version: "1.0.0", Image: "registry.example/driver", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}},
				"tuning": {Version: "2.1.0", Image: "registry.example/tuning"},
			},
		},
	}
}

func states(json string) map[string]string {
	return map[string]string{v1alpha1.AnnotationNodeStatePrefix + "gpu": json}
}

const (
	driverDone = `"driver|1.0.0":{"name":"driver","version":"1.0.0","image":"registry.example/driver","stage":"post-interrupt","state":"complete"}`
	tuningBad  = `"tuning|2.1.0":{"name":"tuning","version":"2.1.0","image":"registry.example/tuning","stage":"apply","state":"erroring",` +
		`"restarts":3,"since":"2026-01-02T03:04:05Z","reason":"StepFailed","message":"tuning-apply exited with 2: no such sysctl"}`
)

// TestReads prints what is there in every format.
func TestReads(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+","+tuningBad+"}")))
	c.put(newNode("worker-2", states("{"+driverDone+"}")))
	c.put(newNode("worker-3", nil))
	for _, command := range []struct {
		name string
		args []string
	}{
		{"node-list", []string{"node", "list", "--skyhook", "gpu"}},
		{"node-list-empty", []string{"node", "list", "--skyhook", "none"}},
		{"node-status", []string{"node", "status"}},
		{"node-status-pattern", []string{"node", "status", "worker-[12]", "--skyhook", "gpu"}},
		{"package-status", []string{"package", "status", "tuning", "--skyhook", "gpu"}},
		{"dp-show", []string{"dp", "show", "gpu"}},
		{"why", []string{"why", "gpu"}},
		{"why-node", []string{"why", "node", "worker-1"}},
		{"status", []string{"status"}},
		{"status-one", []string{"status", "gpu"}},
		{"inventory", []string{"inventory"}},
		{"node-safe", []string{"node", "safe", "worker-3"}},
		{"plan", []string{"plan", "gpu"}},
	} {
		for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
			t.Run(command.name+"/"+format, func(t *testing.T) {
				out, _, err := c.run("", append(command.args, "-o", format)...)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, command.name+"."+format, out)
			})
		}
	}
}
