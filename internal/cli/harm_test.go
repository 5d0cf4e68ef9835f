package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// harms is what no text of ours hands out to be copied: it ends work of others, or lets more of it be disturbed.
var harms = regexp.MustCompile(`(?i)kubectl (?:delete pods?|taint|drain)\b|--force\b|--grace-period|` +
	`kubectl patch [^` + "`" + `]*budget|delete poddisruptionbudget`)

// TestNoCommandHarms looks at every sentence that users read: advice of reasons, messages, events, commands of the CLI and
// the board, alerts and the notes of the chart, and what the CLI prints in its tests.
func TestNoCommandHarms(t *testing.T) {
	for _, folder := range []string{"../../internal", "../../api", "../../cmd", "../../charts"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.IsDir():
				return err
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				for _, text := range textsOf(t, path) {
					notHarmful(t, path, text)
				}
			case strings.HasSuffix(path, ".golden"), strings.Contains(path, "/charts/"), strings.Contains(path, "/board/"):
				content, err := os.ReadFile(path)
				notHarmful(t, path, string(content))
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func notHarmful(t *testing.T, where, text string) {
	t.Helper()
	if found := harms.FindString(text); found != "" {
		t.Errorf("%s offers %q", where, found)
	}
}

// textsOf are the texts of a file of code; those that are added up are one.
func textsOf(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, ok := literal(e)
		if ok {
			texts = append(texts, text)
		}
		return !ok
	})
	return texts
}

// literal is what an expression says wherever it runs.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, one := literal(e.X)
		right, other := literal(e.Y)
		return left + " " + right, e.Op == token.ADD && (one || other)
	}
	return "", false
}
