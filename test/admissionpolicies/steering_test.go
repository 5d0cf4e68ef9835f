//go:build integration

package admissionpolicies

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func steering(key, user, what string) string {
	return "the request would set, change or remove " + key + ", but " + user + " may not steer " + what +
		", because the policy skyhook-steering does not list them as a steward; leave it as it is, or ask one of its stewards to do it"
}

func held(key, user string) string {
	return "the Skyhook is held by " + key + ", but " + user + " may not steer skyhooks, because the policy skyhook-steering " +
		"does not list them as a steward; ask one of its stewards to do it"
}

// patch is somebody's change of labels and annotations.
type patch struct {
	name string
	by   who
	text string
	want string
}

func (c cluster) patches(object *unstructured.Unstructured, all []patch, options ...client.PatchOption) {
	c.t.Helper()
	for _, p := range all {
		err := c.as(p.by).Patch(c.t.Context(), object.DeepCopy(), merge(p.text), append(options, client.DryRunAll)...)
		if got := refusal(err); got != p.want {
			c.t.Errorf("%s, by %s:\n got %s\nwant %s", p.name, p.by.user, got, p.want)
		}
	}
}

const (
	pauseKey   = "skyhook.nvidia.com/pause"
	disableKey = "skyhook.nvidia.com/disable"
	ignoreKey  = "skyhook.nvidia.com/ignore"
	recordKey  = "skyhook.nvidia.com/nodeState_demo"
)

// annotate and label are patches that set a key to a value in JSON.
func annotate(key, value string) string {
	return `{"metadata":{"annotations":{"` + key + `":` + value + `}}}`
}

func label(key, value string) string { return `{"metadata":{"labels":{"` + key + `":` + value + `}}}` }

func TestSteeringSkyhooks(t *testing.T) {
	c := newCluster(t)
	first := skyhook("first", "")
	first.SetAnnotations(map[string]string{pauseKey: "true"})
	c.install("steering", first)
	if got, want := refusal(c.as(nobody).Create(t.Context(), first.DeepCopy(), client.DryRunAll)), steering(pauseKey, "eve", "skyhooks"); got != want {
		t.Errorf("a new one: %s", got)
	}
	running, paused := skyhook("running", ""), skyhook("paused", "")
	running.SetAnnotations(map[string]string{"skyhook.nvidia.com/version": "1.0.0"}) // the operator's
	paused.SetAnnotations(map[string]string{pauseKey: "true", disableKey: "true"})
	c.keep(running)
	c.keep(paused)
	c.patches(running, []patch{
		{"spec", nobody, `{"spec":{"serial":true}}`, ""},
		{"other annotation", nobody, annotate("example.com/a", `"b"`), ""},
		{"pause", nobody, annotate(pauseKey, `"true"`), steering(pauseKey, "eve", "skyhooks")},
		{"pause and disable", nobody, `{"metadata":{"annotations":{"` + pauseKey + `":"true","` + disableKey + `":"true"}}}`, steering(disableKey, "eve", "skyhooks")},
		{"resume", nobody, annotate("skyhook.nvidia.com/resume", `"1"`), steering("skyhook.nvidia.com/resume", "eve", "skyhooks")},
		{"abandon", nobody, annotate("skyhook.nvidia.com/abandon-uninstall", `"a"`), steering("skyhook.nvidia.com/abandon-uninstall", "eve", "skyhooks")},
		{"version of the operator", nobody, annotate("skyhook.nvidia.com/version", `"9"`), steering("skyhook.nvidia.com/version", "eve", "skyhooks")},
		{"pause", gpu, annotate(pauseKey, `"true"`), ""},
		{"pause", fleet, annotate(pauseKey, `"true"`), ""},
		{"pause", admin, annotate(pauseKey, `"true"`), ""},
		{"version", operator, annotate("skyhook.nvidia.com/version", `"9"`), ""},
		{"version", impostor, annotate("skyhook.nvidia.com/version", `"9"`), steering("skyhook.nvidia.com/version", impostor.user, "skyhooks")},
	})
	c.patches(paused, []patch{
		{"spec", nobody, `{"spec":{"serial":true}}`, ""},
		{"resume", nobody, annotate(pauseKey, "null"), steering(pauseKey, "eve", "skyhooks")},
		{"another value", nobody, annotate(pauseKey, `"false"`), steering(pauseKey, "eve", "skyhooks")},
		{"all annotations", nobody, `{"metadata":{"annotations":null}}`, steering(disableKey, "eve", "skyhooks")},
		{"the same value", nobody, annotate(pauseKey, `"true"`), ""},
		{"resume", gpu, annotate(pauseKey, "null"), ""},
	})
	for _, d := range []struct {
		by     who
		object client.Object
		want   string
	}{
		{nobody, running, ""},
		{nobody, paused, held(disableKey, "eve")},
		{gpu, paused, ""},
		{admin, paused, ""},
		{collector, paused, ""},
	} {
		if got := refusal(c.as(d.by).Delete(t.Context(), d.object, client.DryRunAll)); got != d.want {
			t.Errorf("%s deletes %s: %s, want %s", d.by.user, d.object.GetName(), got, d.want)
		}
	}
}

