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
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const root = "../../.."

// source is a package as the go command sees it. Export is the file that tells its importers of it.
type source struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
}

// engine has the packages that have mutants and all that they import, by their paths.
var engine = sync.OnceValues(func() (map[string]source, error) {
	args := []string{"list", "-export", "-deps", "-json=Dir,ImportPath,Name,Export,GoFiles"}
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

// changeOf is what a bug changes, and in which package.
func (m Mutant) changeOf(t *testing.T) (source, change) {
	t.Helper()
	all, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	for path, s := range all {
		if strings.HasSuffix(path, "/"+m.Package) {
			c, err := m.change(s.Dir, s.GoFiles)
			if err != nil {
				t.Fatal(err)
			}
			return s, c
		}
	}
	t.Fatalf("mutant %q: no package %s", m.Name, m.Package)
	return source{}, change{}
}

// imported imports what the engine imports.
var imported = sync.OnceValue(func() types.Importer {
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		all, err := engine()
		if err != nil {
			return nil, err
		}
		return os.Open(all[path].Export)
	})
})

// compiles reports why a package does not compile with changes.
func (s source) compiles(changes []change) error {
	files := map[string]string{filepath.Join(s.Dir, switchesFile): switches(s.Name)}
	for _, name := range s.GoFiles {
		raw, err := os.ReadFile(filepath.Join(s.Dir, name))
		if err != nil {
			return err
		}
		files[filepath.Join(s.Dir, name)] = string(raw)
	}
	maps.Copy(files, apply(changes))
	fset := token.NewFileSet()
	var parsed []*ast.File
	for path, text := range files {
		file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	_, err := (&types.Config{Importer: imported()}).Check(s.ImportPath, fset, parsed, nil)
	return err
}

// TestMutantsApply: each bug can be planted into the engine as it is now, and that compiles.
func TestMutantsApply(t *testing.T) {
	var (
		names   = map[string]bool{}
		applied []Mutant
		in      []source
		changes []change
	)
	for _, m := range Mutants {
		t.Run(m.Name, func(t *testing.T) {
			if m.Findings == "" || names[m.Name] {
				t.Error("it has no findings, or the name of another")
			}
			names[m.Name] = true
			s, c := m.changeOf(t)
			applied, in, changes = append(applied, m), append(in, s), append(changes, c)
		})
	}
	if t.Failed() {
		return
	}
	for _, round := range rounds(changes) {
		packages := map[string][]int{}
		for _, i := range round {
			packages[in[i].ImportPath] = append(packages[in[i].ImportPath], i)
		}
		for path, list := range packages {
			var together []change
			for _, i := range list {
				together = append(together, changes[i])
			}
			err := in[list[0]].compiles(together)
			if err == nil {
				continue
			}
			t.Errorf("package %s: %v", path, err)
			for _, i := range list { // which of them is it
				if err := in[i].compiles(changes[i : i+1]); err != nil {
					t.Errorf("mutant %q does not compile: %v", applied[i].Name, err)
				}
			}
		}
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
	s.ok(1)
	return s.ok(2)
}

func f() bool { return s.a < s.b }
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, fn, before, after, want, fails string }{
		{
			"a condition, however it is laid out", "T.f", "s.a < s.b", "!($0)",
			"if (planted(N) && (!(s.a <\n\t\ts.b)) || !planted(N) && (s.a <\n\t\ts.b)) && s.ok(1) {", "",
		},
		{"another expression", "T.f", "s.ok(2)", "false", "return plantedOr(N, (false), (s.ok(2)))", ""},
		{"statements", "T.f", "g(1); g(2)", "g(2)", "\tif planted(N) {\ng(2)\n} else {\ng(1); g(2)\n}\n\ts.ok(1)\n", ""},
		{
			"any block", "T.f", "for _, x := range list {etc}", "g(0); $0",
			"if planted(N) {\ng(0); for _, x := range list {\n\t\tg(x)\n\t}\n} else {\nfor _, x", "",
		},
		{
			"a function without a receiver", "f", "s.a < s.b", "true",
			"return (planted(N) && (true) || !planted(N) && (s.a < s.b)) }", "",
		},
		{"not there", "T.f", "s.a > s.b", "true", "", `mutant "not there": its syntax is 0 times in T.f`},
		{"ambiguous", "T.f", "s.ok(1)", "true", "", `mutant "ambiguous": its syntax is 2 times in T.f`},
		{"no such function", "T.g", "g(1)", "g(2)", "", `mutant "no such function": 0 functions T.g`},
		{"no syntax", "T.f", "if {", "true", "", `mutant "no syntax": neither an expression nor statements`},
	} {
		got, err := Mutant{Name: c.name, Func: c.fn, Before: c.before, After: c.after}.change(dir, []string{"p.go"})
		text := apply([]change{got})[got.file]
		if want := strings.ReplaceAll(c.want, "(N", "("+strconv.Quote(c.name)); c.fails == "" && (err != nil || !strings.Contains(text, want)) {
			t.Errorf("%s: %v\n%s", c.name, err, text)
		}
		if c.fails != "" && (err == nil || !strings.HasPrefix(err.Error(), c.fails)) {
			t.Errorf("%s: %v, want %s", c.name, err, c.fails)
		}
	}
}

func TestRounds(t *testing.T) {
	at := func(file string, from, to int) change {
		return change{file: file, from: from, to: to, text: "x", code: "0123456789"}
	}
	all := []change{at("a", 0, 4), at("a", 2, 3), at("b", 2, 3), at("a", 4, 6), at("a", 3, 5)}
	if got := fmt.Sprint(rounds(all)); got != "[[0 2 3] [1 4]]" {
		t.Errorf("rounds are %s", got)
	}
	if got := apply([]change{all[0], all[2], all[3]}); got["a"] != "xx6789" || got["b"] != "01x3456789" {
		t.Errorf("the files become %q", got)
	}
}
