package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWorkflow: the workflow runs the targets of .ci/run, and no other.
func TestWorkflow(t *testing.T) {
	var want, got []string
	for _, match := range regexp.MustCompile(`(?m)^make (.*)$`).FindAllStringSubmatch(text(t, filepath.Join(root, ".ci/run")), -1) {
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

// TestToolUpdates: every tool is kept current.
func TestToolUpdates(t *testing.T) {
	tools, err := filepath.Glob(filepath.Join(root, "tools/*/go.mod"))
	if err != nil || len(tools) == 0 {
		t.Fatalf("no tools: %v", err)
	}
	allowed := regexp.MustCompile(`dependency-name: ([^,}]*)`).FindAllStringSubmatch(text(t, filepath.Join(root, ".github/dependabot.yml")), -1)
	for _, tool := range tools {
		program := regexp.MustCompile(`(?m)^tool (.*)$`).FindStringSubmatch(text(t, tool))
		if program == nil {
			t.Errorf("%s names no tool", tool)
			continue
		}
		if !slices.ContainsFunc(allowed, func(module []string) bool { return strings.HasPrefix(program[1]+"/", module[1]+"/") }) {
			t.Errorf("dependabot.yml allows no module that holds %s", program[1])
		}
	}
}
