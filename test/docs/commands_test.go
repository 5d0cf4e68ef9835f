package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMakeTargets: every target that a page names exists.
func TestMakeTargets(t *testing.T) {
	makefile := text(t, filepath.Join(root, "Makefile"))
	named := 0
	for _, page := range pages(t) {
		for _, match := range regexp.MustCompile("(?m)(?:`|^ {4})make ([a-z0-9-]+)").FindAllStringSubmatch(text(t, page), -1) {
			named++
			if !regexp.MustCompile(`(?m)^` + match[1] + `:[a-z ]* ##`).MatchString(makefile) {
				t.Errorf("%s: the Makefile has no target %s", filepath.Base(page), match[1])
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d targets named", named)
	}
}

// TestExamples: the tests that CONTRIBUTING.md tells people to run exist.
func TestExamples(t *testing.T) {
	commands := regexp.MustCompile(`(?m)^ {4}go test \./(\S+) -run '?([A-Za-z|/]+)`).FindAllStringSubmatch(
		text(t, filepath.Join(root, "CONTRIBUTING.md")), -1)
	if len(commands) < 3 {
		t.Fatalf("only %d commands", len(commands))
	}
	for _, command := range commands {
		files, err := filepath.Glob(filepath.Join(root, command[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var tests strings.Builder
		for _, file := range files {
			tests.WriteString(text(t, file))
		}
		for name := range strings.SplitSeq(command[2], "|") {
			name, _, _ = strings.Cut(name, "/")
			if !strings.Contains(tests.String(), "func "+name+"(t *testing.T)") {
				t.Errorf("%s has no %s", command[1], name)
			}
		}
	}
}
