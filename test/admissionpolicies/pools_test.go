//go:build integration

package admissionpolicies

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const poolLabel = "node-restriction.kubernetes.io/pool"

// inPool is a spec whose selector requires the label by matchLabels.
func inPool(pool string) string {
	return `nodeSelectors: {matchLabels: {` + poolLabel + `: "` + pool + `"}}`
}

// inExpressions is one with matchExpressions, where POOL stands for the label.
func inExpressions(text string) string {
	return "nodeSelectors: {matchExpressions: [" + strings.ReplaceAll(text, "POOL", "key: "+poolLabel) + "]}"
}

const (
	alicesPools = "gpu, gpu-test"
	addLabel    = "; add the label to matchLabels, or an expression with operator In to matchExpressions"
	unlisted    = " may not touch any node with a Skyhook, because the policy skyhook-pools lists neither the user nor one of the user's groups; " +
		"ask an administrator to add one of them to a pool"
)

func wouldSelect(user, pools string) string {
	return "spec.nodeSelectors would select nodes that " + user + " may not touch, because it does not require " + poolLabel + " to be one of: " + pools + addLabel
}

func selects(user, pools string) string {
	return "Skyhook demo selects nodes that " + user + " may not touch, because its spec.nodeSelectors does not require " + poolLabel +
		" to be one of: " + pools + "; ask somebody who may touch these nodes to change or delete it"
}

func tolerates(what string) string {
	return "spec.additionalTolerations tolerates " + what + ", but alice may only use tolerations with one of these keys: nvidia.com/gpu; " +
		"remove it, or ask an administrator to add the key to the policy skyhook-pools"
}

func TestPools(t *testing.T) {
	c := newCluster(t)
	c.install("pools", skyhook("demo", ""))
	outside := wouldSelect("alice", alicesPools)
	c.attempts([]attempt{
		{"own pool", gpu, none, inPool("gpu"), ""},
		{"own other pool", gpu, none, inPool("gpu-test"), ""},
		{"a pool of others", gpu, none, inPool("storage"), outside},
		{"an unknown pool", gpu, none, inPool("gpu2"), outside},
		{"nodes with an empty label", gpu, none, inPool(""), outside},
		{"own pool by another label", gpu, none, `nodeSelectors: {matchLabels: {pool: gpu}}`, outside},
		{"own pool and more", gpu, none, `nodeSelectors: {matchLabels: {` + poolLabel + `: gpu, zone: a}, matchExpressions: [{key: zone, operator: Exists}]}`, ""},
		{"no spec", gpu, none, "", outside},
		{"no selector", gpu, none, "serial: true", outside},
		{"empty selector", gpu, none, "nodeSelectors: {}", outside},
		{"empty parts", gpu, none, "nodeSelectors: {matchLabels: {}, matchExpressions: []}", outside},
		{"In", gpu, none, inExpressions("{POOL, operator: In, values: [gpu]}"), ""},
		{"In with all own pools", gpu, none, inExpressions("{POOL, operator: In, values: [gpu-test, gpu]}"), ""},
		{"In with a pool of others", gpu, none, inExpressions("{POOL, operator: In, values: [gpu, storage]}"), outside},
		{"In of another label", gpu, none, inExpressions("{key: pool, operator: In, values: [gpu]}"), outside},
		{"NotIn with the pools of others", gpu, none, inExpressions("{POOL, operator: NotIn, values: [storage]}"), outside},
		{"NotIn with own pools", gpu, none, inExpressions("{POOL, operator: NotIn, values: [gpu]}"), outside},
		{"Exists", gpu, none, inExpressions("{POOL, operator: Exists}"), outside},
		{"DoesNotExist", gpu, none, inExpressions("{POOL, operator: DoesNotExist}"), outside},
		{"In, narrowed by NotIn and Exists", gpu, none, inExpressions("{POOL, operator: NotIn, values: [storage]}, {POOL, operator: Exists}, {POOL, operator: In, values: [gpu]}"), ""},
		{"a contradiction selects nothing", gpu, none, inExpressions("{POOL, operator: In, values: [gpu]}, {POOL, operator: In, values: [storage]}"), ""},

		{"own, another package", gpu, inPool("gpu"), inPool("gpu") + "\npackages: {a: {version: 1.0.0, image: a}}", ""},
		{"own to own", gpu, inPool("gpu"), inPool("gpu-test"), ""},
		{"own to a pool of others", gpu, inPool("gpu"), inPool("storage"), outside},
		{"own to all nodes", gpu, inPool("gpu"), "", outside},
		{"own to an expression of others", gpu, inPool("gpu"), inExpressions("{POOL, operator: In, values: [storage]}"), outside},
		{"of others to own", gpu, inPool("storage"), inPool("gpu"), selects("alice", alicesPools)},
		{"of others", gpu, inPool("storage"), inPool("storage"), selects("alice", alicesPools)},
		{"of all nodes to own", gpu, "", inPool("gpu"), selects("alice", alicesPools)},
		{"own is deleted", gpu, inPool("gpu"), none, ""},
		{"of others is deleted", gpu, inPool("storage"), none, selects("alice", alicesPools)},
		{"of all nodes is deleted", gpu, "", none, selects("alice", alicesPools)},
	})
}

