//go:build integration

package available

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryToolIsBuilt: a tool's program need not have the name of its folder, and a folder may have more than one. The
// compiler is one that writes down what it was asked for.
func TestEveryToolIsBuilt(t *testing.T) {
	compilers := t.TempDir()
	script := "#!/bin/bash\nwhile [[ $1 != -o ]]; do shift; done\necho \"$3\" >\"$2\"\n"
	if err := os.WriteFile(filepath.Join(compilers, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", compilers+":"+os.Getenv("PATH"))
	t.Setenv("SKYHOOK_CACHE", t.TempDir())
	modules, err := filepath.Glob(filepath.Join(root, "tools/*/go.mod"))
	if err != nil || len(modules) == 0 {
		t.Fatalf("no tools: %v", err)
	}
	calls := [][]string{{"prometheus", "promtool"}}
	for _, module := range modules {
		calls = append(calls, []string{filepath.Base(filepath.Dir(module))})
	}
	for _, call := range calls {
		out, err := exec.CommandContext(t.Context(), filepath.Join(root, "tools/tool"), call...).Output()
		if err != nil {
			t.Errorf("%v: %v", call, err)
			continue
		}
		built, err := os.ReadFile(strings.TrimSpace(string(out)))
		if err != nil || !strings.Contains(string(built), call[len(call)-1]) {
			t.Errorf("%v: built %q, %v", call, built, err)
		}
	}
}
