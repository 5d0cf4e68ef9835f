//go:build integration

package cli_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// unnamed is a Skyhook that no webhook has completed: its packages have their names as keys only.
func unnamed() *v1alpha1.Skyhook {
	s := gpu()
	for name, p := range s.Spec.Packages {
		p.Name = ""
		s.Spec.Packages[name] = p
	}
	return s
}

// TestWhyIsPasted says each thing once, who can end it, and prints commands that go to the same cluster and operator.
func TestWhyIsPasted(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Annotations = map[string]string{v1alpha1.AnnotationPause: "yes"}
	s.Spec.DeploymentPolicy = "nowhere"
	s.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDeploymentPolicyNotFound,
		Message: "it does not exist", LastTransitionTime: metav1.Now(),
	}}
	c.put(s)
	tainted := newNode("worker-1", nil)
	tainted.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	c.put(tainted)
	out, errs, err := c.run("", "why", "gpu", "--context", "test", "-n", "elsewhere")
	if err != nil || strings.Count(out, "DeploymentPolicyNotFound") != 1 {
		t.Errorf("error %v; the reason is not there once in\n%s", err, out)
	}
	for _, want := range []string{"gpu on worker-1: DeploymentPolicyNotFound", " (who can end it: an administrator)"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	for _, want := range []string{
		"Warning: there is no operator in namespace elsewhere, so its pods",
		`Warning: Skyhook gpu: metadata.annotations: skyhook.nvidia.com/pause is "yes", which is neither true nor false`,
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("want %q in\n%s", want, errs)
		}
	}
	c.createPaused("second")
	out, _, err = c.run("", "why", "second", "--context", "test")
	want := "annotate skyhook second skyhook.nvidia.com/pause- --context test`"
	if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
		t.Errorf("error %v; want %q in\n%s", err, want, out)
	}
}

// createPaused makes a paused Skyhook for all nodes of the others.
func (c *cluster) createPaused(name string) {
	c.t.Helper()
	s := gpu()
	s.Name, s.Annotations = name, map[string]string{v1alpha1.AnnotationPause: "true"}
	c.put(s)
}

// TestWhyNothing tells a Skyhook without nodes from one that is done, and a node from a Skyhook.
func TestWhyNothing(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Spec.NodeSelectors.MatchLabels = map[string]string{"pool": "none"}
	c.put(s)
	c.put(newNode("worker-1", nil))
	out, _, err := c.run("", "why", "gpu")
	if err != nil || !strings.HasPrefix(out, "Skyhook gpu: spec.nodeSelectors matches no node, so there is nothing to do") {
		t.Errorf("error %v, printed %s", err, out)
	}
	_, _, err = c.run("", "why", "worker-1")
	if err == nil || err.Error() != `there is no Skyhook "worker-1", but a node of that name: kubectl skyhook why node worker-1` {
		t.Errorf("error %v", err)
	}
}

// TestPackagesWithoutNames are called by their keys.
func TestPackagesWithoutNames(t *testing.T) {
	c := newCluster(t)
	s := unnamed()
	p := s.Spec.Packages["driver"]
	p.Uninstall = &v1alpha1.Uninstall{Enabled: new(true)}
	s.Spec.Packages["driver"] = p
	c.put(s)
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	for want, args := range map[string][]string{
		"- Skyhook gpu: package driver: changed fields: uninstall\n": {"uninstall", "gpu", "driver", "--dry-run"},
		"Package: driver (version 1.0.0)\n":                          {"package", "rerun", "driver", "--skyhook", "gpu", "--node", "worker-1", "--dry-run"},
		"  - worker-1 (current state: complete, stage: post-interrupt)\n": {
			"package", "rerun", "driver", "--skyhook", "gpu", "--node", "worker-1", "--dry-run",
		},
	} {
		out, _, err := c.run("", args...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: error %v; want %q in\n%s", args, err, want, out)
		}
	}
}

// TestResumeRolloutShowsWhatFollows, and not that nothing changes.
func TestResumeRolloutShowsWhatFollows(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{
		"east": {BatchState: &v1alpha1.BatchState{CurrentBatch: 2, ShouldStop: true}},
	}
	c.put(s)
	c.put(newNode("worker-1", nil))
	out, _, err := c.run("n\n", "resume-rollout", "gpu")
	if err != nil || strings.Contains(out, "nothing changes") || !strings.Contains(out, "worker-1") ||
		!strings.Contains(out, `This will continue Skyhook "gpu" in compartment east. Continue? [y/N]: `) {
		t.Errorf("error %v, printed\n%s", err, out)
	}
}

// TestWhyNotSelected: Skyhooks that do not select a node are one line, and that none does is the answer.
func TestWhyNotSelected(t *testing.T) {
	c := newCluster(t)
	c.put(inPool("alone", "alone-1", nil))
	why := func(want string) {
		t.Helper()
		out, _, err := c.run("", "why", "node", "alone-1")
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("error %v; want %q in\n%s", err, want, out)
		}
	}
	why("Node alone-1: there is no Skyhook.\n")
	c.put(heldUp("first", nil))
	why("those that exist: first\n")
	c.put(heldUp("second", nil))
	why("alone-1: NotSelected (who can end it: an administrator)\n    no Skyhook selects the node; those that exist: first, second\n")
	c.put(heldUp("alone", paused))
	why("\nNot selected by 2 Skyhooks: first, second\n")
	if out, _, err := c.run("", "why", "node", "alone-1"); err != nil || strings.Contains(out, "NotSelected") {
		t.Errorf("error %v; a Skyhook that has nothing to do with the node is told as a cause in\n%s", err, out)
	}
}