func TestPoolsByUser(t *testing.T) {
	c := newCluster(t)
	c.install("pools", skyhook("demo", ""))
	everywhere := inExpressions("{POOL, operator: In, values: [gpu, gpu-test, storage]}")
	c.attempts([]attempt{
		{"pools of both groups", both, none, everywhere, ""},
		{"pools of both groups", both, everywhere, none, ""},
		{"an unknown pool", both, none, inPool("other"), wouldSelect("carol", "gpu, gpu-test, storage")},
		{"a pool of another group", storage, none, inPool("gpu"), wouldSelect("bob", "storage")},
		{"a ServiceAccount's pool", pipeline, none, inPool("gpu"), ""},
		{"a ServiceAccount's pool", pipeline, inPool("gpu"), none, ""},
		{"a pool of its namesake", pipeline, none, inPool("gpu-test"), wouldSelect(pipeline.user, "gpu")},
		{"not listed", nobody, none, inPool("gpu"), "eve" + unlisted},
		{"not listed", nobody, inPool("gpu"), none, "eve" + unlisted},
		{"not listed", nobody, inPool("gpu"), inPool("gpu"), "eve" + unlisted},
		{"a user called like a group", namesake, none, inPool("gpu"), "team-gpu" + unlisted},
		{"a namesake of the operator", impostor, none, inPool("gpu"), impostor.user + unlisted},
		{"a fleet operator is no exception", fleet, none, "", "dora" + unlisted},
		{"all nodes, who may do everything", root, none, "", ""},
		{"all nodes, who may change the policy", admin, none, "", ""},
		{"all nodes, who may change the policy", admin, "", none, ""},
		{"the operator's metadata", operator, "", "", ""},
		{"the operator's metadata", operator, inPool("gpu"), inPool("gpu"), ""},
		{"the end of a deletion", collector, "", "", ""},
		{"the end of a deletion", controller, "", none, ""},
	})
}

func TestPoolsTolerations(t *testing.T) {
	c := newCluster(t)
	c.install("pools", skyhook("demo", ""))
	with := func(tolerations string) string {
		return inPool("gpu") + "\nadditionalTolerations: [" + tolerations + "]"
	}
	const own, other = "{key: nvidia.com/gpu, operator: Exists}", "{key: node-role.kubernetes.io/control-plane, operator: Exists}"
	c.attempts([]attempt{
		{"own", gpu, none, with(own), ""},
		{"none", gpu, none, with(""), ""},
		{"another", gpu, none, with(own + "," + other), tolerates("taint node-role.kubernetes.io/control-plane")},
		{"every", gpu, none, with("{operator: Exists}"), tolerates("every taint")},
		{"every with an effect", gpu, none, with(`{key: "", operator: Exists, effect: NoSchedule}`), tolerates("every taint")},
		{"another is added", gpu, inPool("gpu"), with(other), tolerates("taint node-role.kubernetes.io/control-plane")},
		{"another is removed", gpu, with(other), with(own), ""},
		{"another is deleted", gpu, with(other), none, ""},
		{"who may change the policy", admin, none, with(other), ""},
	})
}

// TestPoolsOfMany: a request that deletes all Skyhooks is one deletion of each, and a patch of the metadata alone is a change
// of a Skyhook of others.
func TestPoolsOfMany(t *testing.T) {
	c := newCluster(t)
	c.install("pools", skyhook("demo", ""))
	all := &unstructured.Unstructured{}
	all.SetGroupVersionKind(skyhooks)
	c.keep(skyhook("first", inPool("gpu")))
	if got := refusal(c.as(gpu).DeleteAllOf(t.Context(), all, client.DryRunAll)); got != "" {
		t.Errorf("all are of the pool: %s", got)
	}
	c.keep(skyhook("second", inPool("storage")))
	want := strings.Replace(selects("alice", alicesPools), "demo", "second", 1)
	if got := refusal(c.as(gpu).DeleteAllOf(t.Context(), all, client.DryRunAll)); got != want {
		t.Errorf("one is not: %s", got)
	}
	pause := `{"metadata":{"annotations":{"skyhook.nvidia.com/pause":"true"}}}`
	if got := refusal(c.as(gpu).Patch(t.Context(), skyhook("second", ""), merge(pause), client.DryRunAll)); got != want {
		t.Errorf("pause: %s", got)
	}
	if got := refusal(c.as(gpu).Patch(t.Context(), skyhook("first", ""), merge(pause), client.DryRunAll)); got != "" {
		t.Errorf("pause own: %s", got)
	}
}
