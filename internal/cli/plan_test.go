//go:build integration

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestPlanWarns before the rollout of what admission warns of, be the webhooks on or off, and of taints, of which the
// webhook tells nobody.
func TestPlanWarns(t *testing.T) {
	c := newCluster(t)
	tainted := newNode("worker-2", nil)
	tainted.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}}
	c.put(newNode("worker-1", nil))
	c.put(tainted)
	const (
		taint     = "Skyhook gpu: spec.additionalTolerations: the taint dedicated=db:NoSchedule of 1 of the 2 selected nodes (worker-2)"
		budget    = "Skyhook gpu: spec.interruptionBudget: package driver interrupts nodes, and nothing limits how many at a time"
		finalizer = "Skyhook gpu: metadata.finalizers: \"mine\""
	)
	marked := gpu()
	marked.Finalizers = []string{"mine"} // the API server itself warns of that name
	for _, x := range []struct {
		name string
		s    *v1alpha1.Skyhook
		want []string
	}{
		{"the API server says nothing", gpu(), []string{budget, "Skyhook gpu: spec.drain.deleteEmptyDirData", taint}},
		{"it warns", marked, []string{finalizer, taint}},
	} {
		file := c.file(written(x.s))
		out, errs, err := c.run("", "plan", "-f", file, "-o", "json")
		if err != nil || strings.Contains(errs, "spec.") {
			t.Fatal(err, errs)
		}
		var plan struct{ Warnings []string }
		if err := json.Unmarshal([]byte(out), &plan); err != nil {
			t.Fatal(err)
		}
		if len(plan.Warnings) != len(x.want) {
			t.Fatalf("%s: %q", x.name, plan.Warnings)
		}
		for i, w := range x.want {
			if !strings.HasPrefix(plan.Warnings[i], w) {
				t.Errorf("%s: %q is not %q", x.name, plan.Warnings[i], w)
			}
		}
		for format, title := range map[string]string{"table": "Warnings:\n- ", "markdown": "### Warnings\n\n- "} {
			if out, _, err = c.run("", "plan", "-f", file, "-o", format); err != nil || !strings.Contains(out, title+x.want[0]) ||
				strings.Index(out, taint) > strings.Index(out, "apply") {
				t.Errorf("%s %s: %v\n%s", x.name, format, err, out)
			}
		}
	}
	c.put(gpu())
	out, _, err := c.run("", "plan", "gpu")
	if err != nil || !strings.Contains(out, taint) || strings.Contains(out, budget) {
		t.Errorf("what is stored is warned of for its taints only: %v\n%s", err, out)
	}
	out, _, err = c.run("", "plan", "-f", c.file(written(gpu())))
	if err != nil || !strings.Contains(out, taint) || strings.Contains(out, budget) {
		t.Errorf("of an edit, only what it brings is told: %v\n%s", err, out)
	}
}
