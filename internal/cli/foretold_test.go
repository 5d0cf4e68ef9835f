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

// file writes an object as a manifest.
func (c *cluster) file(o any) string {
	c.t.Helper()
	text, err := yaml.Marshal(o)
	if err != nil {
		c.t.Fatal(err)
	}
	name := filepath.Join(c.t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// wanted is a Skyhook as people write it.
func wanted(change func(*v1alpha1.Skyhook)) *v1alpha1.Skyhook {
	s := written(gpu())
	change(s)
	return s
}

// written is a Skyhook with the lines that a manifest begins with.
func written(s *v1alpha1.Skyhook) *v1alpha1.Skyhook {
	s.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Skyhook"}
	return s
}

// TestPlanOfFiles compares with what is there: what a file leaves out goes.
func TestPlanOfFiles(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	for name, tt := range map[string]struct {
		change func(*v1alpha1.Skyhook)
		want   string
	}{
		"a package goes": {func(s *v1alpha1.Skyhook) { delete(s.Spec.Packages, "tuning") }, "Skyhook gpu: package tuning 2.1.0 is removed"},
		"a field goes":   {func(s *v1alpha1.Skyhook) { s.Spec.NodeSelectors = metav1.LabelSelector{} }, "Skyhook gpu: changed fields: nodeSelectors"},
		"nothing":        {func(*v1alpha1.Skyhook) {}, "Skyhook gpu: nothing changes"},
		"another":        {func(s *v1alpha1.Skyhook) { s.Name = "second" }, "Skyhook second is new: driver:1.0.0, tuning:2.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := c.run("", "plan", "-f", c.file(wanted(tt.change)))
			if err != nil || !strings.Contains(out, tt.want) {
				t.Errorf("error %v; want %q in\n%s", err, tt.want, out)
			}
		})
	}
	if got := c.stored("gpu"); len(got.Spec.Packages) != 2 {
		t.Errorf("a plan changed the Skyhook: %v", got.Spec.Packages)
	}
}

// TestUninstall shows what follows, and changes the Skyhook that was shown and no other.
func TestUninstall(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	p := s.Spec.Packages["driver"]
	p.Uninstall = &v1alpha1.Uninstall{Enabled: new(true)}
	s.Spec.Packages["driver"] = p
	c.put(s)
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	if _, _, err := c.run("", "uninstall", "gpu", "tuning", "--yes"); err == nil ||
		!strings.Contains(err.Error(), "set spec.packages.tuning.uninstall.enabled: true first") {
		t.Errorf("without uninstall.enabled: %v", err)
	}
	out, _, err := c.run("n\n", "uninstall", "gpu", "driver")
	if err != nil || !strings.Contains(out, "driver 1.0.0: uninstall") || !strings.HasSuffix(out, "Aborted.\n") {
		t.Errorf("error %v, printed\n%s", err, out)
	}
	if c.stored("gpu").Spec.Packages["driver"].Uninstall.Apply {
		t.Error("uninstalled without a yes")
	}
	if out, _, err := c.run("", "uninstall", "gpu", "driver", "--yes"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !c.stored("gpu").Spec.Packages["driver"].Uninstall.Apply {
		t.Error("not uninstalled")
	}
}

// TestChangedWhileAsked writes nothing over a spec that is not the one that was shown.
func TestChangedWhileAsked(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	p := s.Spec.Packages["driver"]
	p.Uninstall = &v1alpha1.Uninstall{Enabled: new(true)}
	s.Spec.Packages["driver"] = p
	c.put(s)
	answer := readerFunc(func(b []byte) (int, error) {
		now := c.stored("gpu")
		now.Spec.Priority = 7
		if err := c.Update(t.Context(), now); err != nil {
			t.Error(err)
		}
		return copy(b, "y\n"), nil
	})
	err := c.runFrom(answer, "uninstall", "gpu", "driver")
	if err == nil || !strings.Contains(err.Error(), "it changed meanwhile, so nothing was done; run the command again") {
		t.Errorf("got %v", err)
	}
	if c.stored("gpu").Spec.Packages["driver"].Uninstall.Apply {
		t.Error("uninstalled in spite of it")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// TestAbandonAddsNodes keeps those that were abandoned before.
func TestAbandonAddsNodes(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	for _, name := range []string{"worker-1", "worker-2"} {
		c.put(newNode(name, states("{"+driverDone+"}")))
		if out, _, err := c.run("", "abandon", "gpu", "--node", name, "--yes"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if got := c.stored("gpu").Annotations[v1alpha1.AnnotationAbandonUninstall]; got != "worker-1,worker-2" {
		t.Errorf("abandoned %q", got)
	}
}

// TestPlanOfWhatIsToCome: nobody knows since when something waits that is still to come.
func TestPlanOfWhatIsToCome(t *testing.T) {
	c := newCluster(t)
	holdUp(c)
	c.put(heldUp("lawless", func(s *v1alpha1.Skyhook) { s.Spec.DeploymentPolicy = "nowhere" }))
	c.put(inPool("lawless", "lawless-1", nil))
	for name, want := range map[string]string{
		"guarded": ": EvictionRefused (who can end it", "lawless": ": DeploymentPolicyNotFound (who can end it", "paced": " default/1 ",
	} {
		out, _, err := c.run("", "plan", name)
		if err != nil || strings.Contains(out, " for ") || strings.Contains(out, "__default__") || !strings.Contains(out, want) {
			t.Errorf("error %v; want %q in\n%s", err, want, out)
		}
	}
}
