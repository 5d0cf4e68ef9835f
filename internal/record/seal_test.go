package record_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

const sealKey = "node-restriction.kubernetes.io/skyhook_demo"

var demoSeal = record.Seal{Skyhook: "demo", SkyhookUID: "uid-demo", NodeUID: "uid-node"}

// metadata is what a node has; change applies a patch to it as the API server does.
type metadata struct{ annotations, labels map[string]string }

func (m *metadata) change(p record.Patch) {
	m.annotations, m.labels = apply(m.annotations, p.Annotations), apply(m.labels, p.Labels)
}

// sealed has a record as the operator writes it, in one patch with its seal.
func sealed(t *testing.T, status v1alpha1.Status) metadata {
	t.Helper()
	m := metadata{map[string]string{}, map[string]string{"theirs": "x"}}
	e := record.Entry{Name: "a", Version: "1.0.0", Stage: v1alpha1.StageConfig, State: v1alpha1.StateInProgress}
	p, err := record.Write("demo", record.Node{Status: status, Packages: map[string]record.Entry{e.Key(): e}},
		m.annotations, m.labels)
	if err != nil {
		t.Fatal(err)
	}
	demoSeal.Apply(&p, m.annotations, m.labels)
	m.change(p)
	return m
}

// earlierSeal is the seal of an operator that bound it to the Skyhook's UID.
func earlierSeal(m metadata) {
	h := sha256.New()
	for _, part := range []string{"uid-node", "uid-demo", m.annotations[stateKey]} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	fmt.Fprint(h, m.annotations[statusKey] == "complete")
	m.labels[sealKey] = hex.EncodeToString(h.Sum(nil)[:20])
}

// TestEarlierSealIsRenewedWithTheRecord, and not before.
func TestEarlierSealIsRenewedWithTheRecord(t *testing.T) {
	m := sealed(t, "")
	earlierSeal(m)
	var p record.Patch
	demoSeal.Apply(&p, m.annotations, m.labels)
	if !p.Empty() {
		t.Errorf("nothing else changes, and the patch is %+v", p)
	}
	p.Annotations = map[string]*string{statusKey: new("complete")}
	demoSeal.Apply(&p, m.annotations, m.labels)
	m.change(p)
	later := demoSeal
	later.SkyhookUID = "uid-other"
	if !later.Holds(m.annotations, m.labels) {
		t.Errorf("it is not bound to the name: %v", m.labels)
	}
}

// TestSealHolds: only what was sealed passes, on that node and for that Skyhook.
func TestSealHolds(t *testing.T) {
	for _, c := range []struct {
		name   string
		status v1alpha1.Status
		edit   func(metadata)
		by     record.Seal
		want   bool
	}{
		{name: "as it was written", want: true},
		{name: "complete, as it was written", status: v1alpha1.StatusComplete, want: true},
		{name: "another state", edit: func(m metadata) {
			m.annotations[stateKey] = strings.Replace(m.annotations[stateKey], "in_progress", "complete", 1)
		}},
		{name: "no states", edit: func(m metadata) { delete(m.annotations, stateKey) }},
		{name: "the status says complete", edit: func(m metadata) { m.annotations[statusKey] = "complete" }},
		{name: "the status says something else", edit: func(m metadata) { m.annotations[statusKey] = "unknown" }, want: true},
		{name: "the status is gone", edit: func(m metadata) { delete(m.annotations, statusKey) }, want: true},
		{
			name: "it was complete, and says so no more", status: v1alpha1.StatusComplete,
			edit: func(m metadata) { delete(m.annotations, statusKey) }, want: true,
		},
		{
			name: "what nothing on the node goes by",
			edit: func(m metadata) { m.annotations["skyhook.nvidia.com/wait_demo"] = "?" }, want: true,
		},
		{name: "no seal", edit: func(m metadata) { delete(m.labels, sealKey) }},
		{name: "an empty seal", edit: func(m metadata) { m.labels[sealKey] = "" }},
		{name: "another node", by: record.Seal{Skyhook: "demo", SkyhookUID: "uid-demo", NodeUID: "uid-other"}},
		{
			name: "a Skyhook of that name that came later",
			by:   record.Seal{Skyhook: "demo", SkyhookUID: "uid-other", NodeUID: "uid-node"}, want: true,
		},
		{name: "by its UID, as earlier operators did", edit: earlierSeal, want: true},
		{
			name: "by the UID of another of that name", edit: earlierSeal,
			by: record.Seal{Skyhook: "demo", SkyhookUID: "uid-other", NodeUID: "uid-node"},
		},
		{name: "by its UID, and another state", edit: func(m metadata) {
			earlierSeal(m)
			m.annotations[stateKey] = strings.Replace(m.annotations[stateKey], "in_progress", "complete", 1)
		}},
		{
			name: "identities that make the same text", edit: earlierSeal,
			by: record.Seal{Skyhook: "demo", SkyhookUID: "id-demo", NodeUID: "uid-nodeu"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := sealed(t, c.status)
			if c.edit != nil {
				c.edit(m)
			}
			if c.by == (record.Seal{}) {
				c.by = demoSeal
			}
			if got := c.by.Holds(m.annotations, m.labels); got != c.want {
				t.Errorf("holds: %t", got)
			}
		})
	}
	other := record.Seal{Skyhook: "other", SkyhookUID: "uid-demo", NodeUID: "uid-node"}
	if m := sealed(t, ""); other.Holds(m.annotations, m.labels) || !other.Missing(m.labels) || demoSeal.Missing(m.labels) {
		t.Error("the seal of one Skyhook counts for another")
	}
}

