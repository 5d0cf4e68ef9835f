package skyhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/charts"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// statusSchema is what the API server accepts as the status of a Skyhook.
func statusSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	definitions, err := charts.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		if d.Spec.Names.Kind != "Skyhook" {
			continue
		}
		raw, err := json.Marshal(d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"])
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft4) // as OpenAPI 3.0
		compiler.AssertFormat()
		if err := compiler.AddResource("status.json", document); err != nil {
			t.Fatal(err)
		}
		return compiler.MustCompile("status.json")
	}
	t.Fatal("no Skyhook among the CRDs")
	return nil
}

// checkStatus checks a status against the schema, and what the schema says beyond JSON schema: the keys of lists.
func checkStatus(t *rapid.T, schema *jsonschema.Schema, status v1alpha1.SkyhookStatus) {
	raw, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Fatalf("the API server refuses it: %v", err)
	}
	if len(raw) > 128<<10 {
		t.Fatalf("the status has %d bytes", len(raw))
	}
	if strings.Contains(string(raw), "\\ufffd") {
		t.Fatalf("not all of it is text: %.2000s", raw)
	}
	seen := map[string]bool{}
	key := func(kind, name string) {
		if seen[kind+name] {
			t.Fatalf("two of %s %s", kind, name)
		}
		seen[kind+name] = true
	}
	for _, c := range status.Conditions {
		key("condition", c.Type)
	}
	for _, a := range status.Attention {
		key("node", a.Node)
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := statusSchema(t)
	for name, text := range map[string]string{
		"a stage":      `{"nodeState":{"n":{"a|1":{"name":"a","version":"1","image":"x","stage":"party","state":"complete"}}}}`,
		"a status":     `{"nodeStatus":{"n":"great"}}`,
		"a reason":     `{"conditions":[{"type":"Ready","status":"True","reason":"no word","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`,
		"no condition": `{"conditions":[{"type":"Ready"}]}`,
	} {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(document) == nil {
			t.Errorf("%s passes: %s", name, text)
		}
	}
}

// anyText is text as nobody expects it in a record.
func anyText(t *rapid.T, name string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "StepFailed", "no word", "\x00", "1/2/3", strings.Repeat("ä", 3000), "\xff\xfe"}), rapid.String(),
	).Draw(t, name)
}

func anyEntry(t *rapid.T) record.Entry {
	return record.Entry{
		Name: "a", Version: rapid.SampledFrom([]string{"1.0.0", "2.0.0", "x y"}).Draw(t, "version"), Image: anyText(t, "image"), ContainerSHA: anyText(t, "sha"),
		Stage: rapid.SampledFrom([]v1alpha1.Stage{
			v1alpha1.StageApply, v1alpha1.StageConfig, v1alpha1.StageInterrupt, v1alpha1.StagePostInterrupt, v1alpha1.StageUninstall,
			v1alpha1.StageUninstallInterrupt, v1alpha1.StageUpgrade, v1alpha1.Stage(anyText(t, "stage")),
		}).Draw(t, "stages"),
		State: rapid.SampledFrom([]v1alpha1.State{
			v1alpha1.StateComplete, v1alpha1.StateComplete, v1alpha1.StateErroring, v1alpha1.StateInProgress, v1alpha1.StateSkipped, v1alpha1.StateUnknown,
			v1alpha1.State(anyText(t, "state")),
		}).Draw(t, "states"),
		Restarts: rapid.Int32Min(-1).Draw(t, "restarts"), Reason: anyText(t, "reason"), Message: anyText(t, "message"), Run: anyText(t, "run"),
	}
}

func anyFrees(t *rapid.T) record.Frees {
	return rapid.SampledFrom([]record.Frees{
		"", record.FreesAuthor, record.FreesAuthor, record.FreesAuthor, record.FreesOther, record.FreesAdministrator, record.FreesNode, record.FreesTime, "x",
	}).Draw(t, "frees")
}

// anyNode has a record with whatever can be written into annotations.
func anyNode(t *rapid.T, name string) *corev1.Node {
	n := newNode(name, rapid.SampledFrom([]string{"gpu", "gpu", "other"}).Draw(t, "pool"))
	n.Status.NodeInfo.BootID = anyText(t, "boot id")
	if rapid.Bool().Draw(t, "ready") {
		n = ready(n)
	}
	e := anyEntry(t)
	r := record.Node{
		Status: v1alpha1.Status(anyText(t, "status")), FinishedPermit: anyText(t, "done"), BootID: anyText(t, "seen boot id"),
		Cordoned: rapid.Bool().Draw(t, "cordoned"), Packages: map[string]record.Entry{e.Key(): e},
	}
	if rapid.IntRange(0, 3).Draw(t, "waits") > 0 {
		r.Wait = &record.Wait{
			Reason: anyText(t, "wait"), Message: anyText(t, "wait message"), Frees: anyFrees(t), Overdue: rapid.Bool().Draw(t, "overdue"),
			Since: metav1.NewTime(start),
		}
	}
	p, err := record.Write("demo", r, n.Annotations, n.Labels)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range p.Annotations {
		n.Annotations[k] = *v
	}
	for _, key := range []string{"nodeState_demo", "wait_demo", "interrupt", "permit_demo"} {
		if rapid.IntRange(0, 9).Draw(t, "edit "+key) == 0 {
			n.Annotations[v1alpha1.GroupName+"/"+key] = anyText(t, key)
		}
	}
	return n
}

// TestAnyRecordMakesAValidStatus: whatever strings records hold, the API server takes the status.
func TestAnyRecordMakesAValidStatus(t *testing.T) {
	schema := statusSchema(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := undoable(2, "1.0.0", "")
		s.Spec.InterruptionBudget.Count = new(rapid.IntRange(1, 3).Draw(rt, "budget"))
		w := newWorld(t, revisionOf(t, undoable(1, "2.0.0", v1alpha1.WhenRemovedUninstall), 1))
		for i := range rapid.SampledFrom([]int{0, 1, 1, 2, 6, 14}).Draw(rt, "nodes") {
			n := anyNode(rt, fmt.Sprintf("n%02d", i))
			w.must(w.Client.Create(t.Context(), n))
			if rapid.Bool().Draw(rt, "permit") {
				s.Status.Permits = append(s.Status.Permits, v1alpha1.Permit{Node: n.Name, Order: int32(i), Generation: 1})
			}
		}
		if rapid.Bool().Draw(rt, "deleted") {
			s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.Finalizer}
		}
		p := w.reads(s)
		checkStatus(rt, schema, rollout.Plan(p.in))
	})
}
