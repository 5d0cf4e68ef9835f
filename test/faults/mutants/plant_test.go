package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const root = "../../.."

// source is a package as the go command sees it. Export is the file that tells its importers of it.
type source struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
}

// engine has the packages that have mutants and all that they import, by their paths.
var engine = sync.OnceValues(func() (map[string]source, error) {
	args := []string{"list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles"}
	for _, m := range Mutants {
		args = append(args, "./"+m.Package)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	all := map[string]source{}
	for list := json.NewDecoder(strings.NewReader(string(out))); ; {
		var s source
		switch err := list.Decode(&s); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all[s.ImportPath] = s
	}
})

// planted plants a bug into its package.
func (m Mutant) planted(t *testing.T) (source, planted) {
	t.Helper()
	all, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	for path, s := range all {
		if strings.HasSuffix(path, "/"+m.Package) {
			p, err := m.plant(s.Dir, s.GoFiles)
			if err != nil {
				t.Fatal(err)
			}
			return s, p
		}
	}
	t.Fatalf("mutant %q: no package %s", m.Name, m.Package)
	return source{}, planted{}
}

// TestMutantsApply: each bug can be planted into the engine as it is now, and that compiles.
func TestMutantsApply(t *testing.T) {
	imported := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		all, err := engine()
		if err != nil {
			return nil, err
		}
		return os.Open(all[path].Export)
	})
	names := map[string]bool{}
	for _, m := range Mutants {
		t.Run(m.Name, func(t *testing.T) {
			if m.Findings == "" || names[m.Name] {
				t.Error("it has no findings, or the name of another")
			}
			names[m.Name] = true
			s, p := m.planted(t)
			fset := token.NewFileSet()
			var files []*ast.File
			for _, name := range s.GoFiles {
				path, text := filepath.Join(s.Dir, name), any(nil)
				if path == p.file {
					text = p.text
				}
				file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, file)
			}
			if _, err := (&types.Config{Importer: imported}).Check(s.ImportPath, fset, files, nil); err != nil {
				t.Errorf("it does not compile: %v", err)
			}
		})
	}
}

func TestPlant(t *testing.T) {
	const code = `package p

func (s *T) f(list []int) bool {
	// a comment
	if s.a <
		s.b && s.ok(1) {
		return true
	}
	for _, x := range list {
		g(x)
	}
	g(1); g(2)
	return s.ok(1)
}

func f() bool { return s.a < s.b }
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, fn, before, after, want, fails string }{
		{"an expression, however it is laid out", "T.f", "s.a < s.b", "!($0)", "if (!(s.a <\n\t\ts.b)) && s.ok(1) {", ""},
		{"statements", "T.f", "g(1); g(2)", "g(2)", "\tg(2)\n\treturn", ""},
		{"any block", "T.f", "for _, x := range list {etc}", "g(0); $0", "g(0); for _, x := range list {\n\t\tg(x)", ""},
		{"a function without a receiver", "f", "s.a < s.b", "true", "return (true) }", ""},
		{"not there", "T.f", "s.a > s.b", "true", "", `mutant "not there": its syntax is 0 times in T.f`},
		{"ambiguous", "T.f", "s.ok(1)", "true", "", `mutant "ambiguous": its syntax is 2 times in T.f`},
		{"no such function", "T.g", "g(1)", "g(2)", "", `mutant "no such function": 0 functions T.g`},
		{"no syntax", "T.f", "if {", "true", "", `mutant "no syntax": neither an expression nor statements`},
	} {
		got, err := Mutant{Name: c.name, Func: c.fn, Before: c.before, After: c.after}.plant(dir, []string{"p.go"})
		if c.fails == "" && (err != nil || !strings.Contains(got.text, c.want)) {
			t.Errorf("%s: %v\n%s", c.name, err, got.text)
		}
		if c.fails != "" && (err == nil || !strings.HasPrefix(err.Error(), c.fails)) {
			t.Errorf("%s: %v, want %s", c.name, err, c.fails)
		}
	}
}
