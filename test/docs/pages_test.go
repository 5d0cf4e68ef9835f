package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks: what a page links to exists, headings too, and so does the code that it names.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		checkPaths(t, page)
	}
}

// TestReasonsOnce: docs/reasons.md is the one table of reasons. Others lead to it, and every name that they give to a reason
// is one.
func TestReasonsOnce(t *testing.T) {
	reasons := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text(t, filepath.Join(root, "docs/reasons.md")), -1) {
		reasons[match[1]] = true
	}
	if len(reasons) < 60 {
		t.Fatalf("only %d reasons", len(reasons))
	}
	for _, page := range pages(t) {
		switch filepath.Base(page) {
		// The page itself; conditions, some of which have their type as reason; facts of the plan.
		case "reasons.md", "conditions.md", "skyhooks.md", "architecture.md":
			continue
		}
		for line := range strings.Lines(text(t, page)) {
			cell := regexp.MustCompile("^\\| `([A-Za-z]+)` \\|").FindStringSubmatch(line)
			if len(cell) > 0 && reasons[cell[1]] {
				t.Errorf("%s: a row about reason %s, which belongs into api/v1alpha1/reasons.go", filepath.Base(page), cell[1])
			}
		}
		for _, match := range regexp.MustCompile("reason(?: is|s|:)? `([A-Z][A-Za-z]+)`").FindAllStringSubmatch(text(t, page), -1) {
			if !reasons[match[1]] {
				t.Errorf("%s: %s is no reason", filepath.Base(page), match[1])
			}
		}
	}
}

// pages are all pages for people.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	patterns := []string{
		"*.md", ".github/*.md", "docs/*.md", "docs/reference/*.md", "docs/how-to/*.md", "docs/tutorials/*.md",
		"examples/*.md", "packages/*/*.md", "test/*/*.md",
	}
	for _, pattern := range patterns {
		some, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, some...)
	}
	if len(found) < 25 {
		t.Fatalf("only %d pages", len(found))
	}
	return found
}
