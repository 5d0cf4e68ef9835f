//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/cli"
	"github.com/skyhook-operator/skyhook/internal/forecast"
)

// plugin runs kubectl skyhook, and returns what it prints.
func plugin(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	c := cli.Root("1.0.0", time.Now)
	var out bytes.Buffer
	c.SetIn(strings.NewReader(input))
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(append([]string{"--kubeconfig", bed.Kubeconfig()}, args...))
	err := c.ExecuteContext(context.WithoutCancel(t.Context()))
	return out.String(), err
}

func mustPlugin(t *testing.T, args ...string) string {
	t.Helper()
	out, err := plugin(t, "", args...)
	if err != nil {
		t.Fatalf("kubectl skyhook %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// why expects the answer to "why does this node wait" to have all of some texts.
func why(t *testing.T, node string, texts ...string) {
	t.Helper()
	out := mustPlugin(t, "why", "node", node)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("why node %s does not say %q:\n%s", node, text, out)
		}
	}
}

// planned is what the plan of a manifest says of its nodes, in their order.
func planned(t *testing.T, manifest string) []forecast.Node {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	var answer struct{ Nodes []forecast.Node }
	out := mustPlugin(t, "plan", "-f", file, "-o", "json")
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return answer.Nodes
}

// order is in which order nodes got their permits, as the versions of a Skyhook show.
func order(v *versions[*v1alpha1.Skyhook], name string) []string {
	var nodes []string
	v.each(func(s *v1alpha1.Skyhook) {
		if s.Name != name {
			return
		}
		permits := slices.Clone(s.Status.Permits)
		slices.SortFunc(permits, func(a, b v1alpha1.Permit) int { return int(a.Order - b.Order) })
		for _, p := range permits {
			if !slices.Contains(nodes, p.Node) {
				nodes = append(nodes, p.Node)
			}
		}
	})
	return nodes
}
