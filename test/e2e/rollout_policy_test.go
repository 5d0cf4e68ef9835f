//go:build e2e && nightly

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestPolicyEditedInTheMidst: a node works as the policy allows, the policy is edited, and the others start beside it.
// Nobody deletes a policy that is in use; if it is gone all the same, the rollout goes on where it was once it is back.
func TestPolicyEditedInTheMidst(t *testing.T) {
	const name, file = "rollout-policy", "/skyhook-rollout-policy"
	ownNodes(t, nodeCount)
	manifest := example(t, "rollout-policy.yaml")
	policy, _, _ := strings.Cut(manifest, "---\n")
	t.Cleanup(func() { mustKubectl(t, "", "delete", "deploymentpolicy", "careful", "--ignore-not-found") })
	apply(t, name, held(manifest, file, "apply"), file, gate(file, "apply"))
	s := until(t, name, "the first batch", func(s *v1alpha1.Skyhook) bool { return len(s.Status.Permits) == 1 })
	first := s.Status.Permits[0].Node
	if c := s.Status.CompartmentStatuses["__default__"]; c.Matched != nodeCount || c.Ceiling != 1 || c.Strategy != "exponential" || !c.FailureThresholdEnforced {
		t.Errorf("10 %% of the nodes: %+v", c)
	}
	if c, ok := s.Status.CompartmentStatuses["control-planes"]; !ok || c.Matched != 0 || c.Strategy != "fixed" {
		t.Errorf("no node is a control plane: %+v", c)
	}

	t.Run("deleted while in use", func(t *testing.T) {
		out, err := kubectl(t, "", "delete", "deploymentpolicy", "careful")
		if want := "DeploymentPolicy careful is still referenced by 1 Skyhook: " + name; err == nil || !strings.Contains(out, want) {
			t.Errorf("%v: %s; want %q", err, out, want)
		}
	})
	t.Run("gone and back", func(t *testing.T) {
		goneAndBack(t, name, policy)
		if now := holders(getSkyhook(t, name)); len(now) != 1 || now[0] != first {
			t.Errorf("permits are those of %v, want %s", now, first)
		}
	})
	t.Run("edited", func(t *testing.T) {
		mustKubectl(t, "", "patch", "deploymentpolicy", "careful", "--type=merge", "-p",
			`{"spec":{"default":{"budget":{"percent":100},"strategy":{"exponential":{"initialBatch":3}}}}}`)
		s := until(t, name, "all nodes in the batch", func(s *v1alpha1.Skyhook) bool { return len(s.Status.Permits) == nodeCount })
		c := s.Status.CompartmentStatuses["__default__"]
		if c.Ceiling != nodeCount || c.Completed != 0 || c.BatchState == nil || c.BatchState.CurrentBatch != 1 || c.BatchState.BatchSize != nodeCount {
			t.Errorf("the compartment is %+v, its batch %+v", c, c.BatchState)
		}
		if now := holders(s); now[0] != first {
			t.Errorf("permits are those of %v, want %s first", now, first)
		}
	})
	open(t, file, "apply", here(t).Nodes()...)
	waitReady(t, name)
	if got, want := onHost(t, first, "cat", file), "node 0 of the rollout\n"; got != want {
		t.Errorf("node %s: %s is %q, want %q", first, file, got, want)
	}
	// Now that all are complete: a node that changes compartments makes room for another.
	t.Run("what it applies to", func(t *testing.T) { tellsWhatItAppliesTo(t, name) })
}

// tellsWhatItAppliesTo: a policy prints who uses it and its nodes by compartment; a node changes compartments by its
// labels alone. And whoever misspells a boolean is told so by the API server.
func tellsWhatItAppliesTo(t *testing.T, name string) {
	t.Helper()
	const role = "node-role.kubernetes.io/control-plane"
	becomes := func(list string) {
		t.Helper()
		mustKubectl(t, "", "wait", "dp/careful", "--for=jsonpath={.status.compartmentList}="+list, "--timeout=60s")
	}
	becomes(fmt.Sprintf("control-planes:0, __default__:%d", nodeCount))
	columns := strings.Fields(mustKubectl(t, "", "get", "dp", "careful", "--no-headers", "-o", "wide"))
	if want := []string{"careful", "1", fmt.Sprint(nodeCount), "control-planes:0,"}; len(columns) < 5 || !slices.Equal(columns[:4], want) ||
		columns[len(columns)-1] != `["`+name+`"]` {
		t.Errorf("columns %q, want %q, the rest, and the Skyhook", columns, want)
	}
	if out := mustKubectl(t, "", "get", "dp", "careful", "-o", "jsonpath={.status.conditions[*].type}"); out != v1alpha1.ConditionCompartmentsUnmatched {
		t.Errorf("conditions %q", out)
	}
	node := here(t).Nodes()[0]
	t.Cleanup(func() { mustKubectl(t, "", "label", "node", node, role+"-") })
	mustKubectl(t, "", "label", "node", node, role+"=")
	becomes(fmt.Sprintf("control-planes:1, __default__:%d", nodeCount-1))
	if out := mustPlugin(t, "deployment-policy", "show", name); !strings.Contains(out, "Used by: "+name) {
		t.Error(out)
	}
	mustKubectl(t, "", "label", "node", node, role+"-")
	becomes(fmt.Sprintf("control-planes:0, __default__:%d", nodeCount))
	out := mustKubectl(t, "", "annotate", "skyhook", name, "skyhook.nvidia.com/pause=ja")
	mustKubectl(t, "", "annotate", "skyhook", name, "skyhook.nvidia.com/pause-")
	if !strings.Contains(out, "skyhook.nvidia.com/pause is neither true nor false") {
		t.Errorf("pause=ja: %s", out)
	}
}

