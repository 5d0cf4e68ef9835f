package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const decisions = "docs/decisions"

// TestDecisions: each page has its four parts, is in the list, and leads to what exists.
func TestDecisions(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, decisions, "[0-9]*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	list := text(t, filepath.Join(root, decisions, "README.md"))
	want := []string{"Context", "Decision", "Consequences", "Alternatives that were refused"}
	for _, page := range pages {
		name := filepath.Base(page)
		if !strings.Contains(list, "("+name+")") {
			t.Errorf("%s/README.md does not lead to %s", decisions, name)
		}
		var parts []string
		for _, match := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(text(t, page), -1) {
			parts = append(parts, match[1])
		}
		if diff := cmp.Diff(want, parts); diff != "" {
			t.Errorf("parts of %s (-want +got):\n%s", name, diff)
		}
		checkPaths(t, page)
	}
	checkPaths(t, filepath.Join(root, decisions, "README.md"))
}

// checkPaths: the pages and headings that a page links to, and the code that it names, exist.
func checkPaths(t *testing.T, page string) {
	t.Helper()
	body := text(t, page)
	for _, match := range regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]+))?\)`).FindAllStringSubmatch(body, -1) {
		target := filepath.Join(filepath.Dir(page), match[1])
		if match[1] == "" {
			target = page
		}
		if match[2] != "" && !strings.Contains(anchors(text(t, target)), "\n"+match[2]+"\n") {
			t.Errorf("%s: %s has no heading #%s", filepath.Base(page), match[1], match[2])
		}
		if _, err := os.Stat(target); err != nil {
			t.Errorf("%s: %v", filepath.Base(page), err)
		}
	}
	for _, match := range regexp.MustCompile("`((?:api|internal|pkg|test)/[a-z0-9_/]+(?:\\.go)?)`").FindAllStringSubmatch(body, -1) {
		if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
			t.Errorf("%s: %v", filepath.Base(page), err)
		}
	}
}

// anchors are the names by which the headings of a page are linked to, one on each line.
func anchors(page string) string {
	names := []string{""}
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		names = append(names, strings.ReplaceAll(plain, " ", "-"))
	}
	return strings.Join(append(names, ""), "\n")
}

func text(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
