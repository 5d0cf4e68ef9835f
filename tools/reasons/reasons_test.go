package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestReasons: every reason has a complete row, no two are the same, and the page in docs is current.
func TestReasons(t *testing.T) {
	tables := reasons(t)
	seen := map[string]string{}
	for _, table := range tables {
		for _, r := range table.rows {
			if other := seen[r.reason]; other != "" {
				t.Errorf("%s and %s are both %q", other, r.constant, r.reason)
			}
			seen[r.reason] = r.constant
		}
	}
	have, err := os.ReadFile(filepath.Join(root, "docs/reasons.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page(tables), string(have)); diff != "" {
		t.Errorf("docs/reasons.md is not current, run 'make generate': comments (-), page (+)\n%s", diff)
	}
}

// TestNowhereElse: reasons are in the files that the page is generated from.
func TestNowhereElse(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "api/v1alpha1/*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, _, is := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "const "), " = \"")
			reason := strings.HasPrefix(name, "Reason") || strings.HasPrefix(name, "NodeReason") || strings.HasPrefix(name, "Event")
			if is && reason && !strings.HasPrefix(filepath.Base(file), "reasons") {
				t.Errorf("%s: %s belongs into a file that the page is generated from", file, name)
			}
		}
	}
}

// TestParse: a comment that is not complete is refused, with what it lacks.
func TestParse(t *testing.T) {
	const good = "// ReasonX: It waits.\n// Ended by: time, node.\n// Do: Look at `kubectl get node`.\n"
	for name, c := range map[string]struct{ block, comment, code, want string }{
		"complete":             {"// Reasons of x. They are somewhere.", good, `ReasonX = "X"`, ""},
		"nothing waits":        {"// Reasons.", "// ReasonX: It is so.\n// Ended by: none.\n// Do: Nothing.\n", `ReasonX = "X"`, ""},
		"no block comment":     {"", good, `ReasonX = "X"`, "its first sentence is the heading"},
		"no comment":           {"// Reasons.", "", `ReasonX = "X"`, `must begin with "ReasonX: "`},
		"of another":           {"// Reasons.", strings.Replace(good, "ReasonX", "ReasonY", 1), `ReasonX = "X"`, `must begin with "ReasonX: "`},
		"no meaning":           {"// Reasons.", strings.Replace(good, " It waits.", "", 1), `ReasonX = "X"`, `must begin with "ReasonX: "`},
		"nobody ends it":       {"// Reasons.", strings.Replace(good, "// Ended by: time, node.\n", "", 1), `ReasonX = "X"`, `the line "Ended by: "`},
		"a stranger ends it":   {"// Reasons.", strings.Replace(good, "time", "luck", 1), `ReasonX = "X"`, `the line "Ended by: "`},
		"the same twice":       {"// Reasons.", strings.Replace(good, "time", "node", 1), `ReasonX = "X"`, `the line "Ended by: "`},
		"none and others":      {"// Reasons.", strings.Replace(good, "time", "none", 1), `ReasonX = "X"`, `the line "Ended by: "`},
		"nothing helps":        {"// Reasons.", strings.Replace(good, "// Do: Look at `kubectl get node`.\n", "", 1), `ReasonX = "X"`, `the line "Do: "`},
		"no command, no field": {"// Reasons.", strings.ReplaceAll(good, "`", ""), `ReasonX = "X"`, "names no command and no field"},
		"an open backquote":    {"// Reasons.", strings.Replace(good, "node`", "node", 1), `ReasonX = "X"`, "is not closed"},
		"half a sentence":      {"// Reasons.", strings.Replace(good, "It waits.", "it waits", 1), `ReasonX = "X"`, "is no sentence"},
		"half an advice":       {"// Reasons.", strings.Replace(good, "node`.", "node`", 1), `ReasonX = "X"`, "is no sentence"},
		"a word of our own":    {"// Reasons.", strings.Replace(good, "It waits", "It goes on", 1), `ReasonX = "X"`, `says "goes on"`},
		"another value":        {"// Reasons.", good, `ReasonX = "Y"`, "called as its value"},
		"no value":             {"// Reasons.", good, `ReasonX = Y`, "has no text"},
		"two in a line":        {"// Reasons.", good, `ReasonX, ReasonY = "X", "Y"`, "a line of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("x.go", []byte("package x\n\n"+c.block+"\nconst (\n"+c.comment+c.code+"\n)\n"))
			switch {
			case err == nil && c.want != "":
				t.Errorf("accepted, want an error with %q", c.want)
			case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestPage: a block is a table below its heading.
func TestPage(t *testing.T) {
	got := strings.TrimPrefix(page([]table{{
		heading: "Reasons of x", text: "They are somewhere.",
		rows: []row{
			{reason: "X", meaning: "It waits.", endedBy: []string{"time", "node"}, do: "Set `a|b`."},
			{reason: "Y", meaning: "It is so.", endedBy: []string{none}, do: "Nothing."},
			{reason: "Z", meaning: "It depends.", endedBy: []string{message}, do: "Read `z`."},
		},
	}}), intro)
	want := `
## Reasons of x

They are somewhere.

| reason | what it means | who can end it | what to do |
|---|---|---|---|
| ` + "`X` | It waits. | time, node | Set `a\\|b`. |" + `
| ` + "`Y` | It is so. | – | Nothing. |" + `
| ` + "`Z` | It depends. | see message | Read `z`. |" + `
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func reasons(t *testing.T) []table {
	t.Helper()
	tables, err := all(root)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}
