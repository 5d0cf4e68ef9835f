package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

const root = "../.."

// TestPhases: the page has the phases of the code, in their order.
func TestPhases(t *testing.T) {
	if diff := cmp.Diff(phases(t), firstCells(t, "phase")); diff != "" {
		t.Errorf("phases in phase.go (-) and in docs/architecture.md (+):\n%s", diff)
	}
}

// TestGates: the page has the gates in the order in which they are asked.
func TestGates(t *testing.T) {
	if diff := cmp.Diff(lifecycle.Gates(), firstCells(t, "gate")); diff != "" {
		t.Errorf("gates of the code (-) and in docs/architecture.md (+):\n%s", diff)
	}
}

// TestFiles: every file that the page sends readers to exists.
func TestFiles(t *testing.T) {
	paths := regexp.MustCompile("`((?:api|cmd|internal|pkg|test)/[a-z0-9_/]+\\.go)`").FindAllStringSubmatch(page(t), -1)
	if len(paths) == 0 {
		t.Fatal("the page names no files")
	}
	for _, match := range paths {
		if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
			t.Errorf("docs/architecture.md sends readers to %s: %v", match[1], err)
		}
	}
}

// TestFolders: the page says of every folder of internal what it is for.
func TestFolders(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !regexp.MustCompile(`(?m)^ {6}(\w+/ )*` + folder.Name() + `/`).MatchString(page(t)) {
			t.Errorf("docs/architecture.md does not have internal/%s", folder.Name())
		}
	}
}

// phases are the constants of type situation.Phase, in the order of the code.
func phases(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal/situation/phase.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Phase" {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is no text", spec.Names[0].Name)
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
		return true
	})
	return values
}

// firstCells are the first cells of the one table whose first column has that title.
func firstCells(t *testing.T, title string) []string {
	t.Helper()
	_, table, found := strings.Cut(page(t), "\n| "+title+" |")
	if !found {
		t.Fatalf("docs/architecture.md has no table of each %s", title)
	}
	var cells []string
	for _, line := range strings.Split(table, "\n")[2:] { // the rest of the title, and the rule below it
		cell, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !row {
			break
		}
		cells = append(cells, strings.Trim(cell, "`"))
	}
	return cells
}

func page(t *testing.T) string {
	t.Helper()
	return text(t, filepath.Join(root, "docs/architecture.md"))
}
