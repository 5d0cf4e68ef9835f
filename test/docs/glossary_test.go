package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGlossary: every term has one meaning, and is defined once.
func TestGlossary(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if len(cells) == 1 || cells[0] == " term " || cells[0] == "---" {
			continue
		}
		for term := range strings.SplitSeq(cells[0], ",") {
			term = strings.TrimSpace(term)
			if len(cells) != 2 || term == "" || !strings.HasSuffix(cells[1], ". ") || defined[term] {
				t.Errorf("the row of %q is no term with one meaning, or its second one: %s", term, line)
			}
			defined[term] = true
		}
	}
	if len(defined) < 30 {
		t.Errorf("only %d terms", len(defined))
	}
}

// TestGlossaryIsFound: readers and contributors are sent to it.
func TestGlossaryIsFound(t *testing.T) {
	for path, link := range map[string]string{
		"README.md": "(docs/glossary.md)", "CONTRIBUTING.md": "(docs/glossary.md)",
		"docs/skyhooks.md": "(glossary.md)", "docs/architecture.md": "(glossary.md)",
	} {
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), link) {
			t.Errorf("%s does not lead to docs/glossary.md", path)
		}
	}
}

// notTerms are words for which the glossary has a better one, or that say nothing to people who meet them for the first time.
var notTerms = regexp.MustCompile(`(?i)\b(mend(ed|s|ing)?|undo(es|ne)?|tak(e|es|en) back|forgotten|retired?|set aside|at work|` +
	`given up|gave up|owed|debt|go(es|ing)? on|gone on)\b`)

// TestOneName: pages use the terms of the glossary.
func TestOneName(t *testing.T) {
	for _, page := range pages(t) {
		for i, line := range strings.Split(text(t, page), "\n") {
			if word := notTerms.FindString(line); word != "" {
				t.Errorf("%s:%d: %q: docs/glossary.md has another word", filepath.Base(page), i+1, word)
			}
		}
	}
}