func TestSteeringPolicies(t *testing.T) {
	c := newCluster(t)
	first := policy("first")
	c.install("steering", first)
	stored := policy("stored")
	c.keep(stored)
	for _, p := range []struct {
		by      who
		allowed bool
	}{{nobody, false}, {gpu, false}, {impostor, false}, {fleet, true}, {admin, true}, {operator, true}} {
		want := p.by.user + " may not change deployment policies, because they pace the rollouts of everybody, and the policy skyhook-steering " +
			"lists who may; ask one of its stewards to make the change"
		if p.allowed {
			want = ""
		}
		user := c.as(p.by)
		for what, err := range map[string]error{
			"creates":   user.Create(t.Context(), policy("new"), client.DryRunAll),
			"changes":   user.Patch(t.Context(), stored.DeepCopy(), merge(`{"spec":{"default":{"budget":{"count":9}}}}`), client.DryRunAll),
			"annotates": user.Patch(t.Context(), stored.DeepCopy(), merge(annotate("a", `"b"`)), client.DryRunAll),
			"deletes":   user.Delete(t.Context(), stored.DeepCopy(), client.DryRunAll),
		} {
			if got := refusal(err); got != want {
				t.Errorf("%s %s: %s, want %s", p.by.user, what, got, want)
			}
		}
	}
}

func policy(name string) *unstructured.Unstructured {
	object := parse(`{apiVersion: skyhook.nvidia.com/v1alpha1, kind: DeploymentPolicy, spec: {default: {budget: {count: 1}, strategy: {fixed: {}}}}}`)
	object.SetName(name)
	return object
}

// TestSteeringNodes: a kubelet reports as ever, by both ways to write its node, but steers nothing.
func TestSteeringNodes(t *testing.T) {
	c := newCluster(t)
	first := node("node0")
	first.SetLabels(map[string]string{ignoreKey: "true"})
	c.install("steering", first)
	one := node("node1")
	one.SetLabels(map[string]string{poolLabel: "gpu", "kubernetes.io/hostname": "node1"})
	one.SetAnnotations(map[string]string{recordKey: "{}"})
	c.keep(one)
	own := []patch{
		{"a label of its own", kubelet, label("example.com/pool", `"a"`), ""},
		{"an annotation of its own", kubelet, annotate("volumes.kubernetes.io/a", `"b"`), ""},
		{"ignore", kubelet, label(ignoreKey, `"true"`), steering(ignoreKey, kubelet.user, "nodes")},
		{"a record", kubelet, annotate(recordKey, `"forged"`), steering(recordKey, kubelet.user, "nodes")},
		{"no record", kubelet, annotate(recordKey, "null"), steering(recordKey, kubelet.user, "nodes")},
		{"a cordon", kubelet, annotate("skyhook.nvidia.com/cordon_demo", `"true"`), steering("skyhook.nvidia.com/cordon_demo", kubelet.user, "nodes")},
		{"status", kubelet, `{"status":{"nodeInfo":{"bootID":"2"}}}`, ""},
	}
	c.patches(one, own)
	kept := c.config
	c.config = apiserver.As(t, c.config, kubelet.user, kubelet.groups...)
	for _, p := range own {
		err := c.plain().SubResource("status").Patch(t.Context(), one.DeepCopy(), merge(p.text), client.DryRunAll)
		if got := refusal(err); got != p.want {
			t.Errorf("%s, by the certificate of a kubelet, with its status:\n got %s\nwant %s", p.name, got, p.want)
		}
	}
	c.config = kept
	c.patches(one, []patch{
		{"ignore", nobody, label(ignoreKey, `"true"`), steering(ignoreKey, "eve", "nodes")},
		{"ignore", gpu, label(ignoreKey, `"true"`), steering(ignoreKey, "alice", "nodes")},
		{"another pool", gpu, label(poolLabel, `"storage"`), steering(poolLabel, "alice", "nodes")},
		{"no pool", gpu, label(poolLabel, "null"), steering(poolLabel, "alice", "nodes")},
		{"no labels", gpu, `{"metadata":{"labels":null}}`, steering(poolLabel, "alice", "nodes")},
		{"taint", gpu, `{"spec":{"unschedulable":true}}`, ""},
		{"ignore", fleet, label(ignoreKey, `"true"`), ""},
		{"ignore", admin, label(ignoreKey, `"true"`), ""},
		{"a record", operator, annotate(recordKey, `"{}"`), ""},
		{"a record", impostor, annotate(recordKey, `"{1}"`), steering(recordKey, impostor.user, "nodes")},
	})
	if got := refusal(c.as(nobody).Delete(t.Context(), one.DeepCopy(), client.DryRunAll)); got != "" {
		t.Errorf("a node may be deleted: %s", got)
	}
}

func node(name string) *unstructured.Unstructured {
	object := parse("{apiVersion: v1, kind: Node}")
	object.SetName(name)
	return object
}
