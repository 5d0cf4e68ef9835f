package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// TestPages: the pages of the repository are those that the code makes, and have what people look for.
func TestPages(t *testing.T) {
	out := t.TempDir()
	if err := write(root, out); err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][]string{
		"fields.md": {
			"| `spec.packages.*.interrupt.type` | string | ", "| `spec.priority` | integer | ", "Default: `true`.",
			"| `spec.compartments[].budget.percent` | integer | ", "| `status.permits` | list of string | ", "One of `node`, `all`.",
		},
		"labels.md": {
			"| `skyhook.nvidia.com/pause` | annotation | Keeps ", "| `skyhook.nvidia.com/nodeState_<skyhook>` | annotation | The package states",
			"| `skyhook.nvidia.com/autoTaint_<taint>` | annotation | Is ", "| `node-restriction.kubernetes.io/skyhook_<skyhook>` | label | ",
			"| `skyhook.nvidia.com/skyhook` | finalizer | ", "## Labels of a node that its users set\n",
		},
		"conditions.md": {
			"| `Ready` | Is true while every selected node is complete", "never true together with Stalled.",
			"| `skyhook.nvidia.com/<skyhook>/NotReady` | The Skyhook is not complete on the node. |",
		},
		"values.md": {
			"| `controllerManager.replicas` | `2` | One replica is active;", "| `webhookService.ports` | `[{name: webhook, port: 443,",
			"| `crds.keep` | `true` | Uninstalling",
		},
	} {
		made := read(t, filepath.Join(out, name))
		for _, part := range parts {
			if !strings.Contains(made, part) {
				t.Errorf("%s has no %q", name, part)
			}
		}
		if made != read(t, filepath.Join(root, "docs/reference", name)) {
			t.Errorf("docs/reference/%s is not current: run 'make generate'", name)
		}
		for line := range strings.Lines(made) {
			if strings.HasPrefix(line, "| `") && strings.HasSuffix(line, "|  |\n") && name != "values.md" {
				t.Errorf("%s: no meaning: %s", name, line)
			}
		}
	}
	if err := write(t.TempDir(), out); err == nil || strings.Count(err.Error(), ".md: ") != 4 {
		t.Errorf("of an empty repository: %v", err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestCells: what a comment has does not break the table, nor is it lost.
func TestCells(t *testing.T) {
	for from, want := range map[string]string{
		"one\n two": "one two", "a|b": `a\|b`, "<name>": `\<name>`, "sysctl_*": `sysctl\_\*`,
	} {
		if got := sentence(from); got != want {
			t.Errorf("%q became %q, not %q", from, got, want)
		}
	}
	if got := code("a|b"); got != "`a\\|b`" {
		t.Errorf("%q", got)
	}
}
