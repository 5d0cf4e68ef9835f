//go:build integration

package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// node reads a node again.
func (c *cluster) node(name string) *corev1.Node {
	c.t.Helper()
	n := &corev1.Node{}
	if err := c.Get(c.t.Context(), client.ObjectKey{Name: name}, n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// stored reads a Skyhook again.
func (c *cluster) stored(name string) *v1alpha1.Skyhook {
	c.t.Helper()
	s := &v1alpha1.Skyhook{}
	if err := c.Get(c.t.Context(), client.ObjectKey{Name: name}, s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

// TestSteer sets and removes the annotations that people steer with.
func TestSteer(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Annotations = map[string]string{v1alpha1.AnnotationVersion: "v1.2.3"}
	c.put(s)
	for _, tt := range []struct {
		name, answer, args string
		out                string
		key, value         string
		there              bool
	}{
		{"no answer is a no", "", "pause gpu", "This will pause Skyhook \"gpu\". Continue? [y/N]: \nAborted.\n", v1alpha1.AnnotationPause, "", false},
		{"no", "n\n", "pause gpu", "This will pause Skyhook \"gpu\". Continue? [y/N]: Aborted.\n", v1alpha1.AnnotationPause, "", false},
		{"dry run", "", "pause gpu --dry-run", "[dry-run] Would pause Skyhook \"gpu\"\n", v1alpha1.AnnotationPause, "", false},
		{"server dry run", "", "pause gpu --dry-run=server", "Skyhook \"gpu\" paused (server dry run)\n", v1alpha1.AnnotationPause, "", false},
		{"yes", "y\n", "pause gpu", "This will pause Skyhook \"gpu\". Continue? [y/N]: Skyhook \"gpu\" paused\n", v1alpha1.AnnotationPause, "true", true},
		{"resume", "", "resume gpu -y", "Skyhook \"gpu\" resumed\n", v1alpha1.AnnotationPause, "", false},
		{"disable", "", "disable gpu --confirm", "Skyhook \"gpu\" disabled\n", v1alpha1.AnnotationDisable, "true", true},
		{"enable", "", "enable gpu --yes", "Skyhook \"gpu\" enabled\n", v1alpha1.AnnotationDisable, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, _, err := c.run(tt.answer, strings.Fields(tt.args)...)
			if err != nil || out != tt.out {
				t.Errorf("printed %q, error %v; want %q", out, err, tt.out)
			}
			value, there := c.stored("gpu").Annotations[tt.key]
			if value != tt.value || there != tt.there {
				t.Errorf("annotation %s is %q (%t)", tt.key, value, there)
			}
		})
	}
}

// TestSteerOfOlderOperators refuses what they would not notice; what is of no such API has versions of its own.
func TestSteerOfOlderOperators(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Annotations = map[string]string{v1alpha1.AnnotationVersion: "v0.7.6"}
	c.put(s)
	if out, _, err := c.run("", "pause", "gpu", "--yes"); err != nil {
		t.Errorf("without the field spec.pause: %v\n%s", err, out)
	}
	c.pauseField()
	for command, want := range map[string]string{
		"pause":   "operator version v0.7.6 uses spec.pause and not the annotation; run kubectl edit skyhook gpu and set spec.pause: true",
		"disable": "operator version v0.7.6 does not support disable; this feature was added in v0.8.0",
	} {
		if _, _, err := c.run("", command, "gpu", "--yes"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", command, err, want)
		}
	}
}

// pauseField makes the API one of an earlier operator, until the end of the test.
func (c *cluster) pauseField() {
	c.t.Helper()
	const at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/pause"
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.Name = "skyhooks.skyhook.nvidia.com"
	patch := func(ctx context.Context, body string) {
		if err := c.Patch(ctx, crd, client.RawPatch(types.JSONPatchType, []byte(body))); err != nil {
			c.t.Error(err)
		}
	}
	patch(c.t.Context(), `[{"op":"add","path":"`+at+`","value":{"type":"boolean"}}]`)
	c.t.Cleanup(func() { patch(context.Background(), `[{"op":"remove","path":"`+at+`"}]`) })
	known := func(ctx context.Context) (bool, error) {
		asked := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"pause":true}}`))
		return c.Patch(ctx, c.stored("gpu"), asked, client.DryRunAll, client.FieldValidation("Strict")) == nil, nil
	}
	if err := wait.PollUntilContextTimeout(c.t.Context(), 100*time.Millisecond, time.Minute, true, known); err != nil {
		c.t.Fatal(err)
	}
}

// TestReset forgets what nodes have, keeps their cordons, and begins the batches again with every zero written out.
func TestReset(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	s.Status = v1alpha1.SkyhookStatus{
		CompleteNodes: "1/2", NextOrder: 7, NodeOrderOffset: 7, FirstRound: 3,
		CompartmentStatuses: map[string]v1alpha1.CompartmentStatus{"__default__": {
			Matched: 2, BatchState: &v1alpha1.BatchState{CurrentBatch: 4, ConsecutiveFailures: 2, FailedNodes: 3, ShouldStop: true, LastBatchFailed: true},
		}},
	}
	c.put(s)
	annotations := states("{" + driverDone + "," + tuningBad + "}")
	annotations[v1alpha1.AnnotationStatusPrefix+"gpu"] = "erroring"
	annotations[v1alpha1.AnnotationCordonPrefix+"gpu"] = "true"
	c.put(newNode("worker-1", annotations))
	c.put(newNode("worker-2", states("not JSON")))
	out, _, err := c.run("yes\n", "reset", "gpu")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "reset", out)
	for _, name := range []string{"worker-1", "worker-2"} {
		for key := range c.node(name).Annotations {
			if strings.HasPrefix(key, v1alpha1.KeyPrefix) && key != v1alpha1.AnnotationCordonPrefix+"gpu" {
				t.Errorf("%s still has %s", name, key)
			}
		}
	}
	if c.node("worker-1").Annotations[v1alpha1.AnnotationCordonPrefix+"gpu"] != "true" {
		t.Error("the cordon of worker-1 is forgotten, so nobody lifts it")
	}
	got := c.stored("gpu").Status
	if b := got.CompartmentStatuses["__default__"].BatchState; !reflect.DeepEqual(*b, v1alpha1.BatchState{CurrentBatch: 1}) {
		t.Errorf("batch state %+v", b)
	}
	if got.NextOrder != 0 || got.NodeOrderOffset != 0 || got.FirstRound != 4 {
		t.Errorf("numbers %+v", got)
	}
}

// TestRerun asks for stages by the stage before them.
func TestRerun(t *testing.T) {
	const done = `{"driver|1.0.0":{"name":"driver","version":"1.0.0","image":"registry.example/driver","stage":"post-interrupt","state":"complete"}}`
	for _, tt := range []struct{ stage, wantStage, wantErr string }{
		{"", "", ""},
		{"apply", "", ""},
		{"config", "apply", ""},
		{"interrupt", "config", ""},
		{"post-interrupt", "interrupt", ""},
		{"uninstall", "post-interrupt", `invalid stage "uninstall": must be one of apply, config, interrupt, post-interrupt`},
	} {
		t.Run("stage "+tt.stage, func(t *testing.T) {
			c := newCluster(t)
			c.put(gpu())
			c.put(newNode("worker-1", states(done)))
			args := []string{"package", "rerun", "driver", "--skyhook", "gpu", "--node", "worker-.*", "--yes"}
			if tt.stage != "" {
				args = append(args, "--stage", tt.stage)
			}
			out, _, err := c.run("", args...)
			if err == nil && !strings.Contains(out, "Package: driver (version 1.0.0)\n") {
				t.Errorf("printed %q", out)
			}
			if fmt.Sprint(err) != tt.wantErr && (err != nil || tt.wantErr != "") {
				t.Fatalf("error %v, want %q", err, tt.wantErr)
			}
			raw, there := c.node("worker-1").Annotations[v1alpha1.AnnotationNodeStatePrefix+"gpu"]
			if there != (tt.wantStage != "") {
				t.Fatalf("states are %q", raw)
			}
			var got map[string]v1alpha1.PackageStatus
			if there && json.Unmarshal([]byte(raw), &got) != nil {
				t.Fatal(raw)
			}
			if e := got["driver|1.0.0"]; there && (string(e.Stage) != tt.wantStage || e.State != v1alpha1.StateComplete) {
				t.Errorf("entry %+v", e)
			}
		})
	}
}

// TestIgnore sets and removes the label, of many nodes at a time.
func TestIgnore(t *testing.T) {
	c := newCluster(t)
	for i := range 3 {
		c.put(newNode(fmt.Sprintf("worker-%d", i), nil))
	}
	for _, tt := range []struct{ args, out, label string }{
		{"node ignore worker-.* --dry-run", "Ignoring 3 node(s):\n  - worker-0\n  - worker-1\n  - worker-2\n[dry-run] No changes applied\n", ""},
		{"node ignore worker-1", "Ignoring 1 node(s):\n  - worker-1\nSuccessfully ignored 1 node(s)\n", "true"},
		{"node ignore worker-1", "Ignoring 1 node(s):\n  - worker-1\n  worker-1: already ignored\nSuccessfully ignored 0 node(s)\n", "true"},
		{"node unignore worker-[12]", "Unignoring 2 node(s):\n  - worker-1\n  - worker-2\n  worker-2: not ignored\nSuccessfully unignored 1 node(s)\n", ""},
		{"node ignore other", "No nodes matched the specified patterns\n", ""},
	} {
		out, _, err := c.run("", strings.Fields(tt.args)...)
		if err != nil || out != tt.out {
			t.Errorf("%s printed %q, error %v", tt.args, out, err)
		}
		if got := c.node("worker-1").Labels[v1alpha1.LabelIgnore]; got != tt.label {
			t.Errorf("%s: the label of worker-1 is %q", tt.args, got)
		}
	}
}

// TestErrors: the bare text, and what helps.
func TestErrors(t *testing.T) {
	c := newCluster(t)
	for args, want := range map[string]string{
		"pause none -y":                `getting skyhook "none": skyhooks.skyhook.nvidia.com "none" not found; kubectl get skyhooks lists those that exist`,
		"node list":                    `required flag(s) "skyhook" not set`,
		"node list --skyhook x -o xml": `invalid output format "xml"; use one of table, wide, json, yaml, name`,
		"pause":                        `accepts 1 arg(s), received 0; write skyhook pause SKYHOOK [flags]`,
		"node reset --skyhook gpu":     `requires at least 1 arg(s), only received 0; write skyhook node reset NODE... [flags]`,
		"node status a[":               "matching nodes: invalid regex pattern \"a[\": error parsing regexp: missing closing ]: `[)$`",
		"pause gpu --dry-run=maybe":    `invalid value "maybe" of --dry-run; use client or server`,
		"why none":                     `there is no Skyhook "none"; kubectl get skyhooks lists those that exist, and kubectl skyhook why node NODE asks for a node`,
		"plan":                         `plan wants the name of a Skyhook, or files with -f`,
		"package status driver --skyhook nonesuch": `getting skyhook "nonesuch": skyhooks.skyhook.nvidia.com "nonesuch" not found; kubectl get skyhooks lists those that exist`,
	} {
		if _, _, err := c.run("", strings.Fields(args)...); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", args, err, want)
		}
	}
	if _, _, err := c.run("", "plan", ""); err == nil {
		t.Error("an empty variable is planned")
	}
	c.through(func(w http.ResponseWriter, r *http.Request) bool {
		broken := strings.HasSuffix(r.URL.Path, "/poddisruptionbudgets")
		if broken {
			fails(w, http.StatusBadGateway, "", "no answer")
		}
		return broken
	})
	want := "listing PodDisruptionBudgets: no answer"
	if _, _, err := c.run("", "why", "node", "worker-1"); err == nil || err.Error() != want {
		t.Errorf("what cannot be listed: %v\nwant %s", err, want)
	}
}
