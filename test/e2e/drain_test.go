//go:build e2e

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// steps are scripts that leave a mark each.
func steps(file string) map[string]string {
	return map[string]string{
		"apply.sh":          journal(file, "apply"),
		"config.sh":         journal(file, "config"),
		"post_interrupt.sh": journal(file, "post"),
	}
}

func TestProtectedPodHoldsTheDrain(t *testing.T) {
	const file = "/skyhook-protected"
	node := ownNode(t)
	runPod(t, "protected", node, "{skyhook-example: do-not-disturb}")
	runDeployment(t, "bystander", node)
	bystander := podUID(t, "app=bystander")
	applyTo(t, []string{node}, "protected", with(skyhook("protected", steps(file)),
		"podNonInterruptLabels: {matchLabels: {skyhook-example: do-not-disturb}}", cronRestart), file)
	a := untilAttention(t, "protected", node, "ProtectedPod")
	if !strings.Contains(a.Message, "default/protected") || a.Since.IsZero() || a.Status != v1alpha1.StatusInProgress {
		t.Errorf("attention does not name the pod: %+v", a)
	}
	if !getNode(t, node).Spec.Unschedulable {
		t.Error("the node is not cordoned")
	}
	if now := podUID(t, "app=bystander"); now != bystander {
		t.Errorf("a pod was evicted while a protected one is there: was %s, is %s", bystander, now)
	}
	absent(t, node, file)
	toldAlone(t, "protected", node, "ProtectedPod", "default/protected")
	if out, err := plugin(t, "", "node", "safe", node); err == nil {
		t.Errorf("node safe: %s", out)
	}
	mustKubectl(t, "", "delete", "pod", "protected", "--grace-period=1")
	waitReady(t, "protected")
	marks(t, node, file, "apply", "config", "post")
	if now := podUID(t, "app=bystander"); now == bystander {
		t.Error("the other pod was not evicted")
	}
	mustKubectl(t, "", "rollout", "status", "deployment/bystander", "--timeout=1m") // its node takes pods again
}

func TestDisruptionBudgetHoldsTheDrain(t *testing.T) {
	const file = "/skyhook-guarded"
	node := ownNode(t)
	runDeployment(t, "guarded", node)
	relax := guard(t, "guarded")
	pod := podUID(t, "app=guarded")
	applyTo(t, []string{node}, "guarded", with(skyhook("guarded", steps(file)), "", cronRestart), file)
	a := untilAttention(t, "guarded", node, "EvictionRefused")
	if !strings.Contains(a.Message, "default/guarded-") || !strings.Contains(a.Message, "disruption budget") {
		t.Errorf("attention does not tell the pod and the cause: %+v", a)
	}
	if now := podUID(t, "app=guarded"); now != pod {
		t.Errorf("the pod was %s and is %s", pod, now)
	}
	absent(t, node, file)
	toldAlone(t, "guarded", node, "EvictionRefused", "default/guarded-", "disruption budget")
	relax()
	waitReady(t, "guarded")
	marks(t, node, file, "apply", "config", "post")
	if now := podUID(t, "app=guarded"); now == pod {
		t.Error("the pod was not evicted")
	}
}

func TestUnmanagedPodTimesOutTheDrainUntilForced(t *testing.T) {
	const file = "/skyhook-unmanaged"
	node := ownNode(t)
	runPod(t, "unmanaged", node, "{}")
	manifest := func(drain string) string {
		return with(skyhook("unmanaged", steps(file)), "drain: "+drain, cronRestart)
	}
	applyTo(t, []string{node}, "unmanaged", manifest("{}"), file)
	untilAttention(t, "unmanaged", node, "PodUnmanaged")
	mustKubectl(t, manifest("{timeoutSeconds: 1}"), "apply", "-f", "-")
	a := untilAttention(t, "unmanaged", node, "DrainTimeout")
	if !strings.Contains(a.Message, "PodUnmanaged") || !strings.Contains(a.Message, "default/unmanaged") || a.Status != v1alpha1.StatusErroring {
		t.Errorf("attention does not tell what the drain waits for: %+v", a)
	}
	absent(t, node, file)
	mustKubectl(t, manifest("{force: true}"), "apply", "-f", "-")
	untilReady(t, "unmanaged")
	marks(t, node, file, "apply", "config", "post")
	if out, err := kubectl(t, "", "get", "pod", "unmanaged"); err == nil {
		t.Errorf("the pod is still there: %s", out)
	}
}

// TestForeignCordonStays: what an administrator cordoned is not uncordoned.
func TestForeignCordonStays(t *testing.T) {
	const file = "/skyhook-cordoned"
	node := ownNode(t)
	mustKubectl(t, "", "cordon", node)
	applyTo(t, []string{node}, "cordoned", with(skyhook("cordoned", steps(file)), "", cronRestart), file)
	t.Cleanup(func() { mustKubectl(t, "", "uncordon", node) })
	seen, before := watchNodes(t), cronStart(t, node)
	waitReady(t, "cordoned")
	marks(t, node, file, "apply", "config", "post")
	if cronStart(t, node) == before {
		t.Error("cron was not restarted")
	}
	mustKubectl(t, "", "delete", "skyhook", "cordoned", "--timeout=1m")
	seen.each(func(n *corev1.Node) {
		if n.Name == node && !n.Spec.Unschedulable {
			t.Error("the node was uncordoned")
		}
	})
	if !getNode(t, node).Spec.Unschedulable {
		t.Error("the node is not cordoned any more")
	}
}

// TestLeavingTheSelectorFreesTheNode: nothing of a Skyhook stays on a node that it does not select any more, wherever it
// was in its work.
func TestLeavingTheSelectorFreesTheNode(t *testing.T) {
	const file = "/skyhook-left"
	node := ownNode(t)
	gatedSteps := steps(file)
	gatedSteps["apply.sh"] = gated(file, "apply")
	tests := []struct {
		name    string
		scripts map[string]string
		prepare func(*testing.T)
		midway  func(*testing.T)
	}{
		{
			"draining", steps(file),
			func(t *testing.T) { runPod(t, "stays", node, "{skyhook-example: do-not-disturb}") },
			func(t *testing.T) { untilAttention(t, "left", node, "ProtectedPod") },
		},
		{
			"applying", gatedSteps,
			func(*testing.T) {},
			func(t *testing.T) { awaitMark(t, node, file, "apply") },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.prepare(t)
			before := nodeText(t, node)
			applyTo(t, []string{node}, "left", with(skyhook("left", tt.scripts),
				"podNonInterruptLabels: {matchLabels: {skyhook-example: do-not-disturb}}", cronRestart), file)
			tt.midway(t)
			if n := getNode(t, node); !n.Spec.Unschedulable || n.Labels["skyhook.nvidia.com/status_left"] == "" {
				t.Fatalf("the node is not at work: %s", nodeText(t, node))
			}
			mustKubectl(t, "", "label", "node", node, testLabel+"-")
			untilNode(t, node, "as it was: "+before, func(n *corev1.Node) bool { return textOf(n) == before })
			if pods := mustKubectl(t, "", "get", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name=left", "-o", "name"); pods != "" {
				t.Errorf("pods are left: %s", pods)
			}
			// The Skyhook goes on as one without nodes.
			until(t, "left", "complete without nodes", func(s *v1alpha1.Skyhook) bool {
				return s.Status.CompleteNodes == "0/0" && s.Status.Status == v1alpha1.StatusComplete && len(s.Status.Permits) == 0
			})
		})
	}
}
