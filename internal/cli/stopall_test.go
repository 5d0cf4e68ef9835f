//go:build integration

package cli_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// switchedOff is what stops everything; nil while nothing does.
func (c *cluster) switchedOff() *corev1.ConfigMap {
	c.t.Helper()
	cm := &corev1.ConfigMap{}
	err := c.Get(c.t.Context(), client.ObjectKey{Namespace: "default", Name: v1alpha1.StopConfigMap}, cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return cm
}

// confirms plays an operator that says in the status of a Skyhook that everything is stopped, once that is so.
func (c *cluster) confirms(name string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			if c.switchedOff() == nil {
				return false, nil
			}
			s := c.stored(name)
			meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAllStopped, Message: "stopped",
			})
			return c.Status().Update(ctx, s) == nil, nil
		})
	}()
	c.t.Cleanup(func() { cancel(); <-done })
}

// pausedSkyhook is one that somebody paused.
func pausedSkyhook(name string) *v1alpha1.Skyhook {
	s := gpu()
	s.Name, s.Annotations = name, map[string]string{v1alpha1.AnnotationPause: "true"}
	return s
}

// TestStopAll: the operator that knows the switch is told by it alone; what runs ends, and what cannot is told.
func TestStopAll(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(pausedSkyhook("other"))
	rebooting, err := record.WriteInterrupt(&record.Interrupt{
		Skyhook: "gone", Packages: []string{"driver|1.0.0"}, Type: v1alpha1.InterruptReboot,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	node := newNode("worker-1", nil)
	node.Annotations = map[string]string{v1alpha1.AnnotationInterrupt: *rebooting.Annotations[v1alpha1.AnnotationInterrupt]}
	c.put(node)
	mine, theirs := c.runStage(c.stored("gpu"), "worker-1"), c.runStage(c.stored("other"), "worker-1")
	hide := strings.NewReplacer(mine.Name, "POD", theirs.Name, "OTHER").Replace
	for _, dry := range []string{"--dry-run", "--dry-run=server"} {
		if out, _, err := c.run("", "stop", "--all", "--namespace", "default", dry); err != nil || c.switchedOff() != nil || c.ending(mine) {
			t.Fatalf("%s did it, or failed: %v\n%s", dry, err, out)
		}
	}
	c.confirms("gpu")
	out, warnings, err := c.run("", "stop", "--all", "--namespace", "default", "--yes", "--reason", "INC-7")
	if err != nil || warnings != "" {
		t.Fatal(err, warnings)
	}
	golden(t, "stop-all", hide(out))
	cm := c.switchedOff()
	if cm == nil || cm.Data[v1alpha1.StopBy] == "" || cm.Data[v1alpha1.StopReason] != "INC-7" || cm.Data[v1alpha1.StopPaused] != "" {
		t.Fatalf("the switch is %+v", cm)
	}
	if c.stored("gpu").Paused() || !c.ending(mine) || !c.ending(theirs) {
		t.Errorf("paused: %t; ended: %t and %t", c.stored("gpu").Paused(), c.ending(mine), c.ending(theirs))
	}
	since := func(out string) string {
		return strings.NewReplacer(cm.CreationTimestamp.UTC().Format(time.RFC3339), "SINCE", " by "+cm.Data[v1alpha1.StopBy], " by WHO").Replace(out)
	}
	for _, step := range [][2]string{
		{"stop-all-again", "stop --all --yes"},
		{"resume-while-stopped", "resume gpu --yes"},
		{"why-stopped", "why gpu"},
		{"resume-all-dry", "resume --all --dry-run=server"},
		{"resume-all", "resume --all --yes"},
		{"resume-all-again", "resume --all --yes"},
	} {
		out, warnings, err := c.run("", append(strings.Fields(step[1]), "--namespace", "default")...)
		if err != nil {
			t.Errorf("%s: %v", step[1], err)
		}
		golden(t, step[0], since(out+warnings))
	}
	if c.switchedOff() != nil || !c.stored("other").Paused() {
		t.Error("everything is still stopped, or what somebody paused before continues")
	}
}

// TestStopAllOfOlderOperators: who does not confirm the switch gets every Skyhook paused, and resume continues those.
func TestStopAllOfOlderOperators(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(pausedSkyhook("before"))
	running := c.runStage(c.stored("gpu"), "worker-1")
	_, warnings, err := c.run("", "stop", "--all", "--namespace", "default", "--yes", "--timeout", "1ms")
	if err != nil {
		t.Fatal(err)
	}
	const want = "Warning: the operator did not confirm within 1ms that it stopped: it does not run in namespace \"default\", " +
		"is slow (wait longer with --timeout), or its version knows no stop of all. So each Skyhook is paused; those that are created later may start.\n"
	if !strings.HasPrefix(warnings, want) {
		t.Errorf("warns %q", warnings)
	}
	if cm := c.switchedOff(); !c.stored("gpu").Paused() || !c.ending(running) || cm == nil || cm.Data[v1alpha1.StopPaused] != "gpu" {
		t.Errorf("paused: %t, ended: %t, the switch is %+v", c.stored("gpu").Paused(), c.ending(running), cm)
	}
	if _, _, err := c.run("", "resume", "--all", "--namespace", "default", "--yes"); err != nil {
		t.Fatal(err)
	}
	if c.stored("gpu").Paused() || !c.stored("before").Paused() || c.switchedOff() != nil {
		t.Errorf("paused: %t and %t, the switch is %v", c.stored("gpu").Paused(), c.stored("before").Paused(), c.switchedOff())
	}
}

// TestStopAllWithoutTheSwitch: whoever may not set it, or names another namespace, pauses what there is, and is told.
func TestStopAllWithoutTheSwitch(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	_, _, err := c.run("", "stop", "--all", "--namespace", "nonesuch", "--yes")
	if err == nil || !strings.Contains(err.Error(), "Skyhooks that are created later are not stopped") || !c.stored("gpu").Paused() {
		t.Errorf("error %v, paused %t", err, c.stored("gpu").Paused())
	}
}
