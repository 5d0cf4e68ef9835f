//go:build integration

package cli_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// runStage puts a pod that applies the package tuning on a node, as the operator makes them.
func (c *cluster) runStage(s *v1alpha1.Skyhook, node string) *corev1.Pod {
	c.t.Helper()
	o := workload.Options{
		Namespace: "default", AgentImage: "registry.example/agent:1", CopyDirRoot: "/var/lib/skyhook", AgentLogRoot: "/var/log/skyhook",
		RuntimeTaint: corev1.Taint{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule},
	}
	pod, err := o.Pod(workload.Task{
		Skyhook: s, Package: "tuning", Stage: v1alpha1.StageApply, Node: node, Run: "r1", Generation: s.Generation,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	pod.Spec.PriorityClassName = ""
	c.put(pod)
	return pod
}

// ending reports whether a pod is gone or going.
func (c *cluster) ending(pod *corev1.Pod) bool {
	c.t.Helper()
	now := &corev1.Pod{}
	err := c.Get(c.t.Context(), client.ObjectKeyFromObject(pod), now)
	if client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
	return err != nil || now.DeletionTimestamp != nil
}

// TestStop pauses, ends what runs, and tells of what it cannot end.
func TestStop(t *testing.T) {
	c := newCluster(t)
	s, other := gpu(), gpu()
	other.Name = "other"
	c.put(s)
	c.put(other)
	rebooting, err := record.WriteInterrupt(&record.Interrupt{
		Skyhook: "gpu", Packages: []string{"driver|1.0.0"}, Type: v1alpha1.InterruptReboot,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.put(newNode("worker-1", nil))
	node := newNode("worker-2", nil)
	node.Annotations = map[string]string{v1alpha1.AnnotationInterrupt: *rebooting.Annotations[v1alpha1.AnnotationInterrupt]}
	c.put(node)
	mine, theirs := c.runStage(c.stored("gpu"), "worker-1"), c.runStage(c.stored("other"), "worker-1")
	out, _, err := c.run("", "stop", "gpu", "--namespace", "default", "--yes")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "stop", strings.ReplaceAll(out, mine.Name, "POD"))
	if !c.stored("gpu").Paused() || c.stored("other").Paused() || !c.ending(mine) || c.ending(theirs) {
		t.Errorf("paused: %t and %t; ended: %t and %t", c.stored("gpu").Paused(), c.stored("other").Paused(), c.ending(mine), c.ending(theirs))
	}
	for _, args := range []string{"stop", "stop gpu --all", "stop a b"} {
		if _, _, err := c.run("", strings.Fields(args)...); err == nil || err.Error() != "stop wants the name of one Skyhook, or --all" {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestExclude ends what runs on a node, of every Skyhook.
func TestExclude(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", nil))
	c.put(newNode("worker-2", nil))
	here, there := c.runStage(c.stored("gpu"), "worker-1"), c.runStage(c.stored("gpu"), "worker-2")
	if _, _, err := c.run("y\n", "node", "exclude", "worker-1", "--namespace", "default"); err != nil {
		t.Fatal(err)
	}
	if !v1alpha1.Ignored(c.node("worker-1").Labels) || v1alpha1.Ignored(c.node("worker-2").Labels) || !c.ending(here) || c.ending(there) {
		t.Error("worker-1 is not excluded, or worker-2 is")
	}
	rebooting := newNode("worker-3", map[string]string{v1alpha1.AnnotationInterrupt: `{"skyhook":"gpu","packages":["driver|1.0.0"],"type":"reboot"}`})
	c.put(rebooting)
	out, _, err := c.run("", "node", "exclude", "worker-[23]", "--namespace", "default", "--yes")
	if err != nil || !strings.HasSuffix(out, "ended 1 pod\nNode worker-3 may be rebooting already, which cannot be called back.\n") {
		t.Errorf("error %v, printed\n%s", err, out)
	}
	if _, _, err := c.run("", "node", "exclude", "worker-9", "--yes"); err == nil {
		t.Error("a node that does not exist is no error")
	}
	if _, _, err := c.run("", "node", "include", "worker-1"); err != nil || v1alpha1.Ignored(c.node("worker-1").Labels) {
		t.Errorf("worker-1 is still excluded; error %v", err)
	}
}

// TestSafe: what runs, and what may begin, is a no.
func TestSafe(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Status = v1alpha1.SkyhookStatus{CompleteNodes: "0/1", Permits: []v1alpha1.Permit{{Node: "worker-3", Generation: 1}}}
	c.put(s)
	c.put(newNode("worker-1", states("{"+tuningBad+"}")))
	c.put(newNode("worker-2", states("{"+driverDone+"}")))
	c.put(newNode("worker-3", nil))
	c.put(newNode("worker-4", map[string]string{v1alpha1.AnnotationNodeStatePrefix + "deleted": "{" + tuningBad + "}"}))
	for node, want := range map[string]string{
		"worker-1": "Skyhook gpu: apply of tuning 2.1.0 is erroring", "worker-2": "", "worker-3": "Skyhook gpu has given the node a permit",
		"worker-4": "safe, no Skyhook works on it",
	} {
		out, _, err := c.run("", "node", "safe", node)
		if safe := node == "worker-2" || node == "worker-4"; (err == nil) != safe || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", node, err, out)
		}
	}
}