// TestSealIsALabel: the API server takes it, also of the longest name.
func TestSealIsALabel(t *testing.T) {
	long := record.Seal{Skyhook: strings.Repeat("x", 53)}
	annotations := map[string]string{"skyhook.nvidia.com/nodeState_" + long.Skyhook: "{}"}
	var p record.Patch
	long.Apply(&p, annotations, nil)
	if len(p.Labels) != 1 || len(p.Annotations) != 0 {
		t.Fatalf("the patch is %+v", p)
	}
	for key, value := range p.Labels {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(*value)...); len(problems) > 0 {
			t.Errorf("%s=%s: %v", key, *value, problems)
		}
	}
}

// TestSealApply: it is written with the record and no more often, and goes with it.
func TestSealApply(t *testing.T) {
	m := sealed(t, "")
	var none record.Patch
	demoSeal.Apply(&none, m.annotations, m.labels)
	if !none.Empty() {
		t.Errorf("a sealed record is sealed again: %+v", none)
	}

	left := metadata{maps.Clone(m.annotations), maps.Clone(m.labels)}
	n, err := record.Read("demo", left.annotations)
	if err != nil {
		t.Fatal(err)
	}
	p := record.Clear("demo", n, left.annotations, left.labels)
	demoSeal.Apply(&p, left.annotations, left.labels)
	left.change(p)
	if !demoSeal.Holds(left.annotations, left.labels) || left.annotations[stateKey] == "" {
		t.Errorf("a node that left and keeps its packages has %v", left)
	}

	n.Packages = nil
	p = record.Clear("demo", n, m.annotations, m.labels)
	demoSeal.Apply(&p, m.annotations, m.labels)
	m.change(p)
	if len(m.annotations) != 0 || len(m.labels) != 1 {
		t.Errorf("a node that left without packages has %v", m)
	}
}

// TestSealGoesWithTheRecord: nothing but the package states and their seal stays of a Skyhook that is gone, and the seal goes
// when somebody removes the states.
func TestSealGoesWithTheRecord(t *testing.T) {
	m := sealed(t, "")
	n, err := record.Read("demo", m.annotations)
	if err != nil {
		t.Fatal(err)
	}
	delete(m.annotations, statusKey)
	delete(m.labels, "skyhook.nvidia.com/status_demo")
	if !record.Exists("demo", nil, m.labels) || strings.Join(record.Skyhooks(nil, m.labels), " ") != "demo" {
		t.Error("nobody sees that a seal is left")
	}
	m.change(record.Clear("demo", n, m.annotations, m.labels))
	if len(m.annotations) != 1 || len(m.labels) != 2 || !demoSeal.Holds(m.annotations, m.labels) {
		t.Errorf("the node keeps %v", m)
	}
	if record.KeysOf("demo").Left(m.annotations, m.labels) {
		t.Error("the deletion waits for what stays")
	}
	delete(m.annotations, stateKey)
	m.change(record.Clear("demo", record.Node{}, m.annotations, m.labels))
	if len(m.annotations) != 0 || len(m.labels) != 1 {
		t.Errorf("the node keeps %v", m)
	}
}

// TestSealIsNoLabelOfOthers: it is shown to nobody, and its change is none that anybody waits for.
func TestSealIsNoLabelOfOthers(t *testing.T) {
	if !record.Owns(sealKey) || record.Owns("node-restriction.kubernetes.io/pool") {
		t.Error("a seal is taken for somebody else's label, or the other way round")
	}
	for _, c := range []struct {
		name string
		a, b map[string]string
		want bool
	}{
		{"a seal comes", map[string]string{"x": "1"}, map[string]string{"x": "1", sealKey: "s"}, true},
		{"a seal goes", map[string]string{"x": "1", sealKey: "s"}, map[string]string{"x": "1"}, true},
		{"a seal changes", map[string]string{sealKey: "s"}, map[string]string{sealKey: "t"}, true},
		{"a label changes", map[string]string{"x": "1"}, map[string]string{"x": "2"}, false},
		{"a label comes with a seal", map[string]string{sealKey: "s"}, map[string]string{"x": "1"}, false},
		{"one label for another", map[string]string{"x": ""}, map[string]string{"y": ""}, false},
	} {
		if got := record.SameUnsealed(c.a, c.b); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	if record.AnySeal(map[string]string{"x": "1"}) || !record.AnySeal(map[string]string{"x": "1", sealKey: "s"}) {
		t.Error("a seal is not found, or something else is")
	}
}
