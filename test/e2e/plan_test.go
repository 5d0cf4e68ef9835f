//go:build e2e && nightly

package e2e

import "testing"

// TestPlanOfBatches: under a policy, nodes work in the planned batches, and the planned pods leave them.
func TestPlanOfBatches(t *testing.T) {
	const name, file = "batches", "/skyhook-batches"
	ownNodes(t, nodeCount)
	t.Cleanup(func() { mustKubectl(t, "", "delete", "deploymentpolicy", name, "--ignore-not-found") })
	const policy = `{apiVersion: skyhook.nvidia.com/v1alpha1, kind: DeploymentPolicy, metadata: {name: batches}, spec: {default: {
  budget: {percent: 100}, strategy: {exponential: {initialBatch: 1, growthFactor: 2}}}}}
---
`
	manifest := policy + with(skyhook(name, map[string]string{"apply.sh": journal(file, "apply")}), "deploymentPolicy: batches", cronRestart)
	runDeployment(t, "in-a-batch", here(t).Nodes()[1])
	label(t, here(t).Nodes())
	plan := rehearse(t, name, manifest)
	apply(t, name, manifest, file)
	waitReady(t, name)
	plan.came(t, "apply config interrupt:service post-interrupt", "default/in-a-batch-")
	if got := plan.plan; len(got) != nodeCount || got[0].Batch != 1 || got[1].Batch != 2 || got[2].Batch != 2 {
		t.Errorf("planned were %+v, want a batch of one node and one of two", got)
	}
}