// goneAndBack deletes the policy as can be done where webhooks are off, and creates it again.
func goneAndBack(t *testing.T, name, policy string) {
	t.Helper()
	askAbout := func(operations string) {
		mustKubectl(t, "", "patch", "validatingwebhookconfiguration", "skyhook-operator-validating-webhook", "--type=json", "-p",
			`[{"op": "test", "path": "/webhooks/1/name", "value": "validate-deploymentpolicy.nvidia.com"},
  {"op": "replace", "path": "/webhooks/1/rules/0/operations", "value": `+operations+`}]`)
	}
	t.Cleanup(func() { askAbout(`["CREATE", "UPDATE", "DELETE"]`) })
	askAbout(`["CREATE", "UPDATE"]`)
	remove := func() (string, error) { return kubectl(t, "", "delete", "deploymentpolicy", "careful") }
	out, err := remove()
	for tries := 1; err != nil && tries < 100; tries++ { // the API server may have yet to see the change
		out, err = remove()
	}
	if err != nil {
		t.Fatal(out)
	}
	s := untilCondition(t, name, "DeploymentPolicyNotFound", "DeploymentPolicy careful does not exist")
	if c := condition(s, "Stalled"); s.Status.Status != v1alpha1.StatusBlocked || c.Status != "True" || c.Reason != "DeploymentPolicyNotFound" {
		t.Errorf("status %s, Stalled %s with reason %s", s.Status.Status, c.Status, c.Reason)
	}
	if s.Status.CompartmentStatuses["__default__"].BatchState == nil || len(s.Status.Permits) != 1 {
		t.Errorf("batch and permit are lost: %+v", s.Status)
	}
	mustKubectl(t, policy, "apply", "-f", "-")
	until(t, name, "the policy found", func(s *v1alpha1.Skyhook) bool {
		return s.Status.Status == v1alpha1.StatusInProgress && condition(s, "DeploymentPolicyNotFound").Type == ""
	})
}

// TestFailingNodeStopsTheRollout: one bad batch is one too many under this policy, until somebody says that it goes on.
func TestFailingNodeStopsTheRollout(t *testing.T) {
	const name, file, mended = "strict", "/skyhook-strict", "/skyhook-strict-mended"
	ownNodes(t, nodeCount)
	t.Cleanup(func() { mustKubectl(t, "", "delete", "deploymentpolicy", "strict", "--ignore-not-found") })
	mustKubectl(t, `{apiVersion: skyhook.nvidia.com/v1alpha1, kind: DeploymentPolicy, metadata: {name: strict}, spec: {default: {
  budget: {count: 1}, strategy: {fixed: {failureThreshold: 1}}}}}`, "apply", "-f", "-")
	script := `[ "$SKYHOOK_NODE_ORDER" != 0 ] || [ -e ` + mended + " ] || { echo no such device >&2; exit 3; }\n" + journal(file, "apply")
	apply(t, name, with(skyhook(name, map[string]string{"apply.sh": script}), "deploymentPolicy: strict", ""), file, mended)
	s := untilCondition(t, name, "RolloutStopped")
	if len(s.Status.Attention) != 1 {
		t.Fatalf("attention is %+v", s.Status.Attention)
	}
	a := s.Status.Attention[0]
	broken := a.Node
	if a.Reason != "StepFailed" || !strings.Contains(a.Message, "no such device") || s.Status.Status != v1alpha1.StatusErroring {
		t.Errorf("status %s, attention %+v", s.Status.Status, a)
	}
	stopped := condition(s, "RolloutStopped")
	for _, part := range []string{"compartment __default__", "batch 1 was bad", "(failing: " + broken + ")", "continues by itself when these nodes are complete"} {
		if !strings.Contains(stopped.Message, part) {
			t.Errorf("RolloutStopped tells %q, want %q in it", stopped.Message, part)
		}
	}
	s = until(t, name, "the node gave its permit back", func(s *v1alpha1.Skyhook) bool { return len(s.Status.Permits) == 0 })
	if c := s.Status.CompartmentStatuses["__default__"]; c.BatchState == nil || !c.BatchState.ShouldStop || c.NextBatchSize != 0 {
		t.Errorf("the compartment is %+v", c)
	}
	for _, node := range here(t).Nodes() {
		absent(t, node, file)
	}

	told(t, name, others(t, broken)[0], "WaitingForPermit", "stopped by bad batches", "kubectl skyhook why "+name)
	obey(t, broken, "kubectl skyhook resume-rollout "+name, false)
	s = until(t, name, "another node's turn", func(s *v1alpha1.Skyhook) bool { return len(s.Status.Permits) == 1 })
	if c := condition(s, "RolloutStopped"); c.Type != "" || s.Status.Nodes.Erroring != 1 || holders(s)[0] == broken {
		t.Errorf("permits are those of %v, %d nodes erroring, RolloutStopped: %s", holders(s), s.Status.Nodes.Erroring, c.Message)
	}
	onHost(t, broken, "touch", mended) // the next try finds it
	waitReady(t, name)
	for _, node := range here(t).Nodes() {
		marks(t, node, file, "apply")
	}
}
