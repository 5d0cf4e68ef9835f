//go:build e2e && nightly

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestDemo(t *testing.T) {
	const file = "/skyhook-hello-world"
	ownNodes(t, nodeCount)
	writes := newAudit(t)
	apply(t, "demo", example(t, "demo.yaml"), file)
	waitReady(t, "demo")
	for _, node := range here(t).Nodes() {
		if got, want := onHost(t, node, "cat", file), "hello world\na config is run\n"; got != want {
			t.Errorf("node %s: %s is %q, want %q", node, file, got, want)
		}
		checkDemoNode(t, node)
	}
	complete := fmt.Sprintf("%[1]d/%[1]d", nodeCount)
	row := strings.Fields(lastLine(mustKubectl(t, "", "get", "sky", "demo", "-o", "wide")))
	if len(row) != 7 || !slices.Equal(row[:4], []string{"demo", "complete", complete, "0"}) || row[5] != "200" || row[6] != "tuning:1.1.0" {
		t.Errorf("kubectl get skyhook demo: %v", row)
	}
	if generation := mustKubectl(t, "", "get", "skyhook", "demo", "-o", "jsonpath={.metadata.generation}"); generation != "1" {
		t.Errorf("generation is %s: the operator changed the spec", generation)
	}
	if pods := mustKubectl(t, "", "get", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name=demo", "-o", "name"); pods != "" {
		t.Errorf("pods are left: %s", pods)
	}
	writes.check(t, "demo", 2)
}

// checkDemoNode looks for what the agent and the operator leave on a node.
func checkDemoNode(t *testing.T, node string) {
	t.Helper()
	n := getNode(t, node)
	r, err := record.Read("demo", n.Annotations)
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Packages["tuning|1.1.0"]; e.Stage != "config" || e.State != "complete" {
		t.Errorf("node %s: entry %+v", node, e)
	}
	if got := n.Labels["skyhook.nvidia.com/status_demo"]; got != "complete" {
		t.Errorf("node %s: status label %q", node, got)
	}
	if !strings.Contains(onHost(t, node, "cat", "/var/lib/skyhook/demo/history/shellscript.json"), `"current-version": "1.1.0"`) {
		t.Errorf("node %s: the agent's history does not tell version 1.1.0", node)
	}
	onHost(t, node, "test", "-f", "/var/lib/skyhook/demo/flags/START")
	if logs := onHost(t, node, "sh", "-c", "cat /var/log/skyhook/demo/shellscript/1.1.0/*.log"); !strings.Contains(logs, "hello world") {
		t.Errorf("node %s: step logs are %q", node, logs)
	}
}

// audit is the API server's audit log from a moment on.
type audit struct {
	offset int64
	// own are the test's nodes.
	own []string
}

func newAudit(t *testing.T) audit {
	t.Helper()
	info, err := os.Stat(here(t).AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return audit{offset: info.Size(), own: here(t).Nodes()}
}

// check counts the operator's writes for one Skyhook since then and holds them to 3 per stage and 5 more per node.
func (a audit) check(t *testing.T, skyhook string, stages int) {
	t.Helper()
	counts := a.count(t, skyhook)
	total := 0
	for _, what := range []string{"nodes", "nodes/status", "pods", "configmaps"} {
		total += counts[what]
	}
	perNode := float64(total) / nodeCount
	t.Logf("writes: %.1f per node; all: %v", perNode, counts)
	if limit := float64(3*stages + 5); total == 0 || perNode > limit {
		t.Errorf("%.1f writes per node, want 1 to %.0f", perNode, limit)
	}
}

// count returns the operator's writes by resource, of what belongs to the Skyhook or to the test's nodes; of ConfigMaps
// only those that exist once per node.
func (a audit) count(t *testing.T, skyhook string) map[string]int {
	t.Helper()
	f, err := os.Open(here(t).AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(a.offset, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for lines := json.NewDecoder(f); lines.More(); {
		var e struct {
			Verb, UserAgent string
			ObjectRef       struct{ Resource, Subresource, Name string }
		}
		if err := lines.Decode(&e); err != nil {
			t.Fatal(err)
		}
		o := e.ObjectRef
		perSkyhook := o.Resource == "configmaps" && !strings.Contains(o.Name, "-metadata-")
		others := o.Resource == "nodes" && !slices.Contains(a.own, o.Name) ||
			(o.Resource == "pods" || o.Resource == "configmaps") && !strings.HasPrefix(o.Name, skyhook+"-")
		read := e.Verb == "get" || e.Verb == "list" || e.Verb == "watch"
		if read || !strings.HasPrefix(e.UserAgent, "skyhook-operator/") || o.Resource == "leases" || perSkyhook || others {
			continue
		}
		counts[strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/")]++
	}
	return counts
}

func lastLine(text string) string { return text[strings.LastIndex(text, "\n")+1:] }
