package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/record"
)

// freesOf has the constants that the code says with who ends a wait.
var freesOf = map[string]record.Frees{
	"FreesTime": record.FreesTime, "FreesNode": record.FreesNode, "FreesOther": record.FreesOther,
	"FreesAdministrator": record.FreesAdministrator, "FreesAuthor": record.FreesAuthor,
}

// differs are reasons for which the page says on purpose something else than waits record.
var differs = map[string]string{
	"ReasonPassFailed": "decisions take the node for one in progress; people have to hear that it is theirs to act",
}

// drainReason is how a wait names the reason of a drain, of which package drain has several.
const drainReason = "d.Reason"

// TestEndedBy: where the code says itself who ends a wait, instead of who usually does, the page has that, too.
func TestEndedBy(t *testing.T) {
	recorded, drains := scan(t)
	for _, reason := range drains {
		recorded[reason] = append(recorded[reason], recorded[drainReason]...)
	}
	compared := 0
	for _, table := range reasons(t) {
		for _, r := range table.rows {
			have := recorded[r.constant]
			if len(have) == 0 || differs[r.constant] != "" {
				continue
			}
			compared++
			for _, f := range have {
				if !slices.Contains(r.endedBy, string(f)) {
					t.Errorf("%s: a wait records %q, and the comment says %q", r.constant, f, r.endedBy)
				}
			}
		}
	}
	if compared < 18 {
		t.Errorf("only %d reasons compared: the code says who ends a wait in a way that this test does not see", compared)
	}
}

// TestEnders: the page knows everyone who can end a wait.
func TestEnders(t *testing.T) {
	for _, f := range freesOf {
		if !slices.Contains(enders, string(f)) {
			t.Errorf("%q can end a wait and is none of %q", f, enders)
		}
	}
}

// scan reads from the code who ends which reason, where constants say both, and the reasons of a drain.
func scan(t *testing.T) (recorded map[string][]record.Frees, drains []string) {
	t.Helper()
	recorded = map[string][]record.Frees{}
	add := func(reason, frees ast.Expr) {
		f, known := freesOf[strings.TrimPrefix(selected(frees), "record.")]
		if name := strings.TrimPrefix(selected(reason), "v1alpha1."); known && name != "" {
			recorded[name] = append(recorded[name], f)
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit: // a wait
				add(field(n, "Reason"), field(n, "Frees"))
			case *ast.KeyValueExpr: // a row of a table
				add(n.Key, n.Value)
				if name, is := strings.CutPrefix(selected(n.Key), "v1alpha1.Reason"); is && filepath.Base(filepath.Dir(path)) == "drain" {
					drains = append(drains, "Reason"+name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(drains) == 0 || len(recorded[drainReason]) == 0 {
		t.Fatal("the reasons of a drain, or who ends them, are not where this test looks for them")
	}
	return recorded, drains
}

// field is the value of a field in a literal; nil for none.
func field(literal *ast.CompositeLit, name string) ast.Expr {
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == name {
				return pair.Value
			}
		}
	}
	return nil
}

// selected is an expression of the form x.y as text; empty for any other.
func selected(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}
