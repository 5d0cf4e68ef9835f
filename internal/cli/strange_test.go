//go:build integration

package cli_test

import (
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestStrangeTexts prints what scripts and other people wrote so that terminals, tables, Markdown and spreadsheets take
// it for text.
func TestStrangeTexts(t *testing.T) {
	c := newCluster(t)
	const red = "boom \x1b[31m\x1b]0;title\a | \u202e\tnext\r\nline"
	s := gpu()
	s.Status = v1alpha1.SkyhookStatus{
		Status: v1alpha1.StatusErroring, CompleteNodes: "0/1",
		Attention: []v1alpha1.NodeAttention{{Node: "worker-1", Status: v1alpha1.StatusErroring, Reason: "StepFailed", Message: red}},
	}
	s.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"} // so that it goes on failing
	c.put(s)
	failed := map[string]any{"tuning|2.1.0": map[string]any{
		"name": "tuning", "version": "2.1.0", "image": "=cmd|' /C calc'!A0\x1b[2J", "stage": "apply", "state": "erroring",
		"reason": "StepFailed", "message": red,
	}}
	text, err := json.Marshal(failed)
	if err != nil {
		t.Fatal(err)
	}
	annotations := states(string(text))
	annotations[v1alpha1.AnnotationWaitPrefix+"gpu"] = `{"reason":"Paused","message":` + quoted(t, red) + `}`
	c.put(newNode("worker-1", annotations))
	for _, command := range []string{
		"why gpu", "why node worker-1", "status gpu", "plan gpu", "plan gpu -o markdown", "node status worker-1 -o wide", "inventory -o wide",
		"package status tuning --skyhook gpu -o wide",
	} {
		out, _, err := c.run("", strings.Fields(command)...)
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		bad := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
		if i := strings.IndexFunc(out, bad); i >= 0 {
			t.Errorf("%s prints %q", command, out[i:])
		}
	}
	for _, command := range []string{"why gpu", "status gpu", "plan gpu", "inventory", "node status"} {
		out, _, err := c.run("", append(strings.Fields(command), "-o", "json")...)
		if err != nil || !json.Valid([]byte(out)) {
			t.Errorf("%s -o json: %v\n%s", command, err, out)
		}
	}
	out, _, err := c.run("", "inventory", "-o", "csv")
	rows, invalid := csv.NewReader(strings.NewReader(out)).ReadAll()
	formula := func(cell string) bool { return len(cell) > 1 && strings.ContainsAny(cell[:1], "=+-@") }
	if err != nil || invalid != nil || len(rows) != 2 || slices.ContainsFunc(rows[1], formula) {
		t.Errorf("csv: %v, %v\n%s", err, invalid, out)
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestSafeElsewhere sees what runs also of an operator in a namespace that was not named.
func TestSafeElsewhere(t *testing.T) {
	c := newCluster(t)
	s := gpu()
	c.put(s)
	c.put(newNode("worker-1", nil))
	c.runStage(s, "worker-1")
	if out, _, err := c.run("", "node", "safe", "worker-1", "--namespace", "elsewhere"); err == nil || !strings.Contains(out, "not safe") {
		t.Errorf("%v\n%s", err, out)
	}
}
