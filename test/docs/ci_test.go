package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestWorkflow: the workflow runs the targets of .ci/run, and no other.
func TestWorkflow(t *testing.T) {
	var want, got []string
	for _, match := range regexp.MustCompile(`(?m)^\s*make (.*?)( \|\|.*)?$`).FindAllStringSubmatch(text(t, filepath.Join(root, ".ci/run")), -1) {
		want = append(want, match[1])
	}
	workflow := text(t, filepath.Join(root, ".github/workflows/ci.yaml"))
	for _, match := range regexp.MustCompile(`\{make: ([^,}]*)`).FindAllStringSubmatch(workflow, -1) {
		got = append(got, match[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("targets of .ci/run (-) and of ci.yaml (+):\n%s", diff)
	}
}

// TestNightly: its parts are targets of the Makefile.
func TestNightly(t *testing.T) {
	makefile := text(t, filepath.Join(root, "Makefile"))
	parts := regexp.MustCompile(`(?m)^[a-z]+ +\d+ make (\S+)`).FindAllStringSubmatch(text(t, filepath.Join(root, "tools/nightly")), -1)
	for _, part := range parts {
		if !strings.Contains(makefile, "\n"+part[1]+": ") {
			t.Errorf("the Makefile has no target %s", part[1])
		}
	}
	if len(parts) < 5 {
		t.Errorf("%d parts", len(parts))
	}
}

// TestGitHubFiles: what GitHub reads is valid YAML. It says nothing of a file that is not, but ignores it.
func TestGitHubFiles(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(filepath.Join(root, ".github"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".yml", ".yaml"}, filepath.Ext(path)) {
			return err
		}
		checked++
		var content map[string]any
		if err := yaml.UnmarshalStrict([]byte(text(t, path)), &content); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || checked < 5 {
		t.Errorf("%d files, %v", checked, err)
	}
}

// TestOwners: each path that CODEOWNERS gives to somebody exists.
func TestOwners(t *testing.T) {
	paths := regexp.MustCompile(`(?m)^/(\S+)`).FindAllStringSubmatch(text(t, filepath.Join(root, ".github/CODEOWNERS")), -1)
	if len(paths) == 0 {
		t.Error("no paths")
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(root, path[1])); err != nil {
			t.Errorf("CODEOWNERS: %v", err)
		}
	}
}

// TestToolUpdates: every tool is kept current.
func TestToolUpdates(t *testing.T) {
	tools, err := filepath.Glob(filepath.Join(root, "tools/*/go.mod"))
	if err != nil || len(tools) == 0 {
		t.Fatalf("no tools: %v", err)
	}
	allowed := regexp.MustCompile(`dependency-name: ([^,}]*)`).FindAllStringSubmatch(text(t, filepath.Join(root, ".github/dependabot.yml")), -1)
	for _, tool := range tools {
		program := regexp.MustCompile(`(?m)^tool (?:\(\n\t)?(.*)$`).FindStringSubmatch(text(t, tool)) // the first speaks for all
		if program == nil {
			t.Errorf("%s names no tool", tool)
			continue
		}
		if !slices.ContainsFunc(allowed, func(module []string) bool { return strings.HasPrefix(program[1]+"/", module[1]+"/") }) {
			t.Errorf("dependabot.yml allows no module that holds %s", program[1])
		}
	}
}
